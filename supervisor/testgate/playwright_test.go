package testgate_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/testgate"
)

// fakeNpx looks at how it is called, prints what would spoil a report on stdout, and
// writes the file report.json of the repository as the report.
const fakeNpx = `#!/bin/sh
test "$*" = "--no-install playwright test --reporter=json" || { echo "called with $*"; exit 64; }
test "$CI" = true || exit 65
echo '{"suites": [], "stats": {"expected": 99}}'
echo "said by a hook"
if test -f report.json; then sed "s#ROOT#$REPO#g" report.json > "$PLAYWRIGHT_JSON_OUTPUT_NAME"; fi
test ! -f words || cat words >&2
exit $(cat status)
`

// report is composed in the form of Playwright's JSON report.
func report(stats, specs, errors string) string {
	return `{"config": {"rootDir": "ROOT/e2e"}, "suites": [{"title": "a.spec.ts", "file": "a.spec.ts", "specs": [` + specs + `]}], "errors": [` + errors + `], "stats": {` + stats + `}}`
}

func spec(title, status, message string) string {
	return `{"title": "` + title + `", "file": "a.spec.ts", "line": 3, "tests": [{"projectName": "one", "status": "` + status +
		`", "results": [{"status": "x", "errors": [{"message": "\u001b[31m` + message + `\u001b[39m", "location": {"file": "ROOT/e2e/a.spec.ts", "line": 7}}]}]}]}`
}

func TestPlaywright(t *testing.T) {
	t.Parallel()
	const none = `"expected": 0, "unexpected": 0, "flaky": 0, "skipped": 0`
	for name, c := range map[string]struct {
		report, status, words string
		installed             bool
		want                  seen
		file                  string
	}{
		"green": {
			report: report(`"expected": 2, "unexpected": 0, "flaky": 0, "skipped": 0`, spec("a", "expected", "")+","+spec("b", "expected", ""), ""), status: "0",
			want: seen{true, "", []string{"end-to-end [2,0,0]"}, nil},
		},
		"flaky": {
			report: report(`"expected": 0, "unexpected": 0, "flaky": 1, "skipped": 0`, spec("a", "flaky", "once"), ""), status: "0",
			want: seen{true, "", []string{"end-to-end [1,0,0]"}, nil},
		},
		"red": {
			report: report(`"expected": 1, "unexpected": 1, "flaky": 0, "skipped": 0`, spec("a", "expected", "")+","+spec("b", "unexpected", "not so"), ""), status: "1",
			want: seen{false, testgate.Fixable, []string{"end-to-end [1,1,0]!"}, []string{"[one] a.spec.ts > b"}}, file: "e2e/a.spec.ts:7",
		},
		"red, status 0": {
			report: report(`"expected": 0, "unexpected": 1, "flaky": 0, "skipped": 0`, spec("b", "unexpected", "not so"), ""), status: "0",
			want: seen{false, testgate.Fixable, []string{"end-to-end [0,1,0]!"}, []string{"[one] a.spec.ts > b"}}, file: "e2e/a.spec.ts:7",
		},
		"green, status 1": {
			report: report(`"expected": 1, "unexpected": 0, "flaky": 0, "skipped": 0`, spec("a", "expected", ""), ""), status: "1",
			want: seen{false, testgate.Fixable, []string{"end-to-end [1,0,0]!"}, []string{"no test failed, but the command did: exit status 1"}},
		},
		"server away": {
			report: report(`"expected": 0, "unexpected": 1, "flaky": 0, "skipped": 0`, spec("b", "unexpected", "net::ERR_CONNECTION_REFUSED at http://localhost:3000"), ""), status: "1",
			want: seen{false, testgate.Transient, []string{"end-to-end [0,1,0]!"}, []string{"[one] a.spec.ts > b"}}, file: "e2e/a.spec.ts:7",
		},
		"no browser": {
			report: report(`"expected": 0, "unexpected": 1, "flaky": 0, "skipped": 0`, spec("b", "unexpected", "browserType.launch: Executable doesn't exist at /x"), ""), status: "1",
			want: seen{false, testgate.External, []string{"end-to-end [0,1,0]!"}, []string{"[one] a.spec.ts > b"}}, file: "e2e/a.spec.ts:7",
		},
		"a file does not load": {
			report: report(none, "", `{"message": "SyntaxError: oh", "location": {"file": "ROOT/e2e/a.spec.ts", "line": 2}}, {"message": "Error: No tests found."}`), status: "1",
			want: seen{false, testgate.Fixable, []string{"end-to-end [0,0,0]!"}, []string{"SyntaxError: oh"}}, file: "e2e/a.spec.ts:2",
		},
		"no tests found": {
			report: report(none, "", `{"message": "Error: No tests found."}`), status: "1",
			want: seen{false, testgate.Structural, []string{"end-to-end [0,0,0]!"}, []string{"no tests were found"}},
		},
		"all skipped": {
			report: report(`"expected": 0, "unexpected": 0, "flaky": 0, "skipped": 1`, spec("a", "skipped", ""), ""), status: "0",
			want: seen{false, testgate.Structural, []string{"end-to-end [0,0,1]!"}, []string{"all 1 tests were skipped"}},
		},
		"numbers that disagree": {
			report: report(`"expected": 7, "unexpected": 0, "flaky": 0, "skipped": 0`, spec("a", "expected", ""), ""), status: "0",
			want: seen{false, testgate.Fixable, []string{"end-to-end ?!"}, []string{"the command succeeded, but the report speaks of 7 passed, 0 failed, 0 flaky and 0 skipped tests, and holds 1, 0, 0 and 0"}},
		},
		"no report, status 0": {
			status: "0", installed: true,
			want: seen{false, testgate.Fixable, []string{"end-to-end ?!"}, []string{"the command succeeded, but Playwright has written no report"}},
		},
		"broken configuration": {
			status: "1", installed: true, words: "Error: broken config\n    at playwright.config.ts:1:7\n",
			want: seen{false, testgate.Fixable, []string{"end-to-end ?!"}, []string{"Playwright has written no report; exit status 1"}},
		},
		"not installed": {
			status: "1", words: "npm error npx canceled due to missing packages and no YES option\n",
			want: seen{false, testgate.External, []string{"end-to-end ?!"}, []string{"Playwright has written no report; exit status 1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"playwright.config.ts": "", "bin/npx": fakeNpx, "status": c.status, "e2e/a.spec.ts": ""}
			for file, text := range map[string]string{"report.json": c.report, "words": c.words} {
				if text != "" {
					files[file] = text
				}
			}
			if c.installed {
				files["node_modules/@playwright/test/package.json"] = "{}"
			}
			repo := repository(t, files)
			r := newGate(t, repo).Run(t.Context())
			if d := cmp.Diff(c.want, look(r)); d != "" {
				t.Errorf("(-want +got):\n%s\n%+v", d, r)
			}
			if !strings.Contains(r.Suites[0].Output, "said by a hook") {
				t.Errorf("output is %q", r.Suites[0].Output)
			}
			if len(r.Failures) > 0 {
				if f := r.Failures[0]; f.File != c.file || strings.Contains(f.Detail, "[31m") {
					t.Errorf("got file %q (want %q), detail %q", f.File, c.file, f.Detail)
				}
			}
			if flaky := strings.Contains(strings.Join(r.Warnings, "\n"), "end-to-end: passed only at a further try: [one] a.spec.ts > a"); flaky != (name == "flaky") {
				t.Errorf("warnings are %q", r.Warnings)
			}
		})
	}
}

// TestPlaywrightOwnReporter: a command that says how it reports is left as it is, and its
// exit status counts.
func TestPlaywrightOwnReporter(t *testing.T) {
	t.Parallel()
	g := newGate(t, repository(t, map[string]string{"bin/playwright": "#!/bin/sh\necho \"$*\" > \"$REPO/called\"\n"}))
	g.EndToEnd = "playwright test --reporter=dot"
	r := g.Run(t.Context())
	if d := cmp.Diff(seen{true, "", []string{"end-to-end ?"}, nil}, look(r)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := content(t, filepath.Join(g.Repo, "called")); got != "test --reporter=dot\n" {
		t.Errorf("called with %q", got)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "not counted") {
		t.Errorf("warnings are %q", r.Warnings)
	}
}
