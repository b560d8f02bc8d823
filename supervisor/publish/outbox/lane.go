package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/breaker"
	"autopilot/supervisor/publish"
)

// lane is what a delivery sends through one breaker, one call after the other.
type lane struct {
	*delivery

	slots  []slot
	open   *breaker.OpenError // the breaker that refused a call
	result Result
	err    error
}

func (d *lane) run(ctx context.Context) error {
	for _, s := range d.slots {
		if e, ok := s.first(); ok && d.rests(e, s.taken) {
			continue // seen without the lock: what has come since is for the next delivery
		}
		for range rounds {
			more, err := d.one(ctx, slotOfID(s.entries[0].ID))
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return nil
}

// one sends the next entry of a slot when it is due. More is set when the one after it may
// be sent as well.
func (d *lane) one(ctx context.Context, name string) (more bool, err error) {
	var s slot
	err = d.locked(func() error {
		if s, _, err = d.slot(name); err != nil {
			return err
		}
		_, gone := s.compact()
		return d.remove(gone...)
	})
	if err != nil {
		return false, err
	}
	e, ok := s.first()
	if !ok {
		return false, nil
	}
	if d.rests(e, s.taken) {
		return false, nil
	}
	if ctx.Err() != nil {
		d.keep(e, "there was no time to send it", time.Time{})
		return false, context.Cause(ctx)
	}
	f := d.sender(e.Target)
	receipt, err := publish.Receipt{}, f.err
	if err == nil {
		receipt, err = d.send(ctx, f.sender, e)
	}
	return d.settle(ctx, e, receipt, err)
}

// rests reports whether an entry is not to be sent now, and notes why.
func (d *lane) rests(e Entry, last *Taken) bool {
	if k := d.waits(e.at(d.now()), last); k.Why != "" {
		d.keep(e, k.Why, k.Until)
		d.result.Kept[len(d.result.Kept)-1].Batched = k.Batched
		return true
	}
	if f := d.sender(e.Target); f.err != nil && !permanent(f.err) {
		d.keep(e, oneLine(f.err.Error(), maxWhy), time.Time{})
		return true
	}
	if d.open != nil && d.open.Until.After(d.now()) {
		d.keep(e, alone(d.open), d.open.Until)
		return true
	}
	return false
}

// waits says why an entry is not sent now, and until when; nothing for one that is due.
func (d *lane) waits(e Entry, last *Taken) Kept {
	now := d.now()
	switch {
	case !e.RetryAt.IsZero():
		return Kept{Why: e.Why, Until: e.RetryAt}
	case d.opt.Force:
		return Kept{}
	case !e.NextAt.IsZero():
		return Kept{Why: e.Why, Until: e.NextAt}
	case last == nil || e.Update.Final || last.At.After(now) || now.Sub(last.At) >= d.opt.Batch:
		return Kept{}
	}
	return Kept{Why: "the last one was sent a moment ago", Until: last.At.Add(d.opt.Batch), Batched: true}
}

// send calls the target. The error is a *cutError when the call was begun and ended
// before there was an answer.
func (d *lane) send(ctx context.Context, sender publish.Sender, e Entry) (publish.Receipt, error) {
	var receipt publish.Receipt
	name := BreakerName(e.Target)
	call := func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, d.opt.Limit)
		defer cancel()
		receipt, err = sender.Send(ctx, e.Key, e.Update)
		if s, ok := errors.AsType[*publish.SendError](err); err != nil && ctx.Err() != nil && name != "" && (!ok || s.Status == 0) {
			err = &cutError{err}
		}
		return err
	}
	if d.opt.Breakers == nil || name == "" {
		return receipt, call(ctx)
	}
	set := *d.opt.Breakers
	set.Settings.Judge = judge
	err := set.Do(ctx, name, d.now(), call)
	return receipt, err
}

// cutError is what came of a call that was cut off.
type cutError struct{ err error }

// Error says it as it was said.
func (e *cutError) Error() string { return e.err.Error() }

// Unwrap returns what the sender said.
func (e *cutError) Unwrap() error { return e.err }

// alone says that a service is left alone, without the time: that is told beside it.
func alone(e *breaker.OpenError) string {
	why := e.Name + " is left alone"
	if e.LastError != "" {
		why += ": " + e.LastError
	}
	return oneLine(why, maxWhy)
}

// judge says what the answer of a target means for the breaker of its service.
func judge(err error) breaker.Verdict {
	e, ok := errors.AsType[*publish.SendError](err)
	switch {
	case !ok:
		return breaker.Verdict{Outcome: breaker.Failed}
	case e.Permanent:
		return breaker.Verdict{Outcome: breaker.Answered}
	case !e.RetryAt.IsZero() || e.Status == 429:
		return breaker.Verdict{Outcome: breaker.Limited, RetryAt: e.RetryAt}
	case e.Status == 409 || e.Status == 412 || e.Status == 423:
		return breaker.Verdict{Outcome: breaker.Answered} // the entry is busy, the service is well
	}
	return breaker.Verdict{Outcome: breaker.Failed}
}

func permanent(err error) bool {
	e, ok := errors.AsType[*publish.SendError](err)
	return ok && e.Permanent
}

// settle writes down what came of a call.
func (d *lane) settle(ctx context.Context, e Entry, receipt publish.Receipt, err error) (more bool, _ error) {
	now := d.now()
	if err == nil {
		t := Taken{
			Target: e.Target, Subject: e.Update.Subject, RunID: e.Update.RunID, Key: e.Key,
			Seq: e.Seq, Final: e.Update.Final, At: now.UTC().Round(0), Receipt: cleanReceipt(receipt),
		}
		d.result.Sent = append(d.result.Sent, t)
		return true, d.locked(func() error {
			if err := d.took(t); err != nil {
				return err
			}
			return d.remove(e)
		})
	}
	why := oneLine(err.Error(), maxWhy)
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		d.open = open
		d.keep(e, alone(open), open.Until)
		return false, nil
	}
	_, cut := errors.AsType[*cutError](err)
	if ctx.Err() != nil && !cut {
		d.keep(e, why, time.Time{})
		return false, context.Cause(ctx)
	}
	if lerr := d.locked(func() error { return d.failed(ctx, e, err, now) }); lerr != nil || ctx.Err() == nil {
		return permanent(err), lerr
	}
	return false, context.Cause(ctx)
}

// failed enters a failure. When a newer update has taken the place of the entry
// meanwhile, it waits in its stead. A call that the caller gave up is no failure of the
// target; that it was cut off is entered all the same.
func (d *lane) failed(ctx context.Context, e Entry, err error, now time.Time) error {
	s, _, serr := d.slot(slotOfID(e.ID))
	if serr != nil {
		return serr
	}
	i := slices.IndexFunc(s.entries, func(x Entry) bool { return x.pending() && x.Seq >= e.Seq })
	if i < 0 {
		return nil // dropped by a person
	}
	was := e
	e = s.entries[i]
	e.Why, e.Tries, e.RetryAt = oneLine(err.Error(), maxWhy), was.Tries, time.Time{}
	if permanent(err) {
		if e.ID != was.ID {
			return nil
		}
		e.Refused, e.NextAt, e.Tries = now.UTC().Round(0), time.Time{}, e.Tries+1
		d.result.Refused = append(d.result.Refused, e)
		d.warn("update was refused", "target", e.Target.String(), "subject", e.Update.Subject, "reason", e.Why)
		return d.write(e)
	}
	if ctx.Err() == nil {
		e.Tries++
		e.NextAt = now.Add(wait(e.Tries, rand.Float64())).UTC().Round(0)
	}
	if s, ok := errors.AsType[*publish.SendError](err); ok && s.RetryAt.After(now) {
		e.RetryAt = now.Add(min(s.RetryAt.Sub(now), longestAsked)).UTC().Round(0)
	}
	if _, cut := errors.AsType[*cutError](err); cut {
		e.Why = oneLine("the call was cut off, and may have been heard: "+err.Error(), maxWhy)
		e.RetryAt = now.Add(settling).UTC().Round(0)
	}
	until := e.NextAt
	if e.RetryAt.After(until) {
		until = e.RetryAt
	}
	d.keep(e, e.Why, until)
	return d.write(e)
}

// wait is how long an entry rests after so many failures in a row: it doubles from half a
// minute to half an hour, and chance, from 0 to 1, moves it by a quarter, so that not
// everybody comes back at once.
func wait(tries int, chance float64) time.Duration {
	d := min(firstWait<<min(max(tries-1, 0), 10), longestWait)
	return time.Duration(float64(d) * (0.75 + chance/2))
}

func (d *lane) keep(e Entry, why string, until time.Time) {
	d.result.Kept = append(d.result.Kept, Kept{
		ID: e.ID, Target: e.Target, Subject: e.Update.Subject, Why: strings.TrimSuffix(why, ": "), Until: until,
	})
}
