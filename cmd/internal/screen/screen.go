package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lmittmann/tint"

	"autopilot/metrics/logs"
	"autopilot/supervisor"
)

// activityName is the log of a run in its folder.
const activityName = "activity.jsonl"

// Options say where the log of a run goes.
type Options struct {
	Out     io.Writer // of the person, usually stderr
	Format  string    // auto, text or json
	TTY     bool      // Out is a terminal
	Width   int       // of that terminal
	NoColor bool
	Folder  string // of the run
}

// Open makes the log of a run: for a person or a machine on Out, and always as
// JSON lines in the run's folder. The caller owes Live a Close.
func Open(o Options) (*slog.Logger, *Live, error) {
	file, err := os.OpenFile(filepath.Join(o.Folder, activityName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open activity log: %w", err)
	}
	live := &Live{out: o.Out, on: o.TTY && o.Format != "json", width: o.Width, file: file}
	options := &slog.HandlerOptions{ReplaceAttr: logs.ReplaceAttr}
	var screen slog.Handler
	switch {
	case o.Format == "json":
		screen = slog.NewJSONHandler(live, options)
	case o.Format == "text" || !o.TTY:
		screen = slog.NewTextHandler(live, options)
	default:
		screen = tint.NewTextHandler(live, &tint.Options{TimeFormat: time.TimeOnly, ReplaceAttr: logs.ReplaceAttr, NoColor: o.NoColor})
	}
	live.tick()
	return slog.New(both{screen, slog.NewJSONHandler(file, options)}), live, nil
}

// both hands each record to two handlers.
type both [2]slog.Handler

func (b both) Enabled(ctx context.Context, l slog.Level) bool {
	return b[0].Enabled(ctx, l) || b[1].Enabled(ctx, l)
}

func (b both) Handle(ctx context.Context, r slog.Record) error {
	return errors.Join(b[0].Handle(ctx, r.Clone()), b[1].Handle(ctx, r))
}

func (b both) WithAttrs(a []slog.Attr) slog.Handler {
	return both{b[0].WithAttrs(a), b[1].WithAttrs(a)}
}

func (b both) WithGroup(name string) slog.Handler {
	return both{b[0].WithGroup(name), b[1].WithGroup(name)}
}

// Live is the last line of a terminal: it shows the run as it is, and steps
// aside for each line of the log.
type Live struct {
	mu     sync.Mutex
	out    io.Writer
	on     bool
	width  int
	text   string
	status supervisor.Status
	quit   chan struct{} // closed to end the ticking; nil when it is not on
	ticks  sync.WaitGroup
	file   *os.File // the log in the run's folder
}

// Write prints a line of the log above the live line.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on || l.text == "" {
		return l.out.Write(p)
	}
	if _, err := io.WriteString(l.out, "\r\x1b[K"); err != nil {
		return 0, err
	}
	n, err := l.out.Write(p)
	if err == nil {
		_, err = io.WriteString(l.out, l.text)
	}
	return n, err
}

// tick redraws the line every second until it is closed, because time passes
// also while nothing else does.
func (l *Live) tick() {
	if !l.on {
		return
	}
	l.quit = make(chan struct{})
	l.ticks.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-t.C:
				l.mu.Lock()
				s := l.status
				l.mu.Unlock()
				if !s.Started.IsZero() {
					l.draw(s)
				}
			}
		}
	})
}

// Show replaces the live line.
func (l *Live) Show(s supervisor.Status) {
	if !l.on {
		return
	}
	l.mu.Lock()
	l.status = s
	l.mu.Unlock()
	l.draw(s)
}

func (l *Live) draw(s supervisor.Status) {
	text := liveText(s, time.Now())
	if r := []rune(text); len(r) >= l.width {
		text = string(r[:max(0, l.width-1)])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != l.text {
		l.text = text
		_, _ = io.WriteString(l.out, "\r\x1b[K"+text)
	}
}

// Close ends the ticking, takes the line away and closes the log in the run's
// folder. It may be called again. What is logged afterwards reaches the screen only.
func (l *Live) Close() {
	if l.quit != nil {
		close(l.quit)
		l.ticks.Wait()
		l.quit = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on && l.text != "" {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
		l.text = ""
	}
	_ = l.file.Close()
}

// liveText is the live line: where the run stands and what the session does.
func liveText(s supervisor.Status, now time.Time) string {
	elapsed := now.Sub(s.Started.Round(0))
	limit := time.Duration(s.Limits.MaxHours * float64(time.Hour))
	percent := 100 * max(float64(s.Iteration-1)/float64(max(1, s.Limits.MaxSessions)), elapsed.Hours()/s.Limits.MaxHours)
	left := time.Duration(0) // unknown
	if s.Iteration > 1 {
		each := elapsed / time.Duration(s.Iteration-1)
		left = each * time.Duration(s.Limits.MaxSessions-s.Iteration+1)
	}
	if p := s.Progress; p.Known { // what a look back says is nearer to the truth than the limits
		percent, left = p.Percent, p.Left
	}
	head := fmt.Sprintf("%d/%d %3.0f%% %s", s.Iteration, s.Limits.MaxSessions, min(100, percent), elapsed.Round(time.Second))
	if left > 0 {
		head += fmt.Sprintf(" eta %s", max(0, min(left, limit-elapsed)).Round(time.Minute))
	}
	if s.Mode == "" {
		return head + "  starting"
	}
	if !s.WaitUntil.IsZero() {
		return fmt.Sprintf("%s  waiting for the API until %s", head, s.WaitUntil.Local().Format(time.TimeOnly))
	}
	return fmt.Sprintf("%s  %s %s/%d  %d tokens $%.2f  %d tools %d agents", head, s.Mode, s.Tier, s.Cap,
		s.Spent.Tokens+s.Session.Tokens, s.Spent.CostUSD+s.Session.CostUSD, s.Session.Tools, s.Session.Agents)
}
