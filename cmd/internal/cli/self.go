package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"autopilot/sessions/launch"
)

// self is the path under which this program can be started again. The name it
// was called by comes first, because one binary may serve under several names;
// the kernel's answer is taken when that name leads elsewhere.
func self() string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	name := os.Args[0]
	if !strings.Contains(name, "/") {
		found, err := exec.LookPath(name)
		if err != nil {
			return exe
		}
		name = found
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return exe
	}
	a, errA := os.Stat(abs)
	b, errB := os.Stat(exe)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return exe
	}
	return abs
}

func lookup(environ []string, name string) string { return launch.Lookup(environ, name) }
