package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.Max = 4
	if c, err := o.Counts(); err != nil || c != (Counts{}) {
		t.Errorf("of nothing: %+v, %v", c, err)
	}
	f := &fake{errs: []error{denied(), errAway, nil}}
	put(t, o, issue(), of("a", 1, true), of("b", 2, true), of("c", 3, true))
	deliver(t, o, f.senders, Options{Now: noon()})
	put(t, o, issue(), of("d", 4, true), of("e", 5, true))
	put(t, o, issue(), of("f", 6, true)) // one too many
	if err := os.WriteFile(o.entryPath("0123456789ab-1"), make([]byte, 300), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".b-1.json123456", "b-1 (copy).json", "notes"} {
		if err := os.WriteFile(o.path("entries", name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := o.Counts()
	st := status(t, o)
	want := Counts{Waiting: len(st.Pending), Refused: len(st.Refused), Broken: st.Broken, Dropped: st.Dropped}
	if err != nil || got != want || want.Broken != 3 || want.Waiting == 0 || want.Waiting+want.Refused != 4 || want.Dropped != 1 {
		t.Errorf("Counts = %+v, %v; Status says %+v", got, err, want)
	}
}

func TestCountsSeesWhatWasRefused(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	put(t, o, issue(), of("a", 1, true))
	deliver(t, o, (&fake{errs: []error{denied()}}).senders, Options{Now: noon()})
	if c, err := o.Counts(); err != nil || c != (Counts{Refused: 1}) {
		t.Errorf("Counts = %+v, %v", c, err)
	}
	if err := o.Retry(status(t, o).Refused[0].ID); err != nil {
		t.Fatal(err)
	}
	if c, err := o.Counts(); err != nil || c != (Counts{Waiting: 1}) {
		t.Errorf("after the retry: %+v, %v", c, err)
	}
}

func TestBrokenEntriesAreNamedAndDropped(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	put(t, o, issue(), of("a", 1, true), of("b", 2, true), of("c", 3, true))
	st := status(t, o)
	edited, empty, good := st.Pending[0].ID, st.Pending[1].ID, st.Pending[2].ID
	data, err := os.ReadFile(o.entryPath(edited))
	if err != nil || !bytes.Contains(data, []byte(`"body": "1"`)) {
		t.Fatalf("entry %s, %v", data, err)
	}
	err = errors.Join(os.WriteFile(o.entryPath(edited), bytes.Replace(data, []byte(`"body": "1"`), []byte(`"body": "free money"`), 1), 0o600),
		os.WriteFile(o.entryPath(empty), nil, 0o600), os.WriteFile(o.path("entries", "x y.json"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{}
	if deliver(t, o, f.senders, Options{}); len(f.sent) != 1 || f.sent[0] != "3" {
		t.Errorf("sent %v: what somebody has written there is not ours to tell", f.sent)
	}
	st = status(t, o)
	if diff := cmp.Diff(map[string]bool{edited + ending: true, empty + ending: true, "x y.json": true}, set(st.BrokenFiles)); diff != "" || st.Broken != 3 {
		t.Errorf("%d broken (-want +got):\n%s", st.Broken, diff)
	}
	for _, name := range []string{edited, empty + ending, "x y.json"} {
		if err := o.Drop(name); err != nil {
			t.Errorf("drop %q: %v", name, err)
		}
	}
	for _, name := range []string{good, "../files.lock", "../../outbox/files.lock", "files.lock", ".", "..", ""} {
		if err := o.Drop(name); err == nil || !strings.Contains(err.Error(), "there is no update") {
			t.Errorf("drop %q: %v", name, err)
		}
	}
	if st = status(t, o); st.Broken != 0 {
		t.Errorf("left %v", st.BrokenFiles)
	}
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	o, other := newOutbox(t), newOutbox(t)
	a, err := o.Origin()
	again, err2 := Outbox{Dir: o.Dir}.Origin()
	b, err3 := other.Origin()
	if err := errors.Join(err, err2, err3); err != nil || a != again || a == b || !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(a) {
		t.Errorf("origins %q, %q, %q, %v", a, again, b, err)
	}
	if err := statedir.ReplaceJSON(o.path("origin.json"), origin{ID: "../x"}); err != nil {
		t.Fatal(err)
	}
	if a, err := o.Origin(); err != nil || len(a) != 12 {
		t.Errorf("instead of a broken one: %q, %v", a, err)
	}
	u := of("a", 1, false)
	for _, project := range []string{"a b", strings.Repeat("a", 41), "a:b"} {
		u.Project = project
		if err := o.Put(issue(), u); err == nil {
			t.Errorf("project %q was taken", project)
		}
	}
}

func BenchmarkCounts(b *testing.B) {
	o := Outbox{Dir: b.TempDir()}
	if err := errors.Join(statedir.MakeDir(o.path("entries")), statedir.MakeDir(o.path("taken"))); err != nil {
		b.Fatal(err)
	}
	for n := range 1000 {
		u := of(fmt.Sprint("s", n), n, false)
		u.Body = strings.Repeat("words ", 500)
		id := slotOf(issue(), u.Subject) + "-1"
		if err := o.write(Entry{ID: id, Key: keyOf(issue(), u), Target: issue(), Update: u, Seq: 1, PutAt: noon()}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if c, err := o.Counts(); err != nil || c.Waiting != 1000 {
			b.Fatal(c, err)
		}
	}
}
