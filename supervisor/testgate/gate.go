package testgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd/suite"
	"autopilot/supervisor/testgate/playwright"
)

const (
	maxFailures = 200
	byCancel    = "the run was cancelled"
)

// Settings say what is run. The zero value runs what the repository's files speak of.
type Settings struct {
	// Commands for the shell, run in the repository; None for no such suite. Empty is
	// the project's own test command for Unit, nothing for Integration, and Playwright
	// for EndToEnd where the repository has a configuration of it.
	Unit, Integration, EndToEnd string
	Coverage                    float64       // percent of lines that have to be covered, to 100; 0 is none
	Timeout                     time.Duration // of each command; 0 is that of the Runner
}

// Gate runs the tests of a repository.
type Gate struct {
	Repo string
	Settings
	// Runner says how commands run. Its Dir is set by Run, its Environ where that of
	// the gate is given. Its Tee gets what commands print, except those of go, cargo
	// and TAP.
	Runner  gate.Runner
	Environ []string // the supervisor's own; nil is that of the Runner
	Scratch string   // an existing folder outside the repository; empty is that for temporary files
}

// Run runs the suites that Plan names, one after the other, and returns what they have
// shown. When the unit tests are red the others are not run: a repair changes what they
// would show. It never returns early but when ctx ends; then the report is red and of
// class Transient, and the caller has to look at ctx before it takes it for a finding. It
// must not be called while a session of this process runs.
func (g Gate) Run(ctx context.Context) Report {
	begun := time.Now()
	if g.Environ != nil {
		g.Runner.Environ = g.Environ
	}
	g.Runner.Dir = g.Repo
	if g.Timeout > 0 {
		g.Runner.Timeout = g.Timeout
	}
	r := Report{Threshold: g.Coverage, Suites: []Suite{}}
	if err := g.run(ctx, &r); err != nil {
		r.fail(cannotRun(err))
	}
	r.finish()
	r.Took = time.Since(begun)
	return r
}

func cannotRun(err error) Failure {
	f := Failure{Suite: Whole, Detail: block(err.Error(), maxDetail), Class: External, Way: unstarted.judge(-1).way}
	if p, ok := errors.AsType[*PlanError](err); ok {
		f.Class, f.Way = p.Class, p.Way
	}
	return f
}

// run adds the suites to a report. An error means that the gate cannot run.
func (g Gate) run(ctx context.Context, r *Report) error {
	plan, err := g.Plan()
	if err != nil {
		return err
	}
	if strings.TrimSpace(g.Unit) == "" {
		r.Warnings = slices.DeleteFunc(plan.Notes, func(s string) bool { return !strings.HasPrefix(s, "no unit tests: ") })
	}
	folder, err := os.MkdirTemp(g.Scratch, "testgate-")
	if err != nil {
		return fmt.Errorf("make a folder for results: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c := g.watchCoverage()
	skip := ""
	for i, p := range plan.Suites {
		if ctx.Err() != nil {
			skip = byCancel
		}
		if skip != "" {
			r.Suites = append(r.Suites, Suite{Name: p.Name, Command: line(p.Command, maxLine), NotRun: true, Detail: "not run: " + skip})
			continue
		}
		s, failures := g.suite(ctx, task{Planned: p, folder: folder, first: i == 0, coverage: &c})
		r.Suites = append(r.Suites, s)
		r.fail(failures...)
		if p.Name == Unit && !s.OK {
			skip = "the unit tests are red"
		}
	}
	if skip == byCancel {
		r.fail(Failure{
			Suite: Whole, Class: Transient, Way: cancelled.judge(-1).way,
			Detail: line(fmt.Sprintf("cancelled: %v", context.Cause(ctx)), maxLine),
		})
	}
	r.empty()
	c.judge(r)
	return nil
}

// task is one suite at work.
type task struct {
	Planned
	folder   string    // for results
	first    bool      // its coverage counts
	coverage *coverage // to fill
}

// suite runs one suite.
func (g Gate) suite(ctx context.Context, t task) (Suite, []Failure) {
	rec := &recorder{}
	user := g.Runner.Tee
	g.Runner.Tee = rec
	if user != nil {
		g.Runner.Tee = io.MultiWriter(rec, user)
	}
	var f finding
	if asked, ok := playwright.Ask(t.Command); ok {
		f = g.playwright(ctx, asked, t.folder)
	} else {
		f = g.measure(ctx, t)
	}
	f.output = cmp.Or(f.output, rec.shown(), f.short)
	if t.first {
		t.coverage.look(f)
	}
	f.name, f.command = t.Name, line(t.Command, maxLine)
	return f.judge(g.Repo)
}

// measure runs a command whose results package suite understands.
func (g Gate) measure(ctx context.Context, t task) finding {
	s := suite.Suite{Command: t.Command, Runner: t.runner, Why: t.Why}
	m := s.Run(ctx, suite.Options{
		Dir: g.Repo, Scratch: t.folder, Gate: g.Runner,
		Coverage: t.first && g.Coverage > 0,
	})
	f := finding{
		exit: m.Exit, ok: m.OK, detail: m.Detail, took: time.Duration(m.TookMS) * time.Millisecond,
		counted: m.Counted, passed: m.Passed, failed: m.Failed, skipped: m.Skipped, broken: m.Broken,
		lines: m.Coverage.Lines, short: m.Output,
	}
	if slices.Contains([]suite.Runner{suite.Go, suite.Cargo, suite.TAP}, t.runner) {
		f.output = m.Output // the recorder was not asked, or got JSON
	}
	_, f.noLines, _ = strings.Cut(m.Detail, "no coverage: ")
	f.tests = make([]Failure, 0, len(m.Failing))
	for _, name := range m.Failing {
		f.tests = append(f.tests, Failure{Name: name})
	}
	f.runner = t.runner
	return f
}
