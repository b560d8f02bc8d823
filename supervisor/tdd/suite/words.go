package suite

import (
	"path"
	"slices"
	"strings"

	"autopilot/supervisor/tdd/suite/shell"
)

// spot is where a command names the program of a runner.
type spot struct {
	runner Runner
	end    int // offset at which options for it can stand
	part   int // number of the simple command
}

// spots returns where a command names runners.
func spots(parts [][]shell.Word) []spot {
	var all []spot
	for i, p := range parts {
		if s, ok := program(p); ok {
			s.part = i
			all = append(all, s)
		}
	}
	return all
}

// program tells the runner that a simple command starts.
func program(words []shell.Word) (spot, bool) {
	for i := 0; i < len(words); i++ {
		text, rest := words[i].Text, words[i+1:]
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(path.Base(text), ".js"), ".mjs"), ".cjs")
		switch {
		case assignment(text) || strings.HasPrefix(text, "-") || text == "!":
		case name == "jest":
			return spot{runner: Jest, end: words[i].End}, true
		case name == "vitest":
			if len(rest) > 0 && slices.Contains([]string{"run", "watch", "dev", "related", "bench", "list", "init"}, rest[0].Text) {
				return spot{runner: Vitest, end: rest[0].End}, rest[0].Text == "run" || rest[0].Text == "related"
			}
			return spot{runner: Vitest, end: words[i].End}, true
		case name == "pytest" || name == "py.test":
			return spot{runner: Pytest, end: words[i].End}, true
		case name == "go":
			return subcommand(Go, rest, "test")
		case name == "cargo":
			return subcommand(Cargo, rest, "test", "t")
		case name == "tape", name == "bats" && hasOption(rest, "--tap"):
			return spot{runner: TAP, end: words[i].End}, true
		case name == "node":
			if hasOption(rest, "--test") {
				return spot{runner: Node, end: words[i].End}, true
			}
		case wraps(name):
		default:
			return spot{}, false
		}
	}
	return spot{}, false
}

// subcommand finds the first word that is no option, and the argument of none.
func subcommand(r Runner, words []shell.Word, names ...string) (spot, bool) {
	for i := 0; i < len(words); i++ {
		switch text := words[i].Text; {
		case text == "-C":
			i++
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
		default:
			return spot{runner: r, end: words[i].End}, slices.Contains(names, text)
		}
	}
	return spot{}, false
}

// wraps reports whether a word starts the program that is named behind it.
func wraps(name string) bool {
	if strings.HasPrefix(name, "python") && strings.Trim(name[len("python"):], "0123456789.") == "" {
		return true
	}
	if digits := strings.TrimRight(name, "smh"); digits != "" && strings.Trim(digits, "0123456789.") == "" {
		return true // the time limit of timeout
	}
	return slices.Contains([]string{
		"npx", "pnpx", "bunx", "yarn", "pnpm", "bun", "exec", "run", "x",
		"env", "cross-env", "time", "nice", "timeout", "command", "xvfb-run", "c8", "nyc",
		"poetry", "pipenv", "uv", "pdm", "hatch", "rye", "coverage",
	}, name)
}

func hasOption(words []shell.Word, name string) bool {
	return slices.ContainsFunc(words, func(w shell.Word) bool { return w.Text == name || strings.HasPrefix(w.Text, name+"=") })
}

// assignment reports whether a word sets a variable for the command behind it.
func assignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// script returns the name of the script in package.json that a command runs, and the
// words that have to stand before options for it.
func script(parts [][]shell.Word) (name, lead string, ok bool) {
	if len(parts) != 1 {
		return "", "", false
	}
	var words []string
	for _, w := range parts[0] {
		if !assignment(w.Text) && w.Text != "--silent" && w.Text != "-s" {
			words = append(words, w.Text)
		}
	}
	if len(words) < 2 || !slices.Contains([]string{"npm", "yarn", "pnpm", "bun"}, words[0]) {
		return "", "", false
	}
	manager, name, rest := words[0], words[1], words[2:]
	switch {
	case (name == "run" || name == "run-script") && len(rest) > 0:
		name, rest = rest[0], rest[1:]
	case manager == "bun": // bun test is a runner of its own
		return "", "", false
	case manager == "npm" && (name == "t" || name == "tst"), manager == "pnpm" && name == "t":
		name = "test"
	case manager == "npm" && name != "test":
		return "", "", false
	}
	if strings.HasPrefix(name, "-") {
		return "", "", false
	}
	if manager == "npm" && !slices.Contains(rest, "--") {
		lead = " --"
	}
	return name, lead, true
}
