package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/reflector"
	"autopilot/sessions/commit"
	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite"
)

const (
	// mostEarlier bounds how many commits of others are looked at between two of a run.
	mostEarlier = 200
	// maxRead is how much of a patch is read, in bytes: more than is shown, so that
	// secrets are found before it is cut.
	maxRead = 4 * maxDiff
)

// Reader verifies the commits of a repository. It changes nothing.
type Reader struct {
	Tree        commit.Tree
	Template    string       // of subjects
	TestPattern string       // glob of test files, as a person has given it; may be empty
	Runner      suite.Runner // of the project's tests, where no pattern is given; may be empty
	// Known is what is kept of a run and, in it, of the subtask; nil where that is
	// nothing.
	Known func(runID, subtask string) *Run
	Model reflector.Model // whose opinion is asked for; nil for none
}

// Verify looks at one commit, REV, or at those of a range, REV..REV, oldest first; a side
// of a range that is left out is HEAD. Commits that are not of a task are listed and not
// judged. It is a *tdd.Refusal of the kind Invalid where there is no such commit, and
// where none is of a task.
func (r Reader) Verify(ctx context.Context, revisions string) (Report, error) {
	list, err := r.list(ctx, revisions)
	if err != nil {
		return Report{}, err
	}
	out := Report{OK: true, Commits: []Commit{}}
	judged := 0
	for _, sha := range list {
		c, err := r.verify(ctx, sha)
		if err != nil {
			return Report{}, fmt.Errorf("verify commit %.10s: %w", sha, err)
		}
		if c.Verdict != Other {
			judged++
		}
		out.OK = out.OK && c.Verdict != Broken
		out.Commits = append(out.Commits, c)
	}
	if judged == 0 {
		return Report{}, invalid("name one that 'autopilot tdd commit' has made, or a range: autopilot tdd verify main..", "there is no commit of a task in %s", revisions)
	}
	return out, nil
}

func invalid(way, format string, args ...any) error {
	return &tdd.Refusal{Kind: tdd.Invalid, Message: fmt.Sprintf(format, args...), Way: way}
}

// list returns the ids of the commits that are meant.
func (r Reader) list(ctx context.Context, revisions string) ([]string, error) {
	from, to, ranged := strings.Cut(revisions, "..")
	if !ranged {
		sha, err := r.resolve(ctx, revisions)
		return []string{sha}, err
	}
	if strings.HasPrefix(to, ".") {
		return nil, invalid("a range has two dots: "+from+".."+strings.TrimLeft(to, "."), "%s is no range of commits", revisions)
	}
	var err error
	if from, err = r.resolve(ctx, orHead(from)); err != nil {
		return nil, err
	}
	if to, err = r.resolve(ctx, orHead(to)); err != nil {
		return nil, err
	}
	return r.Tree.Between(ctx, from, to)
}

func orHead(rev string) string {
	if rev == "" {
		return "HEAD"
	}
	return rev
}

func (r Reader) resolve(ctx context.Context, rev string) (string, error) {
	list, err := r.Tree.History(ctx, rev, 1)
	if errors.Is(err, commit.ErrNoCommit) {
		return "", invalid("see 'git log'", "there is no commit %q", rev)
	}
	if err != nil {
		return "", err
	}
	return list[0].SHA, nil
}

// verify looks at one commit.
func (r Reader) verify(ctx context.Context, sha string) (Commit, error) {
	list, err := r.Tree.History(ctx, sha, 1)
	if err != nil {
		return Commit{}, err
	}
	about := list[0]
	claim, err := Parse(about.Message)
	out := Commit{SHA: sha, Subject: claim.Subject, Verdict: Holds}
	if errors.Is(err, ErrNoClaim) {
		out.Verdict = Other
		return out, nil
	}
	out.Claim = &claim
	if err != nil {
		out.Verdict, out.Findings = Broken, []Finding{broken(RuleMessage, "%v", err)}
		return out, nil
	}
	facts, matter, err := r.facts(ctx, about, claim)
	if err != nil {
		return Commit{}, err
	}
	out.Findings = Judge(claim, facts)
	if slices.ContainsFunc(out.Findings, func(f Finding) bool { return !f.OK }) {
		out.Verdict = Broken
		return out, nil
	}
	// Of the commit that closes a task there is nothing to think about.
	if r.Model != nil && !claim.closes() {
		err = r.ask(ctx, about, matter, &out)
	}
	return out, err
}

// ask adds the opinion of the model. That it does not answer is no error, unless it was
// interrupted.
func (r Reader) ask(ctx context.Context, about commit.About, m Matter, out *Commit) error {
	if m.Task == (Text{}) {
		out.Unanswered = "what the task asks for is not known"
		return nil
	}
	var err error
	m.Message = about.Message
	if m.Diff, m.Whole, err = r.Tree.Patch(ctx, parent(about), about.SHA, maxRead, taskmaster.Places()...); err != nil {
		return err
	}
	opinion, err := Ask(ctx, r.Model, m)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask: %w", context.Cause(ctx))
	case err != nil:
		out.Unanswered = line(err.Error())
		return nil
	}
	out.Opinion = &opinion
	if opinion.Aligned == No {
		out.Verdict = Broken
	}
	return nil
}

// parent is the first parent; empty for the first commit.
func parent(a commit.About) string {
	if len(a.Parents) == 0 {
		return ""
	}
	return a.Parents[0]
}

// facts are what a claim is held against, and what a model would be asked about.
func (r Reader) facts(ctx context.Context, about commit.About, c Claim) (Facts, Matter, error) {
	f := Facts{Template: r.Template}
	var m Matter
	var err error
	if f.Files, err = r.Tree.Touched(ctx, parent(about), about.SHA); err != nil {
		return f, m, err
	}
	if f.Earlier, err = r.earlier(ctx, about, c.RunID); err != nil {
		return f, m, err
	}
	for _, name := range slices.Concat(f.Files, f.Earlier) {
		if r.isTest(name) && !slices.Contains(f.Tests, name) {
			f.Tests = append(f.Tests, name)
		}
	}
	if r.Known != nil {
		f.Run = r.Known(c.RunID, c.TaskID)
	}
	m.Files, m.Tests = f.Files, f.Tests
	m.Task, m.Subtask, err = r.task(ctx, about, c, &f)
	return f, m, err
}

func (r Reader) isTest(name string) bool {
	if r.TestPattern != "" {
		return suite.IsTest(name, r.TestPattern)
	}
	pattern := suite.Pattern(r.Runner)
	return suite.IsTest(name, "") || pattern != "" && suite.IsTest(name, pattern)
}

// earlier are the files that others have committed since the commit of the run before
// this one, or since the run began: they may be a part of the subtask.
func (r Reader) earlier(ctx context.Context, about commit.About, runID string) ([]string, error) {
	last := parent(about)
	if last == "" {
		return nil, nil
	}
	began, ok := start(runID)
	if !ok {
		return nil, nil
	}
	list, err := r.Tree.History(ctx, last, mostEarlier)
	if err != nil {
		return nil, err
	}
	from := last
	for _, a := range list {
		from = a.SHA
		if c, _ := Parse(a.Message); c.RunID == runID || a.Time.Before(began) {
			break
		}
	}
	if from == last {
		return nil, nil
	}
	return r.Tree.Touched(ctx, from, last)
}

// start is the second in which a run began, as its id has it.
func start(runID string) (time.Time, bool) {
	const layout = "2006-01-02T15-04-05"
	stamp := runID[strings.LastIndex(runID, "_")+1:]
	t, err := time.Parse(layout, stamp[:min(len(stamp), len(layout))])
	return t, err == nil
}

// task looks up the task in the file as the commit has it.
func (r Reader) task(ctx context.Context, about commit.About, c Claim, f *Facts) (whole, part Text, err error) {
	var data []byte
	found := false
	for _, name := range taskmaster.Places() {
		f.TaskPath = name
		if data, found, err = r.Tree.Content(ctx, about.SHA, name, taskmaster.MaxBytes); found || err != nil {
			break
		}
	}
	if err != nil {
		return whole, part, err
	}
	f.TaskFile = InCommit
	if !found {
		f.TaskFile, f.TaskPath = Nowhere, taskmaster.Places()[0]
		if i := slices.IndexFunc(taskmaster.Places(), func(name string) bool { return slices.Contains(f.Files, name) }); i >= 0 {
			f.TaskFile, f.TaskPath = Removed, taskmaster.Places()[i]
			return whole, part, nil
		}
	}
	file, err := taskmaster.Parse(f.TaskPath, data, c.Tag)
	if !found { // what is asked for is as it is now; nothing is held against it
		file, err = taskmaster.Load(r.Tree.Top, c.Tag)
	}
	var task, sub taskmaster.Task
	if err == nil {
		task, sub, err = lookUp(file, c.TaskID)
	}
	if err != nil {
		f.Problem = err.Error()
		return whole, part, nil
	}
	of := task
	if sub.ID != "" {
		of = sub
	}
	f.Title, f.Status = of.Title, of.Status
	return text(task), text(sub), nil
}

// lookUp finds a task, and the subtask when the id is that of one.
func lookUp(file *taskmaster.File, id string) (task, sub taskmaster.Task, err error) {
	main, _, dotted := strings.Cut(id, ".")
	if task, err = file.Task(main); err != nil || !dotted {
		return task, sub, err
	}
	i := slices.IndexFunc(task.Subtasks, func(t taskmaster.Task) bool { return t.ID == id })
	if i < 0 {
		return task, sub, fmt.Errorf("task %s has no subtask %s under the tag %s", main, id, file.Tag)
	}
	return task, task.Subtasks[i], nil
}

func text(t taskmaster.Task) Text {
	return Text{ID: t.ID, Title: t.Title, Description: t.Description, Details: t.Details, TestStrategy: t.TestStrategy}
}
