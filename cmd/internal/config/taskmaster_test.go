package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

// wholeTaskMaster has every key that is read, beside others.
const wholeTaskMaster = `{
  "models": {"main": {"provider": "anthropic", "enabld": true}},
  "global": {"logLevel": "info"},
  "autopilot": {
    "enabled": false,
    "requireCleanWorkingTree": false,
    "commitTemplate": "{type}: {msg} (task {taskId})",
    "defaultCommitType": "fix",
    "maxGreenAttempts": 7,
    "testTimeout": 120000,
    "storage": {
      "location": "global",
      "basePath": "~/.taskmaster"
    }
  },
  "test": {
    "runner": "vitest", "coverageThresholds": {
      "lines": 50.5, "branches": 0,
      "functions": 60,
      "statements": 70
    },
    "targetedRunPattern": "**/*.test.js"
  },
  "git": {"branchPattern": "ai/{tag}/{id}", "defaultRemote": "upstream"}
}
`

func TestTaskMasterConfig(t *testing.T) {
	t.Parallel()
	layer, err := ParseTaskMaster([]byte(wholeTaskMaster))
	if err != nil {
		t.Fatal(err)
	}
	r := resolve(t, layer)
	lines, functions, statements := 50.5, 60.0, 70.0
	want := tdd.Settings{
		CommitTemplate: "{type}: {msg} (task {taskId})", CommitType: "fix", MaxAttempts: 7, TestCommand: tdd.TestsAuto,
		TestRunner: "vitest", TestTimeout: 2 * time.Minute, TestPattern: "**/*.test.js",
		Thresholds:    tdd.Coverage{Lines: &lines, Functions: &functions, Statements: &statements},
		BranchPattern: "ai/{tag}/{id}", Remote: "upstream", Storage: "~/.taskmaster",
	}
	if d := cmp.Diff(want, r.TDD); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	origins := map[string]string{}
	for _, v := range layer {
		origins[v.Key] = strings.TrimPrefix(v.Origin, TaskMasterFile)
		if !v.InRepo {
			t.Errorf("%s does not count as set by the repository", v.Key)
		}
	}
	wantOrigins := map[string]string{
		"tdd": ":5 autopilot.enabled", "clean-tree": ":6 autopilot.requireCleanWorkingTree", "commit-template": ":7 autopilot.commitTemplate",
		"commit-type": ":8 autopilot.defaultCommitType", "max-attempts": ":9 autopilot.maxGreenAttempts", "test-timeout": ":10 autopilot.testTimeout",
		"tdd-storage": ":13 autopilot.storage.basePath", "test-runner": ":17 test.runner", "coverage-lines": ":18 test.coverageThresholds.lines",
		"coverage-branches": ":18 test.coverageThresholds.branches", "coverage-functions": ":19 test.coverageThresholds.functions",
		"coverage-statements": ":20 test.coverageThresholds.statements", "test-pattern": ":22 test.targetedRunPattern",
		"branch-pattern": ":24 git.branchPattern", "remote": ":24 git.defaultRemote",
	}
	if d := cmp.Diff(wantOrigins, origins); d != "" {
		t.Errorf("origins (-want +got):\n%s", d)
	}
	if got := setting(t, r, "test-timeout"); got.Value != "2m" {
		t.Errorf("test-timeout is shown as %q, want 2m", got.Value)
	}
}

func TestTaskMasterValues(t *testing.T) {
	t.Parallel()
	const at = TaskMasterFile + ":1"
	for _, tt := range []struct{ text, want string }{ // an error, a note, or nothing
		{``, ""},
		{" \n", ""},
		{`{}`, ""},
		{"\ufeff{}", ""},
		{`{"autopilot":null,"test":{"runner":null}}`, ""},
		{`{"autopilot":{"maxGreenAttempts":0}}`, "note max-attempts: 0 is below 1, using 1 (" + at + " autopilot.maxGreenAttempts)"},
		{`{"autopilot":{"maxGreenAttempts":"x"}}`, `max-attempts: "x" is not a number (` + at + " autopilot.maxGreenAttempts)"},
		{`{"autopilot":{"maxGreenAttempts":true}}`, `max-attempts: "true" is not a number`},
		{`{"autopilot":{"enabled":"yes"}}`, `tdd: "yes" is neither true nor false`},
		{`{"autopilot":{"defaultCommitType":"feature"}}`, `commit-type: "feature" is none of`},
		{`{"autopilot":{"commitTemplate":"{nope} {msg}"}}`, "commit-template: unknown placeholder {nope}"},
		{`{"autopilot":{"testTimeout":5}}`, "note test-timeout: 5ms is outside 1s..6h, using 1s"},
		{`{"autopilot":{"testTimeout":-5}}`, "note test-timeout: -5ms is outside 1s..6h, using 1s"},
		{`{"autopilot":{"testTimeout":1e300}}`, "using 6h"},
		{`{"autopilot":{"testTimeout":"90000"}}`, ""},
		{`{"autopilot":{"testTimeout":"90s"}}`, ""},
		{`{"autopilot":{"testTimeout":"later"}}`, `test-timeout: "later" is not a duration`},
		{`{"autopilot":{"storage":{"location":"project"}}}`, `autopilot.storage.location: "project" is not global: runs are kept outside the repository (` + at + `)`},
		{`{"autopilot":{"storage":{"basePath":"/etc"}}}`, "tdd-storage: may not be set to this by a repository (" + at + " autopilot.storage.basePath)"},
		{`{"autopilot":{"storage":"global"}}`, "read configuration " + at + ": autopilot.storage is no object"},
		{`{"autopilot":true}`, "read configuration " + at + ": autopilot is no object"},
		{`[]`, "read configuration " + at + ": the file is no object"},
		{`{"autopilot":{"enabled":{}}}`, "read configuration " + at + ": autopilot.enabled: want a plain value"},
		{`{"git":{"defaultRemote":["a"]}}`, "read configuration " + at + ": git.defaultRemote: want a plain value"},
		{`{"git":{"defaultRemote":"--exec=x"}}`, `remote: "--exec=x" is no name of a remote (` + at + " git.defaultRemote)"},
		{`{"git":{"defaultRemote":"a","defaultRemote":"b"}}`, "git.defaultRemote stands there twice"},
		{`{"test":{"runner":"mocha"}}`, `test-runner: "mocha" is none of`},
		{`{"test":{"coverageThresholds":{"lines":101}}}`, "note coverage-lines: 101 is outside 0..100, using 100"},
		{`{"test":{"coverageThresholds":{"lines":-1}}}`, "coverage-lines: -1 would mean no limit"},
		// Keys of others, and typing mistakes.
		{`{"autopilot":{"workers":3,"a":{"enabld":1}},"test":{"reporter":"x"},"git":{"hooks":[]},"enabled":0,"autopilto":{"enabled":0}}`, ""},
		{`{"autopilot":{"enabeld":false}}`, "autopilot.enabeld: unknown key; did you mean autopilot.enabled? (" + at + ")"},
		{`{"autopilot":{"maxGreenAttempt":3}}`, "did you mean autopilot.maxGreenAttempts?"},
		{`{"autopilot":{"Storage":{}}}`, "did you mean autopilot.storage?"},
		{`{"test":{"coverageThreshold":{}}}`, "did you mean test.coverageThresholds?"},
		{`{"test":{"coverageThresholds":{"statments":1}}}`, "did you mean test.coverageThresholds.statements?"},
		{`{"git":{"branchPatern":"x"}}`, "did you mean git.branchPattern?"},
		{`{"git":{"` + strings.Repeat("x", 1<<20) + `":1}}`, ""},
	} {
		got := ""
		layer, err := ParseTaskMaster([]byte(tt.text))
		if err == nil {
			var r Resolved
			r, err = Resolve(layer)
			for _, n := range r.Notes {
				got += "note " + n
			}
		}
		if err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%.80s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestBrokenTaskMasterConfig(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{
		"{\n\"autopilot\": {\n\"enabled\": tru\n}}": 3, "{\n\n": 2, "{}\n{}": 2, "{\"a\": 1,\n}": 2, "nothing": 1, "{\n// comment\n}": 2,
	} {
		got, err := ParseTaskMaster([]byte(text))
		if want := fmt.Sprintf("read configuration %s:%d: ", TaskMasterFile, line); err == nil || !strings.HasPrefix(err.Error(), want) || got != nil {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestLoadTaskMaster(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	none := func(what string) {
		t.Helper()
		if values, err := LoadTaskMaster(repo); values != nil || err != nil {
			t.Errorf("%s: got %v, %v, want an empty layer", what, values, err)
		}
	}
	none("no folder")
	folder := filepath.Join(repo, ".taskmaster")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none("a file in place of the folder")
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadTaskMaster(repo); err == nil || !strings.HasPrefix(err.Error(), "read configuration: ") {
		t.Errorf("a folder in place of the file: got %v, want an error that says what was read", err)
	}
	if err := os.Remove(filepath.Join(folder, "config.json")); err != nil {
		t.Fatal(err)
	}
	none("an empty folder")
	if err := os.WriteFile(filepath.Join(folder, "config.json"), []byte("{\"git\":\n{\"defaultRemote\": \"up\"}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadTaskMaster(repo)
	want := []Value{{Key: "remote", Raw: []string{"up"}, Origin: ".taskmaster/config.json:2 git.defaultRemote", InRepo: true}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v; values (-want +got):\n%s", err, d)
	}
}

// Every key leads to an option.
func TestTaskMasterKeysAreOptions(t *testing.T) {
	t.Parallel()
	for path, e := range fromTaskMaster() {
		if o, ok := find(e.key); e.key != "" && (!ok || o.Group != GroupTDD) {
			t.Errorf("%s: %q is no option of test-driven work", path, e.key)
		}
	}
}

func FuzzParseTaskMaster(f *testing.F) {
	for _, seed := range []string{wholeTaskMaster, `{"git":{"defaultRemote":"a"}}`, "{", `{"test":{"runer":1}}`, "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := ParseTaskMaster(data)
		if err != nil && !strings.HasPrefix(err.Error(), "read configuration "+TaskMasterFile+":") {
			t.Errorf("error names no line: %v", err)
		}
		for _, v := range values {
			if v.Key == "" || len(v.Raw) != 1 || !v.InRepo || v.Err == nil && !Known(v.Key) {
				t.Errorf("value %+v", v)
			}
		}
	})
}

func BenchmarkLoadTaskMaster(b *testing.B) {
	repo := b.TempDir()
	b.Run("missing", func(b *testing.B) {
		for b.Loop() {
			if _, err := LoadTaskMaster(repo); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := os.Mkdir(filepath.Join(repo, ".taskmaster"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(repo, ".taskmaster", "config.json"), []byte(wholeTaskMaster), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if _, err := LoadTaskMaster(repo); err != nil {
				b.Fatal(err)
			}
		}
	})
}
