package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// child is a server in a process of its own.
func child(ctx context.Context, t testing.TB) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

func TestProcess(t *testing.T) {
	t.Parallel()
	cmd := child(t.Context(), t)
	c := client(t, &mcp.CommandTransport{Command: cmd})
	if n := len(toolsOf(t, c)); n != 11 {
		t.Errorf("%d tools, want 11", n)
	}
	if res := call(t, c, "autopilot_status", nil); res.IsError || !strings.HasPrefix(text(t, res), "Persistent completion is on") {
		t.Errorf("status: %+v", res)
	}
	if res := call(t, c, "autopilot_report", map[string]any{"summary": strings.Repeat("x", 1<<20)}); !res.IsError {
		t.Error("a summary of a megabyte was taken")
	}
	if res := call(t, c, "autopilot_status", map[string]any{"json": true}); res.IsError {
		t.Errorf("status after that: %+v", res)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// pipes starts a child and returns its ends.
func pipes(t testing.TB, cmd *exec.Cmd) (io.WriteCloser, *bufio.Reader) {
	t.Helper()
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
	return in, bufio.NewReader(out)
}

// The way Claude Code ends a server: an interrupt, with standard input left open.
func TestInterruptEndsTheProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := child(ctx, t)
	in, out := pipes(t, cmd)
	if _, err := io.WriteString(in, "noise\n"+initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil || len(rest) > 0 {
		t.Errorf("after the interrupt: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("server ended with %v, want exit code 0", err)
	}
}

func TestPipedRequestsAreAnswered(t *testing.T) {
	t.Parallel()
	cmd := child(t.Context(), t)
	cmd.Stdin = strings.NewReader(initialize + "\n" + initialized + "\n" + askStatus)
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(got), []byte("\n"))
	if len(lines) != 2 || !bytes.Contains(lines[1], []byte(`"id":7`)) {
		t.Fatalf("output has %d lines, want 2:\n%s", len(lines), got)
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Errorf("output is no JSON: %s", line)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	f := &fake{}
	for b.Loop() {
		f.server()
	}
}

// From the start of the process to the answer to initialize.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		cmd := child(b.Context(), b)
		in, out := pipes(b, cmd)
		if _, err := io.WriteString(in, initialize+"\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := out.ReadBytes('\n'); err != nil {
			b.Fatal(err)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStatus(b *testing.B) {
	in, w := io.Pipe()
	r, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serveFake(b.Context(), in, out, &fake{}) }()
	answers := bufio.NewReader(r)
	ask := func(line string) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			b.Fatal(err)
		}
		if _, err := answers.ReadBytes('\n'); err != nil {
			b.Fatal(err)
		}
	}
	ask(initialize)
	for b.Loop() {
		ask(askStatus)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
