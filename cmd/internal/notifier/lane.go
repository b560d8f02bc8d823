package notifier

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
	"autopilot/supervisor/notice/spool"
)

// lane is the way to one channel. All but add is called by its worker alone.
type lane struct {
	channel channel.Channel
	rules   notice.Rules
	box     *spool.Box
	send    send
	log     *slog.Logger
	poke    chan struct{}
	said    map[string]bool // what the log has said since the channel took something
	unkept  bool            // the log has said that notices cannot be kept
	rest    time.Time       // the channel is left alone until then

	mu      sync.Mutex // guards what follows
	queue   []notice.Notice
	dropped int
}

// add keeps a notice for the worker. When the worker does not come to it the oldest goes.
func (l *lane) add(n notice.Notice) {
	l.mu.Lock()
	l.queue = append(l.queue, n)
	if len(l.queue) > maxQueue {
		l.queue, l.dropped = l.queue[1:], l.dropped+1
	}
	l.mu.Unlock()
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

func (l *lane) taken() (queue []notice.Notice, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, dropped = l.queue, l.dropped
	l.queue, l.dropped = nil, 0
	return queue, dropped
}

func (l *lane) work(ctx context.Context, quit <-chan struct{}) {
	for {
		l.keep()
		l.round(ctx, quit, false)
		timer := time.NewTimer(l.wait(time.Now()))
		select {
		case <-quit:
			timer.Stop()
			l.keep()
			l.round(ctx, nil, true)
			l.keep() // told while the last round was on
			return
		case <-l.poke:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// wait is how long there is nothing to do. The clock on the wall is what counts, so it is
// looked at again and again.
func (l *lane) wait(now time.Time) time.Duration {
	next, waits := l.box.Next(l.channel.ID, l.rules, now)
	if !waits {
		return recheck
	}
	if next.Before(l.rest) {
		next = l.rest
	}
	return min(max(next.Round(0).Sub(now.Round(0)), 10*time.Millisecond), recheck)
}

// keep writes down what was told.
func (l *lane) keep() {
	queue, dropped := l.taken()
	if dropped > 0 {
		l.log.Warn("notices were dropped, there were too many at once", "act", "notify", "channel", l.channel.Label, "notices", dropped)
	}
	for _, n := range queue {
		d, err := l.box.Put(l.channel.ID, l.rules, n, time.Now())
		l.complain(err)
		if d == notice.Hold {
			l.log.Debug("notice held, it goes out with later ones", "act", "notify", "channel", l.channel.Label, "kind", string(n.Kind))
		}
	}
}

// round sends what is due, one notice after the other. It ends at the first that the channel
// does not take, because the next would fare no better, and when quit is closed.
func (l *lane) round(ctx context.Context, quit <-chan struct{}, end bool) {
	tried := map[uint64]bool{}
	for ctx.Err() == nil {
		select {
		case <-quit: // the last round sends the others
			return
		default:
		}
		now := time.Now()
		if !end && now.Round(0).Before(l.rest.Round(0)) && l.rest.Sub(now) <= maxRest { // beyond that the clock was set back
			return
		}
		t, err := l.box.Take(l.channel.ID, l.rules, now, end, func(e spool.Entry) bool { return tried[e.ID] })
		l.complain(err)
		for _, e := range t.GivenUp {
			l.log.Warn("notice given up", "act", "notify", "channel", l.channel.Label, "kind", string(e.Held.Notice.Kind), "detail", e.Held.Notice.Title)
		}
		if !t.OK {
			return
		}
		tried[t.Entry.ID] = true
		if !l.deliver(ctx, t.Entry) {
			return
		}
	}
}

// deliver sends one notice and reports whether the next may be sent.
func (l *lane) deliver(ctx context.Context, e spool.Entry) bool {
	err := l.send(ctx, l.channel, e.Held, time.Now())
	if err == nil {
		l.complain(l.box.Done(l.channel.ID, e.ID))
		l.said, l.rest = map[string]bool{}, time.Time{}
		l.log.Info("notice sent", "act", "notify", "channel", l.channel.Label, "kind", string(e.Held.Notice.Kind), "notices", 1+e.Held.More)
		return true
	}
	f, ok := errors.AsType[*channel.Failure](err)
	if ok && f.Permanent {
		l.complain(l.box.Done(l.channel.ID, e.ID))
		l.warn("a notice was refused, it is not sent again", err)
		return true
	}
	now := time.Now()
	l.rest = now.Add(restFor)
	if ok && f.After > restFor {
		l.rest = now.Add(min(f.After, maxRest))
		l.complain(l.box.Later(l.channel.ID, e.ID, l.rest, now))
	}
	if ctx.Err() == nil {
		l.warn("a notice is not delivered, it is sent again later", err)
	}
	return false
}

// complain says that notices cannot be kept. They go out all the same.
func (l *lane) complain(err error) {
	if err == nil || l.unkept {
		return
	}
	l.unkept = true
	l.log.Warn("notices cannot be kept", "act", "notify", "channel", l.channel.Label, "err", err.Error())
}

// warn says a thing once until the channel has taken something.
func (l *lane) warn(what string, err error) {
	key := what + normal(err.Error())
	if l.said[key] {
		return
	}
	l.said[key] = true
	l.log.Warn(what, "act", "notify", "channel", l.channel.Label, "err", err.Error())
}
