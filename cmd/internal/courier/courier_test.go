package courier

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/night"
	"autopilot/metrics/ledger"
	"autopilot/supervisor"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/work"
	"autopilot/supervisor/track"
)

func hook() publish.Target {
	return publish.Target{Service: publish.Webhook, Ref: "https://host.example/x"}
}

func aNight(t *testing.T, targets ...publish.Target) night.Night {
	t.Helper()
	var cfg config.Config
	cfg.Night.Sync, cfg.Night.SyncInterval = targets, -1
	n, err := night.Open(t.TempDir(), t.TempDir(), cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// target notes what it is told; each call first passes through hold.
type target struct {
	hold func(ctx context.Context) error

	mu   sync.Mutex
	said []string
	keys map[string]int
}

func (s *target) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	s.mu.Lock()
	s.said = append(s.said, u.Subject+" "+string(u.State))
	if s.keys == nil {
		s.keys = map[string]int{}
	}
	s.keys[key]++
	s.mu.Unlock()
	if s.hold != nil {
		return publish.Receipt{}, s.hold(ctx)
	}
	return publish.Receipt{}, nil
}

func (*target) Preview(string, publish.Update) string { return "" }

func (s *target) find(publish.Target) (publish.Sender, error) { return s, nil }

func (s *target) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.said...)
}

// lines is a log that several may write and read.
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

func ended(cause string, code int, status string) supervisor.State {
	rec := ledger.Run{AutopilotRunID: "r-1", ExitCause: cause, ExitCode: code}
	if status != "" {
		rec.Termination = &ledger.Termination{Status: status, Summary: "so it is"}
	}
	return supervisor.State{Record: rec, Finished: true}
}

func begun() supervisor.State { return supervisor.State{Record: ledger.Run{AutopilotRunID: "r-1"}} }

// A call that is on its way when the run ends comes to its end: nothing is sent twice.
func TestCloseLetsACallEnd(t *testing.T) {
	t.Parallel()
	n, log := aNight(t, hook()), slog.New(slog.DiscardHandler)
	calls, release := make(chan struct{}, 8), make(chan struct{})
	s := &target{hold: func(ctx context.Context) error {
		calls <- struct{}{}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-release:
			return nil
		}
	}}
	c := Start(n, s.find, "r-1", log)
	c.Run(begun())
	<-calls
	c.Run(ended("done", 0, ledger.Completed))
	closed := make(chan struct{})
	go func() {
		c.Close(t.Context())
		close(closed)
	}()
	<-c.quit // it has been told to end, and the call is not over
	select {
	case <-closed:
		t.Fatal("it did not wait for the call")
	default:
	}
	close(release)
	<-closed
	if diff := cmp.Diff([]string{"run/r-1 running", "run/r-1 done"}, s.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	for key, times := range s.keys {
		if times != 1 {
			t.Errorf("%s was sent %d times", key, times)
		}
	}
}

// The waiting ends with the context; the call that was cut off is not made again.
func TestCloseCanBeInterrupted(t *testing.T) {
	t.Parallel()
	file := publish.Target{Service: publish.File, Ref: "x.md"}
	n := aNight(t, hook(), file)
	log, said := logger()
	s := &target{hold: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	quick := &target{}
	c := Start(n, func(t publish.Target) (publish.Sender, error) {
		if t == file {
			return quick, nil
		}
		return s, nil
	}, "r-1", log)
	c.Run(ended("done", 0, ledger.Completed))
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for !strings.Contains(said.String(), "others are told") || len(s.heard()) == 0 || len(quick.heard()) == 0 {
			time.Sleep(time.Millisecond)
		}
		interrupt()
	}()
	c.Close(ctx)
	if len(s.heard()) != 1 {
		t.Errorf("told %v", s.heard())
	}
	if !strings.Contains(said.String(), "level=INFO msg=\"others are told") || !strings.Contains(said.String(), "atMost=30s") {
		t.Errorf("log:\n%s", said)
	}
	st, err := n.Outbox.Status(time.Now())
	if err != nil || len(st.Pending) != 1 || len(st.Taken) != 1 || st.Pending[0].RetryAt.IsZero() || !strings.Contains(st.Pending[0].Why, "context canceled") {
		t.Errorf("left %+v, %v", st, err)
	}
}

func TestCloseSaysNothingWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	n := aNight(t, hook())
	log, said := logger()
	c := Start(n, (&target{}).find, "r-1", log)
	c.Close(t.Context())
	if said.String() != "" {
		t.Errorf("log:\n%s", said)
	}
	Start(aNight(t), (&target{}).find, "r-1", log).Close(t.Context()) // nobody is to be told
}

// What waits for targets of earlier runs is none of this run's business.
func TestOnlyConfiguredTargets(t *testing.T) {
	t.Parallel()
	n, s := aNight(t, hook()), &target{}
	old := publish.Target{Service: publish.Jira, Ref: "P-1"}
	if err := n.Outbox.Put(old, publish.Update{Subject: "old", State: publish.Running}); err != nil {
		t.Fatal(err)
	}
	c := Start(n, s.find, "r-1", slog.New(slog.DiscardHandler))
	c.Run(ended("done", 0, ledger.Completed))
	c.Close(t.Context())
	if diff := cmp.Diff([]string{"run/r-1 done"}, s.heard()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if st, err := n.Outbox.Status(time.Now()); err != nil || len(st.Pending) != 1 || st.Pending[0].Target != old {
		t.Errorf("left %+v, %v", st.Pending, err)
	}
}

func TestWaitsAreSaidOnce(t *testing.T) {
	t.Parallel()
	n := aNight(t, hook())
	log, said := logger()
	whys := []string{"read 127.0.0.1:4711: reset", "read 127.0.0.1:5822: reset", "no such host", "read 127.0.0.1:1: reset"}
	s := &target{}
	c := Start(n, s.find, "r-1", log)
	c.Close(t.Context())
	if err := n.Outbox.Put(hook(), publish.Update{Subject: "a", State: publish.Running}); err != nil {
		t.Fatal(err)
	}
	for _, why := range whys {
		s.hold = func(context.Context) error { return errors.New(why) }
		c.round(t.Context(), outbox.Options{Force: true})
	}
	if n := strings.Count(said.String(), "update waits"); n != 2 {
		t.Errorf("said %d times, want once for each reason:\n%s", n, said)
	}
	s.hold = nil
	c.round(t.Context(), outbox.Options{Force: true})
	if err := n.Outbox.Put(hook(), publish.Update{Subject: "a", State: publish.Running, Percent: 1}); err != nil {
		t.Fatal(err)
	}
	c.round(t.Context(), outbox.Options{Batch: time.Hour})
	if n := strings.Count(said.String(), "update waits"); n != 2 {
		t.Errorf("the end of a batch is waited for, which is no news:\n%s", said)
	}
	s.hold = func(context.Context) error { return errors.New(whys[0]) }
	c.round(t.Context(), outbox.Options{Force: true})
	if n := strings.Count(said.String(), "update waits"); n != 3 {
		t.Errorf("it went wrong anew and nobody said so:\n%s", said)
	}
}

func TestLate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state supervisor.State
		want  publish.State
	}{
		"killed":               {ended("killed", supervisor.ExitKilled, ledger.Interrupted), publish.Failed},
		"not looked at yet":    {begun(), publish.Failed},
		"done before the kill": {ended("done", 0, ledger.Completed), publish.Done},
		"stopped before it":    {ended("max-sessions", 0, ledger.Stopped), publish.Stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := aNight(t, hook())
			if err := Late(n, tc.state); err != nil {
				t.Fatal(err)
			}
			st, err := n.Outbox.Status(time.Now())
			if err != nil || len(st.Pending) != 1 {
				t.Fatalf("waiting %+v, %v", st.Pending, err)
			}
			origin, err := n.Outbox.Origin()
			u := st.Pending[0].Update
			if err != nil || u.State != tc.want || !u.Final || u.Subject != "run/r-1" || u.RunID != "r-1" || u.Project != origin {
				t.Errorf("update %+v, %v", u, err)
			}
		})
	}
	if err := Late(aNight(t), begun()); err != nil {
		t.Errorf("with nobody to tell: %v", err)
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code   int
		status string
		want   publish.State
	}{
		{supervisor.ExitWanted, ledger.Completed, publish.Done},
		{supervisor.ExitWanted, ledger.Stopped, publish.Stopped},
		{supervisor.ExitWanted, ledger.Interrupted, publish.Stopped},
		{supervisor.ExitWanted, "", publish.Stopped},
		{supervisor.ExitError, ledger.Completed, publish.Failed}, // its records could not be written
		{supervisor.ExitFailures, ledger.Stopped, publish.Failed},
		{supervisor.ExitPerson, ledger.Paused, publish.NeedsHuman},
		{supervisor.ExitBudget, ledger.Stopped, publish.Stopped},
		{supervisor.ExitResources, ledger.Stopped, publish.Stopped},
		{supervisor.ExitInterrupt, ledger.Interrupted, publish.Stopped},
		{supervisor.ExitKilled, ledger.Interrupted, publish.Failed},
	} {
		if got := stateOf(ended("x", tc.code, tc.status).Record); got != tc.want {
			t.Errorf("exit %d, %q: %s, want %s", tc.code, tc.status, got, tc.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	s := ended("done", 0, ledger.Completed)
	s.Iteration, s.Tasks = 1, &track.State{}
	s.Tasks.Completed, s.Tasks.Failed, s.Tasks.Total, s.Tasks.Percent, s.Tasks.Open = 3, 1, 4, 75, []string{"the fourth"}
	u := ofRun(s)
	want := "1 session, 0 tokens, $0.00.\n\n3 of 4 are over, 1 of them failed. Still open:\n\n- the fourth\n\n**so it is** (done)\n\n"
	if u.Body != want || u.Percent != 75 {
		t.Errorf("body %q, %d %%, want %q", u.Body, u.Percent, want)
	}
	it := queue.Item{ID: "0001-a", Title: "A", Sessions: 2, Status: queue.Skipped}
	u = ofItem(work.Standing{Item: it, Done: 1, Total: 2, Percent: 50, Detail: "left out"})
	if u.Body != "1 of 2 tasks are over, after 2 sessions.\n\nleft out" || u.State != publish.Stopped {
		t.Errorf("item: %+v", u)
	}
}
