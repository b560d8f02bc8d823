package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/source"
	"autopilot/supervisor/tdd"
)

// Walker is the workflow that is walked.
type Walker interface {
	Next(context.Context) (tdd.Next, error)
	Complete(context.Context, tdd.CompleteRequest) (tdd.Judged, error)
	Commit(context.Context, tdd.CommitRequest) (tdd.Committed, error)
	Finalize(context.Context, tdd.FinalizeRequest) (tdd.Finalized, error)
}

// Source has Claude Code walk a task.
type Source struct {
	Walker Walker
	// Standing says how far the run is.
	Standing func(context.Context) (tdd.Standing, error)
	// Preview is what would be done first, for a plan; nil for a run that has begun.
	Preview func() (tdd.Next, []tdd.Subtask, error)
	// Rules are files of the project, relative to Repo, that every prompt begins with
	// where they are there; Generator is one for the red step.
	Repo      string
	Rules     []string
	Generator string
	// Templates is a folder with texts that replace our own instructions: red.md,
	// green.md, commit.md, finalize.md. They need not be there.
	Templates string
	Believe   bool // no test command is known: sessions report numbers

	// Resumed is set when the work of an earlier session may not have been checked yet.
	Resumed bool

	next   tdd.Next // by the last look
	given  tdd.Next // what the session was started for
	stuck  error    // what kept the last step from being taken
	person string   // why that is for a person
}

// RuleFiles are the files in which projects keep their rules for git and tests.
func RuleFiles() []string {
	return []string{".cursor/rules/git_workflow.mdc", ".cursor/rules/test_workflow.mdc"}
}

// GeneratorFile is where a project keeps its prompt for writing tests.
const GeneratorFile = ".claude/agents/surgical-test-generator.md"

// Name is the name of the source.
func (*Source) Name() string { return "tdd" }

// stepsAtMost bounds the steps between two sessions that need no session.
const stepsAtMost = 8

// Advance takes the steps that need no session: it has the step of a session that ended
// checked, commits, and finalizes. The result is nil before the first session.
func (s *Source) Advance(ctx context.Context, res *sessions.Result, log *slog.Logger) {
	s.stuck, s.person = nil, ""
	before, err := s.Standing(ctx)
	if err == nil {
		err = s.advance(ctx, res, log)
	}
	r, refused := errors.AsType[*tdd.Refusal](err)
	if !refused || r.Kind == tdd.Invalid {
		s.stuck = err
		return
	}
	log.Warn("a step was refused", "act", "tdd", "detail", r.Message)
	after, err := s.Standing(ctx)
	if s.stuck = err; err == nil && after.Status == before.Status && after.CurrentPhase == before.CurrentPhase && after.AttemptNumber == before.AttemptNumber {
		s.person = r.Message // no session can do anything about it, or it would count
		if r.Way != "" {
			s.person += "; " + r.Way
		}
	}
}

func (s *Source) advance(ctx context.Context, res *sessions.Result, log *slog.Logger) error {
	n, err := s.Walker.Next(ctx)
	step := err == nil && (n.Action == tdd.ActionRed || n.Action == tdd.ActionGreen)
	switch {
	case step && res != nil && n.Action == s.given.Action && n.Subtask.ID == s.given.Subtask.ID: // else somebody else has taken the step
		n, err = s.complete(ctx, n, *res, log)
	case step && res == nil && s.Resumed && !s.Believe:
		n, err = s.complete(ctx, n, sessions.Result{}, log) // it is no attempt
	}
	s.Resumed = false
	for range stepsAtMost {
		if err != nil {
			return err
		}
		switch n.Action {
		case tdd.ActionCommit:
			n, err = s.commit(ctx, log)
		case tdd.ActionFinalize:
			n, err = s.finalize(ctx, log)
		default:
			return nil
		}
	}
	return err
}

const (
	heldWait  = 2 * time.Second
	heldTries = 300
)

// patiently waits for a person who is at work on the run from another shell.
func patiently[T any](ctx context.Context, log *slog.Logger, take func() (T, error)) (T, error) {
	for i := 0; ; i++ {
		out, err := take()
		held, is := errors.AsType[*statedir.HeldError](err)
		if !is || i == heldTries {
			return out, err
		}
		if i == 0 {
			log.Warn("another process is at work on the test-driven run; it is waited for", "act", "tdd", "pid", held.Holder.PID)
		}
		select {
		case <-ctx.Done():
			return out, fmt.Errorf("wait for another process: %w", context.Cause(ctx))
		case <-time.After(heldWait):
		}
	}
}

// complete has the step of a session checked.
func (s *Source) complete(ctx context.Context, n tdd.Next, res sessions.Result, log *slog.Logger) (tdd.Next, error) {
	req := tdd.CompleteRequest{Phase: tdd.At(n.Action), SubtaskID: n.Subtask.ID, Trial: res.Ending != outcome.Completed || asks(res.Report)}
	if s.Believe {
		if req.Results, req.Coverage = reported(res.Report); req.Results == nil {
			if req.Trial {
				return n, nil
			}
			req.Results = &tdd.Results{}
		}
	}
	j, err := patiently(ctx, log, func() (tdd.Judged, error) { return s.Walker.Complete(ctx, req) })
	if err != nil {
		return n, err
	}
	level := slog.LevelInfo
	if !j.Validated {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "step", "act", "tdd", "phase", n.Action, "subtask", n.Subtask.ID, "attempt", j.Attempt, "validated", j.Validated, "detail", j.Message)
	if j.Warning != "" {
		log.Warn(j.Warning, "act", "tdd", "subtask", n.Subtask.ID)
	}
	return j.NextAction, nil
}

func (s *Source) commit(ctx context.Context, log *slog.Logger) (tdd.Next, error) {
	c, err := patiently(ctx, log, func() (tdd.Committed, error) { return s.Walker.Commit(ctx, tdd.CommitRequest{}) })
	if err != nil {
		return tdd.Next{}, err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	log.Info("commit", "act", "tdd", "sha", c.CommitSHA, "files", len(c.Files), "subject", subject)
	for _, w := range c.Warnings {
		log.Warn(w, "act", "tdd")
	}
	return c.NextAction, nil
}

// finalize ends the run. What a session has mended for it is committed first.
func (s *Source) finalize(ctx context.Context, log *slog.Logger) (tdd.Next, error) {
	if _, err := patiently(ctx, log, func() (tdd.Committed, error) { return s.Walker.Commit(ctx, tdd.CommitRequest{}) }); err != nil {
		if r, ok := errors.AsType[*tdd.Refusal](err); !ok || r.Message != tdd.NothingToCommit {
			return tdd.Next{}, err
		}
	}
	f, err := patiently(ctx, log, func() (tdd.Finalized, error) { return s.Walker.Finalize(ctx, tdd.FinalizeRequest{}) })
	if err != nil {
		return tdd.Next{}, err
	}
	log.Info("finalized", "act", "tdd", "branch", f.Branch, "commits", f.Commits, "detail", f.Message)
	return s.Walker.Next(ctx)
}

// asks reports whether a session has a question for a person.
func asks(report []byte) bool {
	r, err := prompt.ParseReport(report)
	return err == nil && r.NeedsPerson != ""
}

// reported reads the numbers out of the report of a session.
func reported(report []byte) (*tdd.Results, tdd.Coverage) {
	var r struct {
		Tests *struct {
			Passed, Failed, Skipped int
		} `json:"tests"`
		Coverage *float64 `json:"coverage"`
	}
	if json.Unmarshal(report, &r) != nil || r.Tests == nil {
		return nil, tdd.Coverage{}
	}
	out := tdd.Results{Passed: r.Tests.Passed, Failed: r.Tests.Failed, Skipped: r.Tests.Skipped}
	out.Total = out.Sum()
	return &out, tdd.Coverage{Lines: r.Coverage}
}

// Track says how far the run is: subtasks, and the end of the run as one more.
func (s *Source) Track(ctx context.Context) source.Track {
	var t source.Track
	if s.Preview != nil {
		next, subs, err := s.Preview()
		if err != nil {
			t.Blocked = err.Error()
			t.Total = 1
			return t
		}
		s.next = next
		t.Total = len(subs) + 1
		for _, sub := range subs {
			t.Open = append(t.Open, sub.ID+" "+sub.Title)
		}
		t.Names = t.Open
		return t
	}
	st, err := s.Standing(ctx)
	if err == nil {
		s.next, err = s.Walker.Next(ctx)
	}
	if err == nil {
		err = s.stuck
	}
	t.Completed, t.Total = len(st.Progress.Completed), len(st.Progress.Completed)+len(st.Progress.Remaining)+1
	if st.Progress.Current != "" {
		t.Total++
		t.Open = append(t.Open, fmt.Sprintf("%s (%s)", st.Progress.Current, st.CurrentPhase))
	}
	t.Open = append(t.Open, st.Progress.Remaining...)
	t.Names = []string{fmt.Sprintf("task %s, test by test: %s", st.TaskID, st.TaskTitle)}
	t.Moves = moves(st)
	switch {
	case err != nil:
		t.Blocked = err.Error()
	case st.Status == tdd.Completed:
		t.Completed = t.Total
	case s.person != "":
		t.Person = s.person
	case st.Status == tdd.OnHold:
		t.Person = fmt.Sprintf("test-driven run %s is paused: %s", st.RunID, st.Why)
	case st.Status == tdd.Aborted:
		t.Blocked = fmt.Sprintf("test-driven run %s was aborted", st.RunID)
	}
	t.Percent = 100 * t.Completed / max(t.Total, 1)
	return t
}

// moves counts what is behind the run, finer than subtasks. An attempt counts as well:
// how many there may be is the run's own limit.
func moves(st tdd.Standing) int {
	n := 4 * len(st.Progress.Completed)
	n += map[tdd.At]int{tdd.Green: 1, tdd.Commit: 2, tdd.Finalize: 1, tdd.Complete: 2}[st.CurrentPhase]
	return mostAttempts*n + st.AttemptNumber
}

// mostAttempts is more than the attempts that a step may have.
const mostAttempts = 1000

// Next asks for a session for the step that is due.
func (s *Source) Next(r source.Request) source.Assignment {
	s.given = s.next
	a := source.Assignment{
		Mode: "tdd", SessionType: "feature", Confidence: 1, Rationale: "the " + s.next.Action + " step is due", Missing: []string{},
		Steps: []sessions.Step{{Prompt: s.prompt(r)}}, Schema: prompt.ReportSchema, Manual: "autopilot tdd next",
	}
	if s.Believe {
		a.Schema = withTests(prompt.ReportSchema)
	}
	return a
}

// withTests adds the numbers of the tests to the schema of a report.
func withTests(schema string) string {
	const tests = `"tests":{"type":"object","additionalProperties":false,"required":["passed","failed","skipped"],"properties":{` +
		`"passed":{"type":"integer"},"failed":{"type":"integer"},"skipped":{"type":"integer"}},"description":"What the last run of the tests said."},` +
		`"coverage":{"type":["number","null"],"description":"Percent of lines that the tests run; null when not known."},`
	schema = strings.Replace(schema, `"properties":{`, `"properties":{`+tests, 1)
	return strings.Replace(schema, `"required":[`, `"required":["tests",`, 1)
}
