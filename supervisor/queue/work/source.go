package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"autopilot/sessions"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/increment"
	"autopilot/supervisor/source"
	"autopilot/supervisor/testgate"
)

// StallLimit is how many sessions in a row may pass without a further task of an
// increment being done, or a goal being reached, before the item counts as failed.
const StallLimit = 5

// GoalSessions is how many sessions a goal of the queue may take. Nothing else than its
// end can be counted of it, and others wait.
const GoalSessions = 10

// Source works through the queue.
type Source struct {
	Store   queue.Store
	Repo    string
	RunID   string
	Only    []string // items that count; nil for all
	Active  int      // increments that may be active at once; 0 is no limit
	PerType map[string]int
	Promise string // what a session has to say; empty for nothing
	// Preview is the queue as it would be, for a plan; nil for a run that has begun.
	Preview *queue.Queue
	// Tests runs the test gate; nil where there is none.
	Tests func(context.Context) Tested
	// Stop says that the run is to stop before the next item is looked at; nil for never.
	Stop func() bool
	// Check makes the checks of a goal.
	Check func(context.Context, []gate.Check) []gate.Result
	// Answer is the whole last answer of a session; nil takes what its result has of it.
	Answer func(sessions.Result) string
	// Held are the calls of a session that still wait for a person, a line each; nil for
	// nobody who knows.
	Held func(session string) []string
	// Tell is called when an item has begun, has come further or is over; nil for nobody.
	Tell func(Standing)

	item    *queue.Item // that is in progress
	part    part
	given   string   // item that the session was started for
	first   []string // what has to be put right before anything else
	repair  string   // what the next session is told about a red gate
	green   map[string]testgate.Report
	blocked []queue.Held
	stuck   error
	kept    bool // what the last session was for is over
	stopped bool // nothing was begun because the run is to stop
	facts   *queue.Facts
}

// Tested is one run of the test gate.
type Tested struct {
	testgate.Report
	Path string // where a person can read what was printed; may be empty
	None string // why nothing was run, which is no failure; empty when something was
}

// Standing is how far an item is.
type Standing struct {
	Item    queue.Item
	Done    int // tasks
	Total   int
	Percent int
	Detail  string
	Final   bool
}

// Name is the name of the source.
func (*Source) Name() string { return "queue" }

// Kept reports whether the item of the last session is over.
func (s *Source) Kept() bool { return s.kept }

// Advance judges the item of the session that has just ended and takes up the next one
// when it is over. The result is nil before the first session.
func (s *Source) Advance(ctx context.Context, res *sessions.Result, log *slog.Logger) {
	s.kept, s.stopped, s.facts = false, false, nil
	s.stuck = s.advance(ctx, res, log)
	if s.stuck != nil && ctx.Err() == nil {
		log.Warn("the queue cannot go on", "act", "queue", "detail", s.stuck.Error())
	}
}

func (s *Source) advance(ctx context.Context, res *sessions.Result, log *slog.Logger) error {
	q, err := s.Store.Load()
	if err != nil {
		return err
	}
	// Each turn of the loop is over with an item or finds that there is none to begin.
	for range 2*len(q.Items) + 1 {
		if err := s.load(); err != nil {
			return err
		}
		if s.item == nil {
			if s.stopped = s.Stop != nil && s.Stop(); s.stopped {
				return nil
			}
			begun, err := s.begin(log)
			if err != nil || !begun {
				return err
			}
			if s.item == nil { // it was over at once
				continue
			}
		}
		over, err := s.judge(ctx, res, log)
		if err != nil || !over {
			return err
		}
		res = nil
	}
	return errors.New("internal error: the queue has no end")
}

// load reads which item is in progress and how far it is.
func (s *Source) load() error {
	q, err := s.Store.Load()
	if err != nil {
		return err
	}
	s.item = nil
	for _, it := range q.Items {
		if it.Status != queue.InProgress || !s.counts(it.ID) {
			continue
		}
		s.item = &it
		if it.RunID != s.RunID { // it was begun by a run that was stopped or killed
			if err := s.Store.Update(func(q *queue.Queue) error { return q.Begin(it.ID, s.RunID, time.Now()) }); err != nil {
				return err
			}
			it.RunID = s.RunID
		}
	}
	if s.item != nil {
		s.part = s.standing(*s.item)
	}
	return nil
}

func (s *Source) counts(id string) bool { return len(s.Only) == 0 || slices.Contains(s.Only, id) }

// begin takes up the next item. It reports whether there was one.
func (s *Source) begin(log *slog.Logger) (bool, error) {
	facts := s.Facts()
	var choice queue.Choice
	err := s.Store.Update(func(q *queue.Queue) error {
		for _, it := range q.Settle(facts, time.Now()) {
			log.Info("item is over", "act", "queue", "item", it.ID, "status", string(it.Status), "detail", it.Why)
		}
		if choice = q.Choose(facts); choice.Item == nil {
			return nil
		}
		return q.Begin(choice.Item.ID, s.RunID, time.Now())
	})
	if s.blocked = choice.Held; err != nil || choice.Item == nil {
		return false, err
	}
	it := *choice.Item
	s.first, s.repair = nil, ""
	log.Info("item begun", "act", "queue", "item", it.ID, "title", it.Short(), "priority", it.Priority)
	if err := s.load(); err != nil || s.item == nil {
		return s.item != nil, err
	}
	if it.Kind == queue.Increment {
		if err := s.walk(it.ID, increment.Active); err != nil {
			return true, s.over(it, queue.Failed, err.Error(), log)
		}
		err := s.Store.Update(func(q *queue.Queue) error { return q.Baseline(it.ID, s.part.done) })
		if err != nil {
			return false, err
		}
	}
	if err := s.load(); err != nil || s.item == nil {
		return s.item != nil, err
	}
	s.tell("begun", false)
	return true, nil
}

// queue is what is to be worked on.
func (s *Source) queue() (queue.Queue, error) {
	if s.Preview == nil {
		return s.Store.Load()
	}
	if choice := s.Preview.Choose(s.Facts()); choice.Item != nil {
		s.item, s.part = choice.Item, s.standing(*choice.Item)
	} else {
		s.blocked = choice.Held
	}
	q := *s.Preview
	q.Items = slices.Clone(q.Items)
	return q, nil
}

// Open are the items that are not over.
func (s *Source) Open() []queue.Item {
	q, err := s.queue()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(q.Items, func(it queue.Item) bool { return it.Status.Over() || !s.counts(it.ID) })
}

// Facts are what the choice of the next item depends on, as it is on disk.
func (s *Source) Facts() queue.Facts {
	if s.facts != nil {
		return *s.facts
	}
	f := queue.Facts{Increments: map[string]string{}, Types: map[string]string{}, Active: s.Active, PerType: s.PerType, Only: s.Only}
	for id, status := range increment.Archived(s.Repo) {
		f.Increments[id] = status
	}
	list, _ := increment.List(s.Repo) // one that cannot be read is missing, and whoever waits for it is held with that reason
	for _, inc := range list {
		f.Increments[inc.ID], f.Types[inc.ID] = inc.Status, inc.Type
	}
	s.facts = &f
	return f
}

// changedTries is how often a change is made again that somebody else came between.
const changedTries = 3

// walk changes the status of an increment step by step, each of them legal.
func (s *Source) walk(id, to string) error {
	inc, err := increment.Load(s.Repo, id)
	if err != nil {
		return err
	}
	for _, step := range increment.PathTo(inc.Status, to) {
		err := increment.SetStatus(s.Repo, id, step, time.Now())
		for range changedTries {
			if !errors.Is(err, increment.ErrChanged) {
				break
			}
			err = increment.SetStatus(s.Repo, id, step, time.Now())
		}
		if err != nil {
			return err
		}
	}
	if inc, err = increment.Load(s.Repo, id); err != nil {
		return err
	}
	if s.facts != nil {
		s.facts.Increments[id] = inc.Status
	}
	if inc.Status != to {
		return fmt.Errorf("increment %s is %s, which cannot become %s", id, inc.Status, to)
	}
	return nil
}

// over ends the work on an item.
func (s *Source) over(it queue.Item, status queue.Status, why string, log *slog.Logger) error {
	err := s.Store.Update(func(q *queue.Queue) error {
		now := time.Now()
		switch status {
		case queue.Done:
			return q.Done(it.ID, now)
		case queue.NeedsHuman:
			return q.Ask(it.ID, why, now)
		case queue.Skipped:
			return q.Skip(it.ID, why, now)
		}
		return q.Fail(it.ID, why, now)
	})
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if status == queue.Done {
		level = slog.LevelInfo
	}
	s.lay(it, status, log)
	log.Log(context.Background(), level, "item is over", "act", "queue", "item", it.ID, "status", string(status), "detail", why)
	it.Status, it.Why = status, why
	s.item = &it
	s.tell(why, true)
	s.item, s.first, s.repair = nil, nil, ""
	return nil
}

// lay puts the increment of an item that is kept apart aside, so that it takes no place of
// those that may be active at once.
func (s *Source) lay(it queue.Item, status queue.Status, log *slog.Logger) {
	if it.Kind != queue.Increment || status != queue.NeedsHuman && status != queue.Failed {
		return
	}
	inc, err := increment.Load(s.Repo, it.ID)
	if err != nil || inc.Status != increment.Active && inc.Status != increment.ReadyForReview {
		return
	}
	if err := s.walk(it.ID, increment.Paused); err != nil {
		log.Warn("the increment stays active", "act", "queue", "item", it.ID, "err", err.Error())
	}
}

func (s *Source) tell(detail string, final bool) {
	if s.Tell == nil {
		return
	}
	st := Standing{Item: *s.item, Done: s.part.done, Total: s.part.total, Percent: s.part.percent(), Detail: detail, Final: final}
	if s.item.Status == queue.Done {
		st.Percent = 100
	}
	s.Tell(st)
}

// Track says how far the queue is.
func (s *Source) Track(context.Context) source.Track {
	var t source.Track
	q, err := s.queue()
	if err != nil {
		t.Total, t.Blocked = 1, err.Error()
		return t
	}
	var persons []string
	done, sum := 0, 0
	for _, it := range q.Items {
		if !s.counts(it.ID) {
			continue
		}
		t.Total++
		t.Names = append(t.Names, it.ID+" "+it.Title)
		t.Moves += movesPerItem*boolean(it.Status.Over()) + it.Best
		if !it.Status.Over() {
			t.Open = append(t.Open, it.ID+" "+it.Title)
			continue
		}
		t.Completed++
		switch it.Status {
		case queue.Done, queue.Skipped:
			done++
		case queue.Failed:
			t.Failed++
			t.Failures = append(t.Failures, it.ID+" ("+it.Why+")")
		case queue.NeedsHuman:
			persons = append(persons, it.ID+": "+it.Why)
		}
	}
	sum = 100 * done
	if s.item != nil {
		sum += s.part.percent()
	}
	t.Percent = min(sum/max(t.Total, 1), 99+boolean(done == t.Total))
	t.Open, t.Names = t.Open[:min(len(t.Open), shown)], t.Names[:min(len(t.Names), shown)]
	s.ends(&t, persons)
	return t
}

const (
	shown        = 10
	movesPerItem = 100_000 // more than an item can have tasks
)

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ends says why nothing more can be done, where that is so.
func (s *Source) ends(t *source.Track, persons []string) {
	nothing := t.Completed == t.Total || s.item == nil
	if len(t.Failures) > shown {
		t.Failures = t.Failures[:shown]
	}
	switch {
	case s.stopped: // whoever wanted it says so
	case s.stuck != nil:
		t.Blocked = s.stuck.Error()
	case nothing && len(persons) > 0:
		t.Person = inWords(append(persons, t.Failures...)) + "; then 'autopilot queue retry ID' and 'autopilot resume'"
	case t.Completed == t.Total:
	case s.item == nil:
		var held []string
		for _, h := range s.blocked {
			held = append(held, h.ID+": "+h.Why)
		}
		t.Blocked = inWords(held)
		if t.Blocked == "" {
			t.Blocked = "nothing that remains can be begun"
		}
	}
	if t.Total == 0 {
		t.Empty = []string{"queue: it is empty; 'autopilot queue add' fills it"}
	}
}

func inWords(list []string) string {
	words := ""
	for i, x := range list[:min(len(list), shown)] {
		if i > 0 {
			words += "; "
		}
		words += x
	}
	return words
}
