package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autopilot/metrics/smalldisk"
)

// runSystemHelper runs inside a mount namespace of its own.
func runSystemHelper(name string, args []string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	dir := args[0]
	if err := smalldisk.Mount(dir, "64k"); err != nil {
		return err
	}
	path := filepath.Join(dir, "state.json")
	if err := Replace(path, []byte("old")); err != nil {
		return err
	}
	err := Replace(path, make([]byte, 1<<20))
	full, ok := errors.AsType[*FullError](err)
	if !ok || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		return fmt.Errorf("replace said %v", err)
	}
	if full.FreeBytes > 64<<10 {
		return fmt.Errorf("%d bytes are free", full.FreeBytes)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		return fmt.Errorf("content %q, %w", b, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		return fmt.Errorf("left in the folder: %v, %w", list, err)
	}
	return Replace(path, []byte("new"))
}

// The faults are tested through the seam in TestReplaceFaults; this is the same
// on a file system that is really full, where the system lets us mount one.
func TestReplaceOnFullDisk(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, helperEnv+"=full")
}
