package nightly

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// world is a home with a work tree and a schedule for it.
type world struct {
	*testing.T
	dir   string
	entry schedule.Entry
	plan  plan
	env   []string // of the process, beside the entry's
}

// newWorld has a schedule whose time came a minute ago and whose window is open for long.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: dir}
	tree := filepath.Join(dir, "app")
	cmd := exec.Command("git", "init", "-q", tree)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	now := time.Now().UTC()
	w.plan = plan{Root: filepath.Join(dir, "state"), Name: "nightly", Again: 20 * time.Millisecond}
	w.entry = schedule.Entry{
		Version: schedule.Version, Name: "nightly", Backend: schedule.Cron, Overlap: schedule.Skip, Dir: tree, Program: "/usr/bin/autopilot", Args: []string{"run", "a goal", "--max-sessions", "2"},
		Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, Logs: filepath.Join(dir, "logs"), CreatedAt: now.Add(-10 * time.Minute),
		Spec: w.spec(now.Add(-time.Minute), now.Add(5*time.Hour)),
	}
	return w
}

// spec begins daily at a time and is over at another; the zero time is for no end.
func (w *world) spec(at, until time.Time) schedule.Spec {
	w.Helper()
	r := schedule.Request{At: []string{at.Format("15:04")}, Zone: "UTC"}
	if !until.IsZero() {
		r.Until = until.Format("15:04")
	}
	s, err := schedule.Parse(r, "UTC")
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// start writes down the schedule and starts the process that its unit would start.
func (w *world) start(calls ...call) *exec.Cmd {
	w.Helper()
	w.plan.Calls = calls
	for path, v := range map[string]any{host.EntryFile(w.plan.Root, w.entry.Name): w.entry, filepath.Join(w.dir, "plan"): w.plan} {
		if err := statedir.MakeDir(filepath.Dir(path)); err != nil {
			w.Fatal(err)
		}
		if err := statedir.ReplaceJSON(path, v); err != nil {
			w.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append([]string{planVar + "=" + filepath.Join(w.dir, "plan"), "GORACE=atexit_sleep_ms=0", "PATH=/nowhere", "MAILTO=root"}, w.env...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdin = strings.NewReader("what a person types\n")
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	return cmd
}

// run is start and waits for the end.
func (w *world) run(calls ...call) (code int) {
	w.Helper()
	return w.end(w.start(calls...))
}

func (w *world) end(cmd *exec.Cmd) int {
	w.Helper()
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		w.Fatal(err)
	} else if ok && exit.ExitCode() > 90 && exit.ExitCode() < 128 {
		w.Fatalf("%v: %v", err, cmd.Stderr)
	}
	return cmd.ProcessState.ExitCode()
}

func (w *world) history() []Firing {
	w.Helper()
	all, err := LoadHistory(w.plan.Root, w.entry.Name)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// wantHistory compares the states and reasons of the history.
func (w *world) wantHistory(want ...Firing) {
	w.Helper()
	got := w.history()
	ignore := cmpopts.IgnoreFields(Firing{}, "At", "Begun", "Nominal", "Until", "RunID")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		w.Errorf("history: -want +got\n%s", diff)
	}
}

// saw is what the process did, in order.
func (w *world) saw() []seen {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "plan.seen"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	var all []seen
	for line := range bytes.Lines(data) {
		var s seen
		if err := json.Unmarshal(line, &s); err != nil {
			w.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func (w *world) log() string {
	w.Helper()
	data, err := os.ReadFile(LogFile(w.entry.Logs, w.entry.Name))
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// wantNotice wants one notice as the last thing that was done.
func (w *world) wantNotice(title, text string) {
	w.Helper()
	all := w.saw()
	if len(all) == 0 || all[len(all)-1].Notice == nil {
		w.Fatalf("nobody was told; log:\n%s", w.log())
	}
	n := all[len(all)-1].Notice
	if n.Kind != "not-started" || n.Schedule != w.entry.Name || !strings.Contains(n.Title, title) || !strings.Contains(n.Text, text) || n.Command != "autopilot schedule doctor nightly" || n.Repo != w.entry.Dir {
		w.Errorf("notice %+v, want %q and %q", n, title, text)
	}
}

func (w *world) wantNoNotice() {
	w.Helper()
	for _, s := range w.saw() {
		if s.Notice != nil {
			w.Errorf("a person was told: %+v", s.Notice)
		}
	}
}

func (w *world) await(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("did not come about: %s", what)
		}
	}
}

func code(n int) *int { return &n }
