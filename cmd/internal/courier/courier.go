package courier

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"autopilot/cmd/internal/night"
	"autopilot/metrics/logs"
	"autopilot/supervisor"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/queue/work"
)

const (
	look     = 20 * time.Second // between two looks whether something is due
	lastTime = 30 * time.Second // for what is to be told at the end
)

// Courier tells the targets of a project. A nil one has nobody to tell.
type Courier struct {
	outbox  outbox.Outbox
	senders outbox.Senders
	options outbox.Options
	log     *slog.Logger
	letters writer
	said    map[place]map[string]bool // what was said of entries that wait; used by one round at a time

	poke chan struct{}
	quit chan struct{}
	cut  context.CancelFunc // ends the calls of the round that runs
	done sync.WaitGroup
}

// place is a subject at a target.
type place struct {
	target  publish.Target
	subject string
}

// Start begins to deliver to the targets that are set; nil when there are none. Close has
// to be called.
func Start(n night.Night, senders outbox.Senders, runID string, log *slog.Logger) *Courier {
	targets := n.Cfg.Night.Sync
	if len(targets) == 0 {
		return nil
	}
	ctx, cut := context.WithCancel(context.Background())
	only := func(t publish.Target) bool { return slices.Contains(targets, t) }
	c := &Courier{
		outbox: n.Outbox, senders: senders, options: outbox.Options{Batch: n.Cfg.Night.SyncInterval, Breakers: &n.Breakers, Only: only},
		log: log, letters: writer{targets: targets, outbox: n.Outbox, runID: runID}, said: map[place]map[string]bool{},
		poke: make(chan struct{}, 1), quit: make(chan struct{}), cut: cut,
	}
	c.done.Go(func() { c.deliver(ctx) })
	return c
}

func (c *Courier) deliver(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		case <-c.poke:
		}
		select {
		case <-c.quit: // the last round sends it
			return
		default:
		}
		c.round(ctx, c.options)
	}
}

// round delivers once and says what went wrong, the same only once.
func (c *Courier) round(ctx context.Context, o outbox.Options) {
	res, err := c.outbox.Deliver(ctx, c.senders, o)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("updates are not delivered", "act", "sync", "err", logs.Redact(err.Error()))
	}
	for _, t := range res.Sent {
		c.log.Info("update delivered", "act", "sync", "target", t.Target.String(), "subject", t.Subject, "url", t.Receipt.URL)
		delete(c.said, place{t.Target, t.Subject})
	}
	for _, k := range res.Kept {
		if c.news(k) {
			c.log.Info("update waits", "act", "sync", "target", k.Target.String(), "subject", k.Subject, "detail", logs.Redact(k.Why))
		}
	}
	for _, r := range res.Refused {
		c.log.Warn("update refused", "act", "sync", "target", r.Target.String(), "subject", r.Update.Subject, "detail", logs.Redact(r.Why))
	}
}

// news reports whether something is wrong with an entry that waits, and was not said of it
// since the one before was taken. Numbers in it change from try to try, as those of ports.
func (c *Courier) news(k outbox.Kept) bool {
	at, why := place{k.Target, k.Subject}, regexp.MustCompile(`\d+`).ReplaceAllString(k.Why, "0")
	if k.Batched || c.said[at][why] {
		return false
	}
	if c.said[at] == nil {
		c.said[at] = map[string]bool{}
	}
	c.said[at][why] = true
	return true
}

// Close tells the last of it, within half a minute and for no longer than ctx lasts: it
// lets the round that runs come to its end and then sends all that is left. What is not
// taken by then waits in the outbox.
func (c *Courier) Close(ctx context.Context) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	defer c.cut()
	defer context.AfterFunc(ctx, c.cut)()
	if n := c.left(); n > 0 {
		c.log.Info("others are told of the last of it", "act", "sync", "updates", n, "atMost", lastTime.String())
	}
	close(c.quit)
	c.done.Wait()
	if ctx.Err() != nil {
		return
	}
	o := c.options
	o.Force = true
	c.round(ctx, o)
}

// left counts the updates that have to be waited for: a file is written at once, and
// who wants to be asked later is not asked now.
func (c *Courier) left() (n int) {
	st, err := c.outbox.Status(time.Now())
	if err != nil {
		return 0
	}
	for _, e := range st.Pending {
		if c.options.Only(e.Target) && e.Target.Service != publish.File && e.RetryAt.IsZero() {
			n++
		}
	}
	return n
}

func (c *Courier) put(u publish.Update) {
	if err := c.letters.put(u); err != nil {
		c.log.Warn("an update cannot be kept", "act", "sync", "err", err.Error())
	}
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Run tells of the run as a whole.
func (c *Courier) Run(s supervisor.State) {
	if c != nil {
		c.put(ofRun(s))
	}
}

// Item tells of an item of the queue.
func (c *Courier) Item(s work.Standing) {
	if c != nil {
		c.put(ofItem(s))
	}
}
