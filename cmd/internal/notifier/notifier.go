package notifier

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
	"autopilot/supervisor/notice/spool"
)

const (
	maxQueue = 64 // notices that no worker has written down yet
	recheck  = 30 * time.Second
	lastTime = 15 * time.Second // for what is left at the end
	restFor  = time.Minute      // after a failure
	maxRest  = 30 * time.Minute // when the channel asks for more
)

// Variable is the one of the environment that may hold addresses with secrets.
const Variable = config.EnvPrefix + "NOTIFY"

// Secrets are the variables of the environment that are for this program alone: neither a
// session nor a test may see them.
func Secrets() []string { return []string{Variable} }

// Deliver is the command below 'autopilot' that sends one notice; see package shout.
func Deliver() []string { return []string{"notify", "deliver"} }

// Options are what a notifier needs.
type Options struct {
	Dir string // state folder of the work tree; empty keeps nothing
	Std outside.Stdio
	Log *slog.Logger
}

// send is one call of a channel, as channel.Sender makes it.
type send func(context.Context, channel.Channel, notice.Held, time.Time) error

// SenderOf is what sends for this program.
func SenderOf(std outside.Stdio) channel.Sender {
	return channel.Sender{Program: append([]string{std.Self}, Deliver()...), Environ: outside.Without(std.Environ, Secrets()...), OS: runtime.GOOS}
}

// BoxOf is where notices of a work tree are kept, by its state folder.
func BoxOf(dir string) *spool.Box {
	if dir == "" {
		return spool.Open("")
	}
	return spool.Open(filepath.Join(dir, spool.FileName))
}

// Notifier tells a person. A nil one has nobody to tell.
type Notifier struct {
	lanes []*lane
	kinds []notice.Kind
	quit  chan struct{}
	cut   context.CancelFunc // ends the calls that are on their way
	done  sync.WaitGroup
	once  sync.Once
}

// Start begins to deliver to the channels that are set, also what earlier runs have left;
// nil when there are none. Close has to be called.
func Start(cfg config.Notify, o Options) *Notifier {
	return start(cfg, BoxOf(o.Dir), SenderOf(o.Std).Send, o.Log)
}

func start(cfg config.Notify, box *spool.Box, s send, log *slog.Logger) *Notifier {
	if len(cfg.Channels) == 0 {
		return nil
	}
	ctx, cut := context.WithCancel(context.Background())
	n := &Notifier{kinds: cfg.Events, quit: make(chan struct{}), cut: cut}
	for _, c := range cfg.Channels {
		l := &lane{
			channel: c, rules: notice.Rules{Interval: cfg.Interval, Hourly: cfg.Hourly}, box: box, send: s, log: log,
			poke: make(chan struct{}, 1), said: map[string]bool{},
		}
		n.lanes = append(n.lanes, l)
		n.done.Go(func() { l.work(ctx, n.quit) })
	}
	return n
}

// Tell has a person told, unless the kind is not wanted. It never blocks.
func (n *Notifier) Tell(news ...notice.Notice) {
	if n == nil {
		return
	}
	for _, x := range news {
		if x.Kind != notice.Trial && !slices.Contains(n.kinds, x.Kind) {
			continue
		}
		if x.At.IsZero() {
			x.At = time.Now()
		}
		x = x.Clean()
		for _, l := range n.lanes {
			l.add(x)
		}
	}
}

// Close delivers what is left, within a quarter of a minute and for no longer than ctx
// lasts. A call that is on its way is waited for within that time. What nobody has taken by
// then is kept.
func (n *Notifier) Close(ctx context.Context) {
	if n == nil {
		return
	}
	n.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, lastTime)
		defer cancel()
		defer n.cut()
		defer context.AfterFunc(ctx, n.cut)()
		close(n.quit)
		n.done.Wait()
	})
}

// Once tells a person of one thing and waits until it is delivered, for a quarter of a minute
// at most.
func Once(ctx context.Context, cfg config.Notify, o Options, n notice.Notice) {
	x := Start(cfg, o)
	x.Tell(n)
	x.Close(ctx)
}

// normal is a reason without what differs from try to try, such as ports.
func normal(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, s)
}
