package proctest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// chainVar tells a copy of the test binary what to start next; present but
// empty of steps, it tells it to wait.
const chainVar = "PROCTEST_CHAIN"

// Step is one process of a chain, the child of the step before it.
type Step struct {
	// Path is the executable, from [Named]; the base name is what the process is called.
	Path string
	// Args follow the executable on the command line.
	Args []string
	// Env is added to the environment of this and all later steps.
	Env []string
	// Setsid puts the process into a session of its own.
	Setsid bool
	// Leave makes the process exit once it has started the next one.
	Leave bool
}

// Chain is a row of running processes.
type Chain struct {
	// PIDs are in the order of the steps.
	PIDs []int

	cmd   *exec.Cmd
	stdin io.Closer
}

// Main is what a TestMain calls: it plays the part of a step in a process that
// [Start] made, and otherwise runs the tests. It does not return.
func Main(m *testing.M) {
	plan, ok := os.LookupEnv(chainVar)
	if !ok {
		os.Exit(m.Run())
	}
	if err := play(plan); err != nil {
		fmt.Fprintln(os.Stderr, "proctest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Named puts the test binary under another name into a folder of the test's,
// so that a process started from it is called name.
func Named(tb testing.TB, name string) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), name)
	if os.Link(self, path) == nil {
		return path
	}
	data, err := os.ReadFile(self)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o700); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Start starts the chain and returns once every process of it runs under its
// own name. It is ended with the test.
func Start(tb testing.TB, steps ...Step) *Chain {
	tb.Helper()
	cmd, err := command(steps)
	if err != nil {
		tb.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	c := &Chain{cmd: cmd, stdin: stdin}
	tb.Cleanup(func() {
		c.End()
		// Grandchildren hold the other end of stdout: its end is theirs.
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for len(c.PIDs) < len(steps) && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			tb.Fatalf("step %d: %v", len(c.PIDs), err)
		}
		c.PIDs = append(c.PIDs, pid)
	}
	if len(c.PIDs) < len(steps) {
		tb.Fatalf("%d of %d steps started", len(c.PIDs), len(steps))
	}
	return c
}

// End makes every process of the chain exit. The first one stays a zombie
// until the test is over.
func (c *Chain) End() {
	_ = c.stdin.Close()
}

func play(plan string) error {
	var steps []Step
	if err := json.Unmarshal([]byte(plan), &steps); err != nil {
		return err
	}
	if len(steps) == 0 {
		return fmt.Errorf("chain has no step")
	}
	if _, err := fmt.Println(os.Getpid()); err != nil {
		return err
	}
	if len(steps) > 1 {
		cmd, err := command(steps[1:])
		if err != nil {
			return err
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		if steps[0].Leave {
			return nil
		}
		defer func() { _ = cmd.Wait() }()
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// command starts the first of the steps and hands it all of them.
func command(steps []Step) (*exec.Cmd, error) {
	plan, err := json.Marshal(steps)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(steps[0].Path, steps[0].Args...)
	// Under the race detector a process would linger for a second at its exit.
	cmd.Env = []string{chainVar + "=" + string(plan), "GORACE=atexit_sleep_ms=0"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, chainVar+"=") && !strings.HasPrefix(entry, "GORACE=") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, steps[0].Env...)
	if steps[0].Setsid {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	return cmd, nil
}
