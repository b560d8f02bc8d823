package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autopilot/supervisor/notice"
)

const (
	tryFor   = 10 * time.Second
	maxTries = 3
	firstGap = time.Second
	maxGap   = 10 * time.Second // that a call waits itself when it is asked to
)

// Sender sends to channels. It may be used by several goroutines.
type Sender struct {
	// Program and what stands behind it start this program so that it calls shout.Serve
	// with its stdin and stdout, and ends.
	Program []string
	Environ []string // of every process that is started, without what they must not see
	OS      string   // the kind of desktop, as GOOS names it

	TryFor time.Duration // for one try; 0 is ten seconds
	Gap    time.Duration // before the second try; it grows from there; 0 is a second
}

// Failure is why a notice was not sent.
type Failure struct {
	Channel   string // its label
	Permanent bool   // another try would not help
	After     time.Duration
	Err       error // without secrets
}

// Error names the channel and the reason.
func (f *Failure) Error() string { return fmt.Sprintf("tell %s: %v", f.Channel, f.Err) }

// Unwrap is the reason.
func (f *Failure) Unwrap() error { return f.Err }

// Send tells a person through a channel. It is over within half a minute and the waits that
// a service asks for. The error is a *Failure, and that of the context when it has ended.
func (s Sender) Send(ctx context.Context, c Channel, h notice.Held, now time.Time) error {
	limit, gap := s.TryFor, s.Gap
	if limit <= 0 {
		limit = tryFor
	}
	if gap <= 0 {
		gap = firstGap
	}
	var last *Failure
	for try := range maxTries {
		if try > 0 {
			wait := max(gap<<(try-1), last.After)
			if last.After > maxGap || !sleep(ctx, wait) {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
		if last = s.once(ctx, c, h, now, limit); last == nil {
			return nil
		}
		if last.Permanent {
			break
		}
	}
	if last == nil {
		last = &Failure{Channel: c.Label, Err: context.Cause(ctx)}
	}
	return last
}

func (s Sender) once(ctx context.Context, c Channel, h notice.Held, now time.Time, limit time.Duration) *Failure {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var f *Failure
	switch c.scheme {
	case commandScheme:
		f = s.runCommand(ctx, c, h, now)
	case desktopWord:
		f = s.desktop(ctx, h, now)
	default:
		f = s.shout(ctx, c, h, now, limit)
	}
	if f == nil {
		return nil
	}
	f.Channel = c.Label
	f.Err = errors.New(c.clean(f.Err.Error()))
	return f
}

// sleep waits, and reports whether the context lasts.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
