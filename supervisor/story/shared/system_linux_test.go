package shared

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
	folder := filepath.Join(dir, "login")
	task, spend := someTask(folder), Spend{Tokens: 1, UpdatedAt: noon()}
	if err := errors.Join(SaveTask(folder, task), SaveAllotment(folder, numbered(1)), SaveSpend(folder, spend)); err != nil {
		return err
	}
	v, err := Open(folder)
	if err != nil {
		return err
	}
	if err := v.Beat(noon()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", err)
	}
	for what, err := range map[string]error{
		"task":      SaveTask(folder, someTask("/srv/elsewhere")),
		"allotment": SaveAllotment(folder, numbered(2)),
		"spending":  SaveSpend(folder, Spend{Tokens: 2, UpdatedAt: noon()}),
	} {
		if _, ok := errors.AsType[*statedir.FullError](err); !ok {
			return fmt.Errorf("save %s on a full disk: %w", what, err)
		}
	}
	if got, err := LoadTask(folder); err != nil || got.Folder != folder {
		return fmt.Errorf("task %v: %w", got, err)
	}
	if got, err := LoadAllotment(folder); err != nil || got.Cap != 1 {
		return fmt.Errorf("allotment %v: %w", got, err)
	}
	if got, err := LoadSpend(folder); err != nil || got != spend {
		return fmt.Errorf("spending %v: %w", got, err)
	}
	if err := v.Beat(noon().Add(time.Minute)); err != nil {
		return err
	}
	if at, err := LastBeat(folder); err != nil || !at.Equal(noon().Add(time.Minute)) {
		return fmt.Errorf("beat at %v: %w", at, err)
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, helperEnv+"=full")
}
