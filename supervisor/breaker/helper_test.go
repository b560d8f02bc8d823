package breaker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const helperEnv = "BREAKER_TEST_HELPER"

// TestMain lets the test binary play another process, which waits for a line and then
// makes one call that lasts until its input ends.
func TestMain(m *testing.M) {
	if path := os.Getenv(helperEnv); path != "" {
		if err := helper(path, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(path, at string) error {
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	err = Set{Path: path}.Do(context.Background(), "github", now, func(context.Context) error {
		fmt.Println("called")
		_, err := io.Copy(io.Discard, in)
		return err
	})
	if _, ok := errors.AsType[*OpenError](err); ok {
		fmt.Println("refused")
		return nil
	}
	fmt.Println("done")
	return err
}

type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, path string, now time.Time) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], now.Format(time.RFC3339))
	cmd.Env = append(os.Environ(), helperEnv+"="+path)
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
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *process) send(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from helper: %v", err)
	}
	return strings.TrimSpace(s)
}
