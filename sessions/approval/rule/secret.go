package rule

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/code"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/program"
	"autopilot/sessions/approval/rule/internal/secret"
)

// secret judges whether a command shows, sends or writes a secret.
func (j *judging) secret(c *flow.Command) {
	name, args := c.Name(), c.Args
	ops := argv.Operands(argv.WithoutValues(args, "--exclude", "--include", "--exclude-from"))
	unknown := j.sourced || !allKnown(args)
	kept := len(c.Next) > 0 && c.Next[0] == flow.Environment
	if yes, first := secret.Shows(name, args); yes && !kept && !secret.OnlyNames(name, args) && !(name == "sed" && argv.HasFlag(args, "-i") && len(ops) > 1 && plainSetting(c, c.Abs(ops[1]))) {
		files := ops[min(first, len(ops)):]
		example := len(ops) > 1 && (name == "cp" || name == "mv" || name == "install") && !secret.File(ops[0])
		for i, p := range files {
			p, _ = strings.CutPrefix(strings.TrimPrefix(p, "if="), "@")
			if secret.File(c.Abs(p)) && !(example && i == len(files)-1) {
				j.hold(secrets, c.Text(), false)
			}
		}
		for _, a := range args[1:] {
			if _, v, ok := strings.Cut(a, "@"); ok && name == "curl" && secret.File(v) {
				j.hold(secrets, c.Text(), false)
			}
		}
	}
	for _, p := range c.In {
		if secret.File(c.Abs(p)) {
			j.hold(secrets, "< "+p, false)
		}
	}
	switch name {
	case "git":
		rest, _ := program.GitArgs(args)
		if len(rest) > 1 && (rest[0] == "add" || rest[0] == "stage") && slices.ContainsFunc(rest[1:], func(p string) bool { return secret.File(c.Abs(p)) }) {
			j.hold(secrets, c.Text(), false)
		}
		shown := len(rest) > 0 && (rest[0] == "grep" || rest[0] == "diff" && argv.HasFlag(rest, "--no-index"))
		if shown && slices.ContainsFunc(rest[1:], func(p string) bool { return secret.File(c.Abs(p)) }) {
			j.hold(secrets, c.Text(), false)
		}
		for _, a := range rest[min(1, len(rest)):] {
			if _, p, ok := strings.Cut(a, ":"); ok && (rest[0] == "show" || rest[0] == "cat-file") && secret.File(p) {
				j.hold(secrets, c.Text(), false)
			}
		}
	case "cat", "tee":
		if slices.ContainsFunc(c.Fed, secret.Name) {
			j.hold(secrets, c.Name()+" of "+strings.Join(c.Fed, " "), false)
		}
	case "echo", "printf", "logger", "wall", "notify-send", "write", "say", "print":
		counted := len(c.Next) > 0 && (path.Base(c.Next[0]) == "wc" || path.Base(c.Next[0]) == "md5sum" || path.Base(c.Next[0]) == "sha256sum" || argv.HasFlag(c.Next, "-q") && path.Base(c.Next[0]) == "grep")
		if slices.ContainsFunc(c.Uses, secret.Name) && unknown && !counted {
			j.hold(secrets, c.Name()+" of "+strings.Join(c.Uses, " "), false)
		}
	case "curl", "wget", "http", "https", "xh", "nc", "mail", "ssh":
		if slices.ContainsFunc(c.Uses, secret.Name) && unknown && !label.Local(args) && !atHome(c) {
			j.hold(secrets, c.Name()+" with "+strings.Join(c.Uses, " "), false)
		}
	case "env", "printenv", "set", "export", "declare":
		if bareList(name, args) && j.leaks(c) {
			j.hold(secrets, c.Text(), false)
		}
	case "python", "python3", "node", "ruby", "perl", "php", "deno", "bun", "tsx":
		j.secretCode(c)
	}
}

func allKnown(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return !flow.Known(a) })
}

// atHome reports whether a token is sent to the one who gave it.
func atHome(c *flow.Command) bool {
	for _, name := range c.Uses {
		if secret.Name(name) && !slices.Contains([]string{"GITHUB_TOKEN", "GH_TOKEN", "GITHUB_PAT"}, name) {
			return false
		}
	}
	home := 0
	for _, a := range c.Args[1:] {
		if strings.HasPrefix(a, "https://api.github.com/") {
			home++
		} else if strings.Contains(a, "://") {
			return false
		}
	}
	return home > 0
}

// bareList reports whether a command lists the whole environment.
func bareList(name string, args []string) bool {
	rest := args[1:]
	switch name {
	case "env", "printenv", "set":
		return len(rest) == 0 || name == "env" && len(rest) == 1 && rest[0] == "-0"
	case "export":
		return len(rest) == 1 && rest[0] == "-p"
	}
	return len(rest) == 1 && (rest[0] == "-x" || rest[0] == "-p" || rest[0] == "-xp")
}

// leaks reports whether the list of the environment is sent away, or seen with the secrets
// in it: through a filter that asks for them, or once a file of secrets was read.
func (j *judging) leaks(c *flow.Command) bool {
	if len(c.Next) == 0 {
		return j.sourced || c.Name() == "export" || c.Name() == "declare"
	}
	switch path.Base(c.Next[0]) {
	case "grep", "rg", "egrep", "awk", "sed":
		asked := strings.ToLower(strings.Join(c.Next[1:], " "))
		if argv.HasFlag(c.Next, "-v|--invert-match|-c|-q") {
			return false
		}
		return slices.ContainsFunc([]string{"key", "token", "secret", "pass", "cred"}, func(s string) bool { return strings.Contains(asked, s) })
	case "curl", "wget", "nc", "ncat", "netcat", "ssh", "mail", "sendmail", "http", "https", "xh", "socat", "telnet", "gh", "openssl", "base64", "scp", "aws", "pbcopy", "xclip":
		return true
	}
	return false
}

var (
	readsEnv = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:environ(?:\.get)?[\[(]\s*|getenv\(\s*|process\.env[.\[]\s*|ENV\[\s*|\$ENV\{\s*)["']?([A-Z][A-Z0-9_]*)`)
	})
	allEnv = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:print|dict|dumps|log|stringify|inspect|puts|p|dump)[\s(]*(?:dict\()?(?:os\.environ|process\.env|ENV\.to_h|ENV\.inspect|%ENV|ENV)\s*(?:[),;]|$)`)
	})
	writesText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`['"][wax]b?\+?['"]|write|append|unlink|remove|rename|copy`)
	})
)

// secretCode judges code on the command line that reads secrets and shows them.
func (j *judging) secretCode(c *flow.Command) {
	text, ok := argv.ValueOf(c.Args, "-c", "-e", "--eval", "-p", "--print", "-r")
	if ops := argv.Operands(c.Args); !ok && c.Piped() && (len(ops) == 0 || len(ops) == 1 && ops[0] == "-") {
		f := c.Stdin()
		text, ok = f.Text, f.Known
	}
	if !ok {
		return
	}
	j.dataCode(text)
	shown := strings.Contains(text, "print") || strings.Contains(text, "console.") || strings.Contains(text, "puts") || strings.Contains(text, "write") || argv.HasFlag(c.Args, "-p|--print") ||
		strings.Contains(text, "echo") || strings.Contains(text, "request") || strings.Contains(text, "fetch")
	if !shown {
		return
	}
	if allEnv().MatchString(text) {
		j.hold(secrets, allEnv().FindString(text), false)
	}
	for _, m := range readsEnv().FindAllStringSubmatch(text, 32) {
		if secret.Name(m[1]) {
			j.hold(secrets, m[0], false)
		}
	}
	_, plain := code.Literals(text, flow.Unset)
	for _, quoted := range plain {
		p := clean(c.Abs(quoted))
		if len(quoted) < 3 || len(quoted) > 200 || strings.ContainsAny(quoted, " \n\t") {
			continue
		}
		if secret.File(p) {
			j.hold(secrets, quoted, false)
		}
		if yes, never := j.protected(p); yes && writesText().MatchString(text) {
			j.hold(protectedFile, quoted, never)
		}
	}
}
