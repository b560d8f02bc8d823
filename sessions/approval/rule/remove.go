package rule

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/program"
)

// remove judges what deletes a folder with all that is in it, or a disk.
func (j *judging) remove(c *flow.Command) {
	ops := argv.Operands(c.Args)
	switch name := c.Name(); name {
	case "rsync":
		ops = argv.Operands(argv.WithoutValues(c.Args, "--exclude", "--include", "--exclude-from", "-e", "--rsh"))
		takes := argv.HasFlag(c.Args, "--remove-source-files") || len(ops) == 0
		deletes := argv.HasFlag(c.Args, "--delete|--delete-after|--delete-before|--delete-during|--delete-excluded|--del")
		if (takes || deletes && !j.harmless(c, c.Abs(ops[len(ops)-1]))) && !argv.HasFlag(c.Args, "-n") {
			j.hold(recursive, c.Text(), false)
		}
		return
	case "wipefs":
		if slices.ContainsFunc(ops, isDisk) {
			j.hold(recursive, c.Text(), true)
		}
		return
	case "shred":
		for _, op := range argv.Operands(argv.WithoutValues(c.Args, "-n", "-s")) {
			if isDisk(op) || !j.harmless(c, c.Abs(op)) {
				j.hold(recursive, c.Text(), isDisk(op))
			}
		}
		return
	case "truncate":
		for _, op := range argv.Operands(argv.WithoutValues(c.Args, "-s", "--size", "-r")) {
			if strings.ContainsAny(op, "*?"+flow.Marks) && !j.harmless(c, c.Abs(op)) {
				j.hold(recursive, c.Text(), false)
			}
		}
		return
	case "mv":
		if len(ops) > 1 && ops[len(ops)-1] == "/dev/null" {
			j.hold(recursive, c.Text(), false)
		}
		return
	case "chmod", "chown":
		j.opened(c, ops)
		return
	case "dd":
		for _, op := range ops {
			if to, ok := strings.CutPrefix(op, "of="); ok && isDisk(to) {
				j.hold(recursive, c.Text(), true)
			}
		}
		return
	case "rimraf":
	default:
		if strings.HasPrefix(name, "mkfs") {
			if slices.ContainsFunc(ops, isDisk) {
				j.hold(recursive, c.Text(), true)
			}
			return
		}
		if !argv.HasFlag(c.Args, "-r|-R|--recursive") && !argv.HasPrefix(c.Args, "--rec") {
			for _, op := range ops {
				if p := c.Abs(op); name == "rm" && path.Base(p) == "*" && !j.harmless(c, path.Dir(p)) {
					j.hold(recursive, c.Text(), j.fatal(p))
				}
			}
			// rm $X may be given anything by one who can hide it.
			if !c.File && slices.ContainsFunc(c.Args[1:], func(a string) bool { return strings.HasPrefix(a, flow.Fetched) }) {
				j.hold(unreadable, c.Text(), false)
			}
			return
		}
	}
	for _, op := range ops {
		switch p := c.Abs(op); {
		case j.fatal(p):
			j.hold(recursive, c.Text(), true)
		case c.Code && c.File && !flow.Known(op):
		case !j.harmless(c, p):
			j.hold(recursive, c.Text(), false)
		}
	}
}

func isDisk(p string) bool {
	rest, ok := strings.CutPrefix(p, "/dev/")
	if !ok {
		return false
	}
	return slices.ContainsFunc([]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "mapper/"}, func(d string) bool { return strings.HasPrefix(rest, d) })
}

// home is a path with the person's home folder in place of '~'.
func (j *judging) home(p string) string {
	rest, ok := strings.CutPrefix(p, "~")
	if ok && j.set.home != "" && (rest == "" || rest[0] == '/') {
		return path.Join(j.set.home, rest)
	}
	return p
}

// fatal reports whether what would be deleted is the work tree, what holds it, the home
// folder or a folder of the system.
func (j *judging) fatal(p string) bool {
	all := strings.HasSuffix(p, "/*") || strings.HasSuffix(p, "/.*") || strings.HasSuffix(p, "/.[!.]*") || strings.HasSuffix(p, "/{*,.*}") || p == "*"
	if all {
		p = p[:strings.LastIndexByte(p, '/')+1]
	}
	if p == "" {
		p = "/"
	}
	if strings.HasPrefix(p, "~") && strings.Trim((p + "/")[strings.IndexByte(p+"/", '/'):], "/") == "" {
		return true // a home folder, of whomever
	}
	p = j.home(p)
	if strings.HasPrefix(p, "~") || !flow.Known(p) {
		return path.Base(p) == ".git"
	}
	p = path.Clean(p)
	dir := path.Clean(j.call.Dir)
	switch {
	case p == "/" || p == dir || strings.HasPrefix(dir+"/", p+"/"):
		return true
	case path.Base(p) == ".git":
		return true
	case path.Dir(p) == "/" && p != "/tmp" || p == "/tmp" && !all || p == "/tmp":
		return true
	case path.Dir(p) == "/home" || path.Dir(p) == "/Users" || j.set.home != "" && strings.HasPrefix(j.set.home+"/", p+"/"):
		return true
	}
	return false
}

// opened judges what changes who may use a folder of the system, or the home folder.
func (j *judging) opened(c *flow.Command, ops []string) {
	for _, op := range ops[min(1, len(ops)):] {
		p := j.home(c.Abs(op))
		if argv.HasFlag(c.Args, "-R|--recursive") && (p == "/" || p == j.set.home || p == "~" || path.Dir(p) == "/" && p != "/tmp") {
			j.hold(protectedFile, c.Text(), false)
		}
	}
}

// made notes the folders that the text itself makes.
func (j *judging) made(c *flow.Command) {
	ops := argv.Operands(c.Args)
	var made []string
	switch c.Name() {
	case "mkdir":
		made = argv.Operands(argv.WithoutValues(c.Args, "-m", "--mode"))
	case "cp":
		if len(ops) == 2 && argv.HasFlag(c.Args, "-r|-R|-a|--recursive") {
			made = ops[1:]
		}
	case "git":
		args, _ := program.GitArgs(c.Args)
		if ops := argv.Operands(args); len(args) > 0 && (args[0] == "clone" && len(ops) > 1 || args[0] == "worktree" && len(ops) > 1 && ops[0] == "add") {
			made = ops[1:]
		}
	}
	for _, p := range made {
		// What has a name like these may have been there before.
		if !slices.Contains([]string{"src", "lib", "app", "cmd", "internal", "pkg", "docs", "doc", "test", "tests", "packages", "web", "scripts", "public", "config", "migrations", ".git", ".", ".."}, path.Base(p)) {
			j.created = append(j.created, clean(c.Abs(p)))
		}
	}
}

// harmless reports whether what would be deleted is made anew by a build, a test or the
// text itself, lies in a folder for temporary files, or is ignored by git.
func (j *judging) harmless(c *flow.Command, p string) bool {
	p = j.home(p)
	if slices.Contains(j.created, clean(p)) || strings.Contains(p, "/.git/") && strings.HasSuffix(p, ".lock") {
		return true
	}
	if rest, ok := strings.CutPrefix(j.tilde(p), "~/"); ok {
		for _, cache := range []string{".cache/", ".npm/_", "Library/Caches/", ".gradle/caches", ".local/share/Trash/"} {
			if strings.HasPrefix(rest, cache) && !strings.Contains(rest, "..") {
				return true
			}
		}
	}
	for _, tmp := range []string{"/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/"} {
		if rest, ok := strings.CutPrefix(path.Clean(p), tmp); ok {
			first, _, deeper := strings.Cut(rest, "/")
			inTree := strings.HasPrefix(path.Clean(p)+"/", path.Clean(j.call.Dir)+"/")
			if !inTree && first != "" && first != "*" && flow.Known(p) && (deeper || !strings.Contains(first, "..")) {
				return true
			}
		}
	}
	rel := p
	if strings.HasPrefix(p, "/") {
		var ok bool
		if rel, ok = strings.CutPrefix(path.Clean(p), path.Clean(j.call.Dir)+"/"); !ok {
			return false
		}
	} else if strings.HasPrefix(p, "~") || strings.Contains(p, "..") {
		return false
	}
	for part := range strings.SplitSeq(rel, "/") {
		if label.MadeAnew(part) || c.File && label.Packed(part) || part == "vendor" && j.vendors() {
			return true
		}
	}
	return j.ignored(rel)
}

// vendors reports whether the call fetches its dependencies anew.
func (j *judging) vendors() bool {
	return slices.ContainsFunc([]string{"mod vendor", "composer install", "bundle install", "cargo vendor", "dep ensure"}, func(s string) bool { return strings.Contains(string(j.call.Input), s) })
}

// ignored reports whether git ignores a path of the work tree, by the names and folders
// that its list there holds.
func (j *judging) ignored(rel string) bool {
	if j.disk == nil || !flow.Known(rel) || strings.ContainsAny(rel, "*?[") || strings.HasPrefix(rel, "..") {
		return false
	}
	list, ok := j.disk(path.Join(j.call.Dir, ".gitignore"))
	if !ok {
		return false
	}
	rel = path.Clean(rel)
	yes := false
	for line := range strings.Lines(string(list)) {
		pattern := strings.TrimSpace(line)
		if pattern == "" || pattern[0] == '#' {
			continue
		}
		pattern, not := strings.CutPrefix(pattern, "!")
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "**/"), "/")
		whole := strings.Contains(pattern, "/")
		pattern = strings.TrimPrefix(pattern, "/")
		for at := rel; at != "."; at = path.Dir(at) {
			if ok, _ := path.Match(pattern, at); ok || !whole && argv.Globbed(pattern, path.Base(at)) && pattern != "*" {
				yes = !not
			}
		}
	}
	return yes
}
