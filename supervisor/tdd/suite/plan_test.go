package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/testprogram"
	"autopilot/supervisor/tdd/suite/shell"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	testprogram.Write(t, file, []byte(text))
}

func TestPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "package.json", `{"scripts":{"test":"tsc && jest --ci","first":"jest && eslint .","node":"node --test a","nested":"npm run test"}}`)
	const vitest = "vitest run --cache=false --reporter=default --reporter=json --outputFile=/s/result --passWithNoTests"
	for _, c := range []struct {
		runner  Runner
		command string
		cover   bool
		want    string // command; empty when it is as it was
		blind   string // part of it
	}{
		{Go, "go test ./...", false, "go test -json ./...", ""},
		{Go, "go test -json ./...", false, "", ""},
		{Go, "go test -run 'A B' ./a && (cd b; go test ./...) | tee log", false, "go test -json -run 'A B' ./a && (cd b; go test -json ./...) | tee log", ""},
		{Go, "go test ./...", true, "go test -json -coverprofile=/s/cover.out ./...", ""},
		{Go, "go test ./a && go test ./b", true, "go test -json ./a && go test -json ./b", ""},
		{Go, "go test -coverprofile=x ./a", true, "go test -json -coverprofile=x ./a", ""},
		{Go, "make test", true, "", ""},
		{Cargo, "cargo test -- --nocapture", false, "cargo test --no-fail-fast -- --nocapture", ""},
		{Jest, "npx jest src", false, "npx jest --json --outputFile=/s/result --passWithNoTests src", ""},
		{Jest, "npx jest --passWithNoTests", true, "npx jest --json --outputFile=/s/result --coverageReporters=json-summary --coverageDirectory=/s/coverage --coverage '--coverageThreshold={}' --passWithNoTests", ""},
		{Jest, "npx jest --coverage", true, "npx jest --json --outputFile=/s/result --passWithNoTests --coverageReporters=json-summary --coverageDirectory=/s/coverage --coverage", ""},
		{Jest, "npm test", false, "npm test -- --json --outputFile=/s/result --passWithNoTests", ""},
		{Jest, "npm test -- -t x", false, "npm test -- -t x --json --outputFile=/s/result --passWithNoTests", ""},
		{Jest, "yarn test", false, "yarn test --json --outputFile=/s/result --passWithNoTests", ""},
		{Jest, "npm run first", false, "", "not the last command"},
		{Jest, "npm run nested", false, "", "does not name jest"},
		{Jest, "npm run absent", false, "", "does not name jest"},
		{Jest, "jest a && jest b", false, "", "more than once"},
		{Jest, "jest --outputFile=mine", false, "", "has --outputFile already"},
		{Jest, "make test", false, "", "does not name jest"},
		{Vitest, "npx vitest src", false, "npx vitest --cache=false --reporter=default --reporter=json --outputFile=/s/result --passWithNoTests src", ""},
		{Vitest, "vitest run", true, vitest, ""},
		{Pytest, "cd x && python -m pytest -q", false, "cd x && python -m pytest --junitxml=/s/result -o cache_dir=/s/cache -q", ""},
		{Pytest, "pytest --junitxml=mine", false, "", "has --junitxml already"},
		{Node, "npm run node", false, "", ""},
		{Node, "node --test --test-reporter=dot", false, "", "has --test-reporter already"},
		{Exit, "go test ./...", true, "", "only the exit status"},
		{TAP, "tape x", true, "", ""},
	} {
		s := Suite{Command: c.command, Runner: c.runner}
		p := s.plan(planned{dir: dir, folder: "/s", cover: c.cover})
		if c.want == "" {
			c.want = c.command
		}
		if p.command != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.command, p.command, c.want)
		}
		if (p.blind == "") != (c.blind == "") || !strings.Contains(p.blind, c.blind) {
			t.Errorf("%s: got %q, want %q", c.command, p.blind, c.blind)
		}
		if c.cover && p.cover == "" && p.noCover == "" {
			t.Errorf("%s: neither coverage nor a reason why not", c.command)
		}
	}
}

func TestPlanOfCoverageForPytestAndVitest(t *testing.T) {
	t.Parallel()
	const head = "pytest --junitxml=/s/result -o cache_dir=/s/cache"
	for _, c := range []struct{ file, text, command, want string }{
		{"x", "", "pytest", head + " --cov-report=xml:/s/coverage.xml --cov=. --cov-fail-under=0"},
		{".coveragerc", "", "pytest", head + " --cov-report=xml:/s/coverage.xml --cov --cov-fail-under=0"},
		{"pyproject.toml", "[tool.coverage.run]\n", "pytest", head + " --cov-report=xml:/s/coverage.xml --cov --cov-fail-under=0"},
		{"pytest.ini", "addopts = --cov=src\n", "pytest", head + " --cov-report=xml:/s/coverage.xml"},
		{"x", "", "pytest --cov=src", head + " --cov-report=xml:/s/coverage.xml --cov=src"},
		{"x", "", "coverage run -m pytest", "coverage run -m " + head},
	} {
		dir := t.TempDir()
		write(t, dir, c.file, c.text)
		p := Suite{Command: c.command, Runner: Pytest}.plan(planned{dir: dir, folder: "/s", cover: true, plugin: true})
		if p.command != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.command, p.command, c.want)
		}
		if !strings.Contains(strings.Join(p.env, " "), "PYTHONDONTWRITEBYTECODE=1") {
			t.Errorf("%s: environment %v lets python write bytecode", c.command, p.env)
		}
	}
	p := Suite{Command: "pytest", Runner: Pytest}.plan(planned{dir: t.TempDir(), folder: "/s", cover: true})
	if p.command != head || p.cover != "" || p.noCover == "" {
		t.Errorf("without the plug-in: got %s (%q)", p.command, p.noCover)
	}
	for _, c := range []struct {
		version, command string
		cover            bool
	}{{"4.1.0", "vitest", true}, {"5.0.0", "vitest", false}, {"4.1.0", "vitest --coverage", false}} {
		dir := t.TempDir()
		write(t, dir, "node_modules/vitest/package.json", `{"version":"4.1.0"}`)
		write(t, dir, "node_modules/@vitest/coverage-v8/package.json", `{"version":"`+c.version+`"}`)
		p := Suite{Command: c.command, Runner: Vitest}.plan(planned{dir: dir, folder: "/s", cover: true})
		if (p.cover != "") != c.cover || strings.Contains(p.command, "--coverage.enabled") != c.cover {
			t.Errorf("%v: got %s (%s)", c, p.command, p.noCover)
		}
	}
}

func TestEnvironmentOfPlans(t *testing.T) {
	t.Parallel()
	k := planned{dir: t.TempDir(), folder: `/a "b`, environ: []string{"NODE_OPTIONS=--no-warnings"}}
	p := Suite{Command: "node --test", Runner: Node}.plan(k)
	want := []string{`NODE_OPTIONS=--no-warnings --test-reporter=tap --test-reporter-destination="/a \"b/result" --test-reporter=spec --test-reporter-destination=stdout`}
	if d := cmp.Diff(want, p.env); d != "" {
		t.Errorf("node (-want +got):\n%s", d)
	}
	if got := (Suite{Command: "jest", Runner: Jest}).plan(k).env; !cmp.Equal(got, []string{"CI=true"}) {
		t.Errorf("jest: got %v", got)
	}
	k.environ = []string{"CI=false"}
	if got := (Suite{Command: "jest", Runner: Jest}).plan(k).env; got != nil {
		t.Errorf("jest: got %v over what a person has set", got)
	}
}

func FuzzPlan(f *testing.F) {
	for _, s := range []string{"a && b | c", "x >& 2 y", "'", "\\", "a\n#b\n c", "2>&1 jest", "&>x jest"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		parts, _ := shell.Split(command)
		for _, s := range spots(parts) {
			if s.end <= 0 || s.end > len(command) {
				t.Fatalf("%q: options would stand at %d", command, s.end)
			}
		}
		for _, r := range Runners() {
			Suite{Command: command, Runner: Runner(r)}.plan(planned{dir: "/nowhere", folder: "/s"})
		}
	})
}
