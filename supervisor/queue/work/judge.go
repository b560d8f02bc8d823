package work

import (
	"context"
	"fmt"
	"log/slog"

	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/increment"
	"autopilot/supervisor/testgate"
)

// part is how far the item in progress is.
type part struct {
	inc   increment.Increment
	done  int
	total int
	err   error // it cannot be told
}

func (p part) percent() int {
	if p.total == 0 {
		return 0
	}
	return min(99, 100*p.done/p.total)
}

func (p part) open() []string {
	var out []string
	for _, t := range p.inc.Tasks {
		if !t.Terminal() {
			out = append(out, t.ID+" "+t.Subject)
		}
	}
	return out
}

func (s *Source) standing(it queue.Item) part {
	if it.Kind != queue.Increment {
		return part{}
	}
	var p part
	if p.inc, p.err = increment.Load(s.Repo, it.ID); p.err != nil {
		return p
	}
	p.total = len(p.inc.Tasks)
	for _, t := range p.inc.Tasks {
		if t.Terminal() {
			p.done++
		}
	}
	return p
}

// MostErrors is how many sessions in a row may go wrong on an item before it counts as
// failed.
const MostErrors = 2

// judge says whether the item is over, and writes that down. The result is that of the
// session that has just ended, nil when there was none.
func (s *Source) judge(ctx context.Context, res *sessions.Result, log *slog.Logger) (over bool, err error) {
	it := *s.item
	if res != nil && s.given != it.ID { // somebody has taken the item away meanwhile
		res = nil
	}
	if s.part.err != nil {
		return true, s.over(it, queue.Failed, s.part.err.Error(), log)
	}
	if over, err := s.standsAs(it, res != nil, log); over || err != nil {
		return over, err
	}
	if it = *s.item; res == nil {
		if !s.complete(it) {
			return false, nil
		}
		return s.finish(ctx, it, false, log)
	}
	rep := reportOf(*res)
	if it, err = s.count(it, *res, rep); err != nil || s.item == nil {
		return s.item == nil, err
	}
	defer func() { s.kept = over }()
	held := s.held(*res)
	switch {
	case len(held) > 0:
		return true, s.over(it, queue.NeedsHuman, "a call waits for approval: "+inWords(held), log)
	case rep.NeedsPerson != "":
		return true, s.over(it, queue.NeedsHuman, rep.NeedsPerson, log)
	case s.complete(it):
		return s.finish(ctx, it, true, log)
	case it.Errors >= MostErrors:
		return true, s.over(it, queue.Failed, fmt.Sprintf("%d sessions in a row went wrong, the last: %s %s", it.Errors, res.Ending, res.Cause), log)
	case it.Kind == queue.Goal && it.Sessions >= GoalSessions:
		return true, s.over(it, queue.Failed, fmt.Sprintf("%d sessions did not reach it", it.Sessions), log)
	case it.Stalled >= StallLimit:
		return true, s.over(it, queue.Failed, fmt.Sprintf("%d sessions in a row brought it no further (%d of %d tasks)", it.Stalled, s.part.done, s.part.total), log)
	}
	s.tell(rep.Summary, false)
	return false, nil
}

// count counts a session that was spent on the item, which it returns as it stands then.
func (s *Source) count(it queue.Item, res sessions.Result, rep prompt.Report) (queue.Item, error) {
	claimed := it.Claimed || s.claims(it, res, rep) // once said of work that was done, it stands
	wrong := res.Ending != outcome.Completed && res.Ending != outcome.Cancelled && !res.Ending.Waits()
	err := s.Store.Update(func(q *queue.Queue) error {
		if _, err := q.Went(it.ID, wrong); err != nil {
			return err
		}
		return q.Session(it.ID, s.part.done, s.part.total, claimed)
	})
	if err == nil {
		err = s.load()
	}
	if err != nil || s.item == nil {
		return it, err
	}
	return *s.item, nil
}

func (s *Source) held(res sessions.Result) []string {
	if s.Held == nil {
		return nil
	}
	return s.Held(string(res.ID))
}

// standsAs looks at the status and the tasks that the increment has on disk. Sessions are
// not to change the status; that of one which was only begun, or whose checks have
// passed, is set right.
func (s *Source) standsAs(it queue.Item, afterSession bool, log *slog.Logger) (over bool, err error) {
	if it.Kind != queue.Increment {
		return false, nil
	}
	open, status := s.part.total-s.part.done, s.part.inc.Status
	switch {
	case status == increment.Completed && it.Passed:
		return true, s.over(it, queue.Done, "", log)
	case status == increment.Abandoned, afterSession && (status == increment.Paused || status == increment.Backlog || status == increment.Planning):
		return true, s.over(it, queue.NeedsHuman, "somebody has set the increment to "+status+" while it was worked on", log)
	case status == increment.Completed && open > 0:
		log.Warn("the increment was set to completed while tasks are open; it is active again", "act", "queue", "item", it.ID, "open", open)
	}
	if status != increment.Active && !(status == increment.Completed && open == 0) {
		if err := s.walk(it.ID, increment.Active); err != nil {
			return true, s.over(it, queue.NeedsHuman, err.Error(), log)
		}
	}
	most := 0
	err = s.Store.Update(func(q *queue.Queue) error {
		most, err = q.Has(it.ID, s.part.total)
		return err
	})
	if err != nil {
		return false, err
	}
	if open == 0 && s.part.total < most {
		return true, s.over(it, queue.NeedsHuman, fmt.Sprintf("tasks.md has %d tasks, all of them over, and had %d: look what became of the others", s.part.total, most), log)
	}
	return false, s.load()
}

// claims reports whether a session says that the item is done, in the form that is asked
// for.
func (s *Source) claims(it queue.Item, res sessions.Result, rep prompt.Report) bool {
	switch {
	case res.Ending != outcome.Completed || rep.NeedsPerson != "" || it.Kind == queue.Increment && s.part.done < s.part.total:
		return false
	case s.Promise != "":
		return prompt.Promised(s.answer(res), s.Promise)
	}
	return rep.SaysDone()
}

func (s *Source) answer(res sessions.Result) string {
	if s.Answer == nil {
		return res.Answer
	}
	return s.Answer(res)
}

// complete reports whether the item is done as far as can be told without its checks.
func (s *Source) complete(it queue.Item) bool {
	if it.Kind == queue.Increment {
		return s.part.total > 0 && s.part.done == s.part.total && (s.Promise == "" || it.Claimed)
	}
	return it.Claimed
}

// finish makes the checks of an item that seems to be done.
func (s *Source) finish(ctx context.Context, it queue.Item, afterSession bool, log *slog.Logger) (over bool, err error) {
	if s.first = s.failing(ctx, it); len(s.first) > 0 && ctx.Err() == nil {
		return s.again(it, afterSession, "checks fail: "+inWords(s.first), log)
	}
	if s.Tests != nil && ctx.Err() == nil {
		if red, over, err := s.tests(ctx, it, afterSession, log); red {
			return over, err
		}
	}
	if ctx.Err() != nil {
		return false, fmt.Errorf("check %s: %w", it.ID, context.Cause(ctx))
	}
	if err := s.Store.Update(func(q *queue.Queue) error { return q.Pass(it.ID) }); err != nil {
		return false, err
	}
	if it.Kind == queue.Increment {
		if err := s.walk(it.ID, increment.Completed); err != nil {
			return true, s.over(it, queue.NeedsHuman, err.Error(), log)
		}
	}
	return true, s.over(it, queue.Done, "", log)
}

// failing are the checks of a goal that do not hold.
func (s *Source) failing(ctx context.Context, it queue.Item) []string {
	var checks []gate.Check
	for _, command := range it.Verify {
		if c, err := gate.ParseCommand(command); err == nil { // the queue takes no other
			checks = append(checks, c)
		}
	}
	if len(checks) == 0 || s.Check == nil {
		return nil
	}
	var out []string
	for _, r := range s.Check(ctx, checks) {
		if !r.OK {
			out = append(out, r.Name()+": "+r.Detail)
		}
	}
	return out
}

// tests runs the test gate. Red says that the item is not done.
func (s *Source) tests(ctx context.Context, it queue.Item, afterSession bool, log *slog.Logger) (red, over bool, err error) {
	for again := 0; ; again++ {
		rep := s.Tests(ctx)
		if ctx.Err() != nil {
			return false, false, nil
		}
		if rep.None != "" {
			log.Warn("no tests were run", "act", "tests", "item", it.ID, "detail", rep.None)
			return false, false, nil
		}
		fixes := it.Fixes
		if !afterSession { // the last repair was cut short, or there was none yet
			fixes = max(0, fixes-1)
		}
		decision, why := testgate.Decide(rep.Report, fixes, again)
		log.Info("test gate", "act", "tests", "item", it.ID, "passed", rep.Passed, "class", string(rep.Class), "decision", string(decision), "detail", rep.Summary, "path", rep.Path)
		switch decision {
		case testgate.Pass:
			s.compare(it, rep.Report, log)
			return false, false, nil
		case testgate.Again:
			continue
		case testgate.Fix:
			s.repair = rep.FixPrompt(it.Fixes + 1)
			over, err = s.again(it, afterSession, why, log)
			return true, over, err
		}
		return true, true, s.over(it, queue.NeedsHuman, handover(why, rep), log)
	}
}

// handover says what is red, and where a person can read it.
func handover(why string, rep Tested) string {
	if rep.Path == "" {
		return why
	}
	return why + "; what was printed is in " + rep.Path
}

// compare warns where a green gate has fewer tests than the one before.
func (s *Source) compare(it queue.Item, rep testgate.Report, log *slog.Logger) {
	for id, before := range s.green {
		if words := rep.Shrunk(before); words != "" {
			log.Warn("there are fewer tests than before", "act", "tests", "item", it.ID, "since", id, "detail", words)
		}
	}
	s.green = map[string]testgate.Report{it.ID: rep}
}

// again has a session repair what keeps an item from being done, or hands it to a
// person when that was tried often enough. A repair that was cut short is not counted.
func (s *Source) again(it queue.Item, afterSession bool, why string, log *slog.Logger) (over bool, err error) {
	if afterSession && it.Fixes >= testgate.MaxFixes {
		return true, s.over(it, queue.NeedsHuman, why, log)
	}
	if afterSession || it.Fixes == 0 {
		err := s.Store.Update(func(q *queue.Queue) error {
			_, err := q.Tests(it.ID, true)
			return err
		})
		if err != nil {
			return false, err
		}
	}
	log.Warn("the item is not done", "act", "queue", "item", it.ID, "attempt", it.Fixes+1, "detail", why)
	return false, s.load()
}

func reportOf(res sessions.Result) prompt.Report {
	rep, err := prompt.ParseReport(res.Report)
	if err != nil {
		return prompt.Report{}
	}
	return rep
}
