package testgate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd/suite"
	"autopilot/supervisor/testgate/playwright"
)

// finding is what a command has shown, before it is known what that means.
type finding struct {
	name    Level
	command string
	runner  suite.Runner // empty for Playwright
	exit    int          // -1 when it did not end by itself
	ok      bool
	detail  string
	output  string
	short   string // a shorter form of it, for want of a better
	took    time.Duration

	counted                         bool
	passed, failed, skipped, broken int
	tests                           []Failure // that failed, by name
	errors                          []Failure // of no test
	flaky                           []string
	noTests                         bool   // the runner says that there are none
	silent                          string // why there is no report where there has to be one
	absent                          bool   // Playwright is not installed

	lines   *float64 // percent that is covered
	noLines string   // why that is not known
}

// playwright runs a command that runs Playwright.
func (g Gate) playwright(ctx context.Context, asked playwright.Asked, folder string) finding {
	folder, err := os.MkdirTemp(folder, "playwright-")
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return finding{exit: -1, detail: fmt.Sprintf("cannot be run: %v", err)}
	}
	file := filepath.Join(folder, "report.json")
	env := g.Runner.Environ
	env = append(env[:len(env):len(env)], playwright.Environ(file)...)
	if !has(env, "CI") {
		env = append(env, "CI=true") // no server that is there already, no test.only
	}
	g.Runner.Environ = env
	res := g.Runner.Run(ctx, []gate.Check{{Kind: gate.Command, Command: asked.Command}})[0]
	f := finding{exit: res.Exit, ok: res.OK, detail: res.Detail, took: res.Took, noLines: "Playwright does not measure it"}
	if in, err := os.Open(file); err == nil {
		defer in.Close()
		f.read(playwright.Parse(in), g.Repo)
	} else if asked.Reports {
		f.silent, f.absent = "Playwright has written no report", !playwright.Installed(g.Repo)
	}
	return f
}

// has reports whether a variable is set to something.
func has(environ []string, name string) bool {
	set := false
	for _, kv := range environ {
		if len(kv) > len(name) && kv[:len(name)+1] == name+"=" {
			set = len(kv) > len(name)+1
		}
	}
	return set
}

func (f *finding) read(r playwright.Report, repo string) {
	f.noTests, f.flaky = r.NoTests && len(r.Errors) == 0, r.Flakies
	if r.Flaw == "" {
		f.counted, f.passed, f.failed, f.skipped = true, r.Passed, r.Failed, r.Skipped
	} else {
		f.silent = r.Flaw
	}
	for _, t := range r.Failures {
		f.tests = append(f.tests, Failure{Name: t.Name, Detail: t.Detail, File: placed(repo, t.File, t.Line)})
	}
	for _, e := range r.Errors {
		f.errors = append(f.errors, Failure{Detail: e.Detail, File: placed(repo, e.File, e.Line)})
	}
}

// judge says what a command has shown, and what of it is a failure. It holds only if it
// says so itself and nothing that it has reported says otherwise.
func (f finding) judge(repo string) (Suite, []Failure) {
	s := Suite{
		Name: f.name, Command: f.command, Counted: f.counted, OK: true, Took: f.took,
		Output: f.output,
	}
	if f.counted {
		s.Passed, s.Failed, s.Skipped, s.Broken = f.passed, f.failed, f.skipped, f.broken
		s.Total = s.Passed + s.Failed + s.Skipped
	}
	for _, name := range f.flaky {
		s.Flaky = append(s.Flaky, line(name, maxName))
	}
	var failures []Failure
	x := excerptsOf(f.runner, f.output)
	for _, t := range f.tests {
		if t.Detail == "" {
			t.Detail = x.of(t.Name)
		}
		failures = append(failures, f.explained(repo, t))
	}
	for _, e := range f.errors {
		failures = append(failures, f.explained(repo, e))
	}
	if whole, ok := f.whole(s, len(failures)); ok {
		failures = append([]Failure{whole}, failures...)
	}
	s.OK = len(failures) == 0
	s.Detail = f.words(s)
	for i := range failures {
		failures[i].Suite = f.name
	}
	return s, failures
}

// explained completes the failure of a test.
func (f finding) explained(repo string, t Failure) Failure {
	j := judgeText(t.Detail)
	t.Class, t.Way = j.class, j.way
	if t.File == "" {
		t.File = placeOf(repo, t.Name, t.Detail)
	}
	t.Name, t.File, t.Detail = line(t.Name, maxName), line(t.File, maxName), block(t.Detail, maxDetail)
	return t
}

// whole returns the failure of the command itself, where its tests and their errors do
// not say it all.
func (f finding) whole(s Suite, named int) (Failure, bool) {
	how := endingOf(f.exit, f.detail)
	bad := Failure{Detail: line(f.detail, maxLine)}
	j := how.judge(f.exit)
	switch {
	case how != exited:
	case !f.ok && f.noTests:
		bad.Detail, j = "no tests were found", untested()
	case !f.ok && f.silent != "":
		j = f.missing()
		bad.Detail = line(f.silent+"; "+f.detail, maxLine)
	case named > 0:
		return bad, false
	case f.failed+f.broken > 0:
		bad.Detail = line(fmt.Sprintf("%d failed whose names are not known: %s", f.failed+f.broken, f.detail), maxLine)
	case !f.ok:
		if j.class == Fixable {
			if by := judgeText(lastLines(f.output, 2<<10)); by.class != Fixable {
				j = by
			}
		}
		if f.counted {
			bad.Detail = line("no test failed, but the command did: "+f.detail, maxLine)
		}
	case f.silent != "":
		bad.Detail, j = line("the command succeeded, but "+f.silent, maxLine), f.missing()
	case f.counted && s.Total > 0 && s.Passed == 0:
		bad.Detail, j = fmt.Sprintf("all %d tests were skipped", s.Total), untested()
	default:
		return bad, false
	}
	bad.Class, bad.Way = j.class, j.way
	return bad, true
}

func untested() judged {
	return judged{Structural, "add tests that show that the work is done, or switch this suite off"}
}

// missing judges that there is no report.
func (f finding) missing() judged {
	if by := judgeText(lastLines(f.output, 2<<10)); by.class != Fixable {
		return by
	}
	if f.absent {
		return judged{External, "install the project's dependencies (npm ci), or switch the end-to-end tests off"}
	}
	if j := endingOf(f.exit, f.detail).judge(f.exit); j.class != Fixable {
		return j
	}
	return judged{Fixable, "see in the output why the tests did not begin, such as an error in the configuration"}
}

// words says in one line what a suite has shown.
func (f finding) words(s Suite) string {
	text := f.detail
	switch {
	case s.Counted && s.OK && s.Total == 0:
		text = "there are no tests; " + text
	case f.runner == "" && s.Counted:
		text = numbers(s) + "; " + text
	}
	if f.ok && !s.OK {
		text = "the command says that all is well, which is not so: " + text
	}
	return line(text, maxLine)
}
