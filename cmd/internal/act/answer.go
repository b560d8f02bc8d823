package act

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

const (
	logName = "answer.log"
	maxLog  = 1 << 20 // bytes, above which it is put aside
	every   = 50 * time.Millisecond
)

// Answer answers the question of a run, or of a story of it where story is not empty, and
// continues the run. It returns when the run is on, or has been and has ended already, with
// what is to be told. The error is what the command has said when it has failed, or the
// context's when nothing is known yet; the run may come to be on then.
func (a Actor) Answer(ctx context.Context, ref board.Ref, story, text string) (string, error) {
	p, err := a.project(ref)
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", outside.Usage("the answer is empty")
	}
	who := ref.Run
	if story != "" {
		who = story
	}
	if err := named(who); err != nil {
		return "", err
	}
	before, err := supervisor.LastRun(p)
	if err != nil {
		return "", err
	}
	if story != "" && before != ref.Run { // a story is one of the last run
		return "", outside.UsageHint("'autopilot runs' shows what can be continued", "run %s is not the last one of its repository", ref.Run)
	}
	args := []string{"-C", p.Path, "answer"}
	if who != "" {
		args = append(args, who)
	}
	// The command takes off blanks; with one in front a text is no option.
	c, err := a.detached(filepath.Join(p.Dir, logName), append(args, " "+text))
	if err != nil {
		return "", err
	}
	return c.wait(ctx, p, before, ref.Run)
}

// child is a command that outlives us.
type child struct {
	log   *os.File
	from  int64 // where in the log it has begun
	ended chan error
	wg    sync.WaitGroup
}

// detached starts a command in a session of its own.
func (a Actor) detached(log string, args []string) (*child, error) {
	if info, err := os.Stat(log); err == nil && info.Size() > maxLog {
		if err := os.Rename(log, log+".1"); err != nil {
			return nil, fmt.Errorf("put log of the answer aside: %w", err)
		}
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of the answer: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	cmd := exec.Command(a.Self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = a.Environ, f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the answer: %w", err), f.Close())
	}
	c := &child{log: f, from: info.Size(), ended: make(chan error, 1)}
	c.wg.Go(func() { c.ended <- cmd.Wait() }) // as long as we live, it leaves no zombie
	return c, nil
}

// wait waits until the run that a command continues is on, or the command has ended.
func (c *child) wait(ctx context.Context, p statedir.Project, before, from string) (string, error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-c.ended:
			said := c.said()
			if err != nil {
				return "", refusal(err, said)
			}
			return "the run has been continued, and has ended already", nil
		case <-ctx.Done():
			_ = c.log.Close()
			return "", fmt.Errorf("wait for the run: %w", context.Cause(ctx))
		case <-tick.C:
			id, err := supervisor.LastRun(p)
			if err != nil || id == "" || id == before {
				continue
			}
			s, err := supervisor.LoadState(p.RunDir(id))
			if err == nil && (from == "" || s.Record.ResumedFrom == from) && (s.Alive() || s.Finished) {
				_ = c.log.Close()
				return "run " + id + " goes on with it", nil
			}
		}
	}
}

// said is what the command has printed.
func (c *child) said() string {
	defer func() { _ = c.log.Close() }()
	data, err := io.ReadAll(io.NewSectionReader(c.log, c.from, maxOutput))
	if err != nil {
		return ""
	}
	return string(data)
}
