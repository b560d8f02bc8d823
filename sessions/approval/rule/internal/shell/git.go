package shell

import (
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// git looks at the commands that git would run, and at its aliases.
func (w *walker) git(c *flow.Command) {
	args, settings := program.GitArgs(c.Args)
	if len(args) == 0 {
		return
	}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		w.gitSetting(key, value)
		if program.RunsCommand(key) {
			w.inShell(value, c)
		}
	}
	in := c.With(nil)
	for i, a := range c.Args[:len(c.Args)-len(args)] {
		if a == "-C" {
			in.Dir = flow.Join(c.Dir, c.Args[i+1])
		}
	}
	rest := args[1:]
	switch args[0] {
	case "config":
		if key, value, ok := program.GitSets(rest); ok {
			w.gitSetting(key, value)
			w.gitAlias(key, value, in)
		}
		return
	case "submodule":
		if i := slices.Index(rest, "foreach"); i >= 0 {
			w.inShell(strings.Join(program.After(rest[i+1:], program.Wrapper{}), " "), in)
		}
		return
	case "rebase":
		for i, a := range rest {
			if (a == "-x" || a == "--exec") && i+1 < len(rest) {
				w.inShell(rest[i+1], in)
			}
			if text, ok := strings.CutPrefix(a, "--exec="); ok {
				w.inShell(text, in)
			}
		}
		return
	case "bisect":
		if len(rest) > 1 && rest[0] == "run" {
			w.run(in.With(rest[1:]))
		}
		return
	case "push", "status", "add", "commit", "log", "diff", "show", "fetch", "pull", "checkout", "branch":
		return // cannot be an alias
	}
	if value, ok := w.alias(strings.ToLower(args[0]), in); ok {
		if text, bang := strings.CutPrefix(value, "!"); bang {
			w.inShell(text+" "+program.Quote(rest), in)
			return
		}
		w.inShell("git "+value+" "+program.Quote(rest), in)
	}
}

func (w *walker) gitSetting(key, value string) {
	if w.gitsays == nil {
		w.gitsays = map[string]string{}
	}
	w.gitsays[strings.ToLower(key)] = value
}

// gitAlias looks at what an alias that is defined here will do.
func (w *walker) gitAlias(key, value string, c *flow.Command) {
	if !strings.HasPrefix(strings.ToLower(key), "alias.") {
		return
	}
	if text, ok := strings.CutPrefix(value, "!"); ok {
		w.inShell(text, c)
		return
	}
	w.inShell("git "+value, c)
}

// alias finds an alias in the text, in the repository's configuration or in the
// person's.
func (w *walker) alias(name string, c *flow.Command) (string, bool) {
	if v, ok := w.gitsays["alias."+name]; ok {
		delete(w.gitsays, "alias."+name) // an alias of itself ends here
		return v, true
	}
	places := []string{flow.Join(c.Dir, ".git/config"), "~/.gitconfig", "~/.config/git/config"}
	for _, e := range c.Env {
		if p, ok := strings.CutPrefix(e, "GIT_CONFIG_GLOBAL="); ok {
			places = append(places, flow.Join(c.Dir, p))
		}
	}
	for _, p := range places {
		f := w.content(p)
		if !f.Known {
			continue
		}
		if value, ok := program.GitAlias(f.Text, name); ok {
			return value, true
		}
	}
	return "", false
}
