package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	for _, size := range []int{800, 3000, 10_000} {
		if err := fillDisk(filepath.Join(dir, fmt.Sprint(size)), size); err != nil {
			return fmt.Errorf("records of %d bytes: %w", size, err)
		}
	}
	return nil
}

func fillDisk(path string, size int) error {
	w, err := Open(path, Options{})
	if err != nil {
		return err
	}
	defer w.Close()
	acked := 0
	for ; acked < 1000; acked++ {
		if err = w.Append(record("w", acked, size)); err != nil {
			break
		}
	}
	full, ok := errors.AsType[*FullError](err)
	if !ok || !errors.Is(err, syscall.ENOSPC) || full.Path != path || full.FreeBytes > 64<<10 {
		return fmt.Errorf("after %d records Append said %v", acked, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r, err := Check(path)
	if err != nil || !r.OK() || r.Good != acked || !bytes.HasSuffix(b, []byte("\n")) {
		return fmt.Errorf("%d records acknowledged, Check = %+v, %w", acked, r, err)
	}
	fmt.Printf("%d bytes a record: %d fitted: %v\n", size, acked, full)
	// Space is found, and the same writer goes on.
	if err := os.Truncate(path, 0); err != nil {
		return err
	}
	if err := w.Append(record("w", 0, size)); err != nil {
		return err
	}
	return os.Remove(path)
}

// The faults are tested through the seam in TestWriteFaults; this is the same on a
// file system that is really full, where the system lets us mount one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Logf("%s", smalldisk.Run(t, helperEnv+"=full"))
}
