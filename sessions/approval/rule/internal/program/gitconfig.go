package program

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
)

// GitSets reads the arguments of git config: the setting that it writes, if it writes one.
// Where it opens an editor, or makes one section of another, the key is what it can change:
// everything, or the section with any name in it.
func GitSets(args []string) (key, value string, ok bool) {
	how := "set"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		switch {
		case slices.Contains([]string{"-f", "--file", "--blob", "-t", "--type", "--default", "--comment", "--value", "--url"}, a):
			args = args[min(1, len(args)):]
		case a == "-l" || a == "--list" || strings.HasPrefix(a, "--get") || strings.HasPrefix(a, "--unset") || strings.HasPrefix(a, "--rem"):
			return "", "", false
		case a == "-e" || len(a) > 3 && strings.HasPrefix("--edit", a):
			how = "edit"
		case len(a) > 4 && strings.HasPrefix("--rename-section", a):
			how = "rename-section"
		}
	}
	if len(args) > 0 && how == "set" && !strings.Contains(args[0], ".") && flow.Known(args[0]) {
		if how, args = args[0], args[1:]; how != "edit" && how != "set" && how != "rename-section" {
			return "", "", false
		}
		args = After(args, Wrapper{Values: " -f --file --blob -t --type --comment --value "})
	}
	switch {
	case how == "edit":
		return flow.Made, flow.Made, true
	case len(args) < 2:
		return "", "", false
	case how == "rename-section":
		return args[1] + "." + flow.Made, flow.Made, true
	}
	return args[0], args[1], true
}

// GitCloneSets are the settings that git clone is told to write.
func GitCloneSets(args []string) []string {
	var out []string
	for i, a := range args {
		if (a == "-c" || a == "--config") && i+1 < len(args) {
			out = append(out, args[i+1])
		} else if v, ok := strings.CutPrefix(a, "--config="); ok {
			out = append(out, v)
		}
	}
	return out
}

// GitDecides reports whether a setting of git, where it is kept, decides what git will run,
// or where it fetches from and pushes to.
func GitDecides(key, value string) bool {
	section, sub, name := splitKey(key)
	if name == "" && !flow.Known(key) { // a name that is not known
		return true
	}
	any := strings.Contains(name, flow.Made)
	has := func(names ...string) bool { return any || slices.Contains(names, name) }
	switch section {
	case "include", "includeif":
		return true
	case "remote":
		return sub != "" && has("url", "pushurl", "receivepack", "uploadpack", "proxy", "vcs")
	case "url":
		return has("insteadof", "pushinsteadof")
	case "http", "https":
		return any || strings.HasSuffix(name, "proxy")
	case "init":
		return has("templatedir")
	case "push":
		return has("pushoption")
	}
	if !gitRuns(section, sub, name, value) {
		return false
	}
	// What only shows or edits may be chosen; what talks to others is held whatever it is.
	shows := section == "core" && name != "hookspath" && name != "sshcommand" || section == "sequence" || section == "pager"
	return !shows || !plainProgram(section, name, value)
}

// GitRuns reports whether a setting of git, where it is given for one command, makes that
// command run something else than what is known to only show or to edit.
func GitRuns(key, value string) bool {
	section, sub, name := splitKey(key)
	return gitRuns(section, sub, name, value) && value != "" && !plainProgram(section, name, value)
}

// splitKey divides a key of git's configuration. Section and name count in any case.
func splitKey(key string) (section, sub, name string) {
	section, rest, _ := strings.Cut(key, ".")
	i := strings.LastIndexByte(rest, '.')
	return strings.ToLower(section), rest[:max(i, 0)], strings.ToLower(rest[i+1:])
}

// gitRuns knows the settings whose value git runs.
func gitRuns(section, sub, name, value string) bool {
	has := func(names ...string) bool { return strings.Contains(name, flow.Made) || slices.Contains(names, name) }
	switch section {
	case "alias":
		return strings.HasPrefix(value, "!") || value != "" && strings.ContainsAny(value[:1], flow.Marks[:1])
	case "core":
		return has("sshcommand", "fsmonitor", "pager", "editor", "askpass", "hookspath", "gitproxy", "alternaterefscommand")
	case "sequence":
		return has("editor")
	case "pager":
		return true
	case "diff":
		return sub == "" && has("external") || sub != "" && has("command", "textconv")
	case "filter":
		return has("clean", "smudge", "process")
	case "merge":
		return sub != "" && has("driver")
	case "mergetool", "difftool", "browser", "man", "guitool":
		return sub != "" && has("cmd", "path")
	case "gpg":
		return has("program", "defaultkeycommand")
	case "credential":
		return has("helper")
	case "remote":
		return sub != "" && has("receivepack", "uploadpack", "vcs")
	case "interactive":
		return has("difffilter")
	case "trailer", "tar", "hook":
		return sub != "" && has("command", "cmd")
	case "submodule":
		return has("update") && strings.HasPrefix(value, "!")
	case "uploadpack", "gc":
		return has("packobjectshook", "recentobjectshook")
	case "protocol":
		return sub == "ext" && value != "never"
	case "lfs":
		return strings.Contains(sub, "customtransfer") || strings.Contains(sub, "extension")
	}
	return false
}

// plainProgram knows the usual values of settings that are run, which do nothing by
// themselves that the person would have to see.
func plainProgram(section, name, value string) bool {
	if value == "" {
		return true
	}
	if strings.ContainsFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(" =_./~+-:!,@", r)
	}) {
		return false
	}
	words := strings.Fields(value)
	first, alone := words[0], len(words) == 1
	is := func(names ...string) bool { return slices.Contains(names, first) }
	switch {
	case section == "pager" || name == "fsmonitor":
		return alone && is("true", "false", "on", "off", "yes", "no", "0", "1", "cat", "less")
	case name == "pager":
		return alone && is("cat", "more", "delta", "bat", "false") || first == "less"
	case name == "editor":
		return (alone || words[1] == "--wait" || words[1] == "-w") && len(words) < 3 && is("true", ":", "cat", "vi", "vim", "nvim", "nano", "emacs", "code", "subl", "micro", "hx")
	case name == "hookspath":
		return value == "/dev/null"
	case name == "sshcommand":
		low := strings.ToLower(value)
		return (first == "ssh" || first == "/usr/bin/ssh") && !strings.Contains(low, "command") && !strings.Contains(low, " -f") && !strings.Contains(low, "provider") && !strings.Contains(value, " -I")
	case section == "credential":
		return alone && is("cache", "store", "osxkeychain", "libsecret", "manager", "manager-core", "wincred") || value == "!gh auth git-credential"
	case section == "gpg":
		return alone && is("gpg", "gpg2", "gpgsm", "ssh-keygen")
	case section == "filter":
		return first == "git-lfs" && !strings.Contains(value, "/")
	}
	return false
}

// GitPrints is the path that git rev-parse prints of the folder of a repository, as seen
// from a work tree in dir.
func GitPrints(args []string, dir string) (string, bool) {
	rest, _ := GitArgs(args)
	if len(rest) < 2 || rest[0] != "rev-parse" {
		return "", false
	}
	for i, a := range args[:len(args)-len(rest)] {
		if a == "-C" {
			dir = flow.Join(dir, args[i+1])
		}
	}
	for i, a := range rest {
		switch {
		case a == "--git-dir" || a == "--git-common-dir" || a == "--absolute-git-dir":
			return flow.Join(dir, ".git"), true
		case a == "--git-path" && i+1 < len(rest):
			return flow.Join(dir, path.Join(".git", rest[i+1])), true
		}
	}
	return "", false
}
