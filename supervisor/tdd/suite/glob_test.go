package suite

import (
	"testing"

	"autopilot/supervisor/tdd/suite/glob"
)

func TestUsualTestFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a/b_test.go": true, "a/b.go": false, "src/a.test.ts": true, "src/a.spec.js": true, "src/a.js": false,
		"test_a.py": true, "a_test.py": true, "conftest.py": true, "tests/helper.py": true, "x/__tests__/a.jsx": true,
		"a_spec.rb": true, "spec/models/a.rb": true, "src/CalculatorTest.java": true, "src/Latest.java": false,
		"src/contest.py": false, "latest.go": false, "attest.ts": false, "tests.py": true, "app.e2e-spec.ts": true,
		"testdata/x.json": true, "README.md": false, "Makefile": false, ".env.test": false, "Test/A.cs": true, "manifest.json": false,
	} {
		if got := IsTest(name, ""); got != want {
			t.Errorf("IsTest(%q) = %v", name, got)
		}
	}
	if IsTest("a_test.go", "**/*.spec.ts") || !IsTest("x/a.spec.ts", "**/*.spec.ts") {
		t.Error("the pattern does not decide")
	}
}

func TestPatternsOfRunners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r        Runner
		yes, not string
	}{
		{Go, "a/b_test.go", "a/b.go"},
		{Jest, "src/a.test.tsx", "src/a.tsx"},
		{Vitest, "src/__tests__/a.ts", "src/tests.ts"},
		{Node, "test/a.js", "src/a.js"},
		{Pytest, "tests/test_a.py", "tests/a.py"},
		{Cargo, "crates/a/tests/it.rs", "src/lib.rs"},
	} {
		if p := Pattern(c.r); !glob.Match(p, c.yes) || glob.Match(p, c.not) {
			t.Errorf("%s: %s does not tell %s from %s", c.r, p, c.yes, c.not)
		}
	}
	for _, r := range []Runner{TAP, Exit, Auto} {
		if p := Pattern(r); p != "" {
			t.Errorf("%s: got %q", r, p)
		}
	}
}
