package statedir

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Root returns the absolute path of the folder that holds all state:
// $XDG_STATE_HOME/autopilot when that variable is set, else
// ~/.local/state/autopilot, on darwin ~/Library/Application Support/autopilot.
// It creates nothing. The places are those of the XDG Base Directory
// Specification and of Apple's file system guidelines.
//
// A relative XDG_STATE_HOME, and a HOME that is needed but unset or relative,
// are errors that say what to set.
func Root(getenv func(string) string, goos string) (string, error) {
	if xdg := getenv("XDG_STATE_HOME"); xdg != "" {
		if !filepath.IsAbs(xdg) {
			return "", fmt.Errorf("find the state folder: XDG_STATE_HOME is %q; set it to an absolute path or unset it", xdg)
		}
		return filepath.Join(xdg, "autopilot"), nil
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("find the state folder: HOME is not set; set HOME, or XDG_STATE_HOME to an absolute path")
	}
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("find the state folder: HOME is %q; set it, or XDG_STATE_HOME, to an absolute path", home)
	}
	if goos == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "autopilot"), nil
	}
	return filepath.Join(home, ".local", "state", "autopilot"), nil
}
