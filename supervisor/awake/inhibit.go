package awake

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// settle is how long an inhibitor has to refuse; one that is still there then works.
const settle = 500 * time.Millisecond

// Inhibitor keeps the machine awake until it is released.
type Inhibitor struct {
	lead *os.File // its end tells the program that this process is gone
	cmd  *exec.Cmd
	done chan error
	over sync.WaitGroup
}

// Inhibit keeps the machine from going to sleep until it is released or this process
// ends. The environment is that in which the system's program is looked up and run; goos
// is what [runtime.GOOS] is. It takes half a second. An error says that the machine may
// sleep.
func Inhibit(ctx context.Context, goos string, environ []string, why string) (*Inhibitor, error) {
	args := command(goos, why, os.Getpid())
	path, err := lookPath(environ, args[0])
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe to %s: %w", args[0], err)
	}
	said := &head{}
	i := &Inhibitor{lead: ours, cmd: exec.Command(path, args[1:]...), done: make(chan error, 1)}
	i.cmd.Env, i.cmd.Stdin, i.cmd.Stderr = environ, theirs, said
	i.cmd.WaitDelay = settle
	err = i.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	i.over.Go(func() { i.done <- i.cmd.Wait() })
	select {
	case err := <-i.done:
		_ = ours.Close()
		return nil, fmt.Errorf("%s ended at once: %v %s", args[0], err, said)
	case <-ctx.Done():
	case <-time.After(settle):
	}
	return i, nil
}

// Release lets the machine sleep again. It does nothing for a nil Inhibitor.
func (i *Inhibitor) Release() {
	if i == nil {
		return
	}
	_ = i.lead.Close()
	_ = i.cmd.Process.Signal(os.Interrupt)
	select {
	case <-i.done:
	case <-time.After(2 * time.Second):
		_ = i.cmd.Process.Kill()
	}
	i.over.Wait()
}

// command is the system's program that keeps the machine awake for as long as this
// process lives: the one ends with its standard input, the other watches a process.
func command(goos, why string, pid int) []string {
	if goos == "darwin" {
		return []string{"caffeinate", "-i", "-s", "-w", strconv.Itoa(pid)}
	}
	return []string{"systemd-inhibit", "--what=sleep:idle", "--mode=block", "--who=autopilot", "--why=" + why, "cat"}
}

// lookPath finds a program in the PATH of an environment.
func lookPath(environ []string, name string) (string, error) {
	for _, kv := range environ {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("there is no %s in PATH", name)
}

// head keeps the beginning of what is written to it.
type head struct{ b bytes.Buffer }

const most = 300

// Write keeps what fits and takes the rest.
func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), most-h.b.Len())])
	return len(p), nil
}

// String is what was kept, in one line.
func (h *head) String() string { return strings.Join(strings.Fields(h.b.String()), " ") }
