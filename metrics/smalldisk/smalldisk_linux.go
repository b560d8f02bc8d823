package smalldisk

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// mounted is what the process in the namespace prints when it has its disk.
const mounted = "mounted"

// Mount mounts an empty file system of a size, such as 64k, over the folder dir. It is
// for the process that Run has started, whose namespace ends with it.
func Mount(dir, size string) error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		return fmt.Errorf("no mounts here: %w", err)
	}
	fmt.Println(mounted)
	return nil
}

// Run starts the test binary again with the variable env (NAME=value) and a folder as
// its argument, in a mount namespace of its own, and returns what it printed. An exit
// status other than 0 fails the test; where nothing can be mounted it is skipped.
func Run(t *testing.T, env string) string {
	t.Helper()
	var out []byte
	var err error
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, syscall.CLONE_NEWNS} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], t.TempDir())
		cmd.Env = append(os.Environ(), env)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		out, err = cmd.CombinedOutput()
		if strings.HasPrefix(string(out), mounted) {
			break
		}
	}
	if !strings.HasPrefix(string(out), mounted) {
		t.Skipf("cannot mount a small file system here: %v: %s", err, out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return string(out)
}
