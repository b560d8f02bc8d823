package meter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"autopilot/cmd/internal/config"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
)

// textEvery is the least time between two replacements of the file.
const textEvery = 15 * time.Second

// Options are what a meter is made of.
type Options struct {
	Getenv func(string) string
	Root   string // state root, in which it is decided who pushes
	// Facts gathers the facts. It is called by two goroutines.
	Facts func(context.Context) telemetry.Facts
	Log   *slog.Logger

	textEvery time.Duration // 0 is the usual one
}

// Meter writes and pushes metrics while a run is on. A nil Meter does nothing.
type Meter struct {
	Options

	cfg    config.Telemetry
	stop   context.CancelFunc
	beside sync.WaitGroup

	end  chan struct{}   // closed when the run has ended
	last context.Context // bounds the last write and push; set before end is closed
}

// Start begins to write and push as the settings and the environment say, or returns nil
// where nothing is wanted. Each says in the log what fails first, and no more than that.
func Start(cfg config.Telemetry, o Options) *Meter {
	e, err := endpointOf(cfg, o.Getenv)
	if err != nil {
		o.Log.Warn("metrics are not pushed", "err", err.Error())
	}
	if cfg.Textfile == "" && e.url == "" {
		return nil
	}
	cfg.Interval = max(cfg.Interval, time.Second)
	if o.textEvery == 0 {
		o.textEvery = textEvery
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Meter{Options: o, cfg: cfg, stop: stop, end: make(chan struct{})}
	if cfg.Textfile != "" {
		m.beside.Go(func() { m.loop(ctx, o.textEvery, m.text()) })
	}
	if e.url != "" {
		o.Log.Info("metrics are pushed", "to", e.host(), "because_of", e.origin, "every", cfg.Interval.String())
		m.beside.Go(func() { m.pushing(ctx, e) })
	}
	return m
}

// Close writes and pushes how the run has ended, which takes no longer than the context and
// 5 seconds, and stops.
func (m *Meter) Close(ctx context.Context) {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	m.last = ctx
	close(m.end)
	over := context.AfterFunc(ctx, m.stop)
	m.beside.Wait()
	over()
	m.stop()
}

// loop does something at once, again and again, and at the end.
func (m *Meter) loop(ctx context.Context, every time.Duration, do func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-m.end:
			do(m.last)
			return
		case <-tick.C:
		}
	}
}

// text replaces the file.
func (m *Meter) text() func(context.Context) {
	said := false
	return func(ctx context.Context) {
		err := writeText(m.cfg.Textfile, telemetry.Text(m.Facts(ctx)), time.Now())
		if err != nil && !errors.Is(err, errBusy) && !said {
			said = true
			m.Log.Warn("metrics cannot be written", "err", err.Error())
		}
	}
}

// pushing pushes while no other run of this machine does.
func (m *Meter) pushing(ctx context.Context, e endpoint) {
	host, _ := os.Hostname() // without it the machine has no name there
	r := resourceOf(m.Getenv, host, uuid.NewSHA1(uuid.NameSpaceURL, []byte("autopilot:"+host+":"+m.Root)).String())
	p := newPusher(e, m.end)
	var lock *statedir.Lock
	defer func() {
		if lock != nil {
			_ = lock.Release()
		}
	}()
	said := false
	say := func(err error) {
		if err != nil && !said && ctx.Err() == nil {
			said = true
			m.Log.Warn("metrics cannot be pushed; the run goes on without", "err", logs.Redact(err.Error()))
		}
	}
	m.loop(ctx, m.cfg.Interval, func(ctx context.Context) {
		if lock == nil {
			var err error
			lock, err = take(m.Root, e.url)
			if _, held := errors.AsType[*statedir.HeldError](err); held {
				return
			}
			say(err) // who cannot take part in deciding who pushes does so as well
		}
		body, err := telemetry.OTLP(m.Facts(ctx), r)
		if err == nil {
			err = p.push(ctx, body, m.patience())
		}
		say(err)
	})
}

// patience is how long a push may wait for a better moment: at the end of a run not at all.
func (m *Meter) patience() time.Duration {
	select {
	case <-m.end:
		return 0
	default:
		return m.cfg.Interval
	}
}

// take takes the lock of who pushes to an address, in one try.
func take(root, address string) (*statedir.Lock, error) {
	sum := sha256.Sum256([]byte(address))
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	return statedir.Acquire(ctx, filepath.Join(root, "telemetry", hex.EncodeToString(sum[:8])+".lock"), statedir.Holder{})
}
