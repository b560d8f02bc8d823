package statedir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// runSystemHelper runs inside a mount namespace of its own.
func runSystemHelper(name string, args []string) error {
	if name != "full" {
		return fmt.Errorf("no helper %q", name)
	}
	dir := args[0]
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	fmt.Println("mounted")
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
