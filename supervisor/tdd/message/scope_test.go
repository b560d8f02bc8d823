package message

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScope(t *testing.T) {
	t.Parallel()
	for files, want := range map[string]string{
		"apps/cli/src/index.ts":                                   "cli",
		"packages/tm-core/src/a.ts packages/tm-core/b.ts":         "core",
		"packages/tm-mcp/src/a.ts":                                "mcp",
		"packages/tm-core/a apps/cli/b apps/cli/c":                "cli",
		"packages/lib/src/a.ts":                                   "lib",
		"cmd/autopilot/main.go":                                   "autopilot",
		"cmd/internal/config/a.go":                                "config",
		"internal/store/a.go internal/store/b.go internal/x/c.go": "store",
		"src/auth/login.ts":                                       "auth",
		"src/main/java/App.java":                                  "main",
		"src/index.ts":                                            "src",
		"lib/parser/a.rb":                                         "parser",
		"crates/Wire_Format/src/lib.rs":                           "wire-format",
		"services/billing/app.py":                                 "billing",
		"web/pages/a.tsx":                                         "web",
		"src/auth/__tests__/login.test.ts src/auth/login.ts":      "auth",
		"tests/parser/test_a.py parser/a.py":                      "parser",
		"test/e2e/a.js":                                           "e2e",
		"src/__tests__/commands.test.ts":                          "src",
		"b/1 a/1":                                                 "a",
		"b/1 a/1 b/2":                                             "b",
		"calc.js":                                                 "calc",
		"calc.js calc.test.js":                                    "calc",
		"calc_test.go calc.go main.go":                            "calc",
		"tests/test_calc.py":                                      "calc",
		"main.go util/x.go":                                       "util",
		".gitignore":                                              "gitignore",
		".github/workflows/ci.yml":                                "github",
		".taskmaster/tasks/tasks.json":                            "misc",
		".taskmaster/tasks/tasks.json a/b .taskmaster/tasks/task_1.md": "a",
		".taskmaster/tasks.json .taskmaster/config.json":               "taskmaster",
		"":                  "misc",
		"日本/a":              "a",
		"日本/あ":              "misc",
		"日本/a src/b/c":      "b",
		"./src/./auth/a.ts": "auth",
		"../../x/a":         "x",
		"/abs/a":            "abs",
		"a-rather-long-name-of-a-folder-in-here/x": "a-rather-long-name-of-a-folder",
		"averyveryverylongnamewithoutanyhyphen/x":  "averyveryverylongnamewithoutan",
	} {
		if got := Scope(strings.Fields(files)); got != want {
			t.Errorf("%s: got %q, want %q", files, got, want)
		}
	}
}

func TestEveryScopeHasItsForm(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOf(rapid.StringMatching(`([a-zA-Z.\-_é]{0,40}/){0,4}[a-z._é]{0,9}`)).Draw(t, "files")
		got := Scope(files)
		if !form.MatchString(got) || len(got) > 30 {
			t.Fatalf("got %q", got)
		}
		if again := Scope(files); again != got {
			t.Fatalf("got %q, then %q", got, again)
		}
	})
}

func TestType(t *testing.T) {
	t.Parallel()
	isTest := func(f string) bool { return strings.Contains(f, "test") }
	for files, want := range map[string]string{
		"":                                      Fix,
		"a.go":                                  Fix,
		"a_test.go":                             Test,
		"a_test.go b.test.ts":                   Test,
		"a_test.go a.go":                        Fix,
		"a_test.go README.md":                   Fix,
		"test/package.json":                     Test,
		"README.md docs/a.png LICENSE":          Docs,
		"docs/a.go":                             Fix,
		"docs/a.txt":                            Docs,
		"notes.txt":                             Fix,
		"readme":                                Docs,
		"docs":                                  Fix,
		"src/a.png":                             Fix,
		"package.json package-lock.json":        Chore,
		"go.mod go.sum":                         Chore,
		"Makefile .github/workflows/ci.yml":     Chore,
		".gitignore":                            Chore,
		"web/.eslintrc.json web/jest.config.ts": Chore,
		"Cargo.toml Cargo.lock":                 Chore,
		"requirements-dev.txt tsconfig.base.json Dockerfile": Chore,
		".github/README.md":            Chore,
		"package.json README.md":       Fix,
		"package.json src/a.ts":        Fix,
		"src/app.config.service.ts":    Fix,
		"config.go":                    Fix,
		"locker.go":                    Fix,
		"../a.go":                      Fix,
		".taskmaster/tasks/tasks.json": Chore,
	} {
		if got := Type(strings.Fields(files), isTest, Fix); got != want {
			t.Errorf("%s: got %s, want %s", files, got, want)
		}
	}
	if got := Type([]string{"a_test.go"}, nil, ""); got != Feat {
		t.Errorf("without a default: got %s, want %s", got, Feat)
	}
}

func TestCheckType(t *testing.T) {
	t.Parallel()
	for _, known := range Types() {
		if err := CheckType(known); err != nil {
			t.Errorf("%s: %v", known, err)
		}
	}
	if err := CheckType("feature"); err == nil || err.Error() != `"feature" is none of feat, fix, test, refactor, docs, chore` {
		t.Errorf("feature: %v", err)
	}
}
