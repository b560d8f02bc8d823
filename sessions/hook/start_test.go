package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/sessions/completion"
)

func begun(session string) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":"/t","cwd":"/c","hook_event_name":"SessionStart","source":"startup"}`, session)
}

func TestStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, status string
		prepare      func(t *testing.T, d *completion.Desk)
		input        string
		want         string // part of the context; empty for no answer
	}{
		{"its own session again", "pending", nil, begun("s"), "Persistent completion is on for this session"},
		{"nothing remains", "done", nil, begun("s"), ""},
		{"another session, and the first has ended", "pending", nil, begun("other"), "A session that has ended was to complete these tasks"},
		{"another session, and the first lives", "pending", func(t *testing.T, d *completion.Desk) {
			put(t, filepath.Join(d.Place.Config, "sessions", "1.json"), fmt.Sprintf(`{"pid":%d,"sessionId":"s","cwd":%q}`, os.Getpid(), d.Place.Repo))
		}, begun("other"), ""},
		{"the next one is waited for", "pending", func(t *testing.T, d *completion.Desk) {
			d.Session = "s"
			if _, err := d.Disable(t.Context(), noon()); err != nil {
				t.Fatal(err)
			}
			d.Session = ""
			if _, err := d.Enable(t.Context(), noon()); err != nil {
				t.Fatal(err)
			}
		}, begun("other"), "the next session that stops here, which may be this one"},
		{"nobody enabled anything", "pending", func(t *testing.T, d *completion.Desk) {
			d.Session = "s"
			if _, err := d.Disable(t.Context(), noon()); err != nil {
				t.Fatal(err)
			}
		}, begun("other"), ""},
		{"another event", "pending", nil, ended("s", "", false), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := stopDesk(t, tt.status)
			if tt.prepare != nil {
				tt.prepare(t, &d)
			}
			var out bytes.Buffer
			if err := Start(strings.NewReader(tt.input), &out, always(d), noon()); err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if out.Len() > 0 {
					t.Errorf("it says %s", out.String())
				}
				return
			}
			var got startOutput
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			for _, want := range []string{"AUTOPILOT: 0/1 tasks complete (0%). ", tt.want, "\n- paint <it> & dry (pending)\n"} {
				if !strings.Contains(got.Specific.Context, want) {
					t.Errorf("%q lacks %q", got.Specific.Context, want)
				}
			}
			if got.Specific.Event != "SessionStart" {
				t.Errorf("event %q", got.Specific.Event)
			}
		})
	}
}

// TestStartFailsOpen says what is wrong and nothing to the session.
func TestStartFailsOpen(t *testing.T) {
	t.Parallel()
	broken := stopDesk(t, "pending")
	put(t, filepath.Join(broken.Folder, "s.json"), "{")
	for name, input := range map[string]string{"no JSON": "x", "no event": "{}", "a session that is a path": begun("../s"), "a broken state": begun("s")} {
		var out bytes.Buffer
		if err := Start(strings.NewReader(input), &out, always(broken), noon()); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, answer %q", name, err, out.String())
		}
	}
}

// TestStopInTheBackground has a server run in the background: the agent is sent on all
// the same.
func TestStopInTheBackground(t *testing.T) {
	t.Parallel()
	d := stopDesk(t, "pending")
	var out bytes.Buffer
	input := strings.Replace(ended("s", "", false), `"background_tasks":[]`, `"background_tasks":[{"id":"b1","type":"shell"}]`, 1)
	if err := Stop(strings.NewReader(input), &out, always(d), noon(), none); err != nil || out.Len() == 0 {
		t.Errorf("error %v, answer %q", err, out.String())
	}
}
