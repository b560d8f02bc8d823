package workflow

import (
	"context"
	"fmt"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite"
)

// Suite is the project's test command, nil when reports are believed.
func (w Workflow) Suite() (*suite.Suite, error) { return suite.Choose(w.Repo.Top, w.Settings) }

// measure runs the tests; nil when none are known. The files that they leave or change in
// the work tree are noted in artifacts, with what they look like.
func (w Workflow) measure(ctx context.Context, by tdd.Rules, coverage bool, artifacts *map[string]string) (*tdd.Measured, error) {
	if by.TestCommand == "" {
		return nil, nil
	}
	s := suite.Suite{Command: by.TestCommand, Runner: suite.Runner(by.TestRunner)}
	scratch, err := w.Store.Scratch()
	if err != nil {
		return nil, err
	}
	before, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return nil, err
	}
	m := s.Run(ctx, suite.Options{Dir: w.Repo.Top, Scratch: scratch, Gate: w.Gate, Timeout: w.Settings.TestTimeout, Coverage: coverage && w.Settings.Thresholds.Any()})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run the tests: %w", context.Cause(ctx))
	}
	after, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return nil, err
	}
	*artifacts = left(*artifacts, before.Prints, after.Prints)
	return &m, nil
}

// mostArtifacts bounds the files that are remembered as left by tests.
const mostArtifacts = 2000

// left are the files that tests have left, after another run of them. A file that was
// changed by somebody else since is work, and stays work.
func left(known, before, after map[string]string) map[string]string {
	out := map[string]string{}
	for f, print := range after {
		was, there := before[f]
		by, ours := known[f]
		if (!there || ours && by == was) && len(out) < mostArtifacts {
			out[f] = print
		}
	}
	return out
}

// judgedBy are the settings that a run is judged by, as they are now.
func (w Workflow) judgedBy() (tdd.Rules, error) {
	s, err := w.Suite()
	if err != nil {
		return tdd.Rules{}, err
	}
	r := tdd.Rules{AlreadyImplemented: w.Settings.AlreadyImplemented, Settings: w.testSettings()}
	if s != nil {
		r.TestCommand, r.TestRunner = s.Command, string(s.Runner)
	}
	return r, nil
}

// testSettings is what a person has chosen about the test command.
func (w Workflow) testSettings() string { return w.Settings.TestRunner + " " + w.Settings.TestCommand }

// sameRules refuses settings that were changed while the run is on: who is judged must
// not choose the judge. What can be told from the project's files may change with them;
// the command stays the one that was found.
func (w Workflow) sameRules(st *tdd.State) error {
	var what string
	switch was := st.Rules; {
	case was.Settings != w.testSettings():
		what = fmt.Sprintf("the test runner and command are %q now and were %q", w.testSettings(), was.Settings)
	case was.AlreadyImplemented != w.Settings.AlreadyImplemented:
		what = fmt.Sprintf("already-implemented is %v now and was %v", w.Settings.AlreadyImplemented, was.AlreadyImplemented)
	default:
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: "the settings have changed since the run began: " + what,
		Way: "put them back; a person who means it says: autopilot tdd resume",
	}
}

// isTest returns what tells a test file from others: the pattern that a person has
// given, or else the usual forms and that of the project's test command.
func (w Workflow) isTest(by tdd.Rules) func(path string) bool {
	if given := w.Settings.TestPattern; given != "" {
		return func(path string) bool { return suite.IsTest(path, given) }
	}
	pattern := suite.Pattern(suite.Runner(by.TestRunner))
	return func(path string) bool {
		return suite.IsTest(path, "") || pattern != "" && suite.IsTest(path, pattern)
	}
}
