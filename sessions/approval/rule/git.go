package rule

import (
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/program"
)

// git judges what a git command does to what others have.
func (j *judging) git(c *flow.Command) {
	args, settings := program.GitArgs(c.Args)
	for _, e := range slices.Concat(c.Env, j.exported) {
		if strings.HasPrefix(e, "GIT_CONFIG_KEY_") || strings.HasPrefix(e, "GIT_CONFIG_PARAMETERS=") {
			key := strings.ToLower(e[strings.IndexByte(e, '=')+1:])
			if strings.Contains(key, "alias.") || strings.Contains(key, "remote.") || !flow.Known(key) || program.GitRuns(key, flow.Unset) {
				j.hold(unreadable, e+" "+c.Text(), false)
			}
		}
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if !flow.Known(key) || !flow.Known(value) && strings.HasPrefix(strings.ToLower(key), "alias.") {
			j.hold(unreadable, c.Text(), false)
		}
		j.remoteSetting(key, value, c)
		if program.GitRuns(key, value) {
			j.hold(protectedFile, c.Text(), false)
		}
	}
	if len(args) == 0 {
		return
	}
	rest := args[1:]
	switch args[0] {
	case "push", "send-pack":
		j.push(args, c)
	case "config":
		key, value, ok := program.GitSets(rest)
		if ok && program.GitDecides(key, value) {
			j.hold(protectedFile, c.Text(), false)
		}
		j.remoteSetting(key, value, c)
	case "clone", "init":
		kept := slices.ContainsFunc(program.GitCloneSets(rest), func(s string) bool {
			key, value, _ := strings.Cut(s, "=")
			return program.GitRuns(key, value)
		})
		if template, _ := argv.ValueOf(rest, "--template"); kept || template != "" {
			j.hold(protectedFile, c.Text(), false)
		}
	case "symbolic-ref", "update-ref":
		if j.movesBranch(args, c) {
			j.hold(protectedFile, c.Text(), false)
		}
	case "clean":
		own := argv.HasFlag(args, "-X") && !argv.HasFlag(args, "-x") // only what is ignored
		if argv.HasFlag(args, "-f|--force") && argv.HasFlag(args, "-d|-x") && !own && !argv.HasFlag(args, "-n|--dry-run") {
			j.hold(recursive, c.Text(), false)
		}
	case "rm":
		if argv.HasFlag(args, "-r") && !argv.HasFlag(args, "--cached|-n|--dry-run") {
			for _, p := range argv.Operands(args) {
				if j.fatal(c.Abs(p)) || argv.HasFlag(args, "-f|--force") && !strings.Contains(strings.Trim(p, "./"), "/") && !j.harmless(c, c.Abs(p)) {
					j.hold(recursive, c.Text(), false)
				}
			}
		}
	case "remote":
		if argv.HasFlag(args, "--mirror=push|--mirror") && slices.Contains(rest, "add") {
			j.hold(forcePush, c.Text(), true)
		}
		if ops := argv.Operands(args); len(ops) > 0 && ops[0] == "set-url" {
			j.hold(protectedFile, c.Text(), false)
		}
	case "credential":
		if len(rest) > 0 && rest[0] == "fill" {
			j.hold(secrets, c.Text(), false)
		}
	}
}

// movesBranch reports whether a command lets one branch stand for another, or puts a default
// branch elsewhere past all that looks after it.
func (j *judging) movesBranch(args []string, c *flow.Command) bool {
	ops := argv.Operands(argv.WithoutValues(args, "-m"))
	if args[0] == "symbolic-ref" {
		return len(ops) > 1 && strings.HasPrefix(ops[0], "refs/heads/")
	}
	if f := c.Stdin(); argv.HasFlag(args, "--stdin") && f.Known {
		ops = strings.FieldsFunc(f.Text, func(r rune) bool { return strings.ContainsRune(" \t\n\x00\"", r) })
	}
	return slices.Contains(ops, "refs/heads/main") || slices.Contains(ops, "refs/heads/master")
}

// remoteSetting holds settings that make every later push a forced one.
func (j *judging) remoteSetting(key, value string, c *flow.Command) {
	key = strings.ToLower(key)
	if !strings.HasPrefix(key, "remote.") {
		return
	}
	if strings.HasSuffix(key, ".push") && strings.HasPrefix(value, "+") || strings.HasSuffix(key, ".mirror") && value != "false" {
		j.hold(forcePush, c.Text(), true)
	}
}

func (j *judging) push(args []string, c *flow.Command) {
	if argv.HasFlag(args, "--dry-run|-n") && !argv.HasFlag(args, "--no-dry-run") {
		return
	}
	ops := argv.Operands(argv.WithoutValues(args, "-o", "--push-option", "--receive-pack", "--exec"))
	for _, a := range args[1:] {
		long := strings.HasPrefix(a, "--")
		switch {
		case long && len(a) > 3 && argv.Abbreviates(a, "--force", "--force-with-lease", "--force-if-includes", "--delete", "--mirror", "--prune"):
			j.hold(forcePush, c.Text(), true)
		case !long && len(a) > 1 && a[0] == '-' && strings.ContainsAny(strings.SplitN(a[1:], "o", 2)[0], "fd"):
			j.hold(forcePush, c.Text(), true)
		case len(a) > 1 && (a[0] == '+' || a[0] == ':' && flow.Known(a)):
			j.hold(forcePush, c.Text(), true)
		case !c.File && !c.Code && strings.HasPrefix(a, flow.Made), strings.HasPrefix(a, flow.Fetched):
			j.hold(unreadable, c.Text(), false)
		}
	}
	if len(ops) > 0 {
		switch {
		case ops[0] == "heroku" || ops[0] == "dokku" || strings.Contains(ops[0], "heroku.com"):
			j.hold(deploy, c.Text(), false)
		case label.Named(ops[0]):
			j.hold(production, c.Text(), true)
		}
	}
}
