package guard

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"autopilot/sessions/reap"
)

const (
	allWell = "done\n"
	grace   = 5 * time.Second
	within  = 10 * time.Second
)

// Guard is the supervisor's end of the pipe.
type Guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// Start starts a guard for everything that carries the marker. self is the path
// of this program; args are the arguments with which it runs Main.
func Start(self string, args ...string) (*Guard, error) {
	cmd := exec.Command(self, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return &Guard{cmd: cmd, pipe: pipe}, nil
}

// PID is the process id of the guard.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// Close tells the guard that all is well and waits for its exit.
func (g *Guard) Close() error {
	_, err := io.WriteString(g.pipe, allWell)
	if cerr := g.pipe.Close(); err == nil {
		err = cerr
	}
	if werr := g.cmd.Wait(); err == nil {
		err = werr
	}
	if err != nil {
		return fmt.Errorf("close guard: %w", err)
	}
	return nil
}

// Main is the guard process: it reads until the supervisor is gone, and ends
// what carries the marker unless it was told that all is well. It returns how
// many processes it ended.
func Main(stdin io.Reader, m reap.Marker) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	said, _ := io.ReadAll(stdin)
	if bytes.HasSuffix(said, []byte(allWell)) {
		return 0
	}
	ended, _ := reap.EndMarked(m, grace, within)
	return ended
}
