package completion

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"autopilot/sessions/task"
)

// newDesk is the desk of a project with an empty repository and its own Claude Code.
func newDesk(t testing.TB) Desk {
	t.Helper()
	top := t.TempDir()
	d := Desk{
		Folder: filepath.Join(top, "state", "completion"), Episodes: filepath.Join(top, "state", "episodes"),
		Place: task.Place{Repo: filepath.Join(top, "repo"), Config: filepath.Join(top, "claude")},
	}
	for _, dir := range []string{d.Place.Repo, filepath.Join(d.Place.Config, "sessions")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checklist makes the tasks of the project; see list.
func checklist(t testing.TB, d Desk, states string) {
	t.Helper()
	data, err := json.Marshal(list(states))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.Place.Repo, ".claude-flow", "data", "checklist.json"), string(data))
}

// living lets a session live that works in dir.
func living(t testing.TB, d Desk, id, dir string, pid int) {
	t.Helper()
	write(t, filepath.Join(d.Place.Config, "sessions", fmt.Sprint(pid)+".json"), fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":%q}`, pid, id, dir))
}

func (d Desk) with(session string) Desk {
	d.Session = session
	return d
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// stop is the end of a turn of a session, at a number of minutes after noon.
func stop(t testing.TB, d Desk, session string, minutes int) Decision {
	t.Helper()
	return must[Decision](t)(d.with(session).Stop(t.Context(), Turn{Now: at(minutes), BlockCap: 8}))
}

// events are the names of the events that were logged.
func events(t testing.TB, d Desk) []string {
	t.Helper()
	out := []string{}
	for _, e := range must[[]Event](t)(d.Log(0)) {
		out = append(out, e["event"].(string))
	}
	return out
}

func state(t testing.TB, d Desk, id string) State {
	t.Helper()
	s, _, err := d.load(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func later(n int) *int64 {
	ms := noon().Add(time.Duration(n) * time.Minute).UnixMilli()
	return &ms
}

// worked is an agent that takes so many tokens each turn.
func worked(tokens int64) func(int64, time.Time) Work {
	return func(int64, time.Time) Work { return Work{Tokens: tokens} }
}
