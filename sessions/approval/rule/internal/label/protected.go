package label

import (
	"path"
	"slices"
	"strings"
)

// atHome reports whether a file stands in the person's home folder, or right in that of
// somebody else.
func atHome(p string) bool {
	home := path.Dir(p)
	return strings.HasPrefix(p, "~/") || home == "/root" || slices.Contains([]string{"/home", "/Users"}, path.Dir(home))
}

// Protected reports whether a file, in the person's home with "~/" before it, decides what
// runs: when a shell or the machine starts, who may log in, or what git does.
func Protected(p string) bool {
	base, dir := path.Base(p), path.Base(path.Dir(p))
	switch base {
	case ".mcp.json", "authorized_keys", "crontab", "sudoers":
		return true
	case ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".kshrc", ".inputrc", ".gitconfig", "config.fish":
		return atHome(p)
	case "config", "config.worktree":
		if dir == ".git" {
			return true
		}
	}
	if strings.Contains(p, "/.git/hooks/") || strings.HasPrefix(p, ".git/hooks/") || strings.HasPrefix(p, "~/.ssh/") || strings.Contains(p, "/.ssh/") {
		return true
	}
	for _, system := range []string{"/etc/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/bin/", "/sbin/", "/boot/", "/lib/", "/usr/local/bin/", "/Library/LaunchDaemons/", "/Library/LaunchAgents/"} {
		if strings.HasPrefix(p, system) {
			return true
		}
	}
	return strings.HasPrefix(p, "~/Library/LaunchAgents/") || strings.HasPrefix(p, "~/.config/systemd/") || strings.HasPrefix(p, "~/.config/autostart/")
}
