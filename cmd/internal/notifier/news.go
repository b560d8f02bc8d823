package notifier

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/story"
)

const (
	nearlyAll = 0.8              // share of a budget that is told
	sameWait  = 10 * time.Minute // a wait whose end moves by less is no news
	maxListed = 8
	maxGoal   = 300
)

// About is what the states of a run do not hold.
type About struct {
	Repo   string // absolute path of the work tree
	Tokens int64  // limit of the run; 0 is none
	Cost   float64
}

// FromState returns the news between two states of a run that were saved one after the
// other. The first state of a run is compared with the zero one; so is that of a run
// that was killed when the next start finishes it.
func FromState(prev, now supervisor.State, a About) []notice.Notice {
	w := writer{prev: prev, now: now, about: a}
	if now.Finished {
		if !prev.Finished {
			w.over()
		}
		return w.news
	}
	w.asked()
	w.held()
	w.stories()
	w.limit()
	w.budget()
	return w.news
}

// writer makes notices of two states.
type writer struct {
	prev, now supervisor.State
	about     About
	news      []notice.Notice
}

func (w *writer) add(n notice.Notice) {
	n.At, n.Repo, n.RunID = w.now.UpdatedAt, w.about.Repo, w.now.Record.AutopilotRunID
	if n.Repo == "" && w.now.Record.WorktreePath != nil {
		n.Repo = *w.now.Record.WorktreePath
	}
	w.news = append(w.news, n)
}

// asked tells of questions that were not there before.
func (w *writer) asked() {
	for i, g := range w.now.Pursuit.Goals {
		if g.Question == nil || same(w.prev.Pursuit.Goals, i, g.Question) {
			continue
		}
		w.add(notice.Notice{
			Kind: notice.NeedsPerson, Title: "a question: " + g.Question.Text, Text: question(g.Question.Text, g.Question.Options),
			Command: w.answer(), Key: fmt.Sprintf("question %d %s", i, g.Question.Text),
		})
	}
}

func same(before []pursuit.Goal, i int, q *pursuit.Question) bool {
	return i < len(before) && before[i].Question != nil && before[i].Question.Text == q.Text
}

func question(text string, options []string) string {
	var b strings.Builder
	b.WriteString(wording.Text(text, 900))
	for i, o := range options[:min(len(options), maxListed)] {
		fmt.Fprintf(&b, "\n%c) %s", 'a'+i, wording.Line(o, 160))
	}
	return b.String()
}

func (w *writer) answer() string { return "autopilot answer " + w.now.Record.AutopilotRunID + " TEXT" }

// held tells of calls that wait until a person approves them.
func (w *writer) held() {
	if w.now.HeldInRow == 0 || w.now.HeldInRow <= w.prev.HeldInRow {
		return
	}
	w.add(notice.Notice{
		Kind: notice.NeedsPerson, Title: "calls wait for approval", Text: "A session came upon calls that are held until a person approves or denies them.",
		Command: "autopilot gates", Key: fmt.Sprintf("held %d", w.now.Carried.Iterations+w.now.Iteration),
	})
}

// stories tells of stories of a cohort that were put aside for a person.
func (w *writer) stories() {
	if w.now.Record.Coordinator == nil {
		return
	}
	for _, s := range w.now.Record.Stories {
		if s.Status != string(story.Person) || w.before(s.ID) == s.Status {
			continue
		}
		w.add(notice.Notice{
			Kind: notice.NeedsPerson, Title: "story " + s.ID + " needs you: " + s.Title, Text: s.Why,
			Command: "autopilot answer " + s.ID + " TEXT", Key: "story " + s.ID + " " + s.Why,
		})
	}
}

func (w *writer) before(id string) string {
	if w.prev.Record.Coordinator != nil {
		for _, s := range w.prev.Record.Stories {
			if s.ID == id {
				return s.Status
			}
		}
	}
	return ""
}

// limit tells of waits for the API and of their ends.
func (w *writer) limit() {
	was, is := w.prev.Waiting, w.now.Waiting
	switch {
	case is == nil && was == nil:
	case is == nil:
		w.add(notice.Notice{Kind: notice.LimitOver, Title: "goes on after a wait", Text: "It had waited for: " + was.Why, Key: key("over", was)})
	case was != nil && was.Why == is.Why && is.Until.Sub(was.Until).Abs() < sameWait:
	default:
		title := "waits"
		if !is.Until.IsZero() {
			title += " until " + is.Until.Local().Format("Mon 15:04")
		}
		w.add(notice.Notice{Kind: notice.LimitHit, Title: title + ": " + is.Why, Text: w.standing(), Key: key("wait", is)})
	}
}

func key(what string, x *supervisor.Waiting) string {
	return what + " " + x.Until.UTC().Format(time.RFC3339) + " " + x.Why
}

// budget tells when most of what the run may use is spent.
func (w *writer) budget() {
	before, spent := used(w.prev), used(w.now)
	if l := w.about.Tokens; l > 0 && crossed(float64(before.Tokens), float64(spent.Tokens), float64(l)) {
		w.add(notice.Notice{
			Kind: notice.Budget, Title: fmt.Sprintf("%s of the tokens are used", share(float64(spent.Tokens)/float64(l))),
			Text: fmt.Sprintf("%s of %s tokens.\n%s", wording.Number(spent.Tokens), wording.Number(l), w.standing()), Key: "tokens",
		})
	}
	if l := w.about.Cost; l > 0 && crossed(before.CostUSD, spent.CostUSD, l) {
		w.add(notice.Notice{
			Kind: notice.Budget, Title: fmt.Sprintf("%s of the money is spent", share(spent.CostUSD/l)),
			Text: fmt.Sprintf("%s of %s.\n%s", wording.Dollars(spent.CostUSD), wording.Dollars(l), w.standing()), Key: "cost",
		})
	}
}

func crossed(before, now, limit float64) bool {
	return before < nearlyAll*limit && now >= nearlyAll*limit
}

func share(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

// used is what a run has spent with those that it continues; for one that coordinated
// others, what they have.
func used(s supervisor.State) killswitch.Spend {
	r := s.Record
	out := killswitch.Spend{Tokens: s.Carried.Spent.Tokens + r.TotalTokensUsed, CostUSD: s.Carried.Spent.CostUSD + r.TotalCostUSD}
	if c := r.Coordinator; c != nil {
		out.Tokens, out.CostUSD = max(out.Tokens, c.CohortTokens), max(out.CostUSD, c.CohortCostUSD)
	}
	return out
}

// standing is where the run is, in one or two lines.
func (w *writer) standing() string {
	spent := used(w.now)
	what := wording.Count(w.now.Carried.Iterations+w.now.Iteration, "session")
	if c := w.now.Record.Coordinator; c != nil {
		what = fmt.Sprintf("%d of %s done", c.CompletedCount, stories(len(c.Stories)))
	}
	s := fmt.Sprintf("%s, %s tokens, %s.", what, wording.Number(spent.Tokens), wording.Dollars(spent.CostUSD))
	if t := w.now.Tasks; t != nil && t.Total > 0 {
		s += fmt.Sprintf(" %d of %d tasks are over.", t.Completed, t.Total)
	}
	if g := w.goal(); g != "" {
		s += "\nGoal: " + g
	}
	return s
}

func stories(n int) string {
	if n == 1 {
		return "1 story"
	}
	return fmt.Sprintf("%d stories", n)
}

func (w *writer) goal() string {
	if len(w.now.Pursuit.Goals) > 0 {
		return wording.Line(w.now.Pursuit.Goals[0].Text, maxGoal)
	}
	return wording.Line(w.now.Record.Goal, maxGoal)
}

// over tells of the end of the run.
func (w *writer) over() {
	r, t := w.now.Record, w.now.Record.Termination
	n := notice.Notice{Kind: ending(r), Key: "end", Command: w.next(), Text: w.standing()}
	n.Title = "ended: " + r.ExitCause
	if t != nil && t.Summary != "" {
		n.Title = t.Summary
	}
	switch {
	case t != nil && t.Question != "":
		n.Text += "\n\n" + question(t.Question, t.Options)
	case r.KillSwitchDetail != nil && *r.KillSwitchDetail != "":
		n.Text += "\nWhy: " + r.ExitCause + ": " + wording.Line(*r.KillSwitchDetail, maxGoal)
	default:
		n.Text += "\nWhy: " + r.ExitCause
	}
	n.Text += put(r)
	if n.Kind == notice.KillSwitch {
		n.Text += "\n" + killswitch.Reason(*r.KillSwitch).Hint()
	}
	w.add(n)
}

// put lists the stories that were not done.
func put(r ledger.Run) string {
	if r.Coordinator == nil {
		return ""
	}
	open := slices.DeleteFunc(slices.Clone(r.Stories), func(s ledger.Story) bool { return s.Status == string(story.Done) })
	var b strings.Builder
	for _, s := range open[:min(len(open), maxListed)] {
		fmt.Fprintf(&b, "\n- %s (%s): %s", wording.Line(s.ID, 60), s.Status, wording.Line(s.Title, 120))
	}
	if rest := len(open) - maxListed; rest > 0 {
		fmt.Fprintf(&b, "\n- and %d more", rest)
	}
	return b.String()
}

// ending is the kind of news that the end of a run is. A limit that was set and a person who
// stops a run are nothing to be woken for.
func ending(r ledger.Run) notice.Kind {
	t := r.Termination
	switch {
	case r.ExitCode == supervisor.ExitPerson, t != nil && t.AwaitingUserInput, person(r):
		return notice.NeedsPerson
	case r.KillSwitch == nil, killswitch.Reason(*r.KillSwitch).Graceful(), *r.KillSwitch == string(killswitch.UserAbort):
		return notice.Finished
	}
	return notice.KillSwitch
}

func person(r ledger.Run) bool {
	return r.Coordinator != nil && slices.ContainsFunc(r.Stories, func(s ledger.Story) bool { return s.Status == string(story.Person) })
}

// next is what a person would type.
func (w *writer) next() string {
	r, t := w.now.Record, w.now.Record.Termination
	switch {
	case t != nil && t.Question != "":
		return w.answer()
	case t != nil && t.Resumable && t.Status != ledger.Completed:
		return "autopilot resume " + r.AutopilotRunID
	}
	return "autopilot report " + r.AutopilotRunID
}
