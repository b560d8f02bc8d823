package playwright

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/supervisor/tdd/suite/shell"
)

// Command runs the tests of a project that has Playwright installed. It downloads nothing.
const Command = "npx --no-install playwright test"

// Config returns the name of Playwright's configuration in dir, or "".
func Config(dir string) string {
	for _, ext := range []string{"ts", "js", "mts", "mjs", "cts", "cjs"} {
		name := "playwright.config." + ext
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// Installed reports whether node would find Playwright from dir: in its own packages or
// in those of a folder above.
func Installed(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for {
		for _, name := range []string{"@playwright/test", "playwright"} {
			if _, err := os.Stat(filepath.Join(dir, "node_modules", filepath.FromSlash(name))); err == nil {
				return true
			}
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// Asked is a command that runs Playwright.
type Asked struct {
	Command string
	// Reports is set when it was asked for a JSON report; else it names a reporter of its
	// own, and there is a report only if that is the JSON one.
	Reports bool
}

// Ask extends a shell command that runs Playwright's tests once, so that it writes a
// JSON report. It is false for every other command.
func Ask(command string) (Asked, bool) {
	parts, ok := shell.Split(command)
	if !ok {
		return Asked{}, false
	}
	at, seen, own := 0, 0, false
	for _, words := range parts {
		for i, w := range words {
			if i > 0 && w.Text == "test" && path.Base(words[i-1].Text) == "playwright" {
				at = w.End
				seen++
			}
		}
		own = own || slices.ContainsFunc(words, func(w shell.Word) bool {
			return w.Text == "--reporter" || strings.HasPrefix(w.Text, "--reporter=")
		})
	}
	switch {
	case seen != 1:
		return Asked{}, false
	case own:
		return Asked{Command: command}, true
	}
	return Asked{Command: command[:at] + " --reporter=json" + command[at:], Reports: true}, true
}

// Environ returns the variables, as NAME=value, by which the report is written into a
// file, which has to be an absolute path. Early versions know the second only.
func Environ(file string) []string {
	return []string{"PLAYWRIGHT_JSON_OUTPUT_FILE=" + file, "PLAYWRIGHT_JSON_OUTPUT_NAME=" + file, "PLAYWRIGHT_HTML_OPEN=never"}
}
