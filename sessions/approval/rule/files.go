package rule

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/program"
	"autopilot/sessions/approval/rule/internal/secret"
)

func writesFile(tool string) bool {
	return tool == "Write" || tool == "Edit" || tool == "MultiEdit" || tool == "NotebookEdit"
}

// fileTool judges a tool that reads or writes one file.
func (j *judging) fileTool() {
	in, err := fields(j.call.Input)
	if err != nil {
		if writesFile(j.call.Tool) {
			j.hold(unreadable, "the arguments of the call are not readable", false)
		}
		return
	}
	p := in["file_path"] + in["notebook_path"]
	if j.call.Tool == "Grep" {
		p = in["path"]
		if glob := in["glob"]; secret.File(glob) {
			j.hold(secrets, glob, false)
		}
	}
	if p == "" {
		return
	}
	if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") {
		p = path.Join(j.call.Dir, p)
	}
	p = j.real(p)
	if !writesFile(j.call.Tool) {
		if secret.File(j.tilde(p)) {
			j.hold(secrets, p, false)
		}
		return
	}
	j.written(p)
}

// tilde is a path with '~' for the person's home folder.
func (j *judging) tilde(p string) string {
	if rest, ok := strings.CutPrefix(p, j.set.home+"/"); ok && j.set.home != "" {
		return "~/" + rest
	}
	return p
}

// written judges a file that a call writes or deletes.
func (j *judging) written(p string) {
	p = j.real(p)
	if j.behind(p) {
		j.hold(selfApproval, p, true)
	}
	if secret.File(j.tilde(p)) {
		j.hold(secrets, p, false)
	}
	if yes, never := j.protected(p); yes {
		j.hold(protectedFile, p, never)
	}
	for _, r := range j.set.custom {
		if r.form == "path" && pathMatches(r.words[0], p, j.call.Dir) {
			j.add(r.finding(p))
		}
	}
}

// protected reports whether a file decides what runs, or what is asked of a person; never
// is set where it could switch the gates off.
func (j *judging) protected(p string) (yes, never bool) {
	p = j.tilde(p)
	if decidesGates(p) {
		return true, true
	}
	return label.Protected(p), false
}

// decidesGates knows what this program and the one that it watches are told by, and the
// program itself.
func decidesGates(p string) bool {
	base, dir := path.Base(p), path.Base(path.Dir(p))
	switch base {
	case "settings.json", "settings.local.json", "settings*.json", "managed-settings.json":
		return dir == ".claude" || dir == "claude-code"
	case ".claude", ".claude.json", "autopilot.yaml", "autopilot.yml":
		return true
	case "autopilot":
		return !slices.Contains([]string{"cmd", "internal", "pkg", "src", "share", "state", ".config", "docs"}, dir)
	}
	if p != "" && strings.ContainsAny(p[:min(len(p), 4)], flow.Marks) {
		_, rest, _ := strings.Cut(p, "/")
		return strings.HasPrefix(rest, "autopilot/config")
	}
	return strings.HasPrefix(p, "~/.config/autopilot/") || strings.Contains(p, "/.config/autopilot/")
}

// behind reports whether a path leads to the records of the gates, or to a folder that
// holds them.
func (j *judging) behind(p string) bool {
	p = j.real(j.home(p))
	for _, g := range j.set.guards {
		if matches(p, g) {
			return true
		}
	}
	return false
}

// matches compares a path, which may hold patterns, with a folder by their parts: the
// path lies in the folder, or leads to it.
func matches(p, folder string) bool {
	a, b := strings.Split(strings.Trim(p, "/"), "/"), strings.Split(strings.Trim(path.Clean(folder), "/"), "/")
	if len(a) < len(b) || p == "/" {
		return false
	}
	for i := range b {
		if !argv.Globbed(a[i], b[i]) && a[i] != b[i] {
			return false
		}
	}
	return true
}

// holdsGuard reports whether a path is a folder above the records of the gates.
func (j *judging) holdsGuard(p string) bool {
	p = j.real(j.home(strings.TrimSuffix(p, "/*")))
	return p != "/" && slices.ContainsFunc(j.set.guards, func(g string) bool {
		parts := strings.Count(p, "/")
		up := strings.Split(g, "/")
		return strings.HasPrefix(p, "/") && parts < len(up) && matches(p, strings.Join(up[:parts+1], "/"))
	})
}

// files judges the files that a command writes or deletes.
func (j *judging) files(c *flow.Command) {
	if c.Away {
		return
	}
	for _, p := range c.Out {
		if isDisk(p) {
			j.hold(recursive, "> "+p, true)
		}
		if p = clean(c.Abs(p)); !plainSetting(c, p) {
			j.written(p)
		}
	}
	if c.Name() == "crontab" && !argv.HasFlag(c.Args, "-l") {
		j.hold(protectedFile, c.Text(), false)
	}
	for _, p := range program.Writes(c) {
		p = clean(c.Abs(p))
		if example := c.Name() == "cp" && secret.File(j.tilde(p)); example || plainSetting(c, p) {
			continue
		}
		switch c.Name() {
		case "rm":
			if yes, _ := j.protected(p); secret.File(j.tilde(p)) && !yes {
				continue // gone, and shown to nobody
			}
		case "mkdir", "touch", "chmod", "chown", "chgrp":
			if !j.behind(p) {
				continue
			}
		}
		j.written(p)
	}
}

// plainSetting reports whether a command puts a known text without a secret into a file
// that may hold some.
func plainSetting(c *flow.Command, p string) bool {
	if yes := decidesGates(p) || label.Protected(p); yes || !strings.HasPrefix(path.Base(p), ".env") {
		return false
	}
	if c.Name() != "echo" && c.Name() != "printf" && c.Name() != "sed" || !allKnown(c.Args) {
		return false
	}
	for _, a := range c.Args[1:] {
		name, _, ok := strings.Cut(strings.TrimPrefix(a, "s/"), "=")
		if ok && secret.Name(name) {
			return false
		}
	}
	return true
}

func clean(p string) string {
	if p == "" {
		return p
	}
	return path.Clean(p)
}
