package notifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
	"autopilot/supervisor/notice/spool"
)

// lines is a log that several may write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func logger() (*slog.Logger, *lines) {
	l := &lines{}
	return slog.New(slog.NewTextHandler(l, nil)), l
}

// receiver notes what channels are sent; each call first passes through do.
type receiver struct {
	do func(ctx context.Context, label string) error

	mu    sync.Mutex
	heard []string
	busy  map[string]int
	worst int // calls of one channel at once
}

func (r *receiver) send(ctx context.Context, c channel.Channel, h notice.Held, _ time.Time) error {
	r.mu.Lock()
	if r.busy == nil {
		r.busy = map[string]int{}
	}
	r.busy[c.ID]++
	r.worst = max(r.worst, r.busy[c.ID])
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy[c.ID]--
		r.mu.Unlock()
	}()
	if r.do != nil {
		if err := r.do(ctx, c.Label); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	said := c.Label + " " + h.Notice.Title
	if h.More > 0 {
		said += fmt.Sprintf(" +%d", h.More)
	}
	r.heard = append(r.heard, said)
	return nil
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

func settings(t *testing.T, specs ...string) config.Notify {
	t.Helper()
	n := config.Notify{Events: notice.Kinds(), Interval: 5 * time.Minute, Hourly: 20}
	for _, s := range specs {
		c, err := channel.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		n.Channels = append(n.Channels, c)
	}
	return n
}

func needs(title string) notice.Notice { return notice.Notice{Kind: notice.NeedsPerson, Title: title} }

func temporary(label string) error {
	return &channel.Failure{Channel: label, Err: errors.New("it answered 503 from port 4711")}
}

func TestNobodyToTell(t *testing.T) {
	t.Parallel()
	n := Start(config.Notify{}, Options{})
	if n != nil {
		t.Fatal("a notifier without channels")
	}
	n.Tell(needs("x"))
	n.Close(t.Context())
}

func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, said := logger()
		r := &receiver{}
		cfg := settings(t, "desktop", "command:a")
		cfg.Events = []notice.Kind{notice.NeedsPerson, notice.Finished}
		n := start(cfg, spool.Open(""), r.send, log)
		n.Tell(needs("one"), notice.Notice{Kind: notice.LimitHit, Title: "not wanted"})
		synctest.Wait()
		n.Tell(needs("two"), needs("three"), notice.Notice{Kind: notice.Finished, Title: "end"}, notice.Notice{Kind: notice.Trial, Title: "trial"})
		synctest.Wait()
		got := r.got()
		slices.Sort(got)
		want := []string{"command:a end", "command:a one", "command:a trial", "desktop end", "desktop one", "desktop trial"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("at once (-want +got):\n%s", diff)
		}
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"command:a three +1", "desktop three +1"}, sorted(r.got()[6:])); diff != "" {
			t.Errorf("after the interval (-want +got):\n%s", diff)
		}
		n.Tell(needs("four"))
		n.Close(t.Context())
		n.Close(t.Context())
		if diff := cmp.Diff([]string{"command:a four", "desktop four"}, sorted(r.got()[8:])); diff != "" {
			t.Errorf("at the end (-want +got):\n%s", diff)
		}
		if r.worst != 1 {
			t.Errorf("%d calls of a channel at once", r.worst)
		}
		if s := said.String(); strings.Contains(s, "level=WARN") || !strings.Contains(s, "channel=command:a") {
			t.Errorf("log:\n%s", s)
		}
	})
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// A channel that never answers neither keeps another from being told nor the process from
// ending.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logger()
		r := &receiver{do: func(ctx context.Context, label string) error {
			if label == "desktop" {
				<-ctx.Done()
				return &channel.Failure{Channel: label, Err: context.Cause(ctx)}
			}
			return nil
		}}
		box := spool.Open("")
		cfg := settings(t, "desktop", "command:a")
		n := start(cfg, box, r.send, log)
		begun := time.Now()
		for i := range 100 {
			n.Tell(notice.Notice{Kind: notice.Kinds()[i%4], Title: fmt.Sprint(i)})
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("telling took %v", took)
		}
		synctest.Wait()
		if len(r.got()) == 0 {
			t.Error("the other channel is held up")
		}
		n.Close(context.Background())
		if took := time.Since(begun); took != lastTime {
			t.Errorf("it took %v, want %v", took, lastTime)
		}
		if m, _, _, _ := box.Count([]string{cfg.Channels[0].ID}); m == 0 {
			t.Error("what was not delivered is gone")
		}
		if m, _, _, _ := box.Count([]string{cfg.Channels[1].ID}); m != 0 {
			t.Errorf("%d left for a channel that works", m)
		}
	})
}

// When a worker does not come to what it is told, the oldest goes and the log says so.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	log, said := logger()
	cfg := settings(t, "desktop")
	l := &lane{channel: cfg.Channels[0], box: spool.Open(""), log: log, poke: make(chan struct{}, 1)}
	for i := range maxQueue + 36 {
		l.add(needs(fmt.Sprint(i)))
	}
	if len(l.queue) != maxQueue || l.queue[0].Title != "36" {
		t.Errorf("%d in the queue, from %q", len(l.queue), l.queue[0].Title)
	}
	l.keep()
	if m, _, _, _ := l.box.Count([]string{cfg.Channels[0].ID}); m != maxQueue-14 || !strings.Contains(said.String(), "notices=36") {
		t.Errorf("%d kept, log:\n%s", m, said)
	}
}

func TestCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logger()
		r := &receiver{do: func(ctx context.Context, label string) error {
			<-ctx.Done()
			return temporary(label)
		}}
		n := start(settings(t, "desktop"), spool.Open(""), r.send, log)
		n.Tell(needs("x"))
		begun := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		n.Close(ctx)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A call that is on its way when the run ends comes to its end, and is not made again.
func TestCloseLetsACallEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logger()
		r := &receiver{do: func(ctx context.Context, _ string) error {
			select {
			case <-time.After(8 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		n := start(settings(t, "desktop"), spool.Open(""), r.send, log)
		n.Tell(needs("x"))
		synctest.Wait()
		n.Close(context.Background())
		if diff := cmp.Diff([]string{"desktop x"}, r.got()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

// An outage is waited out, with fewer and fewer tries, and said once.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, said := logger()
		tries := 0
		back := time.Now().Add(20 * time.Minute)
		r := &receiver{do: func(_ context.Context, label string) error {
			if tries++; time.Now().Before(back) {
				return temporary(label)
			}
			return nil
		}}
		n := start(settings(t, "desktop"), spool.Open(""), r.send, log)
		n.Tell(needs("x"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff([]string{"desktop x"}, r.got()); diff != "" || tries > 8 {
			t.Errorf("%d tries, told (-want +got):\n%s", tries, diff)
		}
		if s := said.String(); strings.Count(s, "level=WARN") != 1 || strings.Count(s, "notice sent") != 1 {
			t.Errorf("log:\n%s", s)
		}
		back = time.Now().Add(time.Minute / 2)
		n.Tell(needs("y"))
		n.Close(context.Background())
		if s := said.String(); strings.Count(s, "level=WARN") != 2 {
			t.Errorf("it went wrong anew and nobody said so:\n%s", s)
		}
	})
}

// A channel that does not take a notice is left alone for a while, whatever else comes.
func TestRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logger()
		tries := 0
		r := &receiver{do: func(_ context.Context, label string) error {
			tries++
			return temporary(label)
		}}
		n := start(settings(t, "desktop"), spool.Open(""), r.send, log)
		for _, k := range notice.Kinds() {
			n.Tell(notice.Notice{Kind: k, Title: "x"})
			time.Sleep(5 * time.Second)
		}
		if tries != 1 {
			t.Errorf("%d tries within %d seconds", tries, 5*len(notice.Kinds()))
		}
		n.Close(context.Background())
		if tries != 2 {
			t.Errorf("%d tries, want one more at the end", tries)
		}
	})
}

func TestAsksForMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := logger()
		var tries []time.Duration
		begun := time.Now()
		r := &receiver{do: func(_ context.Context, label string) error {
			tries = append(tries, time.Since(begun).Round(time.Second))
			if len(tries) == 1 {
				return &channel.Failure{Channel: label, After: 10 * time.Minute, Err: errors.New("429")}
			}
			return nil
		}}
		n := start(settings(t, "desktop"), spool.Open(""), r.send, log)
		n.Tell(needs("x"))
		synctest.Wait()
		n.Tell(notice.Notice{Kind: notice.Finished, Title: "y"})
		time.Sleep(time.Hour)
		n.Close(context.Background())
		if fmt.Sprint(tries) != "[0s 10m0s 10m0s]" {
			t.Errorf("tries after %v", tries)
		}
	})
}

func TestRefusedIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, said := logger()
		tries := 0
		r := &receiver{do: func(_ context.Context, label string) error {
			tries++
			return &channel.Failure{Channel: label, Permanent: true, Err: errors.New("401")}
		}}
		box := spool.Open("")
		cfg := settings(t, "desktop")
		n := start(cfg, box, r.send, log)
		n.Tell(needs("x"), notice.Notice{Kind: notice.Finished, Title: "y"})
		time.Sleep(time.Hour)
		n.Close(context.Background())
		if m, _, _, _ := box.Count([]string{cfg.Channels[0].ID}); tries != 2 || m != 0 || strings.Count(said.String(), "level=WARN") != 1 {
			t.Errorf("%d tries, %d left, log:\n%s", tries, m, said)
		}
	})
}

// What one process could not deliver the next one does, once.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	log, said := logger()
	path := filepath.Join(t.TempDir(), spool.FileName)
	dead := &receiver{do: func(_ context.Context, label string) error { return temporary(label) }}
	cfg := settings(t, "desktop")
	n := start(cfg, spool.Open(path), dead.send, log)
	n.Tell(needs("x"), needs("y"))
	n.Close(t.Context())
	alive := &receiver{}
	for range 2 {
		start(cfg, spool.Open(path), alive.send, log).Close(t.Context())
	}
	if diff := cmp.Diff([]string{"desktop x", "desktop y"}, alive.got()); diff != "" {
		t.Errorf("told (-want +got):\n%s\nlog:\n%s", diff, said)
	}
}

// Without a place to write to, notices go out, and the log says once that they are not kept.
func TestNoPlaceToKeep(t *testing.T) {
	t.Parallel()
	log, said := logger()
	r := &receiver{}
	n := start(settings(t, "desktop"), spool.Open(filepath.Join(t.TempDir(), "none", "x.json")), r.send, log)
	n.Tell(needs("x"))
	n.Close(t.Context())
	if len(r.got()) != 1 || strings.Count(said.String(), "cannot be kept") != 1 {
		t.Errorf("told %v, log:\n%s", r.got(), said)
	}
}

func TestWhatSendersSee(t *testing.T) {
	t.Parallel()
	s := SenderOf(outside.Stdio{Self: "/opt/autopilot", Environ: []string{"A=b", Variable + "=ntfy://x/secret"}})
	if diff := cmp.Diff([]string{"A=b"}, s.Environ); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if fmt.Sprint(s.Program) != "[/opt/autopilot notify deliver]" || fmt.Sprint(Secrets()) != "[AUTOPILOT_NOTIFY]" {
		t.Errorf("%v, %v", s.Program, Secrets())
	}
}

func TestLogShowsNoSecrets(t *testing.T) {
	t.Parallel()
	log, said := logger()
	n := start(settings(t, "ntfy://me:hunter2@127.0.0.1:1/secrettopic?scheme=http"), spool.Open(""), channel.Sender{Program: []string{"/does/not/exist"}, Gap: time.Millisecond}.Send, log)
	n.Tell(needs("x"))
	n.Close(t.Context())
	if s := said.String(); strings.Contains(s, "hunter2") || strings.Contains(s, "secrettopic") || !strings.Contains(s, "ntfy://127.0.0.1:1/…") {
		t.Errorf("log:\n%s", s)
	}
}
