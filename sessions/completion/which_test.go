package completion

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhichSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("a").Enable(t.Context(), noon()))
	if st := must[Status](t)(d.Status(t.Context(), at(1))); st.SessionID != "a" || len(st.Others) > 0 {
		t.Errorf("the only one: %+v", st)
	}
	must[Status](t)(d.with("b").Enable(t.Context(), at(100)))
	for name, call := range map[string]func() error{
		"reset": func() error { _, err := d.Reset(t.Context(), at(101)); return err },
		"check": func() error { _, err := d.Check(t.Context(), at(101)); return err },
	} {
		if err := call(); err == nil || err.Error() != "2 sessions are enabled: a, b" || !strings.Contains(hint(err), "--session") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if st := must[Status](t)(d.Status(t.Context(), at(101))); st.SessionID != "b" || !st.Enabled || !cmp.Equal(st.Others, []string{"a"}) {
		t.Errorf("a look without a session: %+v, want the one that was enabled last", st)
	}
	if st := must[Status](t)(d.with("a").Status(t.Context(), at(101))); !cmp.Equal(st.Others, []string{"b"}) {
		t.Errorf("others %v", st.Others)
	}
	// One of them lives: it is meant.
	living(t, d, "a", d.Place.Repo, os.Getpid())
	if st := must[Status](t)(d.Reset(t.Context(), at(101))); st.SessionID != "a" {
		t.Errorf("of two, one of which lives: %+v", st)
	}
	if st := must[Status](t)(d.Status(t.Context(), at(101))); st.SessionID != "a" {
		t.Errorf("a look at two, one of which lives: %+v", st)
	}
	if err := os.RemoveAll(filepath.Join(d.Place.Config, "sessions")); err != nil {
		t.Fatal(err)
	}
	// Settings are for all of them, and so is the end.
	n := 3
	must[Settings](t)(d.Configure(Change{MaxIterations: &n}, at(102)))
	for _, id := range []string{"a", "b"} {
		if s := state(t, d, id); s.MaxIterations != 3 {
			t.Errorf("session %s has %d", id, s.MaxIterations)
		}
	}
	all := newDesk(t)
	checklist(t, all, "p")
	must[Status](t)(all.with("a").Enable(t.Context(), noon()))
	must[Status](t)(all.with("b").Enable(t.Context(), noon()))
	must[Status](t)(all.Disable(t.Context(), at(1)))
	for _, id := range []string{"a", "b"} {
		if dec := stop(t, all, id, 2); !dec.AllowStop {
			t.Errorf("session %s is held in spite of it: %+v", id, dec)
		}
	}
	// What nobody noticed the end of holds nobody.
	if st := must[Status](t)(d.Status(t.Context(), at(340))); st.SessionID != "a" || len(st.Others) > 0 {
		t.Errorf("after the time of the second: %+v", st)
	}
}

// TestStatusAfterTheEnd shows what became of the session that was enabled last, with
// the settings for the next one.
func TestStatusAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("a").Enable(t.Context(), noon()))
	must[Decision](t)(d.with("a").Check(t.Context(), at(1)))
	must[Status](t)(d.with("a").Disable(t.Context(), at(2)))
	n := 7
	must[Settings](t)(d.Configure(Change{MaxIterations: &n}, at(3)))
	if st := must[Status](t)(d.Status(t.Context(), at(4))); st.Enabled || st.SessionID != "a" || st.Iterations != 1 || st.MaxIterations != 7 || st.ElapsedMS != 0 {
		t.Errorf("status %+v", st)
	}
	// A month later somebody enables another one: the old state goes.
	must[Status](t)(d.with("b").Enable(t.Context(), at(31*24*60)))
	if _, err := os.Stat(d.path("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state of a session that was over a month ago: %v", err)
	}
	must[Status](t)(d.with("c").Enable(t.Context(), at(31*24*60+1)))
	if _, err := os.Stat(d.path("b")); err != nil {
		t.Errorf("the state of a session that is on: %v", err)
	}
}

// TestBrokenStateNamesTheWayOut has an error that a person, or an agent, can act on.
func TestBrokenStateNamesTheWayOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	write(t, d.path("a"), "{")
	_, err := d.with("a").Status(t.Context(), noon())
	if err == nil || !strings.Contains(err.Error(), d.path("a")) || !strings.Contains(hint(err), "move that file away") {
		t.Errorf("error %v, hint %q", err, hint(err))
	}
}

func hint(err error) string {
	if h, ok := errors.AsType[refused](err); ok {
		return h.Hint()
	}
	return ""
}
