package gate_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/probe/proctree"
	"autopilot/sessions/reap"
	"autopilot/supervisor/gate"
)

const (
	partVar  = "GATE_TEST_PART"
	fileVar  = "GATE_TEST_FILE" // carried by everything a test starts, unless it clears its environment
	patience = 30 * time.Second
	long     = 10 * time.Minute
)

// TestMain lets copies of the test binary be supervisors that adopt orphans: in
// this process a sweep would hit other tests' children.
func TestMain(m *testing.M) {
	part, command, _ := strings.Cut(os.Getenv(partVar), " ")
	switch part {
	case "":
		// Most tests wait for a process, so more of them than there are processors may run.
		if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	case "supervise":
		os.Exit(supervise(command))
	}
	fmt.Fprintln(os.Stderr, "unknown part", part)
	os.Exit(99)
}

// supervise runs one command as a subreaper and prints the result.
func supervise(command string) int {
	if err := os.Unsetenv(partVar); err != nil {
		return 1
	}
	r := gate.Runner{Dir: ".", Environ: os.Environ(), Timeout: long, Sweeper: reap.NewSweeper()}
	results := r.Run(context.Background(), []gate.Check{{Kind: gate.Command, Command: command}})
	if kids, err := proctree.ChildrenOf(os.Getpid()); err != nil || len(kids) > 0 {
		fmt.Fprintln(os.Stderr, "children left:", kids, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(results[0]); err != nil {
		return 1
	}
	return 0
}

// place is a folder for checks, with a file into which commands write the ids of
// their processes.
type place struct {
	t    *testing.T
	pids string
	gate.Runner
}

func newPlace(t *testing.T) place {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	return place{t, file, gate.Runner{
		Dir: t.TempDir(), RunID: "run", Token: file, Timeout: long, Grace: patience,
		Environ: append(os.Environ(), "P="+file, fileVar+"="+file),
	}}
}

func (p place) run(command string) gate.Result {
	p.t.Helper()
	return p.Run(p.t.Context(), []gate.Check{{Kind: gate.Command, Command: command}})[0]
}

// nothingLeft looks at every process that wrote its id, and at those that carry
// the test's own variable. There must have been n of the former.
func (p place) nothingLeft(n int) {
	p.t.Helper()
	pids := p.written()
	if len(pids) != n {
		p.t.Errorf("%d processes wrote their id, want %d", len(pids), n)
	}
	for _, pid := range append(pids, reap.Marked(reap.Marker{Name: fileVar, Value: p.pids})...) {
		if !gone(pid) {
			p.t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func (p place) written() []int {
	p.t.Helper()
	data, err := os.ReadFile(p.pids)
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	var pids []int
	for line := range strings.Lines(string(data)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && strings.HasSuffix(line, "\n") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone reports whether a process has ended; whoever has to collect it may not have
// done so.
func gone(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	return err != nil || p.Dead()
}

func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not happen within %v", what, patience)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// self is a command that runs a copy of the test binary in a part.
func self(t *testing.T, part string, env ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), append(env, partVar+"="+part)...)
	cmd.Stderr = os.Stderr
	return cmd
}
