package testgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/testgate"
)

// seen is what tests compare of a report.
type seen struct {
	Passed   bool
	Class    testgate.Class
	Suites   []string // NAME PASSED/FAILED/SKIPPED, NAME ?, NAME -, with ! when it is not OK
	Failures []string // NAME of tests, or part of the detail
}

func look(r testgate.Report) seen {
	s := seen{Passed: r.Passed, Class: r.Class}
	for _, u := range r.Suites {
		text := string(u.Name)
		switch {
		case u.NotRun:
			text += " -"
		case u.Counted:
			n, err := json.Marshal([]int{u.Passed, u.Failed, u.Skipped})
			if err != nil {
				panic(err)
			}
			text += " " + string(n)
		default:
			text += " ?"
		}
		if !u.OK {
			text += "!"
		}
		s.Suites = append(s.Suites, text)
	}
	for _, f := range r.Failures {
		if f.Name != "" {
			s.Failures = append(s.Failures, f.Name)
			continue
		}
		detail, _, _ := strings.Cut(f.Detail, " after ")
		s.Failures = append(s.Failures, detail)
	}
	return s
}

// TestExitStatus: what a command says by its end, and in what order suites run.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	const off = testgate.None
	for name, c := range map[string]struct {
		unit, integration, e2e string
		want                   seen
	}{
		"green":                {"true", "", "", seen{true, "", []string{"unit ?"}, nil}},
		"three":                {"echo u >> order", "echo i >> order", "echo e >> order; test \"$(tr -d '\\n' < order)\" = uie", seen{true, "", []string{"unit ?", "integration ?", "end-to-end ?"}, nil}},
		"unit red":             {"false", "touch $REPO/ran", "touch $REPO/ran", seen{false, testgate.Fixable, []string{"unit ?!", "integration -!", "end-to-end -!"}, []string{"exit status 1"}}},
		"integration red":      {"true", "exit 3", "exit 4", seen{false, testgate.Fixable, []string{"unit ?", "integration ?!", "end-to-end ?!"}, []string{"exit status 3", "exit status 4"}}},
		"not found":            {"no-such-program", "", "", seen{false, testgate.External, []string{"unit ?!"}, []string{"exit status 127"}}},
		"not executable":       {"./plain", "", "", seen{false, testgate.External, []string{"unit ?!"}, []string{"exit status 126"}}},
		"killed":               {"kill -KILL $$", "", "", seen{false, testgate.Transient, []string{"unit ?!"}, []string{"killed by SIGKILL"}}},
		"crashed":              {"kill -SEGV $$", "", "", seen{false, testgate.Fixable, []string{"unit ?!"}, []string{"killed by SIGSEGV"}}},
		"child killed":         {"sh -c 'kill -KILL $$'; exit $?", "", "", seen{false, testgate.Transient, []string{"unit ?!"}, []string{"exit status 137"}}},
		"child aborted":        {"sh -c 'kill -ABRT $$'; exit $?", "", "", seen{false, testgate.Fixable, []string{"unit ?!"}, []string{"exit status 134"}}},
		"port in use":          {"echo 'Error: listen EADDRINUSE: address already in use :::3000'; exit 1", "", "", seen{false, testgate.Transient, []string{"unit ?!"}, []string{"exit status 1"}}},
		"disk full":            {"echo 'write: no space left on device'; exit 1", "", "", seen{false, testgate.External, []string{"unit ?!"}, []string{"exit status 1"}}},
		"the code's own":       {"echo 'expected status ECONNREFUSEDX'; exit 1", "", "", seen{false, testgate.Fixable, []string{"unit ?!"}, []string{"exit status 1"}}},
		"external weighs more": {off, "exit 1", "exit 127", seen{false, testgate.External, []string{"integration ?!", "end-to-end ?!"}, []string{"exit status 1", "exit status 127"}}},
		"fixable weighs more":  {off, "exit 137", "exit 1", seen{false, testgate.Fixable, []string{"integration ?!", "end-to-end ?!"}, []string{"exit status 137", "exit status 1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, map[string]string{"plain": "true"})
			g := newGate(t, repo)
			g.Unit, g.Integration, g.EndToEnd = c.unit, c.integration, c.e2e
			r := g.Run(t.Context())
			if d := cmp.Diff(c.want, look(r)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, err := os.Stat(filepath.Join(repo, "ran")); err == nil {
				t.Error("a suite ran that must not")
			}
			for _, f := range r.Failures {
				if f.Way == "" {
					t.Errorf("failure %q names no way out", f.Detail)
				}
			}
		})
	}
}

func TestGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  seen
		// of the first failure
		file   string
		detail []string
		not    string
	}{
		"green": {
			files: map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) {}\nfunc TestS(t *testing.T) { t.Skip() }")},
			want:  seen{true, "", []string{"unit [1,0,1]"}, nil},
		},
		"failing": {
			files: map[string]string{
				"a/a_test.go": testFile("a", "func TestA(t *testing.T) {\n\tt.Log(\"first words\")\n\tt.Run(\"x\", func(t *testing.T) {\n\t\tt.Error(\"no such luck\")\n\t})\n}\n\nfunc TestB(t *testing.T) { t.Error(\"of another\") }"),
				"a_test.go":   testFile("m", "func TestC(t *testing.T) {}"),
			},
			want:   seen{false, testgate.Fixable, []string{"unit [1,2,0]!"}, []string{"example.com/m/a/TestA", "example.com/m/a/TestB"}},
			file:   "a/a_test.go:6",
			detail: []string{"first words", "no such luck", "--- FAIL: TestA/x"},
			not:    "of another",
		},
		"panicking": {
			files:  map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) { panic(\"boo\") }")},
			want:   seen{false, testgate.Fixable, []string{"unit [0,1,0]!"}, []string{"example.com/m/TestA"}},
			file:   "a_test.go:5",
			detail: []string{"panic: boo"},
		},
		"not building": {
			files: map[string]string{
				"a/a_test.go": testFile("a", "func TestA(t *testing.T) { Missing() }"),
				"b/b_test.go": testFile("b", "func TestB(t *testing.T) {}"),
			},
			want:   seen{false, testgate.Fixable, []string{"unit [1,0,0]!"}, []string{"example.com/m/a"}},
			file:   "a/a_test.go:5",
			detail: []string{"undefined: Missing"},
		},
		"refused by a service": {
			files:  map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) { t.Error(\"dial tcp 127.0.0.1:5432: connect: connection refused\") }")},
			want:   seen{false, testgate.Transient, []string{"unit [0,1,0]!"}, []string{"example.com/m/TestA"}},
			file:   "a_test.go:5",
			detail: []string{"connection refused"},
		},
		"no tests": {
			files:  map[string]string{"a.go": "package m\n"},
			want:   seen{false, testgate.Structural, []string{"unit [0,0,0]!"}, []string{"no tests were run"}},
			detail: []string{"no tests were run"},
		},
		"all skipped": {
			files:  map[string]string{"a_test.go": testFile("m", "func TestS(t *testing.T) { t.Skip() }")},
			want:   seen{false, testgate.Structural, []string{"unit [0,0,1]!"}, []string{"all 1 tests were skipped"}},
			detail: []string{"all 1 tests were skipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGate(t, repository(t, module(c.files))).Run(t.Context())
			if d := cmp.Diff(c.want, look(r)); d != "" {
				t.Errorf("(-want +got):\n%s\n%+v", d, r)
			}
			if len(r.Failures) == 0 {
				return
			}
			f := r.Failures[0]
			if f.File != c.file {
				t.Errorf("file is %q, want %q; detail:\n%s", f.File, c.file, f.Detail)
			}
			for _, part := range c.detail {
				if !strings.Contains(f.Detail, part) {
					t.Errorf("detail lacks %q:\n%s", part, f.Detail)
				}
			}
			if c.not != "" && strings.Contains(f.Detail, c.not) {
				t.Errorf("detail has %q:\n%s", c.not, f.Detail)
			}
		})
	}
}

// TestReportsAgainstStatus: a command that says that all is well is not believed when its
// own report says otherwise.
func TestReportsAgainstStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		want    seen
	}{
		"failed":  {"bats --tap; true", seen{false, testgate.Fixable, []string{"unit [1,1,0]!"}, []string{"b"}}},
		"skipped": {"bats --tap --skip", seen{false, testgate.Structural, []string{"unit [0,0,2]!"}, []string{"all 2 tests were skipped"}}},
		"none":    {"bats --tap --none", seen{false, testgate.Structural, []string{"unit [0,0,0]!"}, []string{"no tests were run"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, map[string]string{"bin/bats": `#!/bin/sh
case "$2" in
--skip) printf '1..2\nok 1 - a # SKIP\nok 2 - b # SKIP\n' ;;
--none) printf '1..0\n' ;;
*) printf '1..2\nok 1 - a\nnot ok 2 - b\n  ---\n  at: here\n  ...\n' ; exit 1 ;;
esac
`})
			g := newGate(t, repo)
			g.Unit = c.command
			r := g.Run(t.Context())
			if d := cmp.Diff(c.want, look(r)); d != "" {
				t.Errorf("(-want +got):\n%s\n%+v", d, r)
			}
		})
	}
}

// TestNoTestsBesideOthers: a suite without tests is none of the reasons to be red when
// another has shown some.
func TestNoTestsBesideOthers(t *testing.T) {
	t.Parallel()
	g := newGate(t, repository(t, map[string]string{"bin/bats": "#!/bin/sh\nprintf \"1..$1\\n\"; test $1 = 0 || printf 'ok 1 - a\\n'\n"}))
	g.Unit, g.Integration = "bats 0 --tap", "bats 1 --tap"
	r := g.Run(t.Context())
	if d := cmp.Diff(seen{true, "", []string{"unit [0,0,0]", "integration [1,0,0]"}, nil}, look(r)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"unit: there are no tests"}, r.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	g.Integration = "bats 0 --tap"
	if r := g.Run(t.Context()); r.Passed || len(r.Failures) != 2 {
		t.Errorf("no tests at all: passed is %v with %d failures, want red with 2", r.Passed, len(r.Failures))
	}
}

// TestHanging: a command that takes too long is ended with all that it has started, also
// what ignores to be asked.
func TestHanging(t *testing.T) {
	t.Parallel()
	repo := repository(t, module(map[string]string{
		"stubborn.sh": "#!/bin/sh\ntrap '' TERM HUP INT\necho $$ >> \"$REPO/pids\"\necho stubborn\nwhile :; do sleep 0.05; done\n",
		"a_test.go":   "package m\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestHang(t *testing.T) {\n\tif err := exec.Command(\"./stubborn.sh\").Run(); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
	}))
	// The test binary is built before the clock runs.
	g := newGate(t, repo)
	g.Unit = "go vet ./..."
	if r := g.Run(t.Context()); !r.Passed {
		t.Fatalf("the module does not build: %+v", r)
	}
	for name, command := range map[string]string{
		"go":    "",
		"shell": "(./stubborn.sh & wait) & wait",
	} {
		g.Unit = command
		g.Timeout, g.Runner.Grace = 2*time.Second, time.Second
		if err := os.RemoveAll(filepath.Join(repo, "pids")); err != nil {
			t.Fatal(err)
		}
		// On a busy machine the test may not have begun within the limit.
		var r testgate.Report
		for deadline := time.Now().Add(patience); ; g.Timeout *= 2 {
			r = g.Run(t.Context())
			if _, err := os.Stat(filepath.Join(repo, "pids")); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if r.Passed || r.Class != testgate.Transient || len(r.Failures) != 1 ||
			!strings.HasPrefix(r.Failures[0].Detail, "not done within the time limit of ") || !strings.Contains(r.Failures[0].Way, "time limit") {
			t.Errorf("%s: got %+v", name, r.Failures)
		}
		for _, pid := range written(t, filepath.Join(repo, "pids")) {
			if !gone(pid) {
				t.Errorf("%s: process %d is left", name, pid)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	repo := repository(t, nil)
	g := newGate(t, repo)
	g.Unit, g.Integration = "touch begun; sleep 1000", "touch ran"
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan testgate.Report)
	go func() { done <- g.Run(ctx) }()
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(repo, "begun")); err == nil || time.Now().After(deadline) {
			break
		}
	}
	cancel(errors.New("asked to stop"))
	r := <-done
	if d := cmp.Diff(seen{false, testgate.Transient, []string{"unit ?!", "integration -!"}, []string{"cancelled"}}, trim(look(r))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if r = g.Run(ctx); r.Passed || r.Class != testgate.Transient || !r.Suites[0].NotRun || !strings.Contains(r.Summary, "asked to stop") {
		t.Errorf("after the end: got %+v", r)
	}
}

// trim keeps the first failure; that others come with it is no matter.
func trim(s seen) seen {
	s.Failures = s.Failures[:min(1, len(s.Failures))]
	return s
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const off = testgate.None
	for name, c := range map[string]struct {
		files map[string]string
		s     testgate.Settings
		want  []string // NAME: COMMAND (WHY)
		class testgate.Class
		err   string
	}{
		"go":         {files: module(map[string]string{}), want: []string{"unit: go test ./... (go.mod)"}},
		"playwright": {files: map[string]string{"playwright.config.mts": ""}, want: []string{"end-to-end: npx --no-install playwright test (playwright.config.mts)"}},
		"script runs playwright": {
			files: map[string]string{"playwright.config.js": "", "package.json": `{"scripts":{"test":"playwright test"}}`},
			want:  []string{"end-to-end: npx --no-install playwright test (playwright.config.js)"},
		},
		"both": {
			files: map[string]string{"playwright.config.cjs": "", "package.json": `{"scripts":{"test":"node --test"}}`},
			want:  []string{"unit: npm test --silent (package.json: scripts.test)", "end-to-end: npx --no-install playwright test (playwright.config.cjs)"},
		},
		"configured": {
			files: module(map[string]string{}), s: testgate.Settings{Unit: " make u ", Integration: "make i", EndToEnd: "make e"},
			want: []string{"unit: make u (configured)", "integration: make i (configured)", "end-to-end: make e (configured)"},
		},
		"switched off": {
			files: module(map[string]string{"playwright.config.ts": ""}), s: testgate.Settings{Unit: off, Integration: "x"},
			want: []string{"integration: x (configured)", "end-to-end: npx --no-install playwright test (playwright.config.ts)"},
		},
		"a folder is no configuration": {files: map[string]string{"playwright.config.ts/x": ""}, class: testgate.Structural, err: "nothing can be run: no unit tests: no test command"},
		"nothing":                      {class: testgate.Structural, err: "nothing can be run"},
		"all off":                      {files: module(map[string]string{}), s: testgate.Settings{Unit: off, Integration: off, EndToEnd: off}, class: testgate.Unfixable, err: "switched off"},
		"zero byte":                    {s: testgate.Settings{Integration: "a\x00"}, class: testgate.Unfixable, err: "integration tests: command holds a zero byte"},
		"coverage":                     {files: module(map[string]string{}), s: testgate.Settings{Coverage: 101}, class: testgate.Unfixable, err: "coverage of 101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, repository(t, c.files))
			g.Settings = c.s
			p, err := g.Plan()
			var got []string
			for _, s := range p.Suites {
				got = append(got, string(s.Name)+": "+s.Command+" ("+s.Why+")")
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error is %v, want %q", err, c.err)
			}
			if err == nil {
				return
			}
			wrong, ok := errors.AsType[*testgate.PlanError](err)
			if !ok || wrong.Class != c.class || wrong.Hint() == "" {
				t.Errorf("got %+v, want class %s and a way out", err, c.class)
			}
			r := g.Run(t.Context())
			if r.Passed || r.Class != c.class || len(r.Failures) != 1 || r.Failures[0].Suite != testgate.Whole || r.Failures[0].Way == "" || r.Summary == "" {
				t.Errorf("a gate that cannot run: got %+v", r)
			}
		})
	}
	if _, err := (testgate.Gate{Repo: filepath.Join(t.TempDir(), "away"), Settings: testgate.Settings{Unit: "true"}}).Plan(); err == nil {
		t.Error("there is a plan for a repository that is not there")
	}
}

func TestNoScratch(t *testing.T) {
	t.Parallel()
	g := newGate(t, repository(t, nil))
	g.Unit, g.Scratch = "touch $REPO/ran", filepath.Join(g.Scratch, "away")
	if r := g.Run(t.Context()); r.Passed || r.Class != testgate.External {
		t.Errorf("got %+v", r)
	}
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	half := map[string]string{
		"a.go":      "package m\n\nfunc A() int { return 1 }\n\nfunc B() int { return 2 }\n",
		"a_test.go": testFile("m", "func TestA(t *testing.T) { A() }"),
	}
	summary := func(covered string) string {
		return `{"total":{"lines":{"total":200,"covered":` + covered + `,"pct":1}},"a.js":{"lines":{"total":200,"covered":0}}}`
	}
	for name, c := range map[string]struct {
		files     map[string]string
		unit      string
		threshold float64
		want      string // percent, or empty
		why       string // part of it
		class     testgate.Class
	}{
		"reached":           {files: module(half), threshold: 50, want: "50", why: "measured by this run"},
		"missed":            {files: module(half), threshold: 50.1, want: "50", class: testgate.Fixable},
		"not asked for":     {files: module(half), why: "the command was not asked for it; there is no coverage/coverage-summary.json"},
		"cannot":            {unit: "true", threshold: 1, why: "there is no way to ask for it; there is no coverage/", class: testgate.Unfixable},
		"own summary":       {unit: "mkdir -p coverage; cp summary coverage/coverage-summary.json", files: map[string]string{"summary": summary("161")}, threshold: 80, want: "80.5"},
		"own, too little":   {unit: "cp summary coverage/coverage-summary.json", files: map[string]string{"summary": summary("100"), "coverage/coverage-summary.json": summary("200")}, threshold: 80, want: "50", class: testgate.Fixable},
		"of an earlier run": {unit: "true", files: map[string]string{"coverage/coverage-summary.json": summary("200")}, threshold: 1, why: "was not written by this run", class: testgate.Unfixable},
		"with an old time":  {unit: "cp summary new; touch -d '2001-01-01' new; mv new coverage/coverage-summary.json", files: map[string]string{"summary": summary("200"), "coverage/x": ""}, threshold: 1, why: "was not written by this run", class: testgate.Unfixable},
		"no lines":          {unit: "mkdir coverage; echo '{}' > coverage/coverage-summary.json", threshold: 1, why: "holds no lines", class: testgate.Unfixable},
		"more than all":     {unit: "mkdir coverage; cp summary coverage/coverage-summary.json", files: map[string]string{"summary": summary("201")}, threshold: 1, why: "holds no lines", class: testgate.Unfixable},
		"red anyway":        {unit: "false", threshold: 1, why: "no coverage", class: testgate.Fixable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, repository(t, c.files))
			g.Unit, g.Settings.Coverage = c.unit, c.threshold
			if strings.Contains(c.unit, "cp") { // clocks of files are coarse
				_ = os.Chtimes(filepath.Join(g.Repo, "coverage/coverage-summary.json"), time.Time{}, time.Now().Add(-time.Minute))
			}
			r := g.Run(t.Context())
			got := ""
			if r.Coverage != nil {
				data, err := json.Marshal(*r.Coverage)
				if err != nil {
					t.Fatal(err)
				}
				got = string(data)
			}
			if got != c.want || name != "red anyway" && !strings.Contains(r.CoverageWhy, c.why) {
				t.Errorf("coverage is %q (%s), want %q (%s)", got, r.CoverageWhy, c.want, c.why)
			}
			if r.Class != c.class || r.Passed != (c.class == "") {
				t.Errorf("class is %q, passed %v, want %q: %s", r.Class, r.Passed, c.class, r.Summary)
			}
			if coverage := slices.ContainsFunc(r.Failures, func(f testgate.Failure) bool { return f.Suite == testgate.Whole }); coverage != (c.class != "" && name != "red anyway") {
				t.Errorf("failures are %+v", r.Failures)
			}
		})
	}
}

// TestOutput is bounded, plain, and without secrets, and the caller sees it as well.
func TestOutput(t *testing.T) {
	t.Parallel()
	var tee strings.Builder
	g := newGate(t, repository(t, nil))
	g.Runner.Tee = &tee
	g.Unit = `i=0; while [ $i -lt 4000 ]; do echo "line $i äöü of a long output"; i=$((i+1)); done
		printf '\033[31mred\033[0m\a token=abcdefgh12345678 \377\n'; exit 1`
	r := g.Run(t.Context())
	out := r.Suites[0].Output
	if len(out) > 32<<10+3 || len(out) < 30<<10 || !strings.HasPrefix(out, "…line ") || !utf8.ValidString(out) {
		t.Errorf("output has %d bytes, begins with %.20q", len(out), out)
	}
	if !strings.HasSuffix(out, "line 3999 äöü of a long output\nred [redacted] \uFFFD\n") {
		t.Errorf("output ends with %q", out[max(0, len(out)-80):])
	}
	if !strings.HasPrefix(tee.String(), "line 0 ") {
		t.Error("the caller does not see the output")
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "abcdefgh") {
		t.Error("a secret is in the report")
	}
	if !regexp.MustCompile(`^red \(fixable\): unit failed: exit status 1 after .* \[redacted\]`).MatchString(r.Summary) {
		t.Errorf("summary is %q", r.Summary)
	}
}
