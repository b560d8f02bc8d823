package vigil

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/samples"
	"autopilot/probe"
	"autopilot/supervisor"
	"autopilot/supervisor/awake"
)

func of(t *testing.T) (*Vigil, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	return &Vigil{run: Run{ID: "r", Folder: t.TempDir(), Log: slog.New(slog.NewTextHandler(&b, nil))}, begun: time.Now(), patient: time.Hour}, &b
}

func TestSamplesAreAMinuteApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, _ := of(t)
		ram, swap, peers := 3.0, 0.5, 0
		look := v.Probe(func(context.Context) probe.Snapshot {
			var s probe.Snapshot
			s.RAMAvailableGB, s.SwapUsedGB, s.Peers = &ram, &swap, &peers
			return s
		}, 6)
		for range 20 { // five minutes
			look(t.Context())
			time.Sleep(15 * time.Second)
		}
		v.gap(awake.Gap{Slept: 40 * time.Minute})
		look(t.Context()) // a minute is not over, but something happened
		got, err := samples.Load(v.run.Folder)
		if err != nil || len(got) != 6 {
			t.Fatalf("got %d samples, %v; want 6", len(got), err)
		}
		if s := got[5]; s.Suspended != 2400 || s.Tier != "degraded" || *s.Cap != 2 || *s.AvailableGB != 3 {
			t.Errorf("got %+v, want the sleep in the sample behind it", s)
		}
		if v.Slept() != 40*time.Minute {
			t.Errorf("slept %v", v.Slept())
		}
	})
}

func TestAClockThatIsSetBackEndsNoSamples(t *testing.T) {
	t.Parallel()
	v, _ := of(t)
	v.sampled = time.Now().Round(0).Add(8 * time.Hour)
	v.sample(probe.Snapshot{}, 6)
	if got, err := samples.Load(v.run.Folder); err != nil || len(got) != 1 {
		t.Errorf("got %d samples, %v", len(got), err)
	}
}

func TestAFolderThatIsGoneIsToldOnce(t *testing.T) {
	t.Parallel()
	v, said := of(t)
	v.run.Folder += "/gone"
	for range 3 {
		v.sampled = time.Time{}
		v.sample(probe.Snapshot{}, 6)
	}
	if n := strings.Count(said.String(), "cannot be kept"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

func TestALoopThatDoesNotMoveIsNotAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v, _ := of(t)
		v.Moved()
		time.Sleep(59 * time.Minute)
		if !v.alive() {
			t.Error("a long step counts as hanging")
		}
		time.Sleep(time.Minute)
		if v.alive() {
			t.Error("it counts as alive an hour after it moved")
		}
		v.Saved(supervisor.State{})
		if !v.alive() {
			t.Error("a state that is written is no sign of life")
		}
	})
}

func TestGapsAreTold(t *testing.T) {
	t.Parallel()
	v, said := of(t)
	v.gap(awake.Gap{Slept: time.Hour, Set: -2 * time.Hour})
	for _, want := range []string{"asleep", "seconds=3600", "the clock of the machine was set", "seconds=-7200"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	rec := ledger.Run{AutopilotRunID: "r-1", MaxSessions: 5, TotalTokensUsed: 1200, TotalCostUSD: 0.256, ExitCause: "work-done"}
	until := time.Date(2026, 1, 31, 3, 4, 0, 0, time.Local)
	for _, tt := range []struct {
		s    supervisor.State
		want string
	}{
		{supervisor.State{Record: rec, Iteration: 2}, "r-1: session 2 of 5, 1200 tokens, $0.26"},
		{supervisor.State{Record: rec, Waiting: &supervisor.Waiting{Until: until, Why: "limited"}}, "r-1 waits until 03:04: limited"},
		{supervisor.State{Record: rec, Finished: true}, "r-1 ended: work-done"},
	} {
		if got := line(tt.s); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
