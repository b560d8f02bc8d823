package episode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autopilot/metrics/journal"
)

// runSystemHelper fills a small disk inside a mount namespace of its own.
func runSystemHelper(name string, args []string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	if err := syscall.Mount("none", args[0], "tmpfs", 0, "size=128k"); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	fmt.Println("mounted")
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
	var out []byte
	var err error
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, syscall.CLONE_NEWNS} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], t.TempDir())
		cmd.Env = append(os.Environ(), helperEnv+"=full")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		out, err = cmd.CombinedOutput()
		if strings.HasPrefix(string(out), "mounted") {
			break
		}
	}
	if !strings.HasPrefix(string(out), "mounted") {
		t.Skipf("cannot mount a small file system here: %v: %s", err, out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
