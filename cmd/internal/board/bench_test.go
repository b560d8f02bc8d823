package board_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/ledger"
	"autopilot/sessions"
	"autopilot/supervisor"
)

// many is a machine with 300 projects, 1000 ended runs, a ledger of 10 MB and three runs
// that are on, the first of them with 60 sessions.
func many(b *testing.B) (world, board.Ref) {
	w := newWorld(b)
	var on board.Ref
	for i := range 300 {
		p := w.project(fmt.Sprintf("repo%03d", i))
		for n := range 3 {
			w.ended(p, 100+n, nil)
		}
		if i < 100 {
			w.ended(p, 300, nil)
		}
		if i < 3 {
			ref, folder := w.run(p, 5, func(s *supervisor.State) {
				s.Iteration, s.Current = 61, &supervisor.Current{SessionID: uuidOf(61), Mode: "deep", StartedAt: w.at}
				for n := range 60 {
					s.Record.Endings = append(s.Record.Endings, ledger.Ending{SessionID: uuidOf(n), Ending: "completed", Tokens: 1000})
				}
			})
			if i == 0 {
				on = ref
				for n := range 60 {
					w.session(folder, uuidOf(n), func(r *sessions.Result) { r.Answer = strings.Repeat("word ", 1000) })
				}
			}
		}
		if i == 1 {
			w.text(filepath.Join(p.Path, ".orchestrator/metrics/autopilot.jsonl"), bigLedger(w, 10<<20))
		}
	}
	return w, on
}

func bigLedger(w world, size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		at := w.at.Add(-time.Duration(1000+n) * time.Hour).Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&b, `{"schema_version":1,"autopilot_run_id":"old-%d","started_at":"%s","completed_at":"%s","exit_cause":"work-done","goal":"%s"}`+"\n", n, at, at, strings.Repeat("goal ", 300))
	}
	return b.String()
}

// cpu reports the processor time of what follows until it is called: on a machine with other
// work it says more than the wall clock.
func cpu(b *testing.B) (done func()) {
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	from := used()
	return func() { b.ReportMetric(float64((used()-from).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

func BenchmarkLook(b *testing.B) {
	w, _ := many(b)
	o := w.options()
	began := time.Now()
	got := board.Look(b.Context(), o)
	cold := time.Since(began)
	if len(got.Active) != 3 || len(got.Past) != 100 || len(got.Problems) > 0 {
		b.Fatalf("%d on, %d over, problems %q", len(got.Active), len(got.Past), got.Problems)
	}
	time.Sleep(100 * time.Millisecond) // until a change of the files would show
	board.Look(b.Context(), o)
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b)
	for b.Loop() {
		board.Look(b.Context(), o)
	}
	done()
	b.ReportMetric(float64(cold.Milliseconds()), "ms-cold")
}

// BenchmarkLookChanging is a look after the state of a run was written.
func BenchmarkLookChanging(b *testing.B) {
	w, on := many(b)
	o := w.options()
	board.Look(b.Context(), o)
	r, err := board.Find(b.Context(), o, on)
	w.check(err)
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		s, err := supervisor.LoadState(r.Folder)
		w.check(err)
		w.json(filepath.Join(r.Folder, "state.json"), s)
		b.StartTimer()
		board.Look(b.Context(), o)
	}
}

func BenchmarkFind(b *testing.B) {
	w, on := many(b)
	o := w.options()
	time.Sleep(100 * time.Millisecond)
	for range 2 {
		if r, err := board.Find(b.Context(), o, on); err != nil || len(r.Sessions) != 60 || r.Current == nil {
			b.Fatalf("%+v %v", r, err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b)
	for b.Loop() {
		_, _ = board.Find(b.Context(), o, on)
	}
	done()
}

func BenchmarkTail(b *testing.B) {
	w := newWorld(b)
	p := w.project("app")
	ref, folder := w.run(p, 1, func(s *supervisor.State) {
		s.Iteration, s.Current = 1, &supervisor.Current{SessionID: uuidOf(1)}
	})
	o := w.options()
	r, err := board.Find(b.Context(), o, ref)
	w.check(err)
	talk := w.talkPath(p.Path, uuidOf(1))
	w.text(talk, "\n")
	w.text(filepath.Join(folder, "activity.jsonl"), "\n")
	line := `{"type":"user","timestamp":"2026-03-02T06:00:00Z","message":{"role":"user","content":[{"type":"tool_result","content":"` + strings.Repeat("output of a tool ", 60) + `"}]}}` + "\n"
	w.text(talk, strings.Repeat(line, (64<<10)/len(line)))
	b.SetBytes(64 << 10)
	b.ReportAllocs()
	b.ResetTimer()
	done := cpu(b)
	for b.Loop() {
		events, _, err := board.Tail(o, r, board.Cursor{Log: 1, Session: uuidOf(1), Talk: 1})
		if err != nil || len(events) < 50 {
			b.Fatal(len(events), err)
		}
	}
	done()
}
