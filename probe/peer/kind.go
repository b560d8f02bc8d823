package peer

import (
	"path"
	"slices"
	"strings"
)

// kind is what a short name alone says about a process.
type kind int

const (
	other       kind = iota
	native           // named claude
	interpreter      // runs a script that may be the command line
)

// called is what a session is called, as a process and as a file.
const called = "claude"

// kindOf knows node under both names that its newer versions give to their
// main thread, which is what the short name of a process is.
func kindOf(comm string) kind {
	switch comm {
	case called:
		return native
	case "node", "MainThread", "node-MainThread", "bun":
		return interpreter
	}
	return other
}

// runsCLI reports whether an interpreter's command line runs Claude Code: by its
// script, or because the program gave itself the title claude, which leaves the
// name and blanks or nothing behind.
func runsCLI(args []string) bool {
	if len(args) == 0 {
		return false
	}
	if strings.TrimSpace(args[0]) == called {
		rest := strings.TrimSpace(strings.Join(args[1:], ""))
		return rest == ""
	}
	script := scriptOf(args)
	return path.Base(script) == called ||
		isFile(script, "@anthropic-ai/claude-code/cli.js") ||
		isFile(script, "@anthropic-ai/claude-code/cli-wrapper.cjs")
}

// scriptOf is the first argument of an interpreter that is neither an option nor an
// option's value, and "" where the program is given as text.
func scriptOf(args []string) string {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case slices.Contains([]string{"-e", "--eval", "-p", "--print", "-pe"}, arg):
			return ""
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "-C", "--conditions"}, arg):
			i++
		case strings.HasPrefix(arg, "-"), i == 1 && arg == "run" && path.Base(args[0]) == "bun":
		default:
			return arg
		}
	}
	return ""
}

// isFile reports whether path ends in the given elements.
func isFile(path, elements string) bool {
	return path == elements || strings.HasSuffix(path, "/"+elements)
}

// maxCommand bounds what is kept of a command line, in bytes.
const maxCommand = 256

// shortCommand is the executable and the script. An executable with a blank in
// it may be a title with arguments in it, so the short name stands for it.
func shortCommand(comm string, args []string) string {
	short := comm
	if len(args) > 0 {
		if exe := strings.TrimSpace(args[0]); exe != "" && !strings.ContainsAny(exe, " \t\r\n") {
			short = exe
		}
	}
	if kindOf(comm) == interpreter {
		if script := scriptOf(args); script != "" {
			short += " " + script
		}
	}
	if len(short) > maxCommand {
		short = short[:maxCommand]
	}
	return strings.ToValidUTF8(short, "?")
}
