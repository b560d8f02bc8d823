package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/publish"
)

func issue() publish.Target {
	return publish.Target{Service: publish.GitHub, Owner: "o", Project: "p", Number: 7}
}

func of(subject string, n int, final bool) publish.Update {
	u := numbered(n)
	u.Subject, u.Final = subject, final
	return u
}

func bodies(list []Entry) []string {
	out := []string{}
	for _, e := range list {
		b := e.Update.Subject + ":" + e.Update.Body
		if e.Update.Final {
			b += "!"
		}
		out = append(out, b)
	}
	return out
}

func TestWhatStandsForWhat(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		list []publish.Update
		want []string
	}{
		{"newer for older", []publish.Update{of("a", 1, false), of("a", 2, false)}, []string{"a:2"}},
		{"another subject", []publish.Update{of("a", 1, false), of("b", 2, false)}, []string{"a:1", "b:2"}},
		{"final for older", []publish.Update{of("a", 1, false), of("a", 2, true)}, []string{"a:2!"}},
		{"not for a final one", []publish.Update{of("a", 1, true), of("a", 2, false), of("a", 3, false)}, []string{"a:1!", "a:3"}},
		{"final for final", []publish.Update{of("a", 1, true), of("a", 2, false), of("a", 3, true)}, []string{"a:3!"}},
		{"the same again", []publish.Update{of("a", 1, true), of("a", 2, false), of("a", 1, true)}, []string{"a:1!", "a:2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := newOutbox(t)
			put(t, o, issue(), tc.list...)
			if diff := cmp.Diff(tc.want, bodies(status(t, o).Pending)); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			ids, err := o.ids()
			if err != nil || len(ids) != len(tc.want) {
				t.Errorf("files %v, %v", ids, err)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	o, o2 := newOutbox(t), newOutbox(t)
	jira := publish.Target{Service: publish.Jira, Ref: "P-7"}
	other := of("a", 1, false)
	other.RunID = "another"
	put(t, o, issue(), of("a", 1, false), of("b", 1, false))
	put(t, o, jira, of("a", 1, false))
	put(t, o2, issue(), of("a", 1, false))
	put(t, o2, jira, other)
	keys := map[string]string{}
	for _, e := range append(status(t, o).Pending, status(t, o2).Pending...) {
		what := fmt.Sprint(e.Target, e.Update.Subject, e.Update.RunID)
		if was, ok := keys[e.Key]; ok && was != what {
			t.Errorf("%s and %s have one key", was, what)
		}
		keys[e.Key] = what
	}
	if len(keys) != 4 {
		t.Errorf("%d keys, want 4: the same update in another outbox has the same key", len(keys))
	}
}

func TestUpdatesThatCannotBe(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	for _, subject := range []string{"", "two words", "é", strings.Repeat("x", 201), "a\nb"} {
		if err := o.Put(issue(), of(subject, 1, false)); err == nil {
			t.Errorf("subject %q was taken", subject)
		}
	}
	u := of("a", 1, false)
	u.State = "sleeping"
	if err := o.Put(issue(), u); err == nil {
		t.Error("an unknown state was taken")
	}
	if st := status(t, o); len(st.Pending) != 0 {
		t.Errorf("pending = %v", st.Pending)
	}
}

func TestTextsAreCleaned(t *testing.T) {
	t.Parallel()
	o, token := newOutbox(t), "ghp_"+strings.Repeat("a1B2", 9)
	u := of("a", 1, false)
	u.Title = "one\ntwo \x1b[31mred\x1b[0m " + token
	u.Body = "password=" + token + "\n" + strings.Repeat("ä", 16<<10) + "\xff"
	u.Percent = 400
	put(t, o, issue(), u)
	got := status(t, o).Pending[0].Update
	data, err := os.ReadFile(o.entryPath(status(t, o).Pending[0].ID))
	if err != nil || bytes.Contains(data, []byte(token)) {
		t.Errorf("the token is in the file: %v", err)
	}
	if !strings.HasPrefix(got.Title, "one two red ") || len(got.Body) > maxBody || !utf8.ValidString(got.Body) || got.Percent != 100 {
		t.Errorf("title %q, %d bytes of body, %d %%", got.Title, len(got.Body), got.Percent)
	}
	put(t, o, issue(), u) // cleaned it is the same
	if n := len(status(t, o).Pending); n != 1 {
		t.Errorf("%d pending, want 1", n)
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	var said bytes.Buffer
	o.Max, o.Log = 5, slog.New(slog.NewTextHandler(&said, nil))
	put(t, o, issue(), of("f1", 1, true), of("n2", 2, false), of("n3", 3, false), of("f4", 4, true), of("n5", 5, false))
	put(t, o, issue(), of("f6", 6, true), of("n7", 7, false))
	st := status(t, o)
	if diff := cmp.Diff([]string{"f1:1!", "f4:4!", "n5:5", "f6:6!", "n7:7"}, bodies(st.Pending)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	if st.Dropped != 2 || strings.Count(said.String(), "full") != 2 {
		t.Errorf("%d counted, log %q", st.Dropped, said.String())
	}
	put(t, o, issue(), of("f8", 8, true), of("f9", 9, true), of("f10", 10, true))
	if diff := cmp.Diff([]string{"f4:4!", "f6:6!", "f8:8!", "f9:9!", "f10:10!"}, bodies(status(t, o).Pending)); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	p, o := newPlace(t), newOutbox(t)
	put(t, o, p.Target, of("a", 1, false), of("b", 2, false), of("c", 3, false))
	st := status(t, o)
	broken, strange := o.entryPath(st.Pending[0].ID), o.entryPath(st.Pending[1].ID)
	if err := os.WriteFile(broken, bytes.Repeat([]byte{0}, 200), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strange, []byte(`{"id": "../../x", "seq": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.takenPath(slotOf(p.Target, "c")), []byte(`{"seq": 9000000000000000000}`), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := o.Deliver(t.Context(), hooks, Options{})
	if err != nil || len(res.Sent) != 1 {
		t.Errorf("delivery: %+v, %v", res, err)
	}
	put(t, o, p.Target, of("a", 4, false))
	if res, err := o.Deliver(t.Context(), hooks, Options{}); err != nil || len(res.Sent) != 1 {
		t.Errorf("delivery of a later one: %+v, %v", res, err)
	}
	if st := status(t, o); st.Broken != 2 || len(st.Pending) != 0 {
		t.Errorf("%d broken, pending %v", st.Broken, bodies(st.Pending))
	}
}

func TestIDsOfNothing(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	for _, id := range []string{"", "../../etc/passwd", "0123456789ab-1", "0123456789ab-", "../../../abc-1", "0123456789ab-1/2"} {
		if err := errors.Join(o.Drop(id)); err == nil {
			t.Errorf("drop %q worked", id)
		}
		if err := o.Retry(id); err == nil {
			t.Errorf("retry %q worked", id)
		}
	}
}
