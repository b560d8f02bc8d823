package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/smalldisk"
	"autopilot/metrics/statedir"
)

// runSystemHelper runs inside a mount namespace of its own.
func runSystemHelper(name, dir string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	if err := smalldisk.Mount(dir, "64k"); err != nil {
		return err
	}
	a, now := Of(dir, nil, false), noon()
	if err := a.Note(Limit{Kind: "five_hour", Until: now.Add(time.Hour), At: now}); err != nil {
		return err
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", err)
	}
	err := a.Note(Limit{Kind: "seven_day", Until: now.Add(48 * time.Hour), At: now})
	if _, ok := errors.AsType[*statedir.FullError](err); !ok {
		return fmt.Errorf("note on a full disk: %w", err)
	}
	if l, ok := a.Until("", now); !ok || l.Kind != "five_hour" {
		return fmt.Errorf("after a note on a full disk: %v %v", l, ok)
	}
	if err := a.Check(); err != nil {
		return err
	}
	err = a.Clear(now.Add(time.Second))
	if _, ok := errors.AsType[*statedir.FullError](err); !ok {
		return fmt.Errorf("clear on a full disk: %w", err)
	}
	if l, ok := a.Until("", now); !ok || l.Kind != "five_hour" {
		return fmt.Errorf("after a clear on a full disk: %v %v", l, ok)
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	return a.Clear(now.Add(time.Second))
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, helperEnv+"=full")
}
