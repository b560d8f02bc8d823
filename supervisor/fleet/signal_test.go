package fleet

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"autopilot/probe/proctree"
)

// TestSignalLooksAgain: between the look at a run and its signal its pid may be given away.
func TestSignalLooksAgain(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
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
	t.Cleanup(func() { _ = in.Close() })
	pid := cmd.Process.Pid
	start, _ := proctree.StartOf(pid)
	if err := signal(pid, start+1, syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the next owner of the pid: %v", err)
	}
	// A signal that was sent would have ended it before it answers.
	if _, err := io.WriteString(in, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatalf("it was signalled: %v", err)
	}
	if err := signal(pid, start, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if err := signal(pid, start, syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("nobody: %v", err)
	}
}
