package episode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autopilot/metrics/smalldisk"

	"autopilot/metrics/journal"
)

// runSystemHelper fills a small disk inside a mount namespace of its own.
func runSystemHelper(name string, args []string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	if err := smalldisk.Mount(args[0], "128k"); err != nil {
		return err
	}
	s := small(filepath.Join(args[0], "e"), 0)
	stored := 0
	var err error
	for ; stored < 1000; stored++ {
		if _, err = s.Append(Episode{Task: "fill the disk " + strings.Repeat("word ", 100)}); err != nil {
			break
		}
	}
	full, ok := errors.AsType[*journal.FullError](err)
	if !ok || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(full.Path, s.dir) {
		return fmt.Errorf("after %d episodes Append said %v", stored, err)
	}
	n, err := s.Count()
	if err != nil || n != stored || stored < 16 {
		return fmt.Errorf("%d episodes are there, %d were stored, %w", n, stored, err)
	}
	found, err := s.Recall("disk", 1000)
	if err != nil || len(found) != stored {
		return fmt.Errorf("recall found %d of %d, %w", len(found), stored, err)
	}
	// Space is found, and the store goes on.
	if err := os.Remove(s.chunk(1)); err != nil {
		return err
	}
	_, err = s.Append(Episode{Task: "later"})
	return err
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, helperEnv+"=full")
}
