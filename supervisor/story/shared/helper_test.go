package shared

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/probe/proctree"
)

const helperEnv = "SHARED_TEST_HELPER"

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	name := os.Getenv(helperEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := runHelper(name, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runHelper(name, folder string) error {
	switch name {
	case "write": // writes for ever, and says so after each round
		for n := 1; ; n++ {
			if err := SaveAllotment(folder, numbered(n)); err != nil {
				return err
			}
			if err := SaveSpend(folder, Spend{Tokens: int64(n), Sessions: n, UpdatedAt: noon()}); err != nil {
				return err
			}
			fmt.Println(n)
		}
	case "live": // lives until its input ends
		fmt.Println("alive")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	return runSystemHelper(name, folder)
}

// numbered is an allotment of which a part would be noticed.
func numbered(n int) Allotment {
	return Allotment{At: noon(), Cap: n, Hold: true, HoldWhy: strings.Repeat("x", n%9000)}
}

type process struct {
	Process
	cmd  *exec.Cmd
	out  *bufio.Reader
	in   io.Closer
	wait func() // until it has ended; may be called again
}

func start(t *testing.T, name, folder string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], folder)
	cmd.Env = append(os.Environ(), helperEnv+"="+name)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, out: bufio.NewReader(out), in: in, wait: sync.OnceFunc(func() { _ = cmd.Wait() })}
	t.Cleanup(p.kill)
	p.PID = cmd.Process.Pid
	p.Start, _ = proctree.StartOf(p.PID)
	return p
}

func (p *process) line(t *testing.T) {
	t.Helper()
	if _, err := p.out.ReadString('\n'); err != nil {
		t.Fatalf("read from helper: %v", err)
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wait()
}

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func someTask(folder string) Task {
	return Task{
		Version: Version, Cohort: "main-2026-11-22-1200", Story: "login", Folder: folder, Coordinator: Process{PID: 4711, Start: 1<<63 + 1},
		Main: "/srv/shop", Worktree: "/srv/trees/login", Branch: "autopilot/login", Isolation: "worktree", Metrics: "/srv/shop/.orchestrator/metrics",
		IssueBlockedBy: 12, Lane: []string{"api/**", "docs/*.md"}, MaxHours: 4.5, Deadline: noon().Add(4*time.Hour + 30*time.Minute),
		MaxTokens: 1 << 53, MaxCostUSD: 12.34,
	}
}

// story makes the folder of a story, with a task in it.
func folderOf(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "cohort", "login")
	if err := SaveTask(folder, someTask(folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func open(t testing.TB, folder string) *View {
	t.Helper()
	v, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func allot(t testing.TB, folder string, a Allotment) {
	t.Helper()
	if err := SaveAllotment(folder, a); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
