package rule

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
)

// named judges what a project itself has named: a script, a target of a build, by the
// part of its name that says what it does.
func (j *judging) named(c *flow.Command) {
	name, ops := c.Name(), argv.Operands(argv.WithoutValues(c.Args, "-w", "--workspace", "--filter", "-F", "--prefix", "--cwd", "-C", "--dir"))
	if len(ops) > 2 && name == "yarn" && ops[0] == "workspace" {
		ops = ops[2:]
	}
	var target string
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		if len(ops) > 1 && (ops[0] == "run" || ops[0] == "run-script") {
			target = ops[1]
		} else if len(ops) > 0 && name != "npm" {
			target = ops[0]
		}
	case "make", "gmake", "just", "task", "rake", "invoke", "inv", "mage", "nox", "tox", "turbo", "nx", "ant", "composer", "grunt", "gulp", "lein", "sbt", "mix", "moon", "doit", "earthly",
		"mise", "deno", "poe", "pdm", "hatch", "lerna", "rush", "devbox", "gradle", "gradlew", "ninja":
		if argv.HasFlag(c.Args, "-n|--just-print|--dry") && strings.Contains(name, "make") || argv.HasFlag(c.Args, "--dry|--list|-l|-T") {
			return
		}
		for _, op := range ops {
			if strings.HasPrefix(name, "gradle") {
				op = op[strings.LastIndexByte(op, ':')+1:]
			}
			if op != "run" && op != "task" && !strings.Contains(op, "=") && action(op) != "" {
				target = op
				break
			}
		}
	case "bash", "sh", "zsh", "dash", "python", "python3", "node", "ruby", "perl", "tsx", "source", ".":
		if rehearsed(c.Args) {
			return
		}
		if !argv.HasFlag(c.Args, "-c|-e|--eval|-p|--print|-m|-n") && len(ops) > 0 && strings.Contains(ops[0], ".") {
			target = path.Base(ops[0])
		}
	default:
		if rehearsed(c.Args) {
			return
		}
		ext := path.Ext(name)
		if strings.Contains(c.Args[0], "/") || ext == ".sh" || ext == ".py" {
			target = name
		} else if !c.Code && len(ops) > 0 && (name == "deploy" || name == "publish") {
			target = name
		}
	}
	target = strings.TrimSuffix(target, path.Ext(target))
	if rule := action(target); rule != "" && !quiet(ops) {
		j.hold(rule, c.Text(), false)
	}
}

// rehearsed reports whether a script is told only to say what it would do. What is known
// of the script itself is judged all the same.
func rehearsed(args []string) bool {
	for i, a := range args {
		if !slices.Contains([]string{"--dry-run", "--dryrun", "--help", "--version", "--dry-run=true", "--noop", "--check", "--plan"}, a) || i > 1 && takesValue(args[i-1]) {
			continue
		}
		if i+1 == len(args) || !slices.Contains([]string{"false", "no", "none", "0", "off"}, args[i+1]) {
			return true
		}
	}
	return false
}

// quiet reports whether an argument says that nothing is to be done.
func quiet(ops []string) bool {
	return slices.ContainsFunc(ops, func(a string) bool {
		return slices.Contains([]string{"status", "plan", "help", "preview", "check", "validate", "list", "diff"}, a)
	})
}

var capitals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z])([A-Z])`) })

// action is the rule that the name of a script or target speaks of.
func action(target string) string {
	segments := strings.Split(strings.ToLower(capitals().ReplaceAllString(target, "$1-$2")), ":")
	for i, s := range segments {
		words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_./", r) })
		if len(words) == 0 || slices.Contains(harmlessWords(), words[0]) {
			return ""
		}
		if n := len(words); n > 2 && words[n-1] == "run" && words[n-2] == "dry" {
			return ""
		}
		if last := words[len(words)-1]; len(words) > 1 && slices.Contains(harmlessWords(), last) || i+1 < len(segments) && slices.Contains(harmlessWords(), segments[i+1]) {
			return ""
		}
		switch words[0] {
		case "deploy", "undeploy", "redeploy":
			return deploy
		case "migrate":
			return migrate
		case "publish":
			return publish
		case "drop", "reset", "wipe", "destroy":
			if i > 0 && (segments[i-1] == "db" || segments[i-1] == "database") {
				return dropData
			}
		case "db", "database":
			if len(words) > 1 && words[1] == "migrate" {
				return migrate
			}
			if len(words) > 1 && (words[1] == "drop" || words[1] == "reset") {
				return dropData
			}
		}
		if last := words[len(words)-1]; len(words) > 1 && last == "deploy" {
			return deploy
		}
	}
	return ""
}

// harmlessWords begin or end names of scripts that only look.
func harmlessWords() []string {
	return []string{
		"test", "tests", "lint", "check", "build", "validate", "verify", "format", "fmt", "typecheck", "dry", "dryrun", "plan", "types", "generate", "gen",
		"mock", "fake", "pre", "predeploy", "lib", "status", "preview", "help", "list", "ls", "diff", "create", "make", "new", "watch", "example", "local",
	}
}
