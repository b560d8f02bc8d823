package runs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// The process dies at each point, at several of the times it gets there. What was
// acknowledged is there, and what follows from the state is made good by a load.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	const runs = 3
	tests := []struct {
		point string
		times []int
	}{
		{"folder", []int{1, 2}},
		{"state", []int{1, 2, 3, 5, 10, 11, 12, 13, 14}},
		{"line", []int{1, 3, 4, 5, 6, 7, 8}},
		{"journal", []int{1, 2, 4, 7, 12}},
		{"manifest", []int{1, 2, 4, 7, 12}},
		{"commits", []int{1, 4, 6, 12, 13}},
		{"tag", []int{1, 2, 12, 14}},
		{"pointer", []int{1, 2, 12, 14}},
	}
	for _, tt := range tests {
		for _, n := range tt.times {
			t.Run(fmt.Sprint(tt.point, n), func(t *testing.T) {
				t.Parallel()
				s := Store{Dir: t.TempDir()}
				acked := map[string]int64{}
				lines, killed := start(t, fmt.Sprint(tt.point, ":", n), "walk", s.Dir, fmt.Sprint(runs)).wait(t)
				if !killed {
					t.Fatalf("%s is not reached %d times", tt.point, n)
				}
				acknowledge(t, acked, lines)
				recovered(t, s, acked)
				lines, _ = start(t, "", "walk", s.Dir, "1").wait(t)
				acknowledge(t, acked, lines)
				everything(t, s, acked)
			})
		}
	}
}

// recovered loads the current run for writing and looks at it.
func recovered(t *testing.T, s Store, acked map[string]int64) {
	t.Helper()
	before, err := s.Peek()
	if errors.Is(err, ErrNoRun) && len(acked) == 0 {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if before.RunID != st.RunID || before.Seq != st.Seq {
		t.Errorf("loaded %s with %d events, peeked %s with %d", st.RunID, st.Seq, before.RunID, before.Seq)
	}
	if st.Seq < acked[st.RunID] {
		t.Errorf("run %s has %d events, %d were acknowledged", st.RunID, st.Seq, acked[st.RunID])
	}
	consistent(t, s, st.RunID)
	pointed(t, s, st)
}

// everything looks at all runs that are there, and that all are there.
func everything(t *testing.T, s Store, acked map[string]int64) {
	t.Helper()
	list, err := s.List()
	if err != nil {
		t.Error(err)
	}
	found := map[string]bool{}
	for i, m := range list {
		found[m.RunID] = true
		st := consistent(t, s, m.RunID)
		if st.Seq < acked[m.RunID] {
			t.Errorf("run %s has %d events, %d were acknowledged", m.RunID, st.Seq, acked[m.RunID])
		}
		if i > 0 && !st.Status.Over() {
			t.Errorf("run %s is %s, and a newer one was begun", m.RunID, st.Status)
		}
	}
	for id := range acked {
		if !found[id] {
			t.Errorf("run %s was acknowledged and is not there", id)
		}
	}
	entries, err := os.ReadDir(s.Folder(""))
	if err != nil || len(entries) != len(list) {
		t.Errorf("%d entries in the folder of %d runs, %v", len(entries), len(list), err)
	}
}

func TestRandomKills(t *testing.T) {
	t.Parallel()
	const kills = 60
	s := Store{Dir: t.TempDir()}
	acked := map[string]int64{}
	for range kills {
		p := start(t, "", "walk", s.Dir, "1000")
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		acknowledge(t, acked, []string{strings.TrimSpace(line)})
		<-time.After(rand.N(30 * time.Millisecond)) // nothing is waited for: any moment is right
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		lines, _ := p.wait(t)
		acknowledge(t, acked, lines)
		recovered(t, s, acked)
	}
	lines, _ := start(t, "", "walk", s.Dir, "1").wait(t) // ends what is open
	acknowledge(t, acked, lines)
	everything(t, s, acked)
	var events int64
	for _, n := range acked {
		events += n
	}
	t.Logf("%d runs, %d events", len(acked), events)
}

func TestKilledInAbort(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"state", "line", "journal", "manifest", "commits", "tag", "pointer"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := Store{Dir: t.TempDir()}
			st := at(t, s, 4)
			if _, killed := start(t, point+":1", "abort", s.Dir).wait(t); !killed {
				t.Fatal("the point is not reached")
			}
			got, err := s.Load()
			if err != nil || got.RunID != st.RunID || got.Status != tdd.Aborted {
				t.Fatalf("Load = %s %s, %v", got.RunID, got.Status, err)
			}
			pointed(t, s, got)
			if events, err := s.events(st.RunID); err != nil || int64(len(events)) != st.Seq+1 || events[st.Seq].Event != tdd.EventAborted {
				t.Errorf("%d events, %v", len(events), err)
			}
		})
	}
	for _, point := range []string{"note", "aside"} {
		t.Run("broken at "+point, func(t *testing.T) {
			t.Parallel()
			s := Store{Dir: t.TempDir()}
			st := at(t, s, 4)
			write(t, s.file(st.RunID, stateName), "{")
			if _, killed := start(t, point+":1", "abort", s.Dir).wait(t); !killed {
				t.Fatal("the point is not reached")
			}
			if _, err := s.Peek(); !errors.As(err, new(*BrokenError)) {
				t.Errorf("Peek = %v, want a broken run", err)
			}
			if _, err := s.Abort(time.Now()); err != nil {
				t.Error(err)
			}
			putAside(t, s, st.RunID, "{")
		})
	}
}

func TestKilledInRemove(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	st := at(t, s, 4)
	if _, killed := start(t, "gone:1", "remove", s.Dir).wait(t); !killed {
		t.Fatal("the point is not reached")
	}
	if _, err := s.Peek(); !errors.Is(err, ErrNoRun) {
		t.Errorf("Peek = %v, want no run", err)
	}
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Errorf("List = %v, %v", list, err)
	}
	now := st.StartTime
	st = first(s.NewID("dev", "1", now), now)
	if err := s.Create(st); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, st)
	if entries, err := os.ReadDir(s.Folder("")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Two processes add events at the same time, each under the lock.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	const each = 40
	s := Store{Dir: t.TempDir()}
	st := at(t, s, 3)
	a, b := start(t, "", "count", s.Dir, fmt.Sprint(each)), start(t, "", "count", s.Dir, fmt.Sprint(each))
	a.wait(t)
	b.wait(t)
	if got := consistent(t, s, st.RunID); got.Seq != st.Seq+2*each {
		t.Errorf("%d events, want %d", got.Seq, st.Seq+2*each)
	}
}

func TestLockIsBounded(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		held, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, err = s.Lock(t.Context())
		if h, ok := errors.AsType[*statedir.HeldError](err); !ok || h.Holder.PID != os.Getpid() {
			t.Errorf("second Lock = %v", err)
		}
		if took := time.Since(begin); took < lockWait || took > 2*lockWait { // of the bubble's clock
			t.Errorf("it was waited for %v", took)
		}
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
		again, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Release(); err != nil {
			t.Error(err)
		}
	})
}

// The log is cut at bytes of what the outbox still has.
func TestTornLog(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	st := at(t, s, 3) // the last step has three events
	file := s.file(st.RunID, activityName)
	whole := read(t, file)
	begin := strings.Index(whole, fmt.Sprintf(`"seq":%d`, st.Outbox[0].Seq))
	begin = strings.LastIndex(whole[:begin], "\n") + 1
	for cut := begin; cut <= len(whole); cut++ {
		// At the ends of lines every byte counts, elsewhere some will do.
		if near := whole[max(0, cut-2):min(len(whole), cut+2)]; !strings.Contains(near, "\n") && (cut-begin)%23 != 0 {
			continue
		}
		write(t, file, whole[:cut])
		if _, err := s.Load(); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got := strings.Join(strings.Fields(read(t, file)), " "); got != strings.Join(strings.Fields(whole), " ") {
			t.Fatalf("cut at %d: log is\n%s", cut, read(t, file))
		}
		torn, err := filepath.Glob(file + ".torn-*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range torn {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whatever is lost of what follows from the state, one load makes it good, and a second
// one touches nothing.
func TestSettleTwiceIsOnce(t *testing.T) {
	t.Parallel()
	const most = 11
	walked := make([]Store, most+1)
	states := make([]tdd.State, most+1)
	for n := range walked {
		walked[n] = Store{Dir: t.TempDir()}
		states[n] = at(t, walked[n], n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, most).Draw(rt, "steps")
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err == nil {
			err = os.CopyFS(dir, os.DirFS(walked[n].Dir))
		}
		if err != nil {
			rt.Fatal(err)
		}
		s, st := Store{Dir: dir}, states[n]
		files := []string{s.file(st.RunID, manifestName), s.file(st.RunID, commitsName), s.tagFile(st.Tag), s.pointerFile()}
		for range rapid.IntRange(0, 3).Draw(rt, "faults") {
			file := rapid.SampledFrom(files).Draw(rt, "file")
			switch rapid.SampledFrom([]string{"gone", "empty", "other"}).Draw(rt, "fault") {
			case "gone":
				err = os.Remove(file)
			case "empty":
				err = os.WriteFile(file, nil, 0o600)
			case "other":
				err = os.WriteFile(file, []byte(`{"runId":"x"}`), 0o600)
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				rt.Fatal(err)
			}
		}
		if len(st.Outbox) > 0 {
			lost(rt, s.file(st.RunID, activityName), rapid.IntRange(0, len(st.Outbox)).Draw(rt, "lost lines"))
		}
		if st.Status.Over() {
			if _, err := s.LoadRun(st.RunID); err != nil {
				rt.Fatal(err)
			}
			consistent(t, s, st.RunID)
			return
		}
		if _, err := s.Load(); err != nil {
			rt.Fatal(err)
		}
		consistent(t, s, st.RunID)
		pointed(t, s, st)
		once := snapshot(t, dir)
		if _, err := s.Load(); err != nil {
			rt.Fatal(err)
		}
		for name, content := range snapshot(t, dir) {
			if once[name] != content {
				rt.Errorf("%s was touched again", name)
			}
		}
	})
}

// lost removes the last n lines of a log.
func lost(t *rapid.T, file string, n int) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for range n {
		text = text[:strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1]
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An event that only the old state has is in the log before that state is gone.
func TestSaveKeepsTheEventsBefore(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	st := at(t, s, 3)
	data := read(t, s.file(st.RunID, activityName))
	// As if killed between the two.
	write(t, s.file(st.RunID, activityName), strings.Join(strings.SplitAfter(data, "\n")[:st.Seq-int64(len(st.Outbox))], ""))
	st.Outbox = nil
	if err := s.Save(next(st, time.Now())); err != nil {
		t.Fatal(err)
	}
	consistent(t, s, st.RunID)
}
