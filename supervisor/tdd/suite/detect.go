package suite

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"autopilot/metrics/plainfile"
)

const (
	maxProjectFile = 1 << 20 // bytes
	maxLooked      = 5000    // entries of test folders
)

// Detect returns the test commands that the files in dir speak of, the one to be
// preferred first: go, package.json, pytest, cargo, make.
func Detect(dir string) []Suite {
	var all []Suite
	if exists(dir, "go.mod") {
		all = append(all, Suite{"go test ./...", Go, "go.mod"})
	}
	if s, ok := detectNode(dir); ok {
		all = append(all, s)
	}
	if why := detectPytest(dir); why != "" {
		all = append(all, Suite{python(dir) + " -m pytest", Pytest, why})
	}
	if exists(dir, "Cargo.toml") {
		all = append(all, Suite{"cargo test", Cargo, "Cargo.toml"})
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if exists(dir, name) {
			if hasTestTarget(read(dir, name)) {
				all = append(all, Suite{"make test", Exit, name + ": test"})
			}
			break // make reads the first only
		}
	}
	return all
}

// manifest is what counts of a package.json.
type manifest struct {
	Version         string            `json:"version"`
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]any    `json:"dependencies"`
	DevDependencies map[string]any    `json:"devDependencies"`
}

func readPackage(dir string) manifest {
	var m manifest
	if json.Unmarshal([]byte(read(dir, "package.json")), &m) != nil {
		return manifest{}
	}
	return m
}

func detectNode(dir string) (Suite, bool) {
	m := readPackage(dir)
	if text := strings.TrimSpace(m.Scripts["test"]); text != "" && !strings.Contains(text, "no test specified") {
		const command = "npm test --silent"
		return Suite{command, Tell(dir, command), "package.json: scripts.test"}, true
	}
	for _, d := range []struct {
		name    string
		command string
		runner  Runner
	}{{"vitest", "npx --no-install vitest run", Vitest}, {"jest", "npx --no-install jest", Jest}} {
		for _, list := range []map[string]any{m.DevDependencies, m.Dependencies} {
			if _, ok := list[d.name]; ok {
				return Suite{d.command, d.runner, "package.json: " + d.name}, true
			}
		}
	}
	return Suite{}, false
}

// detectPytest returns the file that speaks of pytest, or "".
func detectPytest(dir string) string {
	for _, f := range []struct{ name, has string }{
		{"pytest.ini", ""},
		{".pytest.ini", ""},
		{"pyproject.toml", "[tool.pytest"},
		{"setup.cfg", "[tool:pytest]"},
		{"tox.ini", "[pytest]"},
		{"conftest.py", ""},
	} {
		if exists(dir, f.name) && hasLine(read(dir, f.name), f.has) {
			return f.name
		}
	}
	for _, pattern := range []string{"test_*.py", "*_test.py"} {
		if found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); err == nil && len(found) > 0 {
			return filepath.Base(found[0])
		}
	}
	for _, folder := range []string{"tests", "test"} {
		if name := pythonTest(dir, folder); name != "" {
			return name
		}
	}
	return ""
}

// pythonTest finds a test file of pytest below a folder.
func pythonTest(dir, folder string) string {
	found, seen := "", 0
	_ = filepath.WalkDir(filepath.Join(dir, folder), func(name string, d fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxLooked {
			return fs.SkipAll
		}
		base := d.Name()
		if d.Type().IsRegular() && (base == "conftest.py" || IsTest(base, Pattern(Pytest))) {
			if rel, err := filepath.Rel(dir, name); err == nil {
				found = filepath.ToSlash(rel)
			}
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// python returns the interpreter to run pytest with: that of an environment in the
// project, where there is one.
func python(dir string) string {
	for _, name := range []string{".venv/bin/python", "venv/bin/python"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil { // usually a link
			return name
		}
	}
	return "python3"
}

// hasLine reports whether a line begins with s.
func hasLine(text, s string) bool {
	return s == "" || strings.HasPrefix(text, s) || strings.Contains(text, "\n"+s)
}

// hasTestTarget reports whether a makefile has a rule for test.
func hasTestTarget(text string) bool {
	return regexp.MustCompile(`(?m)^(?:[\w./-]+ +)*test(?: +[\w./-]+)* *:(?:[^=:]|:[^=]|$)`).MatchString(text)
}

func exists(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// read returns the content of a project's file, or "".
func read(dir, name string) string {
	f, _, err := plainfile.Open(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxProjectFile))
	if err != nil {
		return ""
	}
	return string(data)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}
