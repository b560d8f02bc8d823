package forecast

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
)

// anySample draws plausible samples and impossible ones.
func anySample(t *rapid.T) Sample {
	odd := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-9})
	amount := func(most float64) *rapid.Generator[float64] {
		return rapid.OneOf(rapid.Float64Range(0.01, most), rapid.Float64(), odd)
	}
	whole := rapid.OneOf(rapid.IntRange(1, 20), rapid.Int(), rapid.SampledFrom([]int{0, -1, math.MaxInt, math.MinInt}))
	at := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "no time") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "at"), 0)
	})
	return Sample{
		Size: whole.Draw(t, "size"), Sessions: whole.Draw(t, "sessions"), Seconds: amount(1e5).Draw(t, "seconds"), Tokens: amount(1e7).Draw(t, "tokens"),
		CostUSD: amount(50).Draw(t, "cost"), Achieved: rapid.Bool().Draw(t, "achieved"), At: at.Draw(t, "at"),
	}
}

func anyLimits(t *rapid.T) Limits {
	v := rapid.OneOf(rapid.Just(0.0), rapid.Float64(), rapid.Float64Range(0, 1e6), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)))
	return Limits{rapid.IntRange(-1, 30).Draw(t, "sessions"), v.Draw(t, "seconds"), v.Draw(t, "tokens"), v.Draw(t, "cost")}
}

func ranges(f ledger.Forecast) map[string]ledger.Range {
	return map[string]ledger.Range{Sessions: f.Sessions, Time: f.Seconds, Tokens: f.Tokens, Cost: f.CostUSD}
}

func TestForecastsAreSane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Custom(anySample), 0, 12).Draw(t, "past")
		limits := anyLimits(t)
		e := Make(past, rapid.Int().Draw(t, "size"), limits)
		bounds := map[string]float64{Sessions: float64(limits.Sessions), Time: limits.Seconds, Tokens: limits.Tokens, Cost: limits.CostUSD}
		for name, r := range ranges(e.Forecast) {
			if !(0 < r.Low && r.Low <= r.Likely && r.Likely <= r.High && r.High < 1e15) {
				t.Fatalf("%s: %+v", name, r)
			}
			if limit := bounds[name]; limit > 0 && r.High > limit {
				t.Fatalf("%s: %+v is above the limit %v", name, r, limit)
			}
			if v := judge(r, r.Likely).Verdict; v != Within {
				t.Fatalf("%s: what is likely lies %s", name, v)
			}
		}
		if _, err := json.Marshal(e); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(Compare(e.Forecast, Truth(Limits{3, limits.Seconds, limits.Tokens, limits.CostUSD}))); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOrderHasNoInfluence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Custom(anySample), 0, 12).Draw(t, "past")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		want := Make(past, size, Limits{})
		if diff := cmp.Diff(want, Make(rapid.Permutation(past).Draw(t, "mixed"), size, Limits{})); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
	})
}

func TestGuessGrowsWithSize(t *testing.T) {
	t.Parallel()
	for size := range 1100 {
		small, large := ranges(Make(nil, size, Limits{}).Forecast), ranges(Make(nil, size+1, Limits{}).Forecast)
		for name, a := range small {
			if b := large[name]; b.Low < a.Low || b.Likely < a.Likely || b.High < a.High {
				t.Errorf("%s: %+v at size %d, %+v at the next", name, a, size, b)
			}
		}
	}
}

// TestEvidenceBounds: a forecast lies within what was seen, and a further run like
// the likely one does not move it out.
func TestEvidenceBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sample {
			s := anySample(t)
			s.Sessions = rapid.IntRange(1, 50).Draw(t, "usable")
			return s
		}), 1, 12).Draw(t, "past")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		low, high := 50.0, 1.0
		for _, s := range past {
			low, high = min(low, float64(s.Sessions)), max(high, float64(s.Sessions))
		}
		before := Make(past, size, Limits{})
		if r := before.Sessions; r.Low < low || r.High > high || before.Runs != len(past) {
			t.Fatalf("%+v from %d of %d runs, which lie within %v and %v", r, before.Runs, len(past), low, high)
		}
		if len(past) < 4 && (before.Sessions.Low != low || before.Sessions.High != high) {
			t.Fatalf("%+v is not the whole span %v to %v", before.Sessions, low, high)
		}
		after := Make(append(past, Sample{Size: size, Sessions: int(before.Sessions.Likely), Achieved: true}), size, Limits{})
		if r := after.Sessions; r.Low < low || r.High > high || after.Runs != before.Runs+1 {
			t.Fatalf("one more makes %+v of %+v", r, before.Sessions)
		}
	})
}
