package rule

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

var (
	gateID = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])g-[2-9a-hjkmnp-z]{6}(?:$|[^A-Za-z0-9_-])`)
	})
	shortID   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^g-[0-9a-z]{1,6}$`) })
	procFiles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/proc/[^/]+/(root|cwd)(/|$)`) })
)

// real is a path without the detours of /proc.
func (j *judging) real(p string) string {
	for strings.HasPrefix(p, "/proc/") {
		m := procFiles().FindStringSubmatch(p)
		if m == nil {
			break
		}
		p = "/" + p[len(m[0]):]
		if m[1] == "cwd" {
			p = path.Join(j.call.Dir, p)
		}
	}
	return clean(p)
}

// guarded holds what decides a gate.
func (j *judging) guarded(c *flow.Command) {
	if j.decides(c) {
		j.hold(selfApproval, c.Text(), true)
	}
	if len(j.set.guards) == 0 || c.Away || len(c.Args) == 0 {
		return
	}
	if j.reaches(c) {
		j.hold(selfApproval, c.Text(), true)
	}
	if readsOnly(c.Name()) {
		return
	}
	if j.behind(c.Dir) || j.near(c.Dir) {
		j.hold(selfApproval, c.Text(), true)
	}
	for _, a := range slices.Concat(c.Args[1:], c.Env) {
		_, value, _ := strings.Cut(a, "=")
		for _, p := range []string{a, value} {
			if p == "" {
				continue
			}
			mentions := slices.ContainsFunc(j.set.guards, func(g string) bool {
				return strings.Contains(p, g) || j.set.home != "" && strings.Contains(p, strings.Replace(g, j.set.home, "~", 1))
			})
			removes := slices.Contains([]string{"rm", "mv", "rsync", "ln", "chmod", "chown"}, c.Name()) && j.holdsGuard(c.Abs(p))
			if len(p) < 4096 && j.behind(c.Abs(p)) || mentions || removes {
				j.hold(selfApproval, c.Text(), true)
			}
		}
	}
}

// decides reports whether a command answers a gate, or changes what asks.
func (j *judging) decides(c *flow.Command) bool {
	args := c.Args[min(1, len(c.Args)):]
	switches := func(e string) bool {
		return strings.HasPrefix(e, "AUTOPILOT_") && (strings.Contains(e, "GATE") || strings.Contains(e, "APPROV") || strings.Contains(e, "ADVANCE"))
	}
	if slices.ContainsFunc(c.Env, switches) {
		return true
	}
	switch c.Name() {
	case "export", "declare", "env":
		if slices.ContainsFunc(args, switches) {
			return true
		}
		fallthrough
	case "unset":
		if slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "AUTOPILOT_RUN_ID") || strings.HasPrefix(a, "AUTOPILOT_SESSION_ID")
		}) {
			return true
		}
	case "autopilot":
		return decidesItself(c)
	}
	if !handsOn(c) && !speaks(c) && slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "g-") && gateID().MatchString(a) }) {
		return true
	}
	if program.InterpreterOf(c.Name()) != "" && c.Piped() {
		if f := c.Stdin(); f.Known && strings.Contains(f.Text, "g-") && gateID().MatchString(f.Text) {
			return true
		}
	}
	verb := slices.ContainsFunc(args[:min(len(args), 4)], func(a string) bool { return a == "approve" || a == "deny" })
	return verb && !speaks(c) && slices.ContainsFunc(args, shortID().MatchString)
}

// handsOn reports whether a command only runs another one, which is looked at for itself.
func handsOn(c *flow.Command) bool {
	_, wraps := program.WrapperOf(c.Name())
	return wraps || program.IsShell(c.Name()) && argv.HasFlag(c.Args, "-c") || c.Name() == "eval" || c.Name() == "trap"
}

// speaks reports whether the arguments of a command are texts that nobody runs.
func speaks(c *flow.Command) bool {
	switch c.Name() {
	case "echo", "printf", "gh", "say", "notify-send":
		return true
	case "git":
		rest, _ := program.GitArgs(c.Args)
		return len(rest) > 0 && slices.Contains([]string{"commit", "tag", "notes", "log", "grep"}, rest[0])
	}
	return false
}

// decidesItself reports whether this program is told to answer a gate or to hold none.
func decidesItself(c *flow.Command) bool {
	if free(c) {
		return false
	}
	settings := len(c.Args) > 2 && c.Args[1] == "config" && c.Args[2] != "get" && c.Args[2] != "show"
	for i, a := range c.Args[1:] {
		words := strings.FieldsFunc(strings.ToLower(a), func(r rune) bool { return r == '-' || r == '=' || r == '_' || r == '.' })
		flag := (strings.HasPrefix(a, "-") || settings) && slices.ContainsFunc(words, func(w string) bool {
			return strings.HasPrefix(w, "gate") || strings.HasPrefix(w, "approv") || w == "advance"
		})
		decides := i == 0 || i < 4 && slices.ContainsFunc(c.Args[1:1+i], func(b string) bool { return b == "gates" || b == "gate" || strings.HasPrefix(b, "-") })
		if flag || decides && (a == "approve" || a == "deny" || a == "allow") || !flow.Known(a) && i == 0 {
			return true
		}
	}
	return false
}

// near reports whether a folder is one above the records of the gates in which nothing
// else is worked on: neither the home folder nor one that the work tree lies in.
func (j *judging) near(p string) bool {
	p = j.real(j.home(p))
	within := func(q string) bool { return q != "" && strings.HasPrefix(q+"/", p+"/") }
	return p != "/" && j.holdsGuard(p) && !within(j.set.home) && !within(path.Clean(j.call.Dir))
}

// reaches reports whether a command could write into the records of the gates from a
// folder above them.
func (j *judging) reaches(c *flow.Command) bool {
	name, ops := c.Name(), argv.Operands(c.Args)
	for _, a := range c.Args[1:] {
		if !readsOnly(name) && a != "" && strings.ContainsAny(a[:min(len(a), 3)], flow.Marks) && j.tail(a) {
			return true
		}
	}
	folder := func(flags ...string) bool {
		to, ok := argv.ValueOf(c.Args, flags...)
		return ok && (j.near(c.Abs(to)) || j.behind(c.Abs(to)))
	}
	any := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return j.near(c.Abs(p)) })
	}
	switch name {
	case "find", "gfind", "fd", "fdfind":
		return j.findWrites(c)
	case "tar", "bsdtar":
		return folder("-C", "--directory") || folder("-f", "--file")
	case "unzip", "patch", "7z":
		return folder("-d", "--directory", "-o")
	case "git":
		return folder("--directory", "-C", "--work-tree")
	case "cp", "install", "rsync", "mount":
		return len(ops) > 0 && any(ops[len(ops)-1:])
	case "sed", "perl", "patchelf", "chattr", "rename":
		return any(ops)
	case "xargs":
		return j.near(c.Dir) && !onlyReads(c.Args[1:])
	}
	return false
}

// tail reports whether a path with an unknown beginning ends like one of the records.
func (j *judging) tail(p string) bool {
	_, rest, ok := strings.Cut(p, "/")
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	return ok && slices.ContainsFunc(j.set.guards, func(g string) bool {
		all := strings.Split(strings.Trim(g, "/"), "/")
		for n := 2; n <= min(len(all), len(parts)); n++ {
			if matches(strings.Join(parts, "/"), strings.Join(all[len(all)-n:], "/")) {
				return true
			}
		}
		return false
	})
}

// findWrites reports whether find changes files that may be records of the gates.
func (j *judging) findWrites(c *flow.Command) bool {
	roots, pattern, _ := program.Finds(c.Args[1:])
	for i, a := range c.Args[:len(c.Args)-1] {
		if strings.HasPrefix(a, "-fprint") || a == "-fls" {
			if p := c.Abs(c.Args[i+1]); j.behind(p) || j.near(p) {
				return true
			}
		}
	}
	above := slices.ContainsFunc(roots, func(r string) bool {
		r = j.real(j.home(c.Abs(r)))
		return r == "/" || j.holdsGuard(r) || j.behind(r)
	})
	if !above || pattern != "" && !argv.Globbed(pattern, "g-aaaaaa.aaaaaaaaaaaa.json") && !argv.Globbed(pattern, "gate.json") {
		return false
	}
	for i, a := range c.Args {
		switch a {
		case "-delete", "-fprint", "-fprintf", "-fls", "-fprint0":
			return true
		case "-exec", "-execdir", "-ok", "-okdir":
			if !onlyReads(c.Args[i+1:]) {
				return true
			}
		}
	}
	return false
}

// onlyReads reports whether the command that begins here only reads.
func onlyReads(args []string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			_, wraps := program.WrapperOf(a)
			return readsOnly(a) && !wraps && !program.IsShell(a) && a != "xargs" && a != "eval"
		}
	}
	return true
}

func readsOnly(name string) bool {
	if _, wraps := program.WrapperOf(name); wraps || program.IsShell(name) {
		return true // what it wraps is looked at for itself
	}
	switch name {
	case "cat", "ls", "head", "tail", "grep", "rg", "stat", "jq", "less", "more", "wc", "file", "echo", "printf", "test", "[", "cd", "pushd", "diff", "cmp", "du", "tree", "realpath",
		"basename", "dirname", "pwd", "sha256sum", "md5sum", "xargs", "true", "sleep", "export", "find", "eval", "trap", "parallel":
		return true
	}
	return false
}
