package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/commit"
	"autopilot/supervisor/tdd"
)

// Complete takes the report of a red or green step. Where the project's tests are known
// they are run, and what they say counts. A step that is not done is no error: the
// answer says so, and what to do; the run is paused when that was the last attempt.
func (w Workflow) Complete(ctx context.Context, req tdd.CompleteRequest) (tdd.Judged, error) {
	var out tdd.Judged
	err := w.changing(ctx, func(st *tdd.State) error {
		if err := w.reportable(ctx, st, req); err != nil {
			return err
		}
		var err error
		out, err = w.complete(ctx, st, req)
		return err
	})
	return out, err
}

func (w Workflow) reportable(ctx context.Context, st *tdd.State, req tdd.CompleteRequest) error {
	if err := w.working(ctx, st); err != nil {
		return err
	}
	r := &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase}
	switch {
	case st.CurrentPhase == tdd.Commit:
		r.Message, r.Way = "the tests pass; what is left is the commit", "use 'autopilot tdd commit' to complete COMMIT phase"
		return r
	case st.CurrentPhase == tdd.Finalize:
		r.Message, r.Way = "not in a TDD phase: every subtask is complete", "use 'autopilot tdd finalize'"
		return r
	case req.Phase != "" && req.Phase != st.CurrentPhase:
		r.Message, r.Way = fmt.Sprintf("the %s phase cannot be completed now; the run is in %s", strings.ToUpper(string(req.Phase)), strings.ToUpper(string(st.CurrentPhase))), "see 'autopilot tdd next'"
		return r
	}
	return theSubtask(st, req.SubtaskID)
}

func (w Workflow) complete(ctx context.Context, st *tdd.State, req tdd.CompleteRequest) (tdd.Judged, error) {
	var out tdd.Judged
	if err := req.Coverage.Check(); err != nil {
		return out, &tdd.Refusal{Kind: tdd.Invalid, Message: err.Error(), Phase: st.CurrentPhase}
	}
	if req.Results == nil {
		if st.Rules.TestCommand == "" {
			return out, needsResults(st)
		}
	} else if err := req.Results.Check(); err != nil && req.Results.Passed+req.Results.Failed > 0 {
		return out, &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: "the reported results cannot be true: " + err.Error(), Way: "run the tests and report what they say"}
	}
	measured, err := w.measure(ctx, st.Rules, st.CurrentPhase == tdd.Green, &st.Artifacts)
	if err != nil {
		return out, err
	}
	e := tdd.Evidence{Reported: req.Results, Measured: measured, Coverage: req.Coverage}
	step, err := w.step(ctx, st, e, req.Files)
	if err != nil {
		return out, err
	}
	e.Gone = w.gone(st)
	step.Verdict = tdd.Judge(*st, e, w.Settings)
	if said := w.suspicious(st, step); said != "" {
		step.Verdict.Warning = strings.TrimPrefix(step.Verdict.Warning+"; "+said, "; ")
	}
	out = tdd.Judged{
		Validated: step.Verdict.Valid, Message: step.Verdict.Message, Suggestion: step.Verdict.Suggestion, Warning: step.Verdict.Warning,
		Reported: req.Results, Measured: measured, Attempt: st.AttemptNumber,
	}
	if req.Trial && !step.Verdict.Valid {
		out.NextAction = w.next(st)
		return out, nil
	}
	if err := w.keep(st, step); err != nil {
		return out, err
	}
	if step.Verdict.Valid {
		err = st.Accept(step)
	} else {
		var paused bool
		if paused, err = st.Refuse(step); paused {
			out.Suggestion = strings.TrimSpace(out.Suggestion + " The run is paused: a person has to look at it, then 'autopilot tdd resume'.")
		}
	}
	if err != nil {
		return out, err
	}
	if err := w.save(st); err != nil {
		return out, err
	}
	out.NextAction = w.next(st)
	return out, nil
}

func needsResults(st *tdd.State) error {
	return &tdd.Refusal{
		Kind: tdd.Invalid, Phase: st.CurrentPhase, Message: fmt.Sprintf("test results are required for the %s phase", strings.ToUpper(string(st.CurrentPhase))),
		Way: fmt.Sprintf("autopilot tdd complete %s %s --results failed:3,passed:0", st.CurrentPhase, st.CurrentSubtask),
	}
}

// step gathers what is known at the end of a step.
func (w Workflow) step(ctx context.Context, st *tdd.State, e tdd.Evidence, files []string) (tdd.Step, error) {
	work, err := w.work(ctx, st)
	if err != nil {
		return tdd.Step{}, err
	}
	if files, err = among(st, work, files); err != nil {
		return tdd.Step{}, err
	}
	added, removed, err := w.tree().Lines(ctx, st.Head, files)
	if err != nil {
		return tdd.Step{}, err
	}
	now := time.Now()
	return tdd.Step{
		Run: tdd.Run{
			At: now.UTC(), Reported: e.Reported, Measured: e.Measured, Coverage: e.Coverage, Files: files[:min(len(files), maxNamed)], Tests: w.tests(st.Rules, work),
		},
		Lines: fmt.Sprintf("+%d,-%d", added, removed), Tree: work.digest, Now: now,
	}, nil
}

// tests tell what the test files of the subtask look like.
func (w Workflow) tests(by tdd.Rules, now work) map[string]string {
	out, isTest := map[string]string{}, w.isTest(by)
	for _, f := range now.pending {
		if isTest(f) && len(out) < maxNamed {
			out[f] = now.changes.Prints[f]
		}
	}
	return out
}

// gone are test files of the red step that are not there any more.
func (w Workflow) gone(st *tdd.State) []string {
	if st.Red == nil {
		return nil
	}
	var out []string
	for _, f := range slices.Sorted(maps.Keys(st.Red.Tests)) {
		if _, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(f))); st.Red.Tests[f] != "gone" && errors.Is(err, fs.ErrNotExist) {
			out = append(out, f)
		}
	}
	return out
}

// suspicious says what a person should know of a step that is done: code that was
// written before a test asked for it, tests that were changed while code was written for
// them or are gone, and changes of what the step is judged by.
func (w Workflow) suspicious(st *tdd.State, step tdd.Step) string {
	var words []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			words = append(words, what+": "+joined(names, 5))
		}
	}
	isTest := w.isTest(st.Rules)
	var code, tests, judges []string
	for _, f := range step.Run.Files {
		if w.judges(st, f) {
			judges = append(judges, f)
		} else if st.CurrentPhase == tdd.Red && !isTest(f) {
			code = append(code, f)
		}
	}
	if st.CurrentPhase != tdd.Red && st.Red != nil {
		for _, f := range slices.Sorted(maps.Keys(st.Red.Tests)) {
			if step.Run.Tests[f] != st.Red.Tests[f] {
				tests = append(tests, f)
			}
		}
	}
	say("changed in the red phase, and no test", code)
	say("tests of the red phase were changed in the green phase", tests)
	say("tests that passed before do not run any more", tdd.Lost(*st, step.Run.Measured))
	say("changed, and part of what a step is judged by", judges)
	return strings.Join(words, "; ")
}

// judges reports whether a file is part of what a step is judged by: settings, tasks, or
// what the test command names.
func (w Workflow) judges(st *tdd.State, file string) bool {
	if slices.Contains([]string{st.TasksFile, "autopilot.yaml", ".taskmaster/config.json"}, file) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(st.Rules.TestCommand, func(c rune) bool { return strings.ContainsRune(" \t;&|()'\"", c) }), func(word string) bool {
		return strings.TrimPrefix(word, "./") == file
	})
}

// among takes the files that somebody names, which have to be changed, and all of the
// subtask where nobody names any.
func among(st *tdd.State, work work, named []string) ([]string, error) {
	if named == nil {
		return work.files, nil
	}
	for _, f := range named {
		if !slices.Contains(work.files, f) && !slices.Contains(work.changes.Files, f) {
			return nil, &tdd.Refusal{Kind: tdd.Invalid, Phase: st.CurrentPhase, Message: fmt.Sprintf("%s is not changed", f), Way: "paths are relative to the top of the repository; leave them out to have them found"}
		}
	}
	return named, nil
}

// keep writes the results of a step into the run's folder.
func (w Workflow) keep(st *tdd.State, step tdd.Step) error {
	name := fmt.Sprintf("subtask-%s-%s", st.CurrentSubtask, st.CurrentPhase)
	return w.Store.PutResults(st.RunID, name, results{
		SubtaskID: st.CurrentSubtask, Phase: st.CurrentPhase, Attempt: st.AttemptNumber, Run: step.Run, Valid: step.Verdict.Valid, Message: step.Verdict.Message, Warning: step.Verdict.Warning,
	})
}

// results is the content of a file in test-results.
type results struct {
	SubtaskID string `json:"subtaskId,omitempty"`
	Phase     tdd.At `json:"phase"`
	Attempt   int    `json:"attempt"`
	tdd.Run
	Valid   bool   `json:"validated"`
	Message string `json:"message"`
	Warning string `json:"warning,omitempty"`
}

// rubbish reports whether a new file is one that tools leave and nobody commits.
func rubbish(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if slices.Contains([]string{"__pycache__", ".pytest_cache", "node_modules", ".DS_Store"}, part) {
			return true
		}
	}
	return false
}

// work is what has changed since the last commit that the run knows.
type work struct {
	files   []string // of the subtask, in the work tree and in commits that others made
	pending []string // of those, what is not committed
	both    []string // the person's own, which the subtask has changed as well
	left    []string // what tests and tools have left: nobody's work
	inner   []string // repositories of their own, in which something has changed
	foreign []string // commits that others made
	digest  string
	changes commit.Changes
}

func (w Workflow) work(ctx context.Context, st *tdd.State) (work, error) {
	tree := w.tree()
	ch, err := tree.Changes(ctx, w.ignored()...)
	if err != nil {
		return work{}, err
	}
	out := work{changes: ch}
	seen := commit.Changes{Prints: ch.Prints}
	for _, f := range ch.Files {
		was, mine := st.Mine[f]
		_, isNew := slices.BinarySearch(ch.New, f)
		switch {
		case mine && was == ch.Prints[f]:
			continue
		case st.Artifacts[f] == ch.Prints[f]:
			out.left = append(out.left, f)
			continue
		case mine:
			out.both = append(out.both, f)
		case slices.Contains(ch.Inner, f):
			out.inner = append(out.inner, f)
			continue
		case isNew && rubbish(f):
			out.left = append(out.left, f)
			continue
		default:
			out.pending = append(out.pending, f)
		}
		seen.Files = append(seen.Files, f)
	}
	out.digest = seen.Digest()
	out.files = slices.Clone(out.pending)
	_, head, err := tree.Current(ctx)
	if err != nil || head == st.Head {
		return out, err
	}
	if out.foreign, err = tree.Between(ctx, st.Head, head); err != nil {
		return out, err
	}
	committed, err := tree.Touched(ctx, st.Head, head)
	if err != nil {
		return out, err
	}
	out.digest += " " + head
	out.files = slices.Compact(slices.Sorted(slices.Values(append(out.files, committed...))))
	return out, nil
}
