package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/answer"
)

const (
	usualBatch   = 5 * time.Minute
	usualLimit   = 15 * time.Second
	firstWait    = 30 * time.Second
	longestWait  = 30 * time.Minute
	longestAsked = answer.Longest
	// settling is how long a target is left alone after a call that was cut off: it may
	// still be at work on it, and a look would not find yet what it is making.
	settling = time.Minute
	rounds   = 8 // of one subject in a delivery, when new ones come as fast as they go
)

// Deliver sends what is due and says what became of each subject. Services are called
// beside each other, those behind one breaker one call after the other. A failure of a
// target is no error; an error is a disk that does not work, or ctx that ended. What has
// been done by then is in the result.
//
// Of two deliveries at once, in whatever processes, one sends; see Result.Busy and
// Options.Force.
func (o Outbox) Deliver(ctx context.Context, senders Senders, opt Options) (Result, error) {
	none := Result{Sent: []Taken{}, Kept: []Kept{}, Refused: []Entry{}}
	if ids, err := o.ids(); err != nil || len(ids) == 0 {
		return none, err
	}
	wait := ctx
	if !opt.Force {
		once, cancel := context.WithDeadline(ctx, time.Time{})
		defer cancel()
		wait = once
	}
	lock, err := statedir.Acquire(wait, o.path("deliver.lock"), statedir.Holder{})
	if _, held := errors.AsType[*statedir.HeldError](err); held {
		none.Busy = true
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("deliver outbox: %w", err)
	}
	d := &delivery{Outbox: o, opt: opt, senders: senders, start: time.Now(), known: map[publish.Target]found{}}
	d.opt.Batch = cmp.Or(opt.Batch, usualBatch)
	if opt.Limit <= 0 {
		d.opt.Limit = usualLimit
	}
	if opt.Now.IsZero() {
		d.opt.Now = d.start
	}
	err = errors.Join(d.run(ctx, &none), lock.Release())
	if err != nil {
		err = fmt.Errorf("deliver outbox: %w", err)
	}
	return none, err
}

// delivery is one run through the outbox.
type delivery struct {
	Outbox
	opt     Options
	senders Senders
	start   time.Time

	files sync.Mutex // so that lanes do not wait for the lock as for that of another process
	mu    sync.Mutex
	known map[publish.Target]found
}

type found struct {
	sender publish.Sender
	err    error
}

func (d *delivery) now() time.Time { return d.opt.Now.Add(time.Since(d.start)) }

func (d *delivery) locked(fn func() error) error {
	d.files.Lock()
	defer d.files.Unlock()
	return d.Outbox.locked(fn)
}

func (d *delivery) sender(t publish.Target) found {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.known[t]
	if !ok {
		f.sender, f.err = d.senders(t)
		d.known[t] = f
	}
	return f
}

// run goes through all slots, those of one breaker in order, and adds to the result.
func (d *delivery) run(ctx context.Context, res *Result) error {
	for _, dir := range []string{"entries", "taken"} {
		if err := statedir.CleanTemp(d.path(dir), time.Now()); err != nil {
			return err
		}
	}
	ids, err := d.ids()
	if err != nil {
		return err
	}
	list, _ := d.entries(ids)
	lanes, byName := []*lane{}, map[string]*lane{}
	for _, s := range d.slots(list) {
		t := s.entries[0].Target
		if d.opt.Only != nil && !d.opt.Only(t) {
			continue
		}
		name := BreakerName(t)
		if byName[name] == nil {
			byName[name] = &lane{delivery: d}
			lanes = append(lanes, byName[name])
		}
		byName[name].slots = append(byName[name].slots, s)
	}
	var all sync.WaitGroup
	for _, l := range lanes {
		all.Go(func() { l.err = l.run(ctx) })
	}
	all.Wait()
	var bad []error
	for _, l := range lanes {
		res.Sent, res.Kept, res.Refused = append(res.Sent, l.result.Sent...), append(res.Kept, l.result.Kept...), append(res.Refused, l.result.Refused...)
		if l.err != nil && (ctx.Err() == nil || !errors.Is(l.err, context.Cause(ctx))) {
			bad = append(bad, l.err)
		}
	}
	if ctx.Err() != nil && len(bad) == 0 && slices.ContainsFunc(lanes, func(l *lane) bool { return l.err != nil }) {
		return context.Cause(ctx)
	}
	return errors.Join(bad...)
}

// slots groups entries by subject and target, those of one target beside each other;
// the target whose entries wait longest comes first.
func (o Outbox) slots(list []Entry) []slot {
	byName, names, targets := map[string]slot{}, []string{}, map[publish.Target]int{}
	for _, e := range list { // the oldest first
		if _, ok := targets[e.Target]; !ok {
			targets[e.Target] = len(targets)
		}
		name := slotOfID(e.ID)
		s, ok := byName[name]
		if !ok {
			names = append(names, name)
			s.taken = o.taken(name)
		}
		s.entries = append(s.entries, e)
		byName[name] = s
	}
	out := []slot{}
	for _, name := range names {
		s := byName[name]
		slices.SortFunc(s.entries, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b slot) int {
		return cmp.Compare(targets[a.entries[0].Target], targets[b.entries[0].Target])
	})
	return out
}
