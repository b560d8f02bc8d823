package notice

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMessage(t *testing.T) {
	t.Parallel()
	n := Notice{
		Kind: NeedsPerson, At: begin, Repo: "/srv/shop", RunID: "main-1", Title: "a question", Text: "which\nway?", Command: "autopilot answer main-1 TEXT",
	}
	for name, tc := range map[string]struct {
		held Held
		now  time.Time
		want Message
	}{
		"full": {Held{Notice: n}, begin, Message{"autopilot (shop): a question", "which\nway?\n\nNext: autopilot answer main-1 TEXT\n\nneeds-person · run main-1 · /srv/shop"}},
		"late": {Held{Notice: Notice{Kind: Finished, At: begin, Title: "done"}}, begin.Add(11 * time.Minute), Message{"autopilot: done", "finished · of " + begin.Local().Format("2 January 15:04")}},
		"bare": {Held{Notice: Notice{Kind: NotStarted, Schedule: "night"}}, begin, Message{"autopilot: not-started", "not-started · schedule night"}},
		"more": {
			Held{Notice: Notice{Kind: LimitHit, Title: "waits"}, More: 7, Also: []string{"one", "two"}},
			begin,
			Message{"autopilot: waits", "7 more of this kind:\n- one\n- two\n- and 5 before them\n\nlimit-reached"},
		},
		"one more": {Held{Notice: Notice{Kind: LimitHit, Title: "waits"}, More: 1}, begin, Message{"autopilot: waits", "1 more of this kind\n\nlimit-reached"}},
	} {
		if diff := cmp.Diff(tc.want, tc.held.Message(tc.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab \n\r\t\x00\x1b[31m\u202e\u2066€=token\"sk-"))).Draw(t, "text") + rapid.String().Draw(t, "more")
		n := Notice{Kind: Kind(s), Title: s, Text: s, Command: s, Repo: s, RunID: s, Schedule: s, Key: s, At: begin}.Clean()
		for _, x := range []string{string(n.Kind), n.Title, n.Text, n.Command, n.Repo, n.RunID, n.Schedule, n.Key} {
			if !utf8.ValidString(x) || strings.ContainsFunc(x, func(c rune) bool { return c != '\n' && c != '\t' && unicode.IsControl(c) || c == 0x202e || c == 0x2066 }) {
				t.Fatalf("not clean: %q", x)
			}
		}
		if strings.ContainsAny(n.Title+n.Command+n.Repo+n.Key, "\n\t") {
			t.Fatalf("more than a line: %+v", n)
		}
		if diff := cmp.Diff(n, n.Clean()); diff != "" {
			t.Fatalf("cleaned twice:\n%s", diff)
		}
	})
	n := Notice{Title: strings.Repeat("x", 1<<20), Text: "my password=hunter2hunter2 " + strings.Repeat("y\n", 1<<19)}.Clean()
	if utf8.RuneCountInString(n.Title) > maxTitle || utf8.RuneCountInString(n.Text) > maxText || strings.Contains(n.Text, "hunter2") {
		t.Errorf("%d and %d runes", len(n.Title), len(n.Text))
	}
	m := Held{Notice: Notice{Kind: Finished, Title: "x\nBcc: y", Text: "sk-ant-api03-abcdefgh12345678"}, More: 1, Also: []string{"a\nb\x1b[1m"}}.Message(begin)
	if strings.Contains(m.Title, "\n") || strings.Contains(m.Body, "abcdefgh") || !strings.Contains(m.Body, "- a b\n") {
		t.Errorf("message %q", m)
	}
}
