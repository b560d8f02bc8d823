package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// origin is what a release is made of.
type origin struct {
	Commit string    // in full, "-dirty" behind it when the tree has changes; empty without git
	Time   time.Time // of the commit, in UTC; the time of everything in the release
}

// findOrigin asks git for commit and time. SOURCE_DATE_EPOCH, in seconds, takes the place
// of the commit's time.
func findOrigin(ctx context.Context, epoch string) (origin, error) {
	var o origin
	said, err := output(ctx, nil, "git", "log", "-1", "--format=%H %ct")
	commit, seconds, _ := strings.Cut(strings.TrimSpace(said), " ")
	if err == nil {
		changes, err := output(ctx, nil, "git", "status", "--porcelain")
		if err != nil {
			return o, err
		}
		if o.Commit = commit; strings.TrimSpace(changes) != "" {
			o.Commit += "-dirty"
		}
	} else if epoch == "" {
		return o, fmt.Errorf("no time for the release: without git set SOURCE_DATE_EPOCH: %w", err)
	}
	if epoch != "" {
		seconds = epoch
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 {
		return o, fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", seconds)
	}
	o.Time = time.Unix(n, 0).UTC()
	return o, nil
}

// output runs a command and returns what it prints. What it says otherwise is in the error.
func output(ctx context.Context, environ []string, name string, args ...string) (string, error) {
	var out, words bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Env = append(os.Environ(), environ...)
	c.Stdout, c.Stderr = &out, &words
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return "", errors.New("interrupted")
		}
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}
