package runs

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

// sequence collects the numbers of events.
func sequence(into *[]int64) func(tdd.Activity) error {
	return func(a tdd.Activity) error {
		*into = append(*into, a.Seq)
		return nil
	}
}

func numbersTo(from, to int64) []int64 {
	var list []int64
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// Another process walks through a run that is followed from its first event to the last.
func TestFollowAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := Store{Dir: t.TempDir()}
	now := time.Now()
	st := first(s.NewID("dev", "1", now), now)
	if err := s.Create(st); err != nil {
		t.Fatal(err)
	}
	var p *process
	var got []int64
	err := s.Follow(ctx, st.RunID, -1, func(a tdd.Activity) error {
		if p == nil {
			p = start(t, "", "walk", s.Dir, "1")
		}
		return sequence(&got)(a)
	})
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		t.Fatal("the first event did not come")
	}
	p.wait(t)
	if d := cmp.Diff(numbersTo(1, consistent(t, s, st.RunID).Seq), got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

func TestFollowLastEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from int
		want []int64
	}{
		{-1, numbersTo(1, 13)}, {100, numbersTo(1, 13)}, {13, numbersTo(1, 13)}, {2, numbersTo(12, 13)}, {0, nil},
	}
	for _, tt := range tests {
		s, st := saved(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		var got []int64
		if err := s.Follow(ctx, st.RunID, tt.from, sequence(&got)); !errors.Is(err, why) {
			t.Errorf("Follow = %v, want the cause", err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("from %d (-want +got):\n%s", tt.from, d)
		}
	}
}

func TestFollowLive(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(t *testing.T, s Store, st tdd.State)
		want []int64
	}{
		{"aborted", func(t *testing.T, s Store, _ tdd.State) {
			if _, err := s.Abort(time.Now()); err != nil {
				t.Error(err)
			}
		}, numbersTo(13, 14)},
		{"killed before the last event is in the log", func(t *testing.T, s Store, st tdd.State) {
			st.Outbox = nil
			st.Abort(time.Now())
			data, err := encode(st)
			if err != nil {
				t.Error(err)
			}
			write(t, s.file(st.RunID, stateName), string(data))
		}, numbersTo(13, 14)},
		{"removed", func(t *testing.T, s Store, st tdd.State) {
			if err := s.Remove(st.RunID); err != nil {
				t.Error(err)
			}
		}, numbersTo(13, 13)},
		{"put aside", func(t *testing.T, s Store, st tdd.State) {
			write(t, s.file(st.RunID, stateName), "{")
			synctestTick()
			if _, err := s.Abort(time.Now()); err != nil {
				t.Error(err)
			}
		}, numbersTo(13, 13)},
		{"foreign and torn lines", func(t *testing.T, s Store, st tdd.State) {
			file := s.file(st.RunID, activityName)
			before := read(t, file)
			write(t, file, before+"{broken\n[1]\n{\"seq\":99}\n{\"seq\":99,\"runId\":\"x\"}\n{\"seq\":5,\"runId\":\""+st.RunID+"\"}\n{\"seq\":77,\"runI")
			synctestTick()
			write(t, file, before)
			if _, err := s.Abort(time.Now()); err != nil {
				t.Error(err)
			}
		}, numbersTo(13, 14)},
		{"log is gone and comes back", func(t *testing.T, s Store, st tdd.State) {
			if err := os.Remove(s.file(st.RunID, activityName)); err != nil {
				t.Error(err)
			}
			synctestTick()
			if _, err := s.Abort(time.Now()); err != nil {
				t.Error(err)
			}
		}, numbersTo(13, 14)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, st := saved(t)
			synctest.Test(t, func(t *testing.T) {
				var got []int64
				done := make(chan error, 1)
				go func() { done <- s.Follow(t.Context(), st.RunID, 1, sequence(&got)) }()
				synctestTick()
				tt.do(t, s, st)
				if err := <-done; err != nil {
					t.Errorf("Follow = %v", err)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("events (-want +got):\n%s", d)
				}
			})
		})
	}
}

// synctestTick lets the follower look some times, on the bubble's clock.
func synctestTick() {
	<-time.After(3 * pollEvery)
	synctest.Wait()
}

// The run is there before its log: killed behind the state.
func TestFollowWaitsForTheLog(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	if err := os.Remove(s.file(st.RunID, activityName)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var got []int64
		done := make(chan error, 1)
		go func() { done <- s.Follow(t.Context(), st.RunID, 5, sequence(&got)) }()
		synctestTick()
		if _, err := s.Load(); err != nil { // appends what the outbox has
			t.Error(err)
		}
		synctestTick()
		if _, err := s.Abort(time.Now()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(numbersTo(6, 14), got); d != "" {
			t.Errorf("events (-want +got):\n%s", d)
		}
	})
}

func TestFollowEndsWithItsFunction(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	why := errors.New("broken pipe")
	if err := s.Follow(t.Context(), st.RunID, 3, func(tdd.Activity) error { return why }); !errors.Is(err, why) {
		t.Errorf("Follow = %v", err)
	}
	if err := s.Follow(t.Context(), ID("x", "1", st.StartTime), 3, nil); !errors.Is(err, ErrNoRun) {
		t.Errorf("Follow of no run = %v", err)
	}
	if _, err := s.Abort(time.Now()); err != nil {
		t.Fatal(err)
	}
	var got []int64
	if err := s.Follow(t.Context(), st.RunID, 2, sequence(&got)); err != nil || len(got) != 2 {
		t.Errorf("Follow of a run that is over = %v, %v", got, err)
	}
}

// Nothing is opened while nothing changes.
func TestFollowReadsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	f := &follower{store: s, id: st.RunID, file: s.file(st.RunID, activityName), fn: func(tdd.Activity) error { return nil }}
	if err := f.begin(0); err != nil {
		t.Fatal(err)
	}
	if over, err := f.look(); over || err != nil {
		t.Fatal(over, err)
	}
	// A file that is read now would be refused: it is no journal any more, and has the
	// same size and time.
	info, err := os.Stat(f.file)
	if err != nil {
		t.Fatal(err)
	}
	f.offset = 0
	f.last = 0
	f.fn = func(tdd.Activity) error { return errors.New("it was read again") }
	if _, err := f.look(); err != nil {
		t.Error(err)
	}
	write(t, f.file, strings.Replace(read(t, f.file), "preflight", "Preflight", 1))
	if err := os.Chtimes(f.file, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.look(); err == nil {
		t.Error("a change of the time alone was not seen")
	}
}
