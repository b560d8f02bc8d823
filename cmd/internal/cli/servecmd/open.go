package servecmd

import (
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"autopilot/cmd/internal/outside"
)

// open shows an address in the person's browser. The address holds the token, which the
// arguments of a process would show to everybody on this machine: the browser is given a
// file of ours that leads there. Done removes it.
func open(std outside.Stdio, url string) (done func(), err error) {
	dir, err := os.MkdirTemp("", "autopilot-open-")
	if err != nil {
		return func() {}, fmt.Errorf("open the browser: %w", err)
	}
	done = func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "open.html")
	page := `<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=` + html.EscapeString(url) + `"><title>autopilot</title>`
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return done, fmt.Errorf("open the browser: %w", err)
	}
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, file)
	cmd.Env = std.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends us, not the browser
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return done, fmt.Errorf("there is no %s", name)
		}
		return done, fmt.Errorf("open the browser: %w", err)
	}
	return done, cmd.Process.Release()
}
