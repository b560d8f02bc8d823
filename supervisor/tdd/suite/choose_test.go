package suite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/testprogram"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite"
)

// project makes a folder with files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		testprogram.Write(t, file, []byte(text))
	}
	return dir
}

func scripts(test string) string { return `{"scripts":{"test":"` + test + `"}}` }

func TestDetection(t *testing.T) {
	t.Parallel()
	const npm, python = "npm test --silent", "python3 -m pytest"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  *suite.Suite // nil when nothing is found
	}{
		{"go", map[string]string{"go.mod": ""}, &suite.Suite{Command: "go test ./...", Runner: suite.Go, Why: "go.mod"}},
		{"jest", map[string]string{"package.json": scripts("jest --ci")}, &suite.Suite{Command: npm, Runner: suite.Jest, Why: "package.json: scripts.test"}},
		{"vitest", map[string]string{"package.json": scripts("tsc && vitest run")}, &suite.Suite{Command: npm, Runner: suite.Vitest, Why: "package.json: scripts.test"}},
		{"node", map[string]string{"package.json": scripts("node --test test/")}, &suite.Suite{Command: npm, Runner: suite.Node, Why: "package.json: scripts.test"}},
		{"another tool", map[string]string{"package.json": scripts("mocha")}, &suite.Suite{Command: npm, Runner: suite.Exit, Why: "package.json: scripts.test"}},
		{"two tools", map[string]string{"package.json": scripts("vitest run && jest")}, &suite.Suite{Command: npm, Runner: suite.Exit, Why: "package.json: scripts.test"}},
		{
			"no script, jest",
			map[string]string{"package.json": `{"devDependencies":{"jest":"1"}}`},
			&suite.Suite{Command: "npx --no-install jest", Runner: suite.Jest, Why: "package.json: jest"},
		},
		{
			"placeholder, vitest",
			map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"},"dependencies":{"vitest":"1"}}`},
			&suite.Suite{Command: "npx --no-install vitest run", Runner: suite.Vitest, Why: "package.json: vitest"},
		},
		{"placeholder", map[string]string{"package.json": scripts(`echo \"Error: no test specified\" && exit 1`)}, nil},
		{"package.json that is none", map[string]string{"package.json": `{`}, nil},
		{"pytest.ini", map[string]string{"pytest.ini": ""}, &suite.Suite{Command: python, Runner: suite.Pytest, Why: "pytest.ini"}},
		{"pyproject", map[string]string{"pyproject.toml": "[project]\n[tool.pytest.ini_options]\n"}, &suite.Suite{Command: python, Runner: suite.Pytest, Why: "pyproject.toml"}},
		{"pyproject without pytest", map[string]string{"pyproject.toml": "[project]\nx = \"[tool.pytest\"\n"}, nil},
		{"setup.cfg", map[string]string{"setup.cfg": "[tool:pytest]\n"}, &suite.Suite{Command: python, Runner: suite.Pytest, Why: "setup.cfg"}},
		{"conftest", map[string]string{"conftest.py": ""}, &suite.Suite{Command: python, Runner: suite.Pytest, Why: "conftest.py"}},
		{
			"test folder of python",
			map[string]string{"tests/unit/test_a.py": "", "tests/readme": ""},
			&suite.Suite{Command: python, Runner: suite.Pytest, Why: "tests/unit/test_a.py"},
		},
		{
			"environment in the project",
			map[string]string{"test_a.py": "", ".venv/bin/python": ""},
			&suite.Suite{Command: ".venv/bin/python -m pytest", Runner: suite.Pytest, Why: "test_a.py"},
		},
		{"folder without python tests", map[string]string{"tests/a.py": ""}, nil},
		{"cargo", map[string]string{"Cargo.toml": ""}, &suite.Suite{Command: "cargo test", Runner: suite.Cargo, Why: "Cargo.toml"}},
		{"make", map[string]string{"Makefile": ".PHONY: test\nall: x\n\techo\ntest: all\n\ttrue\n"}, &suite.Suite{Command: "make test", Runner: suite.Exit, Why: "Makefile: test"}},
		{"make, two targets", map[string]string{"Makefile": "check test:\n\ttrue\n"}, &suite.Suite{Command: "make test", Runner: suite.Exit, Why: "Makefile: test"}},
		{"make, a variable", map[string]string{"Makefile": "test := 1\ntest = 2\ntests: x\n.PHONY: test\n\ttest: x\n"}, nil},
		{
			"several",
			map[string]string{"Makefile": "test:\n", "Cargo.toml": "", "package.json": scripts("jest")},
			&suite.Suite{Command: npm, Runner: suite.Jest, Why: "package.json: scripts.test"},
		},
		{"a folder is no file", map[string]string{"go.mod/x": ""}, nil},
		{"nothing", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := suite.Choose(project(t, c.files), tdd.Settings{TestCommand: tdd.TestsAuto, TestRunner: "auto"})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if (err == nil) != (c.want != nil) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"go.mod": "", "package.json": `{"scripts":{"test":"mocha","unit":"vitest run"}}`, "Makefile": "test:\n"})
	for _, c := range []struct {
		command, runner string
		want            *suite.Suite
		refusal         string // part of it
	}{
		{"none", "", nil, ""},
		{"auto", "", &suite.Suite{Command: "go test ./...", Runner: suite.Go, Why: "go.mod"}, ""},
		{"", "exit", &suite.Suite{Command: "go test ./...", Runner: suite.Exit, Why: "go.mod"}, ""},
		{"auto", "tap", &suite.Suite{Command: "npm test --silent", Runner: suite.TAP, Why: "package.json: scripts.test"}, ""},
		{"auto", "cargo", nil, "no test command for the runner cargo"},
		{"auto", "rspec", nil, `"rspec" is no runner`},
		{" \t ", "", &suite.Suite{Command: "go test ./...", Runner: suite.Go, Why: "go.mod"}, ""},
		{"a\x00b", "", nil, "zero byte"},
		{"./check.sh", "", &suite.Suite{Command: "./check.sh", Runner: suite.Exit, Why: "configured"}, ""},
		{"./check.sh", "tap", &suite.Suite{Command: "./check.sh", Runner: suite.TAP, Why: "configured"}, ""},
		{"npm run unit", "auto", &suite.Suite{Command: "npm run unit", Runner: suite.Vitest, Why: "configured"}, ""},
		{"FOO=1 pytest -q", "auto", &suite.Suite{Command: "FOO=1 pytest -q", Runner: suite.Pytest, Why: "configured"}, ""},
	} {
		got, err := suite.Choose(dir, tdd.Settings{TestCommand: c.command, TestRunner: c.runner})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q %q (-want +got):\n%s", c.command, c.runner, d)
		}
		if c.refusal == "" {
			if err != nil {
				t.Errorf("%q %q: %v", c.command, c.runner, err)
			}
			continue
		}
		r, ok := errors.AsType[*tdd.Refusal](err)
		if !ok || r.Kind != tdd.Invalid || !strings.Contains(r.Message, c.refusal) || r.Way == "" {
			t.Errorf("%q %q: got %#v, want a refusal with %q", c.command, c.runner, err, c.refusal)
		}
	}
	_, err := suite.Choose(t.TempDir(), tdd.Settings{TestCommand: tdd.TestsAuto})
	r, ok := errors.AsType[*tdd.Refusal](err)
	if !ok || !strings.Contains(r.Way, "test-command: none") || !strings.Contains(r.Way, "--test-command") || !strings.Contains(r.Way, "autopilot.yaml") {
		t.Errorf("got %v, want the ways out", err)
	}
}

func TestTell(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]suite.Runner{
		"go test ./...":               suite.Go,
		"go -C sub test ./...":        suite.Go,
		"cd api && go test":           suite.Go,
		"go vet ./... && go test ./x": suite.Go,
		"go build ./...":              suite.Exit,
		"go test ./... && jest":       suite.Exit,
		"npx jest":                    suite.Jest,
		"cd jest && echo jest":        suite.Exit,
		"echo 'go test ./...'":        suite.Exit,
		"npx --no-install vitest":     suite.Vitest,
		"vitest bench":                suite.Exit,
		"NODE_ENV=test node --experimental-vm-modules node_modules/jest/bin/jest.js": suite.Jest,
		"node --import tsx --test":                 suite.Node,
		"node server.js":                           suite.Exit,
		"python3.12 -m pytest -x":                  suite.Pytest,
		"poetry run pytest":                        suite.Pytest,
		"uv run --no-sync pytest":                  suite.Pytest,
		"timeout 60s pytest":                       suite.Pytest,
		"python manage.py test":                    suite.Exit,
		"cargo +nightly test --workspace":          suite.Cargo,
		"cargo nextest run":                        suite.Exit,
		"bats --tap test":                          suite.TAP,
		"bats test":                                suite.Exit,
		"for d in a b; do (cd $d && pytest); done": suite.Exit,
		"f() (pytest); f":                          suite.Exit,
		"pytest $(ls)":                             suite.Exit,
		"pytest 'unbalanced":                       suite.Exit,
		"pytest 2>&1 | tee log":                    suite.Pytest,
		"> jest npx vitest":                        suite.Vitest,
		"echo x > pytest":                          suite.Exit,
		"echo a # pytest":                          suite.Exit,
		"echo a \\\n pytest":                       suite.Exit,
		"echo a\npytest":                           suite.Pytest,
		"npm exec jest":                            suite.Exit,
	} {
		if got := suite.Tell(t.TempDir(), command); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
}
