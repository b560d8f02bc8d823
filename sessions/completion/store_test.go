package completion

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckSession(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "0b5c1f6e-9d2a-4c3b-8e7f-1a2b3c4d5e6f", "A_b.c-1", "projects", strings.Repeat("x", 128)} {
		if err := CheckSession(id); err != nil {
			t.Errorf("%q is refused: %v", id, err)
		}
	}
	for _, id := range []string{
		"", ".", "..", ".x", "a/b", "../a", "a\\b", "a b", "a\x00", "ä", "a\n", "project", "PROJECT", "desk", "Report", strings.Repeat("x", 129),
	} {
		err := CheckSession(id)
		if err == nil {
			t.Errorf("%q is accepted", id)
		}
		for name, call := range map[string]func(d Desk) error{
			"stop":    func(d Desk) error { _, err := d.Stop(t.Context(), Turn{Now: noon()}); return err },
			"enable":  func(d Desk) error { _, err := d.Enable(t.Context(), noon()); return err },
			"disable": func(d Desk) error { _, err := d.Disable(t.Context(), noon()); return err },
			"status":  func(d Desk) error { _, err := d.Status(t.Context(), noon()); return err },
			"post":    func(d Desk) error { return Post(d.Folder, d, true) },
		} {
			d := newDesk(t).with(id)
			if err := call(d); err == nil && id != "" {
				t.Errorf("%s of %q: no error", name, id)
			}
			if _, err := os.Stat(d.Folder); !errors.Is(err, fs.ErrNotExist) && id != "" {
				t.Errorf("%s of %q left something behind: %v", name, id, err)
			}
		}
	}
}

func TestStateIsReadBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	stop(t, d, "s", 1)
	want := running(nil)
	want.LastCheck, want.Iterations, want.Blocks, want.Learned = later(1), 1, 1, []string{}
	want.History = []Point{{TS: at(1).UnixMilli(), Iteration: 1, Total: 1}}
	if diff := cmp.Diff(want, state(t, d, "s")); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	for name, mode := range map[string]fs.FileMode{d.Folder: 0o700, d.path("s"): 0o600, filepath.Join(d.Folder, usualLog): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, mode)
		}
	}
	var keys map[string]any
	data, err := os.ReadFile(d.path("s"))
	if err != nil || json.Unmarshal(data, &keys) != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"sessionId", "enabled", "startTime", "iterations", "maxIterations", "timeoutMinutes", "taskSources", "lastCheck", "history"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("the state has no %s: %s", k, data)
		}
	}
}

// TestHostileStates are refused by commands with the name of the file, and never
// hold an agent.
func TestHostileStates(t *testing.T) {
	t.Parallel()
	good, err := json.Marshal(running(nil))
	if err != nil {
		t.Fatal(err)
	}
	with := func(from, to string) string {
		if !strings.Contains(string(good), from) {
			t.Fatalf("%s is not in %s", from, good)
		}
		return strings.Replace(string(good), from, to, 1)
	}
	for name, text := range map[string]string{
		"empty": "", "cut": string(good[:len(good)/2]), "null bytes": "\x00\x00\x00", "an array": "[]", "another session": with(`"s"`, `"t"`),
		"no limit": with(`"maxIterations":50`, `"maxIterations":0`), "too many": with(`"maxIterations":50`, `"maxIterations":1001`),
		"negative": with(`"maxIterations":50`, `"maxIterations":-1`), "a fraction": with(`"iterations":0`, `"iterations":0.5`),
		"counted back": with(`"iterations":0`, `"iterations":-9`), "no time": with(`"timeoutMinutes":240`, `"timeoutMinutes":100000000`),
		"time overflows": with(`"startTime":1788264000000`, `"startTime":-9223372036854775808`), "check overflows": with(`"lastCheck":null`, `"lastCheck":9223372036854775807`),
		"tokens overflow": with(`"tokens":0`, `"tokens":9223372036854775807`), "offset": with(`"transcriptOffset":0`, `"transcriptOffset":-1`),
		"progress ahead": with(`"progressed":0`, `"progressed":1`), "no source": with(`"taskSources":["team-tasks","swarm-tasks","file-checklist"]`, `"taskSources":null`),
		"odd source": with(`"team-tasks"`, `"/etc"`), "odd criteria": with(AllDone, "never"), "huge": string(good) + strings.Repeat(" ", stateLimit), "trailing": string(good) + "x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t).with("s")
			checklist(t, d, "p")
			write(t, d.path("s"), text)
			if dec, err := d.Stop(t.Context(), Turn{Now: at(1)}); err == nil || !dec.AllowStop || !strings.Contains(err.Error(), d.path("s")) {
				t.Errorf("stop: %+v, %v", dec, err)
			}
			for command, call := range map[string]func() error{
				"status": func() error { _, err := d.Status(t.Context(), at(1)); return err },
				"check":  func() error { _, err := d.Check(t.Context(), at(1)); return err },
				"enable": func() error { _, err := d.Enable(t.Context(), at(1)); return err },
				"reset":  func() error { _, err := d.Reset(t.Context(), at(1)); return err },
			} {
				if err := call(); err == nil || !strings.Contains(err.Error(), d.path("s")) {
					t.Errorf("%s: %v, want an error that names the file", command, err)
				}
			}
			// It stands in the way of no other session, and is named.
			st := must[Status](t)(d.with("").Status(t.Context(), at(1)))
			if len(st.Broken) != 1 || st.Broken[0].Path != d.path("s") {
				t.Errorf("the status of the project names %v", st.Broken)
			}
			if data, err := os.ReadFile(d.path("s")); err != nil || string(data) != text {
				t.Errorf("the broken file was changed: %v", err)
			}
		})
	}
	// The one that all were made from holds.
	d := newDesk(t).with("s")
	checklist(t, d, "p")
	write(t, d.path("s"), string(good))
	if dec := stop(t, d, "s", 1); dec.AllowStop {
		t.Errorf("the good state: %+v", dec)
	}
}

func TestStateThatIsNoFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":   func(p string) error { return syscall.Mkfifo(p, 0o600) },
	} {
		d := newDesk(t).with("s")
		if err := errors.Join(os.MkdirAll(d.Folder, 0o700), make(d.path("s"))); err != nil {
			t.Fatal(err)
		}
		if dec, err := d.Stop(t.Context(), Turn{Now: at(1)}); err == nil || !dec.AllowStop {
			t.Errorf("%s: %+v, %v", name, dec, err)
		}
	}
}

// TestNoRefusalUncounted lets the state be unwritable: a refusal that is not counted
// might have no end.
func TestNoRefusalUncounted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	if err := os.Mkdir(d.path("s")+".tmp", 0o700); err != nil { // also root cannot write here
		t.Fatal(err)
	}
	if dec, err := d.with("s").Stop(t.Context(), Turn{Now: at(1)}); err == nil || !dec.AllowStop {
		t.Errorf("%+v, %v", dec, err)
	}
}

// TestManyProcesses counts from processes that start at the same time.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv("COMPLETION_DESK"); folder != "" {
		d, err := OpenDesk(folder)
		if err != nil {
			t.Fatal(err)
		}
		if dec, err := d.Stop(t.Context(), Turn{Now: at(1)}); err != nil || dec.AllowStop {
			t.Fatalf("%+v, %v", dec, err)
		}
		return
	}
	d := newDesk(t).with("s")
	checklist(t, d, "p")
	if err := Post(d.Folder, d, true); err != nil {
		t.Fatal(err)
	}
	err := d.change("s", func(s *State, _ bool) (bool, error) { s.fresh(noon()); return true, nil })
	if err != nil {
		t.Fatal(err)
	}
	const processes = 8
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyProcesses$")
			cmd.Env = append(os.Environ(), "COMPLETION_DESK="+d.Folder)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if s := state(t, d, "s"); s.Iterations != processes || len(s.History) != processes {
		t.Errorf("%d iterations were counted, want %d", s.Iterations, processes)
	}
	if got := events(t, d); len(got) != processes+2 { // enabled, and the warning
		t.Errorf("%d events were logged, want %d: %q", len(got), processes+2, got)
	}
}

func FuzzState(f *testing.F) {
	good, err := json.Marshal(running(func(s *State) { s.History = []Point{{Iteration: 1}} }))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{string(good), "", "{}", "null", `{"sessionId":"s","enabled":true}`, `{"sessionId":"s","enabled":true,"maxIterations":5}`} {
		f.Add([]byte(s))
	}
	d := newDesk(f)
	checklist(f, d, "p")
	f.Fuzz(func(t *testing.T, data []byte) {
		write(t, d.path("s"), string(data))
		held := 0
		for held <= MostIterations {
			dec, err := d.with("s").Stop(t.Context(), Turn{Now: at(1)})
			if err != nil && !dec.AllowStop {
				t.Fatalf("held beside %v", err)
			}
			if dec.AllowStop {
				break
			}
			held++
		}
		if held > StallLimit {
			t.Fatalf("held %d times", held)
		}
	})
}
