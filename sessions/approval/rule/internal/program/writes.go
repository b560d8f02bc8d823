package program

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
)

// Writes are the files that a command writes or deletes, by what is known of its arguments, as
// they stand there.
func Writes(c *flow.Command) []string {
	ops := argv.Operands(argv.WithoutValues(c.Args, "--exclude", "--include", "--exclude-from"))
	switch c.Name() {
	case "tee", "rm", "unlink", "shred", "truncate", "touch", "mkdir", "rmdir", "rename":
		return ops
	case "mv":
		return append(argv.Into(ops), ops...)
	case "chmod", "chown", "chgrp":
		return ops[min(1, len(ops)):]
	case "cp", "ln", "install", "rsync":
		if to, ok := argv.ValueOf(c.Args, "-t", "--target-directory"); ok {
			return []string{to}
		}
		if len(ops) > 1 {
			to := ops[len(ops)-1]
			if c.Name() == "rsync" && strings.HasSuffix(ops[0], "/") {
				return []string{to}
			}
			return argv.Into(ops)
		}
	case "sed", "gsed", "perl", "ruby":
		if argv.HasFlag(c.Args, "-i|--in-place") || argv.HasPrefix(c.Args[1:], "-i") {
			return ops[min(1, len(ops)):]
		}
	case "git":
		return checkedOut(c)
	case "go":
		return installed(c)
	case "dd":
		for _, op := range ops {
			if to, ok := strings.CutPrefix(op, "of="); ok {
				return []string{to}
			}
		}
	case "curl", "wget":
		if to, ok := argv.ValueOf(c.Args, "-o", "--output", "--output-document"); ok {
			return []string{to}
		}
		if to, ok := argv.ValueOf(c.Args, "-O"); ok && c.Name() == "wget" {
			return []string{to}
		}
	}
	return nil
}

// checkedOut are the files that git is told to put in their place.
func checkedOut(c *flow.Command) []string {
	rest, _ := GitArgs(c.Args)
	if len(rest) == 0 || rest[0] != "checkout" && rest[0] != "restore" {
		return nil
	}
	if i := slices.Index(rest, "--"); i >= 0 {
		return rest[i+1:]
	}
	if rest[0] == "checkout" {
		return slices.DeleteFunc(argv.Operands(rest), func(p string) bool { return !strings.Contains(p, ".claude") })
	}
	return argv.Operands(argv.WithoutValues(rest, "-s", "--source"))
}

// installed is this program, where it is built in the place of itself.
func installed(c *flow.Command) []string {
	ops := argv.Operands(argv.WithoutValues(c.Args, "-tags", "-ldflags", "-C", "-mod", "-gcflags"))
	if len(ops) == 0 {
		return nil
	}
	if to, ok := argv.ValueOf(c.Args, "-o"); ok && ops[0] == "build" && path.Base(to) == "autopilot" {
		return []string{to}
	}
	for _, p := range ops {
		if p, _, _ = strings.Cut(p, "@"); ops[0] == "install" && path.Base(p) == "autopilot" {
			return []string{"~/go/bin/autopilot"}
		}
	}
	return nil
}
