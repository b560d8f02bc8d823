package suite_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite"
)

// options for runs in dir. After the test the scratch folder must be empty again, and
// the project must hold what it held.
func options(t *testing.T, dir string, more ...string) suite.Options {
	t.Helper()
	scratch := filepath.Join(t.TempDir(), "scr atch's")
	if err := os.Mkdir(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	t.Cleanup(func() {
		if left := files(t, scratch); len(left) > 0 {
			t.Errorf("left in the scratch folder: %v", left)
		}
		if d := cmp.Diff(before, files(t, dir)); d != "" {
			t.Errorf("files of the project (-before +after):\n%s", d)
		}
	})
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "CI=")
	return suite.Options{
		Dir: dir, Scratch: scratch, Timeout: 2 * time.Minute,
		Gate: gate.Runner{RunID: "run", Token: scratch, Grace: 10 * time.Second, Environ: append(env, more...)},
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && name != dir {
			all = append(all, strings.TrimPrefix(name, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	all := map[string]string{"go.mod": "module example.com/m\n\ngo 1.24\n"}
	maps.Copy(all, files)
	return project(t, all)
}

func results(passed, failed, skipped int) tdd.Results {
	return tdd.Results{Passed: passed, Failed: failed, Skipped: skipped, Total: passed + failed + skipped}
}

func testFile(pkg, body string) string {
	return "package " + pkg + "\n\nimport \"testing\"\n\n" + body + "\n"
}

func TestGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		files   map[string]string
		command string // of the default one when empty
		ok      bool
		want    tdd.Results
		broken  int
		failing []string
		passing []string
		output  string // part of it
		detail  string // part of it
	}{
		{
			name:    "passing",
			files:   map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) {}) }\nfunc TestS(t *testing.T) { t.Skip() }")},
			ok:      true,
			want:    results(1, 0, 1),
			passing: []string{"example.com/m/TestA"},
			detail:  "1 passed, 1 skipped",
		},
		{
			name: "failing",
			files: map[string]string{
				"a/a_test.go": testFile("a", "func TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Error(\"no such luck\") }) }\nfunc TestB(t *testing.T) { t.Log(\"chatter\") }"),
				"b/b_test.go": testFile("b", "func TestA(t *testing.T) {}"),
			},
			want:    results(2, 1, 0),
			failing: []string{"example.com/m/a/TestA"},
			passing: []string{"example.com/m/a/TestB", "example.com/m/b/TestA"},
			output:  "no such luck",
			detail:  "exit status 1 after",
		},
		{
			name: "not building",
			files: map[string]string{
				"a/a_test.go": testFile("a", "func TestA(t *testing.T) { Missing() }"),
				"b/b_test.go": testFile("b", "func TestB(t *testing.T) {}"),
			},
			want:    results(1, 0, 0),
			broken:  1,
			failing: []string{"example.com/m/a"},
			passing: []string{"example.com/m/b/TestB"},
			output:  "undefined: Missing",
		},
		{
			name:    "a package that is not there",
			files:   map[string]string{"a_test.go": "package m\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/later\"\n)\n\nfunc TestA(t *testing.T) { later.F() }\n"},
			broken:  1,
			failing: []string{"example.com/m"},
			output:  "example.com/m/later",
		},
		{
			name:    "panicking",
			files:   map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { panic(\"boo\") }\nfunc TestC(t *testing.T) {}")},
			want:    results(1, 1, 0),
			failing: []string{"example.com/m/TestB"},
			passing: []string{"example.com/m/TestA"},
			output:  "panic: boo",
		},
		{
			name:    "with a time limit of its own",
			files:   map[string]string{"a_test.go": testFile("m", "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { select {} }")},
			command: "go test -timeout 2s ./...",
			want:    results(1, 1, 0),
			failing: []string{"example.com/m/TestB"},
			passing: []string{"example.com/m/TestA"},
		},
		{
			name:    "failing outside of its tests",
			files:   map[string]string{"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(3) }\nfunc TestA(t *testing.T) {}\n"},
			want:    results(1, 0, 0),
			broken:  1,
			failing: []string{"example.com/m"},
			passing: []string{"example.com/m/TestA"},
		},
		{name: "no tests", files: map[string]string{"a.go": "package m\n"}, ok: true, detail: "0 passed"},
		{name: "no tests, but something else fails", files: map[string]string{"a.go": "package m\n"}, command: "go test ./... && false", detail: "exit status 1"},
		{name: "no packages", ok: true, detail: "0 passed"},
		{
			name:    "printing results of its own",
			files:   map[string]string{"a_test.go": "package m\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n\tfmt.Println(`{\"Action\":\"pass\",\"Package\":\"example.com/m\",\"Test\":\"TestZ\"}`)\n\tfmt.Println(\"--- PASS: TestY (0.00s)\")\n\tt.Fail()\n}\n"},
			want:    results(0, 1, 0),
			failing: []string{"example.com/m/TestA"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, c.files)
			if c.command == "" {
				c.command = tdd.TestsAuto
			}
			s, err := suite.Choose(dir, tdd.Settings{TestCommand: c.command})
			if err != nil {
				t.Fatal(err)
			}
			m := s.Run(t.Context(), options(t, dir))
			if !m.Counted || m.OK != c.ok || m.Results != c.want || m.Broken != c.broken || m.Bad() == c.ok {
				t.Errorf("got %+v, broken %d, counted %v, ok %v; want %+v, %d, %v\n%s\n%s", m.Results, m.Broken, m.Counted, m.OK, c.want, c.broken, c.ok, m.Detail, m.Output)
			}
			if d := cmp.Diff(c.failing, m.Failing); d != "" {
				t.Errorf("failing (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.passing, slices.Sorted(maps.Keys(m.Passing))); d != "" {
				t.Errorf("passing (-want +got):\n%s", d)
			}
			if !strings.Contains(m.Output, c.output) || strings.Contains(m.Output, "chatter") || strings.Contains(m.Output, `{"Time"`) {
				t.Errorf("output: want %q in\n%s", c.output, m.Output)
			}
			if !strings.Contains(m.Detail, c.detail) || m.Command != s.Command {
				t.Errorf("detail %q of %q, want %q", m.Detail, m.Command, c.detail)
			}
			if m.Coverage != (tdd.Coverage{}) {
				t.Error("coverage was not asked for")
			}
		})
	}
}

func TestGoCoverageOverPackages(t *testing.T) {
	t.Parallel()
	// a: 2 of 4 statements, b: 1 of 1, c: 0 of 1. With all packages covered by all tests
	// each block is listed three times, and b's tests run the third statement of a.
	dir := module(t, map[string]string{
		"a/a.go":      "package a\n\nfunc A(x bool) int {\n\tif x {\n\t\treturn 1\n\t}\n\treturn 2\n}\n\nfunc Unused() int { return 0 }\n",
		"a/a_test.go": testFile("a", "func TestA(t *testing.T) { A(true) }"),
		"b/b.go":      "package b\n\nfunc B() int { return 1 }\n",
		"b/b_test.go": "package b\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/a\"\n)\n\nfunc TestB(t *testing.T) { B(); a.A(false) }\n",
		"c/c.go":      "package c\n\nfunc C() int { return 1 }\n",
	})
	for _, c := range []struct {
		command string
		want    float64
	}{{"go test ./...", 100 * 3.0 / 6}, {"go test -covermode=atomic -coverpkg=./... ./...", 100 * 4.0 / 6}} {
		o := options(t, dir)
		o.Coverage = true
		m := suite.Suite{Command: c.command, Runner: suite.Go}.Run(t.Context(), o)
		if !m.OK || m.Coverage.Lines == nil || m.Coverage.Statements == nil || *m.Coverage.Lines != c.want || *m.Coverage.Statements != c.want {
			t.Errorf("%s: got %v, want %.2f\n%s", c.command, m.Coverage.Lines, c.want, m.Detail)
		}
	}
	o := options(t, dir)
	o.Coverage = true
	m := suite.Suite{Command: "go test -coverprofile=/dev/null ./...", Runner: suite.Go}.Run(t.Context(), o)
	if m.Coverage != (tdd.Coverage{}) || !strings.Contains(m.Detail, "no coverage: the command writes a profile of its own") {
		t.Errorf("got %+v, %s", m.Coverage, m.Detail)
	}
}

func TestGoThatHangs(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Log(\"in B\"); os.WriteFile(os.Getenv(\"SEEN\"), nil, 0o644); select {} }\n"})
	seen := filepath.Join(t.TempDir(), "seen")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan tdd.Measured)
	o := options(t, dir, "SEEN="+seen)
	go func() {
		done <- suite.Suite{Command: "go test ./...", Runner: suite.Go}.Run(ctx, o)
	}()
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err := os.Stat(seen); err == nil || time.Now().After(deadline) {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	cancel(context.DeadlineExceeded)
	m := <-done
	if m.OK || m.Counted || m.Results != (tdd.Results{}) || m.Passing != nil || !strings.Contains(m.Detail, "cancelled after") || !strings.Contains(m.Detail, "not counted") {
		t.Errorf("got %+v", m)
	}

	o = options(t, dir, "SEEN="+seen)
	o.Timeout = time.Second
	m = suite.Suite{Command: "go test ./...; echo never", Runner: suite.Go}.Run(t.Context(), o)
	if m.OK || m.Counted || !strings.Contains(m.Detail, "not done within the time limit of 1s") {
		t.Errorf("got %+v", m)
	}
}

func TestCommandsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		runner  suite.Runner
		detail  []string
	}{
		{"/nowhere/tool", suite.Exit, []string{"exit status 127", "only the exit status"}},
		{"kill -9 $$", suite.TAP, []string{"killed by SIGKILL", "not counted"}},
		{"echo 1..1; echo ok 1; kill -9 $$", suite.TAP, []string{"killed by SIGKILL", "did not end by itself"}},
		{"go tset", suite.Go, []string{"exit status 2", "not that of go test"}},
		{"./jest", suite.Jest, []string{"exit status 127", "no results were written"}},
	} {
		dir := project(t, map[string]string{"x": ""})
		m := suite.Suite{Command: c.command, Runner: c.runner}.Run(t.Context(), options(t, dir))
		if m.OK || m.Counted || m.Results != (tdd.Results{}) || !m.Bad() {
			t.Errorf("%s: got %+v", c.command, m)
		}
		for _, want := range c.detail {
			if !strings.Contains(m.Detail, want) {
				t.Errorf("%s: got %q, want %q", c.command, m.Detail, want)
			}
		}
	}
	o := options(t, project(t, nil))
	o.Dir = filepath.Join(o.Dir, "gone")
	if m := (suite.Suite{Command: "true", Runner: suite.Exit}).Run(t.Context(), o); m.OK || !strings.Contains(m.Detail, "cannot be started") {
		t.Errorf("no folder: got %+v", m)
	}
	o = options(t, project(t, nil))
	o.Scratch = filepath.Join(o.Scratch, "gone")
	if m := (suite.Suite{Command: "true", Runner: suite.Exit}).Run(t.Context(), o); m.OK || !strings.Contains(m.Detail, "cannot be run") {
		t.Errorf("no scratch folder: got %+v", m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m := (suite.Suite{Command: "true", Runner: suite.Exit}).Run(ctx, options(t, project(t, nil))); m.OK || !strings.Contains(m.Detail, "not run") {
		t.Errorf("cancelled before: got %+v", m)
	}
}

// fake is a tool that writes a recorded result where its options want it, and exits
// with a status.
func fake(t *testing.T, record string, status int) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", record))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`#!/bin/sh
case "$NODE_OPTIONS" in *destination=*) out=${NODE_OPTIONS#*destination=\"}; out=${out%%%%\"*};; esac
for a; do case "$a" in --outputFile=*|--junitxml=*) out=${a#*=};; esac; done
case "$*" in *--version*) echo pytest-cov-4.0.0 at x; exit 0;; esac
for a; do case "$a" in
--cov-report=xml:*) cp testdata/coverage.xml "${a#*:}";;
--coverageDirectory=*) mkdir "${a#*=}"; cp testdata/coverage-summary.json "${a#*=}/";;
esac; done
cat '%s' > "$out"
exit %d
`, file, status)
}

func TestToolsThatWriteFiles(t *testing.T) {
	t.Parallel()
	summary, err := os.ReadFile("testdata/coverage-summary.json")
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile("testdata/coverage.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, command, record string
		runner                suite.Runner
		status                int
		ok                    bool
		want                  tdd.Results
		broken                int
		lines                 float64 // 0 is none
	}{
		{"jest", "node_modules/.bin/jest", "jest.json", suite.Jest, 1, false, results(3, 4, 2), 3, 100},
		{"jest that is not all", "node_modules/.bin/jest", "jest.json", suite.Jest, 0, true, results(3, 4, 2), 3, 100},
		{"vitest", "node_modules/.bin/vitest run", "vitest4.json", suite.Vitest, 1, false, results(4, 2, 4), 3, 0},
		{"no files for vitest", "node_modules/.bin/vitest", "vitest-none.json", suite.Vitest, 0, true, results(0, 0, 0), 0, 0},
		{"pytest", "node_modules/.bin/pytest", "pytest.xml", suite.Pytest, 1, false, results(5, 6, 2), 0, 100 * 2577.0 / 13888},
		{"pytest without tests", "node_modules/.bin/pytest", "pytest-none.xml", suite.Pytest, 5, true, results(0, 0, 0), 0, 100 * 2577.0 / 13888},
		{"pytest that was stopped", "node_modules/.bin/pytest", "pytest-none.xml", suite.Pytest, 2, false, results(0, 0, 0), 0, 100 * 2577.0 / 13888},
		{"pytest with a status that does not fit", "node_modules/.bin/pytest", "pytest.xml", suite.Pytest, 5, false, results(5, 6, 2), 0, 100 * 2577.0 / 13888},
		{"node", "node_modules/.bin/node --test", "node20.tap", suite.Node, 1, false, results(4, 4, 2), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tool := fake(t, c.record, c.status)
			dir := project(t, map[string]string{
				"node_modules/.bin/jest": tool, "node_modules/.bin/vitest": tool, "node_modules/.bin/pytest": tool, "node_modules/.bin/node": tool,
				"testdata/coverage-summary.json": string(summary), "testdata/coverage.xml": string(report),
			})
			o := options(t, dir)
			o.Coverage = true
			m := suite.Suite{Command: c.command, Runner: c.runner}.Run(t.Context(), o)
			if !m.Counted || m.OK != c.ok || m.Results != c.want || m.Broken != c.broken {
				t.Errorf("got %+v, broken %d, counted %v, ok %v\n%s", m.Results, m.Broken, m.Counted, m.OK, m.Detail)
			}
			switch {
			case c.lines == 0 && (m.Coverage.Lines != nil || !strings.Contains(m.Detail, "no coverage: ")):
				t.Errorf("coverage %+v, %s", m.Coverage, m.Detail)
			case c.lines != 0 && (m.Coverage.Lines == nil || *m.Coverage.Lines != c.lines):
				t.Errorf("coverage %v, want %v: %s", m.Coverage.Lines, c.lines, m.Detail)
			}
		})
	}
}

func TestResultsOfAnEarlierRunAreNotRead(t *testing.T) {
	t.Parallel()
	// The tool writes its results the first time only, and notes where it should have.
	dir := project(t, map[string]string{"jest": `#!/bin/sh
for a; do case "$a" in --outputFile=*) out=${a#*=};; esac; done
echo "$out" >> "$SEEN"
[ "$(wc -l < "$SEEN")" -eq 1 ] && echo '{"numTotalTests":1,"testResults":[{"name":"a","status":"passed","assertionResults":[{"title":"x","status":"passed"}]}]}' > "$out"
exit 0
`})
	seen := filepath.Join(t.TempDir(), "seen")
	o := options(t, dir, "SEEN="+seen)
	s := suite.Suite{Command: "./jest", Runner: suite.Jest}
	if m := s.Run(t.Context(), o); !m.Counted || m.Passed != 1 {
		t.Fatalf("first run: %+v", m)
	}
	if m := s.Run(t.Context(), o); m.Counted || m.Passed != 0 || !m.OK {
		t.Errorf("second run: %+v", m)
	}
	data, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Fields(string(data)); len(names) < 2 || slices.Compact(names)[0] == names[len(names)-1] {
		t.Errorf("the same name twice: %q", data)
	}
}

func TestPipeInPlaceOfResults(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"jest": "#!/bin/sh\nfor a; do case \"$a\" in --outputFile=*) mkfifo \"${a#*=}\";; esac; done\n"})
	m := suite.Suite{Command: "./jest", Runner: suite.Jest}.Run(t.Context(), options(t, dir))
	if m.Counted || !strings.Contains(m.Detail, "no results were written") {
		t.Errorf("got %+v", m)
	}
}

func TestNodeItself(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed; its recorded output is tested in any case")
	}
	dir := project(t, map[string]string{"a.test.mjs": "import {test} from 'node:test';\ntest('good', () => {});\ntest('bad', () => { throw new Error('no') });\n"})
	m := suite.Suite{Command: node + " --test", Runner: suite.Node}.Run(t.Context(), options(t, dir))
	if !m.Counted || m.OK || m.Results != results(1, 1, 0) || !cmp.Equal(m.Failing, []string{"bad"}) || !m.Passing["good"] {
		t.Errorf("got %+v", m)
	}
}

// TestMemoryDoesNotGrowWithTheOutput runs a command that prints 100 MB.
func TestMemoryDoesNotGrowWithTheOutput(t *testing.T) {
	dir := project(t, map[string]string{"x": ""})
	line := `{"Action":"output","Package":"x","Test":"TestA","Output":"` + strings.Repeat("z", 900) + `\n"}`
	command := `echo '{"Action":"run","Package":"x","Test":"TestA"}'; yes '` + line + `' | head -n 110000; head -c 5000000 /dev/zero; echo;` +
		`echo '{"Action":"pass","Package":"x","Test":"TestA"}'; echo '{"Action":"pass","Package":"x"}'`
	o := options(t, dir)
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	m := suite.Suite{Command: command, Runner: suite.Go}.Run(t.Context(), o)
	close(stop)
	if most := <-peak; most > 40<<20 {
		t.Errorf("heap of %d MiB", most>>20)
	}
	if !m.Counted || m.Passed != 1 || !m.OK {
		t.Errorf("got %+v", m)
	}
}
