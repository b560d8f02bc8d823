package supervisor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
)

func TestRunID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 23, 5, 59, 0, time.FixedZone("west", -2*3600))
	for branch, want := range map[string]string{
		"main":             "main-2026-09-02-0105-autopilot",
		"":                 "unknown-2026-09-02-0105-autopilot",
		"feat/a b":         "feat-a-b-2026-09-02-0105-autopilot",
		"a//\\:*?b":        "a-b-2026-09-02-0105-autopilot",
		"v1.2_x-y":         "v1.2_x-y-2026-09-02-0105-autopilot",
		"ümlaut/ß":         "-mlaut--2026-09-02-0105-autopilot",
		"../../etc":        "..-..-etc-2026-09-02-0105-autopilot",
		"HEAD":             "HEAD-2026-09-02-0105-autopilot",
		"--x":              "--x-2026-09-02-0105-autopilot",
		"new\nline\x00nul": "new-line-nul-2026-09-02-0105-autopilot",
	} {
		if got := RunID(branch, at); got != want {
			t.Errorf("%q: got %s, want %s", branch, got, want)
		}
	}
}

func project(t *testing.T) statedir.Project {
	t.Helper()
	dir := t.TempDir()
	p, err := statedir.OpenProject(filepath.Join(dir, "state"), filepath.Join(dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRegister(t *testing.T) {
	t.Parallel()
	p := project(t)
	if ids, err := OpenRuns(p); err != nil || ids != nil {
		t.Errorf("open runs before the first: %v, %v", ids, err)
	}
	if id, err := LastRun(p); err != nil || id != "" {
		t.Errorf("last run before the first: %q, %v", id, err)
	}
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	want := []string{"main-2026-09-01-1200-autopilot", "main-2026-09-01-1200-autopilot-2", "main-2026-09-01-1200-autopilot-3", "main-2026-09-01-1201-autopilot"}
	var got []string
	for _, d := range []time.Duration{0, time.Second, 59 * time.Second, time.Minute} {
		id, folder, err := Register(p, "main", at.Add(d))
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(folder); err != nil || fi.Mode() != os.ModeDir|0o700 || folder != p.RunDir(id) {
			t.Errorf("folder %s: %v, %v", folder, fi, err)
		}
		if last, err := LastRun(p); err != nil || last != id {
			t.Errorf("last run %s, %v; want %s", last, err, id)
		}
		got = append(got, id)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	open, err := OpenRuns(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("open runs (-want +got):\n%s", diff)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	p := project(t)
	id, folder, err := Register(p, "main", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := Close(p, id); err == nil {
		t.Error("a run without a state was closed")
	}
	for _, finished := range []bool{false, true, true} {
		saveState(t, folder, State{Version: StateVersion, Finished: finished})
		if err := Close(p, id); err != nil {
			t.Fatal(err)
		}
		open, err := OpenRuns(p)
		if err != nil || (len(open) == 0) != finished {
			t.Errorf("finished %v: open runs %v, %v", finished, open, err)
		}
	}
}

func TestStopRequested(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if got := StopRequested(folder); got != "" {
		t.Errorf("got %q before anybody asked", got)
	}
	if err := RequestStop(folder, "pid 7", time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, want := StopRequested(folder), "stop was requested by pid 7"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(folder, stopName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := StopRequested(folder); got == "" {
		t.Error("a request that cannot be read is no request: somebody wanted the run to stop")
	}
}

func TestLoadState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for text, ok := range map[string]bool{`{"version":1}`: true, `{"version":2}`: false, `{}`: false, `{`: false, ``: false, `[]`: false} {
		if err := os.WriteFile(filepath.Join(dir, stateName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadState(dir); (err == nil) != ok {
			t.Errorf("%s: got %v, want it read: %v", text, err, ok)
		}
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	s := NewState(newWorld(t).opts, time.Now(), "green")
	if !s.Alive() {
		t.Error("we are not alive")
	}
	finished, other, nobody := s, s, s
	finished.Finished = true
	other.Start++
	nobody.PID = 1 << 30
	for what, s := range map[string]State{"a finished run": finished, "another process with its id": other, "nobody": nobody} {
		if s.Alive() {
			t.Errorf("%s is alive", what)
		}
	}
}

// TestLastWritten: a run that died before it wrote anything is nothing to go on with.
func TestLastWritten(t *testing.T) {
	t.Parallel()
	p, err := statedir.OpenProject(t.TempDir(), "/srv/repo")
	if err != nil {
		t.Fatal(err)
	}
	first, folder, err := Register(p, "main", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := LastWritten(p); got != first || err != nil {
		t.Errorf("the only run: %q, %v", got, err)
	}
	if err := (&State{Version: StateVersion}).Save(folder); err != nil {
		t.Fatal(err)
	}
	for range 2 { // both die at once
		if _, _, err := Register(p, "main", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := LastWritten(p); got != first || err != nil {
		t.Errorf("after runs that wrote nothing: %q, %v; want %q", got, err, first)
	}
}
