package playwright_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/testgate/playwright"
)

// composed is a report in the form that Playwright 1.65 writes, put together by hand:
// two projects, a group in a file, every status that a test can have, and a second try.
const composed = `{
  "config": {"configFile": "/repo/playwright.config.ts", "rootDir": "/repo/e2e", "projects": [{"name": "chromium"}], "version": "1.65.1"},
  "suites": [{
    "title": "cart.spec.ts", "file": "cart.spec.ts", "line": 0, "column": 0, "specs": [
      {"title": "opens", "ok": true, "tags": [], "file": "cart.spec.ts", "line": 3, "column": 1, "tests": [
        {"projectName": "chromium", "expectedStatus": "passed", "status": "expected", "results": [{"status": "passed", "errors": [], "stdout": [{"text": "{\"suites\": 1}\n"}], "attachments": [{"name": "trace", "body": "AAAA"}]}]},
        {"projectName": "firefox", "expectedStatus": "passed", "status": "skipped", "results": []}]}],
    "suites": [{"title": "when full", "file": "cart.spec.ts", "line": 9, "column": 6, "specs": [
      {"title": "pays", "ok": false, "file": "cart.spec.ts", "line": 10, "column": 3, "tests": [
        {"projectName": "chromium", "expectedStatus": "passed", "status": "unexpected", "results": [
          {"status": "failed", "retry": 0, "errors": [{"message": "first try"}]},
          {"status": "failed", "retry": 1,
           "error": {"message": "\u001b[31mnot paid\u001b[39m", "stack": "Error: not paid\n at x", "snippet": "> 12 | expect(paid)"},
           "errors": [{"message": "\u001b[31mnot paid\u001b[39m\n\n> 12 | expect(paid)", "location": {"file": "/repo/e2e/pages/pay.ts", "line": 12, "column": 4}}, {"message": "and the clean-up"}]}]}]},
      {"title": "waits", "ok": false, "file": "cart.spec.ts", "line": 20, "column": 3, "tests": [
        {"projectName": "", "expectedStatus": "passed", "status": "unexpected", "results": [{"status": "timedOut", "errors": []}]}]},
      {"title": "tries", "ok": true, "file": "cart.spec.ts", "line": 30, "column": 3, "tests": [
        {"projectName": "chromium", "expectedStatus": "passed", "status": "flaky", "results": [{"status": "failed", "errors": [{"message": "once"}]}, {"status": "passed", "errors": []}]}]},
      {"title": "is expected to fail", "ok": true, "file": "cart.spec.ts", "line": 40, "column": 3, "tests": [
        {"projectName": "chromium", "expectedStatus": "failed", "status": "expected", "results": [{"status": "failed", "errors": [{"message": "as expected"}]}]}]}
    ]}]
  }],
  "errors": [],
  "stats": {"startTime": "2026-01-02T03:04:05.000Z", "duration": 1234.5, "expected": 2, "skipped": 1, "unexpected": 2, "flaky": 1}
}`

func TestParse(t *testing.T) {
	t.Parallel()
	want := playwright.Report{
		Passed: 3, Failed: 2, Skipped: 1, Flaky: 1,
		Failures: []playwright.Failure{
			{
				Name: "[chromium] cart.spec.ts > when full > pays", File: "/repo/e2e/pages/pay.ts", Line: 12,
				Detail: "\x1b[31mnot paid\x1b[39m\n\n> 12 | expect(paid)\n\nand the clean-up",
			},
			{Name: "cart.spec.ts > when full > waits", Detail: "it ended as timedOut", File: "/repo/e2e/cart.spec.ts", Line: 20},
		},
		Flakies: []string{"[chromium] cart.spec.ts > when full > tries"},
	}
	if d := cmp.Diff(want, playwright.Parse(strings.NewReader(composed))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestErrorsOfTheWhole(t *testing.T) {
	t.Parallel()
	const stats = `"stats": {"expected": 0, "skipped": 0, "unexpected": 0, "flaky": 0}`
	none := `{"message": "Error: No tests found.\nMake sure that arguments are right."}`
	for text, want := range map[string]playwright.Report{
		`{"suites": [], "errors": [` + none + `], ` + stats + `}`: {NoTests: true},
		`{"suites": [], "errors": [{"message": "SyntaxError: x", "location": {"file": "/repo/e2e/b.spec.ts", "line": 2}, "snippet": "> 2 |"}, ` + none + `], ` + stats + `}`: {
			NoTests: true, Errors: []playwright.Failure{{Detail: "SyntaxError: x\n\n> 2 |", File: "/repo/e2e/b.spec.ts", Line: 2}},
		},
		`{"suites": [], "errors": [{"value": "'thrown'"}], ` + stats + `}`: {Errors: []playwright.Failure{{Detail: "'thrown'"}}},
	} {
		if d := cmp.Diff(want, playwright.Parse(strings.NewReader(text))); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

// TestFlaws: numbers of a report that is cut or disagrees with itself do not count.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for n := 0; n < len(composed); n += 5 {
		if r := playwright.Parse(strings.NewReader(composed[:n])); r.Flaw == "" {
			t.Fatalf("the first %d of %d bytes are taken for a report", n, len(composed))
		}
	}
	for old, changed := range map[string]string{
		`"expected": 2`:      `"expected": 3`,
		`"unexpected": 2`:    `"unexpected": 0`,
		`"flaky": 1`:         `"flaky": 0`,
		`"skipped": 1`:       `"skippd": 1`,
		`"status": "flaky"`:  `"status": "wobbly"`,
		`"suites": [{`:       `"suites": {"0": {`,
		`"errors": []`:       `"errors": 0`,
		"\"stats\": {\"star": "\"statt\": {\"star",
	} {
		text := strings.ReplaceAll(composed, old, changed)
		if text == composed {
			t.Fatalf("%q is not in the report", old)
		}
		if r := playwright.Parse(strings.NewReader(text)); r.Flaw == "" {
			t.Errorf("%s is believed", changed)
		}
	}
}

// TestManyFailures: what is kept is bounded, what is counted is not.
func TestManyFailures(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"suites": [`)
	for i := range 300 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"title": "f%d", "specs": [{"title": "t", "tests": [{"status": "unexpected", "results": [{"errors": [{"message": %q}]}]}]}]}`, i, strings.Repeat("é", 20_000))
	}
	b.WriteString(`], "stats": {"expected": 0, "skipped": 0, "unexpected": 300, "flaky": 0}}`)
	r := playwright.Parse(strings.NewReader(b.String()))
	if r.Failed != 300 || len(r.Failures) != 200 || len(r.Failures[0].Detail) > 16<<10 || r.Flaw != "" {
		t.Errorf("%d failed, %d kept, the first with %d bytes; flaw %q", r.Failed, len(r.Failures), len(r.Failures[0].Detail), r.Flaw)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"npx --no-install playwright test":                      "npx --no-install playwright test --reporter=json",
		"cd web && npx playwright test --project=chromium a.ts": "cd web && npx playwright test --reporter=json --project=chromium a.ts",
		"./node_modules/.bin/playwright test; true":             "./node_modules/.bin/playwright test --reporter=json; true",
		"X=1 yarn playwright test":                              "X=1 yarn playwright test --reporter=json",
		"npx playwright test --reporter=html,json":              "=",
		"npx playwright test --reporter list":                   "=",
		"npx playwright install":                                "",
		"npm run test:e2e":                                      "",
		"playwright test && playwright test b":                  "",
		"for b in a b; do playwright test $b; done":             "",
		"echo 'playwright test'":                                "",
		"":                                                      "",
	} {
		if want == "=" {
			want = command
		}
		got, ok := playwright.Ask(command)
		if got.Command != want || ok != (want != "") || got.Reports != strings.Contains(want, "--reporter=json") {
			t.Errorf("%q: got %+v (%v), want %q", command, got, ok, want)
		}
	}
}

func TestConfigAndInstalled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"playwright.config.ts", "playwright.config.js", "playwright.config.mts", "playwright.config.mjs", "playwright.config.cts", "playwright.config.cjs"} {
		dir := t.TempDir()
		if got := playwright.Config(dir); got != "" {
			t.Errorf("an empty folder has the configuration %s", got)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := playwright.Config(dir); got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
	root := t.TempDir()
	inner := filepath.Join(root, "packages", "web")
	if playwright.Installed(inner) {
		t.Error("Playwright is taken for installed")
	}
	if err := os.MkdirAll(filepath.Join(root, "node_modules", "@playwright", "test"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !playwright.Installed(inner) {
		t.Error("Playwright of a folder above is not seen")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(composed)
	f.Add(`{"suites":[{"suites":[{"specs":[{"tests":[{"status":"flaky"}]}]}]}],"stats":{"expected":0,"unexpected":0,"flaky":1,"skipped":0}}`)
	f.Add(`{"errors":[{"message":"Error: No tests found"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := playwright.Parse(strings.NewReader(text))
		if r.Flaw == "" && (r.Passed < r.Flaky || r.Failed < len(r.Failures)) {
			t.Errorf("%+v", r)
		}
	})
}
