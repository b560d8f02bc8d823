package keep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/supervisor"
)

const helperVar = "KEEP_TEST_HELPER"

// TestMain lets the test binary play other processes.
func TestMain(m *testing.M) {
	name := os.Getenv(helperVar)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := helper(name, os.Args[1:]); err != nil {
		fmt.Println("BAD", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fixture is a state root with a project, whose work tree is a folder with a lock.
type fixture struct {
	root, tree string
	project    statedir.Project
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{root: filepath.Join(base, "state", "autopilot"), tree: filepath.Join(base, "work", "app")}
	f.project = f.open(t, f.tree)
	return f
}

// open makes a work tree and its project.
func (f fixture) open(t testing.TB, tree string) statedir.Project {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(tree, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := statedir.OpenProject(f.root, tree)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f fixture) options(p Policy) Options {
	return Options{Root: f.root, Policy: p, Lock: lockIn}
}

func lockIn(_ context.Context, tree string) (string, error) {
	if !exists(tree) {
		return "", nil
	}
	return filepath.Join(tree, ".git", statedir.RunLock), nil
}

// state is that of a run that is done, of so many days ago.
func state(id string, days float64, change ...func(*supervisor.State)) supervisor.State {
	s := supervisor.State{Version: supervisor.StateVersion, Finished: true, PID: 1 << 22, Start: 7, UpdatedAt: ago(days), Record: ledger.Run{
		AutopilotRunID: id, StartedAt: ledger.Stamp(ago(days)), CompletedAt: ledger.Stamp(ago(days)), Sessions: []string{}, Endings: []ledger.Ending{}, Caps: []ledger.Cap{},
		Termination: &ledger.Termination{Status: ledger.Completed, Deliverables: []ledger.Deliverable{}},
	}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func resumable(s *supervisor.State) {
	s.Record.Termination.Status, s.Record.Termination.Resumable = ledger.Stopped, true
}

func alive(s *supervisor.State) {
	s.Finished, s.PID = false, os.Getpid()
	s.Start, _ = proctree.StartOf(os.Getpid())
}

// run writes the folder of a run as this program leaves it.
func (f fixture) run(t testing.TB, p statedir.Project, s supervisor.State) string {
	t.Helper()
	folder := p.RunDir(s.Record.AutopilotRunID)
	put(t, folder, map[string]string{
		"activity.jsonl": "{\"msg\":\"run started\"}\n", "setup.json": "{\"version\":1}\n", "reflections.jsonl": "{}\n", "machine.jsonl": "{}\n",
		"sessions/5f3a/stderr.log": strings.Repeat("a message of the session\n", 1000), "sessions/5f3a/result.json": "{}\n", "sessions/5f3a/cap.json": "{}", "sessions/5f3a/cap.json.lock": "",
		"sessions/5f3a/desk/desk.json": "{}", "sessions/5f3a/answer.txt": strings.Repeat("an answer ", 2000),
	})
	data, err := json.Marshal(s) // not durably: there are many
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, map[string]string{"state.json": string(data)})
	return folder
}

func put(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// current says which run is the last one.
func (f fixture) current(t testing.TB, p statedir.Project, id string) {
	t.Helper()
	if err := statedir.ReplaceJSON(filepath.Join(p.Dir, "current-run.json"), map[string]string{"run_id": id}); err != nil {
		t.Fatal(err)
	}
}

// plan looks and decides.
func (f fixture) plan(t testing.TB, p Policy) []Item {
	t.Helper()
	projects, problems := Look(t.Context(), f.root, noon())
	if len(problems) > 0 {
		t.Fatal(errors.Join(problems...))
	}
	return Decide(projects, p, noon())
}

func (f fixture) apply(t testing.TB, p Policy) []Done {
	t.Helper()
	done, err := Apply(t.Context(), f.options(p), f.plan(t, p), noon())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// files are all files below a folder with their contents; a symlink is what it leads to.
func files(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			all[rel], err = os.Readlink(name)
			return err
		}
		data, err := os.ReadFile(name)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unpackedFiles is files with what was compressed as it was before.
func unpackedFiles(t testing.TB, folder string) map[string]string {
	t.Helper()
	all := files(t, folder)
	for name := range all {
		plain := Unpacked(name)
		if plain == name || strings.HasPrefix(filepath.Base(name), goneMark) {
			continue
		}
		delete(all, name)
		all[plain] = readAll(t, filepath.Join(folder, plain))
	}
	return all
}

func readAll(t testing.TB, name string) string {
	t.Helper()
	r, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func startHelper(t testing.TB, name string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperVar+"="+name)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
}

func (p *process) line(t testing.TB) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from helper: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

// later is when a gc looks for which the runs of this moment are old.
func later() time.Time { return time.Now().Add(3 * time.Hour) }

// greedy keeps nothing that need not be kept.
func greedy() Policy { return Policy{} }

// helper plays 'gc ROOT', which clears away again and again, 'pack FOLDER', which compresses
// its files, and 'runs ROOT TREE', which begins and ends one run after the other until its
// stdin ends.
func helper(name string, args []string) error {
	switch name {
	case "gc":
		fmt.Println("begin")
		for {
			if err := clearOnce(args[0]); err != nil {
				return err
			}
		}
	case "pack":
		fmt.Println("begin")
		entries, err := os.ReadDir(args[0])
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), packed) {
				_, cerr := compress(args[0], e.Name())
				err = errors.Join(err, cerr)
			}
		}
		fmt.Println("end")
		return err
	case "runs":
		p, err := statedir.OpenProject(args[0], args[1])
		if err != nil {
			return err
		}
		return manyRuns(p)
	}
	return fmt.Errorf("no helper %s", name)
}

func clearOnce(root string) error {
	now := later()
	projects, problems := Look(context.Background(), root, now)
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	done, err := Apply(context.Background(), Options{Root: root, Policy: greedy(), Lock: lockIn}, worth(Decide(projects, greedy(), now)), now)
	for _, d := range done {
		err = errors.Join(err, d.Err)
	}
	return err
}

// worth leaves out temporary files: at the time that the test pretends they are old.
func worth(items []Item) (out []Item) {
	for _, it := range items {
		if it.Kind != KindTemp {
			out = append(out, it)
		}
	}
	return out
}

func manyRuns(p statedir.Project) error {
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	for n := 0; ; n++ {
		select {
		case <-over:
			fmt.Println("runs", n)
			return nil
		default:
		}
		if err := oneRun(p); err != nil {
			return fmt.Errorf("run %d: %w", n, err)
		}
	}
}

// oneRun is a run as far as its folder goes. Nothing of it may be lost while it is on.
func oneRun(p statedir.Project) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	lock, err := statedir.Acquire(ctx, filepath.Join(p.Path, ".git", statedir.RunLock), statedir.Holder{})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	id, folder, err := supervisor.Register(p, "main", time.Now())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "setup.json"), []byte("{}"), 0o600); err != nil {
		return err
	}
	s := state(id, 0, alive)
	s.UpdatedAt = time.Now()
	for n := range 3 {
		s.Iteration = n
		if err := statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s); err != nil {
			return err
		}
		session := filepath.Join(folder, "sessions", fmt.Sprint(n))
		if err := os.MkdirAll(session, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(session, "stderr.log"), bytes.Repeat([]byte("message\n"), 4000), 0o600); err != nil {
			return err
		}
	}
	for n := range 3 {
		data, err := os.ReadFile(filepath.Join(folder, "sessions", fmt.Sprint(n), "stderr.log"))
		if err != nil || len(data) != 8*4000 {
			return fmt.Errorf("%d bytes are left of session %d: %w", len(data), n, err)
		}
	}
	if back, err := supervisor.LoadState(folder); err != nil || back.Iteration != 2 {
		return fmt.Errorf("state: %w", err)
	}
	s.Finished = true
	if err := statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s); err != nil {
		return err
	}
	return supervisor.Close(p, id)
}
