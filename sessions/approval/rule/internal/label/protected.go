package label

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
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
	base := path.Base(p)
	switch base {
	case ".mcp.json", "authorized_keys", "crontab", "sudoers":
		return true
	case ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".kshrc", ".inputrc", ".gitconfig", "config.fish":
		return atHome(p)
	}
	if inGit(p) || strings.HasPrefix(p, "~/.ssh/") || strings.Contains(p, "/.ssh/") || p == "~/.config/git/config" {
		return true
	}
	for _, system := range []string{"/etc/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/bin/", "/sbin/", "/boot/", "/lib/", "/usr/local/bin/", "/Library/LaunchDaemons/", "/Library/LaunchAgents/"} {
		if strings.HasPrefix(p, system) {
			return true
		}
	}
	return strings.HasPrefix(p, "~/Library/LaunchAgents/") || strings.HasPrefix(p, "~/.config/systemd/") || strings.HasPrefix(p, "~/.config/autostart/")
}

// inGit reports whether a file in the folder of a repository decides what git runs, where it
// pushes to, or where a default branch stands.
func inGit(p string) bool {
	parts := strings.Split(p, "/")
	at := slices.Index(parts, ".git")
	if at < 0 || at+1 == len(parts) {
		return false
	}
	rest := parts[at+1:]
	is := func(i int, names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return i < len(rest) && argv.Globbed(rest[i], n) })
	}
	switch {
	case is(0, "modules", "worktrees") && len(rest) > 2: // the same for a submodule or a worktree, below its name
		return is(len(rest)-1, "config", "config.worktree", "commondir") || slices.Contains(rest[2:], "hooks")
	case len(rest) == 3 && is(0, "refs") && is(1, "heads"):
		return is(2, "main", "master")
	}
	return is(0, "hooks") || len(rest) == 1 && is(0, "config", "config.worktree")
}
