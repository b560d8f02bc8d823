package tdd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is what moves a run on.
type event string

const (
	checked     event = "checked"     // the place is fit for a run
	branched    event = "branched"    // the branch is checked out
	failing     event = "failing"     // there are tests that fail
	implemented event = "implemented" // nothing fails, and that is allowed
	passing     event = "passing"     // all tests pass
	reopened    event = "reopened"    // what passed has been changed
	committed   event = "committed"   // another subtask follows
	last        event = "last"        // the last subtask is committed
	mended      event = "mended"      // a commit while the run is finalized
	verified    event = "verified"    // the whole suite passes
)

// transitions is the whole machine.
func transitions() map[At]map[event]At {
	return map[At]map[event]At{
		Preflight:   {checked: BranchSetup},
		BranchSetup: {branched: Red},
		Red:         {failing: Green, implemented: Commit},
		Green:       {passing: Commit},
		Commit:      {committed: Red, last: Finalize, reopened: Green},
		Finalize:    {verified: Complete, mended: Finalize},
	}
}

// Start are the facts that a run begins with.
type Start struct {
	RunID, TaskID, TaskTitle, Tag, ProjectRoot, TasksFile string
	BaseBranch, BaseCommit                                string
	Subtasks                                              []Subtask // in the order in which they are to be done, at least one
	MaxAttempts                                           int
	Artifacts                                             map[string]string
	Rules                                                 Rules
	Mine                                                  map[string]string
	Baseline                                              *Run
	Now                                                   time.Time
}

// Begin is a run before its preflight is over.
func Begin(f Start) State {
	s := State{
		RunID: f.RunID, TaskID: f.TaskID, TaskTitle: f.TaskTitle, Tag: f.Tag, ProjectRoot: f.ProjectRoot, TasksFile: f.TasksFile,
		BaseBranch: f.BaseBranch, BaseCommit: f.BaseCommit, Head: f.BaseCommit, Status: InProgress, CurrentPhase: Preflight, AttemptNumber: 1,
		MaxAttempts: max(f.MaxAttempts, 1), Subtasks: f.Subtasks, CompletedSubtasks: []string{}, Commits: []Made{}, Mine: f.Mine,
		StartTime: f.Now, CanResume: true, Artifacts: f.Artifacts, Rules: f.Rules,
	}
	if f.Baseline != nil {
		base := f.Baseline.lean()
		s.Baseline = &base
		s.known(&base)
	}
	for _, t := range f.Subtasks {
		s.PendingSubtasks = append(s.PendingSubtasks, t.ID)
	}
	s.log(f.Now, Activity{Event: EventPhaseStart, Phase: string(Preflight), Status: "ok"})
	s.settle(f.Now)
	return s
}

// to makes the step, or says that it cannot be made here.
func (s *State) to(e event, now time.Time) error {
	next, ok := transitions()[s.CurrentPhase][e]
	if !ok || s.Status != InProgress {
		return fmt.Errorf("internal error: event %q at %q, which is %s", e, s.CurrentPhase, s.Status)
	}
	if next != s.CurrentPhase {
		if s.CurrentPhase.Phase() != next.Phase() {
			s.log(now, Activity{Event: EventPhaseStart, Phase: next.Phase(), Status: "ok"})
		} else {
			s.log(now, Activity{Event: EventTransition, SubtaskID: s.CurrentSubtask, From: string(s.CurrentPhase), To: string(next)})
		}
		s.AttemptNumber, s.Why = 1, ""
	}
	s.CurrentPhase = next
	return nil
}

func (s *State) log(now time.Time, a Activity) {
	s.Seq++
	a.Seq, a.RunID, a.TS = s.Seq, s.RunID, now.UTC()
	s.Outbox = append(s.Outbox, a)
}

// settle brings what follows from the rest of the state up to date.
func (s *State) settle(now time.Time) {
	s.LastUpdated = now.UTC()
	s.CanResume = !s.Status.Over()
	s.NextAction = s.action()
}

// Checked ends the preflight.
func (s *State) Checked(now time.Time, checks map[string]bool) error {
	done := Activity{Event: EventPhaseComplete, Phase: string(Preflight), Checks: checks}
	return s.change(now, func() error {
		s.log(now, done)
		return s.to(checked, now)
	})
}

// change makes several steps as one: where one cannot be made, none is.
func (s *State) change(now time.Time, do func() error) error {
	before := *s
	before.Outbox = slices.Clone(s.Outbox)
	if err := do(); err != nil {
		*s = before
		return err
	}
	s.settle(now)
	return nil
}

// Branched begins the subtask loop on a branch. Switched is the tag that was current
// before, where it was another.
func (s *State) Branched(now time.Time, branch, switched string, created bool) error {
	return s.change(now, func() error {
		s.Branch = branch
		if created {
			s.log(now, Activity{Event: EventBranchCreated, Branch: branch})
		}
		if s.PreviousTag = switched; switched != "" {
			s.log(now, Activity{Event: EventTagSwitched, From: switched, To: s.Tag})
		}
		s.log(now, Activity{Event: EventPhaseComplete, Phase: string(BranchSetup)})
		if err := s.to(branched, now); err != nil {
			return err
		}
		s.subtask(now)
		return nil
	})
}

// subtask begins the first subtask that is pending.
func (s *State) subtask(now time.Time) {
	s.CurrentSubtask, s.SubtaskTime = s.PendingSubtasks[0], now.UTC()
	s.known(s.Green)
	s.Red, s.Green, s.Tree = nil, nil, ""
	s.try()
	s.log(now, Activity{Event: EventSubtaskStart, SubtaskID: s.CurrentSubtask, Phase: string(Red)})
}

// known keeps what the tests said before a subtask.
func (s *State) known(r *Run) {
	if r == nil || r.Measured == nil || !r.Measured.Counted {
		return
	}
	s.Passed, s.Passing = &r.Measured.Results, r.Passing
}

// try counts an attempt at the current subtask.
func (s *State) try() {
	if s.CurrentSubtask == "" {
		return
	}
	counts := maps.Clone(s.Attempts)
	if counts == nil {
		counts = map[string]int{}
	}
	counts[s.CurrentSubtask]++
	s.Attempts = counts
}

// Step is a red or green step that was judged.
type Step struct {
	Verdict Verdict
	Run     Run    // the results; Run.Files are the files that had changed by then
	Lines   string // +58,-0
	Tree    string // what the work tree looked like, for a later comparison
	Now     time.Time
}

// Accept goes on from a red or green step that is done.
func (s *State) Accept(st Step) error {
	ev := failing
	switch {
	case s.CurrentPhase == Green:
		ev = passing
	case st.Verdict.Implemented:
		ev = implemented
	}
	run := st.Run.lean()
	return s.change(st.Now, func() error {
		was := s.CurrentPhase
		s.logRun(st, map[bool]string{true: "expected", false: "success"}[was == Red && ev == failing])
		if was == Red {
			s.Red = &run
			s.log(st.Now, Activity{Event: EventTestGenerated, SubtaskID: s.CurrentSubtask, Files: run.Files, TestCount: new(testCount(run))})
		} else {
			s.Green, s.Tree = &run, st.Tree
			s.log(st.Now, Activity{Event: EventCodeModified, SubtaskID: s.CurrentSubtask, Files: run.Files, LinesChanged: st.Lines})
		}
		if ev == implemented {
			s.Tree = st.Tree
			s.Implemented = append(slices.Clone(s.Implemented), s.CurrentSubtask)
			s.log(st.Now, Activity{Event: EventImplemented, SubtaskID: s.CurrentSubtask, Message: st.Verdict.Message})
		}
		return s.to(ev, st.Now)
	})
}

func testCount(r Run) int {
	n := r.Counts().Failed
	if r.Measured != nil && n == 0 {
		n = r.Measured.Broken
	}
	return n
}

func (s *State) logRun(st Step, status string) {
	c := st.Run.Counts()
	a := Activity{
		Event: EventTestRun, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase), Attempt: s.AttemptNumber, Status: status,
		Passed: &c.Passed, Failed: &c.Failed, Skipped: &c.Skipped, Total: &c.Total,
	}
	if m := st.Run.Measured; m != nil {
		a.Coverage = m.Coverage.Over(st.Run.Coverage).Lines
	} else {
		a.Coverage = st.Run.Coverage.Lines
	}
	if !st.Verdict.Valid {
		a.Error = st.Verdict.Message
	}
	s.log(st.Now, a)
	if w := st.Verdict.Warning; w != "" {
		s.log(st.Now, Activity{Event: EventWarning, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase), Message: w})
	}
}

// Refuse counts a step that is not done: a report that was refused, a hook that did not
// let a commit pass, a suite that fails at the end. At the maximum the run is paused. It
// reports whether it is now.
func (s *State) Refuse(st Step) (paused bool, err error) {
	if s.Status != InProgress || s.CurrentPhase == Preflight || s.CurrentPhase == BranchSetup || s.CurrentPhase == Complete {
		return false, fmt.Errorf("internal error: a refusal at %q, which is %s", s.CurrentPhase, s.Status)
	}
	if st.Run.Reported != nil || st.Run.Measured != nil {
		s.logRun(st, map[bool]string{true: "unexpected", false: "failed"}[s.CurrentPhase == Red])
	} else {
		s.log(st.Now, Activity{Event: EventError, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase), Attempt: s.AttemptNumber, Error: st.Verdict.Message, Recoverable: new(true)})
	}
	s.Why = st.Verdict.Message
	s.try()
	if s.AttemptNumber >= s.MaxAttempts {
		s.Status = OnHold
		s.Why = fmt.Sprintf("%d of %d attempts at %s have failed"+lastWords+"%s", s.AttemptNumber, s.MaxAttempts, s.place(), s.Why)
		s.log(st.Now, Activity{Event: EventPaused, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase), Attempt: s.AttemptNumber, MaxAttempts: s.MaxAttempts, Message: s.Why})
	} else {
		s.AttemptNumber++
	}
	s.settle(st.Now)
	return s.Status == OnHold, nil
}

// lastWords are in front of the last refusal in the words of a pause.
const lastWords = "; the last: "

func (s *State) place() string {
	if s.CurrentSubtask == "" {
		return string(s.CurrentPhase)
	}
	return fmt.Sprintf("%s of subtask %s", s.CurrentPhase, s.CurrentSubtask)
}

// Again takes the numbers of tests that were run once more before the commit.
func (s *State) Again(st Step) error {
	if s.Status != InProgress || s.CurrentPhase != Commit {
		return fmt.Errorf("internal error: tests again at %q, which is %s", s.CurrentPhase, s.Status)
	}
	s.logRun(st, "success")
	if run := st.Run.lean(); s.Green != nil {
		s.Green = &run
	}
	s.Tree = st.Tree
	s.settle(st.Now)
	return nil
}

// Reopen goes back from commit to green, because what passed has been changed.
func (s *State) Reopen(now time.Time, why string) error {
	return s.change(now, func() error {
		if err := s.to(reopened, now); err != nil {
			return err
		}
		s.Green, s.Tree, s.Why = nil, "", why
		return nil
	})
}

// Promise notes a commit that is about to be made. It is part of the state on disk
// before anything is staged.
func (s *State) Promise(now time.Time, p Pending) error {
	if s.Status != InProgress || s.CurrentPhase != Commit && s.CurrentPhase != Finalize {
		return fmt.Errorf("internal error: a commit at %q, which is %s", s.CurrentPhase, s.Status)
	}
	s.Pending = &p
	s.settle(now)
	return nil
}

// Withdraw takes back a promise that was not kept.
func (s *State) Withdraw(now time.Time) {
	s.Pending = nil
	s.settle(now)
}

// Fulfil notes that the commit that was promised is made. In the subtask loop the
// subtask is complete then, and the next one begins.
func (s *State) Fulfil(now time.Time, sha string) error {
	p := s.Pending
	if p == nil {
		return fmt.Errorf("internal error: a commit at %q that nobody promised", s.CurrentPhase)
	}
	return s.change(now, func() error {
		s.Pending, s.Head = nil, sha
		s.Commits = append(slices.Clone(s.Commits), Made{Subtask: p.Subtask, SHA: sha, Subject: p.Subject, Mark: p.Mark, At: now.UTC()})
		s.log(now, Activity{Event: EventCommitCreated, SubtaskID: p.Subtask, SHA: sha, Message: p.Subject, Files: p.Files})
		if s.CurrentPhase == Finalize {
			return s.to(mended, now)
		}
		done := s.CurrentSubtask
		s.CompletedSubtasks = append(slices.Clone(s.CompletedSubtasks), done)
		s.PendingSubtasks = slices.DeleteFunc(slices.Clone(s.PendingSubtasks), func(id string) bool { return id == done })
		s.log(now, Activity{Event: EventSubtaskComplete, SubtaskID: done, Duration: fmt.Sprintf("%ds", int(now.Sub(s.SubtaskTime).Seconds()))})
		if len(s.PendingSubtasks) == 0 {
			s.CurrentSubtask = ""
			s.log(now, Activity{Event: EventPhaseComplete, Phase: LoopPhase})
			return s.to(last, now)
		}
		if err := s.to(committed, now); err != nil {
			return err
		}
		s.subtask(now)
		return nil
	})
}

// Finish ends a run whose suite passes.
func (s *State) Finish(st Step) error {
	return s.change(st.Now, func() error {
		if st.Run.Measured != nil {
			s.logRun(st, "success")
			final := st.Run.lean()
			s.Final = &final
		}
		s.log(st.Now, Activity{Event: EventPhaseComplete, Phase: string(Finalize), Message: st.Verdict.Message})
		if err := s.to(verified, st.Now); err != nil {
			return err
		}
		s.Status, s.EndTime = Completed, st.Now.UTC()
		s.log(st.Now, Activity{Event: EventPhaseComplete, Phase: string(Complete)})
		return nil
	})
}

// Resume lets a run go on: one that is paused gets as many attempts as before.
func (s *State) Resume(now time.Time) error {
	if s.Status.Over() {
		return fmt.Errorf("internal error: a run that is %s is resumed", s.Status)
	}
	if s.Status == OnHold {
		s.AttemptNumber = 1
		if _, last, ok := strings.Cut(s.Why, lastWords); ok {
			s.Why = last
		}
	}
	s.Status = InProgress
	s.log(now, Activity{Event: EventResumed, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase)})
	s.settle(now)
	return nil
}

// Abort gives a run up, wherever it stands.
func (s *State) Abort(now time.Time) {
	if s.Status.Over() {
		return
	}
	s.Status, s.EndTime, s.Pending = Aborted, now.UTC(), nil
	s.log(now, Activity{Event: EventAborted, SubtaskID: s.CurrentSubtask, Phase: string(s.CurrentPhase)})
	s.settle(now)
}

// Pushed notes that the branch was pushed.
func (s *State) Pushed(now time.Time, where string) {
	s.log(now, Activity{Event: EventPushed, Branch: s.Branch, To: where})
	s.settle(now)
}

// action is what has to be done next.
func (s *State) action() Action {
	types := map[At]string{Red: "generate", Green: "implement", Commit: "commit", Finalize: "finalize"}
	a := Action{Type: types[s.CurrentPhase], Subtask: s.CurrentSubtask, Phase: s.CurrentPhase}
	if a.Type == "" || s.Status.Over() {
		a.Type = "none"
	}
	if r := s.Red; r != nil {
		a.Context.TestFiles = r.Files
		if len(r.Files) > 0 {
			a.Context.TestFile = r.Files[0]
		}
		if r.Measured != nil && s.CurrentPhase == Green {
			a.Context.FailingTests = r.Measured.Failing
		}
	}
	if g := s.Green; g != nil {
		a.Context.ImplementationFiles = slices.DeleteFunc(slices.Clone(g.Files), func(f string) bool { return slices.Contains(a.Context.TestFiles, f) })
	}
	return a
}

// Standing is the state in short.
func (s *State) Standing(now time.Time) Standing {
	end := now
	if !s.EndTime.IsZero() {
		end = s.EndTime
	}
	out := Standing{
		RunID: s.RunID, TaskID: s.TaskID, TaskTitle: s.TaskTitle, Tag: s.Tag, Branch: s.Branch, Status: s.Status,
		CurrentSubtask: s.CurrentSubtask, CurrentPhase: s.CurrentPhase, AttemptNumber: s.AttemptNumber, MaxAttempts: s.MaxAttempts,
		Progress: s.Progress(), Commits: len(s.Commits), StartTime: s.StartTime, Duration: Clock(end.Sub(s.StartTime)), Why: s.Why,
	}
	return out
}

// Progress is how far the subtasks are.
func (s *State) Progress() Progress {
	p := Progress{Completed: append([]string{}, s.CompletedSubtasks...), Current: s.CurrentSubtask, Remaining: []string{}}
	for _, id := range s.PendingSubtasks {
		if id != s.CurrentSubtask {
			p.Remaining = append(p.Remaining, id)
		}
	}
	return p
}

// Clock writes a duration as "5m 30s".
func Clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	var parts []string
	if h := int(d.Hours()); h > 0 {
		parts = append(parts, fmt.Sprintf("%dh", h))
	}
	if m := int(d.Minutes()) % 60; m > 0 {
		parts = append(parts, fmt.Sprintf("%dm", m))
	}
	if sec := int(d.Seconds()) % 60; sec > 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%ds", sec))
	}
	return strings.Join(parts, " ")
}

// Title is the title of a subtask, or of the task.
func (s *State) Title(id string) string {
	for _, t := range s.Subtasks {
		if t.ID == id {
			return t.Title
		}
	}
	return s.TaskTitle
}
