package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
)

// anyRun draws a record of a small world, so that runs meet.
func anyRun(t *rapid.T) ledger.Run {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
	number := rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{-1, math.MaxInt, math.MinInt}))
	money := rapid.OneOf(rapid.Float64Range(0, 5), rapid.Float64())
	share := rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64())
	goal := rapid.Custom(func(t *rapid.T) ledger.Goal {
		return ledger.Goal{
			Text: rapid.String().Draw(t, "text"), Status: rapid.SampledFrom([]string{"achieved", "partial", "open", "paused", "?"}).Draw(t, "status"),
			Iterations: number.Draw(t, "iterations"), FalseStops: number.Draw(t, "false stops"),
		}
	})
	band := rapid.Custom(func(t *rapid.T) ledger.Range {
		return ledger.Range{Low: money.Draw(t, "low"), Likely: money.Draw(t, "likely"), High: money.Draw(t, "high")}
	})
	r := ledger.Run{
		AutopilotRunID: id.Draw(t, "id"), Goal: rapid.SampledFrom([]string{"", "x"}).Draw(t, "goal"), DryRun: rapid.IntRange(0, 9).Draw(t, "dry") == 0,
		ExitCause:   rapid.SampledFrom([]string{"", "work-done", "user-abort", "new"}).Draw(t, "cause"),
		CompletedAt: ledger.Stamp(time.Unix(int64(rapid.IntRange(0, 5).Draw(t, "at")), 0)),
		Goals:       rapid.SliceOfN(goal, 0, 3).Draw(t, "goals"), IterationsCompleted: number.Draw(t, "sessions"), TotalCostUSD: money.Draw(t, "cost"),
		TotalTokensUsed: int64(number.Draw(t, "tokens")), DurationSeconds: int64(number.Draw(t, "seconds")), WaitedSeconds: int64(number.Draw(t, "waited")),
	}
	if rapid.Bool().Draw(t, "continues") {
		r.ResumedFrom = id.Draw(t, "from")
	}
	if rapid.Bool().Draw(t, "reflects") {
		r.Reflections = &ledger.Reflections{
			Count: number.Draw(t, "count"), Failed: number.Draw(t, "failed"), Judged: number.Draw(t, "judged"), Correct: number.Draw(t, "correct"),
			Score: share.Draw(t, "score"), By: rapid.MapOfN(rapid.SampledFrom([]string{"x", "y", "", "x\n"}), number, 0, 3).Draw(t, "by"),
		}
	}
	if rapid.Bool().Draw(t, "forecasts") {
		r.Forecast = &ledger.Forecast{Sessions: band.Draw(t, "s"), Seconds: band.Draw(t, "t"), Tokens: band.Draw(t, "k"), CostUSD: band.Draw(t, "c")}
	}
	return r
}

func TestOrderHasNoInfluence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Two that differ under one id and moment have no order but that of the file.
		runs := rapid.SliceOfNDistinct(rapid.Custom(anyRun), 0, 8, func(r ledger.Run) string {
			return r.AutopilotRunID + fmt.Sprint(time.Time(r.CompletedAt).Unix())
		}).Draw(t, "runs")
		want := collect(runs...).Metrics()
		mixed := rapid.Permutation(runs).Draw(t, "mixed")
		if diff := cmp.Diff(want, collect(mixed...).Metrics()); diff != "" {
			t.Fatalf("metrics (-want +got):\n%s", diff)
		}
		twice := append(append([]ledger.Run{}, mixed...), runs...)
		if diff := cmp.Diff(want, collect(twice...).Metrics()); diff != "" {
			t.Fatalf("every record twice (-want +got):\n%s", diff)
		}
	})
}

func TestMetricsAreSane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := collect(rapid.SliceOfN(rapid.Custom(anyRun), 0, 10).Draw(t, "runs")...).Metrics()
		if _, err := json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		for name, share := range map[string]*float64{
			"completion": m.CompletionRate, "accuracy": m.Reflections.Accuracy, "score": m.Reflections.Score, "false stops": m.FalseStopRate,
			"sessions": m.Forecasts.Sessions, "seconds": m.Forecasts.Seconds, "tokens": m.Forecasts.Tokens, "cost": m.Forecasts.CostUSD,
		} {
			if share != nil && !(*share >= 0 && *share <= 1) {
				t.Fatalf("%s: %v is no share", name, *share)
			}
		}
		if (m.CompletionRate == nil) != (m.Goals == 0) || m.GoalsAchieved > m.Goals || m.GoalRuns > m.Runs {
			t.Fatalf("counts do not fit: %+v", m)
		}
		reasons := int64(0)
		for _, n := range m.Reasons {
			reasons += n
		}
		if reasons != m.Runs {
			t.Fatalf("%d reasons for %d runs", reasons, m.Runs)
		}
		m.Text()
	})
}

// large is a ledger of n records; every fourth continues the one before.
func large(n int) []ledger.Run {
	random := rand.New(rand.NewPCG(1, 2))
	runs := make([]ledger.Run, n)
	for i := range runs {
		r := run(fmt.Sprintf("main-2026-09-01-%06d-autopilot", i), "", 1, reached(3), open(1))
		if i%4 == 1 {
			r.ResumedFrom = runs[i-1].AutopilotRunID
		}
		r.Termination = &ledger.Termination{Status: ledger.Stopped, Reason: "timeout"}
		r.Reflections = &ledger.Reflections{Count: 3, Judged: 2, Correct: 1, Score: 0.5, By: map[string]int{"claude": 3}}
		r.Forecast, r.TotalCostUSD, r.Sessions = &ledger.Forecast{}, random.Float64(), []string{"a", "b"}
		runs[i] = r
	}
	return runs
}

// BenchmarkCollect adds 100,000 records and asks for the metrics.
func BenchmarkCollect(b *testing.B) {
	runs := large(100_000)
	for b.Loop() {
		collect(runs...).Metrics()
	}
}

// BenchmarkHeld says how much memory is kept for 100,000 records.
func BenchmarkHeld(b *testing.B) {
	runs := large(100_000)
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := collect(runs...)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(runs)), "B/record")
		runtime.KeepAlive(c)
	}
}
