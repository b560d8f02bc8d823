package forecast

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
)

func TestSessionsOfAPart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part Part
		want ledger.Range
	}{
		{Part{Tasks: 1}, span3(1, 2, 4)},
		{Part{}, span3(1, 2, 4)},
		{Part{Tasks: -4}, span3(1, 2, 4)},
		{Part{Tasks: 10}, span3(10, 20, 40)},
		{Part{Tasks: 10, Complexity: Simple}, span3(7, 14, 28)},
		{Part{Tasks: 10, Complexity: Complex}, span3(15, 30, 60)},
		{Part{Tasks: 10, Complexity: "unheard-of"}, span3(10, 20, 40)},
		{Part{Whole: true}, span3(2.5, 5, 10)},
		{Part{Tasks: 2, Whole: true, Complexity: Simple}, span3(2.5, 5, 10)},
		{Part{Tasks: 3, Whole: true}, span3(3, 6, 12)},
		{Part{Tasks: 1 << 40}, span3(1000, 2000, 4000)},
	} {
		if diff := cmp.Diff(c.want, c.part.Sessions(), nearly()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.part, diff)
		}
	}
}

// nearly takes numbers that differ behind the ninth digit for equal.
func nearly() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) })
}

func TestCold(t *testing.T) {
	t.Parallel()
	// Factors of 2 and 3 together: e^sqrt(ln(2)^2+ln(3)^2) = 3.6656.
	g := Cold(Work{Parts: []Part{{Tasks: 3, Whole: true}, {Tasks: 2}}, Model: "claude-opus-5-5"}, nil, Limits{})
	want := ledger.Forecast{
		Sessions: span3(5, 10, 20), Seconds: span3(818, 3000, 10_997), Tokens: span3(163_682, 600_000, 2_199_379), CostUSD: span3(1.6286, 5.97, 21.8839),
	}
	if diff := cmp.Diff(want, g.Forecast, nearly()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := g.Text(), "a guess: 10 sessions (5-20), about 50m (14m-3h 3m), 600k tokens (164k-2.2M), $5.97 ($1.63-$21.88)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	assumes := []string{
		"2 sessions a task, at least 5 a whole increment, 0.7 times that for simple and 1.5 times that for complex work",
		"5 minutes a session", "60k tokens a session without cache reads", "list prices of opus-5-5 as of October 2026; a subscription is not billed by them",
	}
	if diff := cmp.Diff(assumes, g.Assumes); diff != "" || g.Prices != "opus-5-5" {
		t.Errorf("prices of %s (-want +got):\n%s", g.Prices, diff)
	}
	none := Cold(Work{}, nil, Limits{})
	if none.Sessions != span3(1, 2, 4) || none.Prices != "opus" || !strings.Contains(strings.Join(none.Assumes, ";"), "model is not known") {
		t.Errorf("without anything: %+v", none)
	}
}

func TestWhatWasMeasuredWins(t *testing.T) {
	t.Parallel()
	past := []Sample{
		{Size: 9, Sessions: 2, Seconds: 2000, CostUSD: 4, Achieved: true},
		{Size: 1, Sessions: 1, Seconds: 1000, CostUSD: 2, Achieved: true},
		{Size: 1, Sessions: 4, Seconds: 4000, CostUSD: math.NaN(), Achieved: true},
		{Size: 1, Sessions: 0, Seconds: 9, CostUSD: 9, Tokens: 9},
	}
	g := Cold(Work{Parts: []Part{{Tasks: 1}}, Model: "sonnet"}, past, Limits{})
	if g.Runs != 3 || g.Seconds != span3(1000, 2000, 4000) || g.CostUSD != span3(2, 4, 8) || g.Prices != "" {
		t.Errorf("$2 and 1000 s a session were measured: %+v", g)
	}
	if g.Tokens.Likely != 120_000 { // of which nothing is known
		t.Errorf("tokens %+v", g.Tokens)
	}
	past[0].CostUSD, past[1].CostUSD = 0, 0
	past[0].Tokens = 200_000 // 100,000 a session, at 9.10 for a million
	g = Cold(Work{Parts: []Part{{Tasks: 1}}, Model: "claude-sonnet-4-6"}, past, Limits{})
	if want := 2 * 0.1 * (0.05*3 + 0.2*15 + 0.75*3.75 + 10*0.3); g.Prices != "sonnet" || math.Abs(g.CostUSD.Likely-want) > 1e-4 {
		t.Errorf("cost %+v, want the list price of the measured tokens, %f", g.CostUSD, want)
	}
	if !strings.Contains(strings.Join(g.Assumes, ";"), "where 3 earlier runs know it") {
		t.Errorf("assumes %q", g.Assumes)
	}
}

func TestTheSizeOfGoalsDoesNotWeigh(t *testing.T) {
	t.Parallel()
	past := []Sample{{Size: 100, Sessions: 1, Seconds: 100, Achieved: true}, {Size: 1, Sessions: 1, Seconds: 200, Achieved: true}}
	if g := Cold(Work{Parts: []Part{{Tasks: 1}}}, past, Limits{}); g.Seconds.Likely != 2*150 {
		t.Errorf("%+v, want two sessions of 150 s", g.Seconds)
	}
}

func TestColdWithinLimits(t *testing.T) {
	t.Parallel()
	g := Cold(Work{Parts: []Part{{Tasks: 10}}}, nil, Limits{Sessions: 12, Seconds: 1e6, Tokens: 100_000, CostUSD: 5})
	if diff := cmp.Diff([]string{Sessions, Tokens, Cost}, g.Exceeds); diff != "" || g.Sessions.High != 12 || g.CostUSD.Likely != 5 {
		t.Errorf("%+v (-want +got):\n%s", g, diff)
	}
	if !strings.HasSuffix(g.Text(), "; cut to the limit of sessions, tokens, cost") {
		t.Errorf("%s", g.Text())
	}
}

func TestPriceOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, family string
		known         bool
	}{
		{"opus", "opus", true},
		{"claude-opus-4-8[1m]", "opus", true},
		{"claude-opus-5-5", "opus-5-5", true},
		{"Claude Opus 4.1", "opus", true}, // not the name of a model, but of a family
		{"claude-opus-4.1", "opus-4-1", true},
		{"claude-opus-4-20250514", "opus-4-2025", true},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "sonnet", true},
		{"claude-sonnet-5", "sonnet-5", true},
		{"claude-haiku-4-5", "haiku", true},
		{"", "opus", false},
		{"gpt-9", "opus", false},
	} {
		if p, known := priceOf(c.model); p.Family != c.family || known != c.known {
			t.Errorf("%q has the price of %s, known %t, want %s, %t", c.model, p.Family, known, c.family, c.known)
		}
	}
	seen := ""
	for _, p := range Prices() {
		for _, earlier := range strings.Fields(seen) {
			if strings.Contains(p.Family, earlier) {
				t.Errorf("%s stands behind %s and is never found", p.Family, earlier)
			}
		}
		seen += " " + p.Family
		if !(p.CacheRead > 0 && p.CacheRead < p.Input && p.Input < p.CacheWrite && p.CacheWrite < p.Output) {
			t.Errorf("%+v: reads of the cache are the cheapest, then input, then writes, then output", p)
		}
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	at := func(likely, truth float64) Judged { return Judged{Truth: truth, Range: span3(likely, likely, likely)} }
	for _, c := range []struct {
		j      Judged
		factor float64
		words  string
	}{
		{at(10, 24), 2.4, "2.4 times as much as expected"},
		{at(10, 10), 1, "as expected"},
		{at(100, 105), 1.05, "as expected"},
		{at(100, 95), 0.95, "as expected"},
		{at(100, 106), 1.06, "1.1 times as much as expected"},
		{at(10, 5), 0.5, "0.5 times as much as expected"},
		{at(100, 3), 0.03, "less than a tenth of what was expected"},
		{at(1, 1234), 1234, "1k times as much as expected"},
		{at(0, 5), 0, ""},
		{at(5, 0), 0, ""},
		{at(math.NaN(), 5), 0, ""},
		{at(5, math.Inf(1)), 0, ""},
		{at(1e-300, 1e300), 0, ""},
	} {
		if got, words := c.j.Factor(), c.j.Off(); math.Abs(got-c.factor) > 1e-9 || words != c.words {
			t.Errorf("%+v: %g, %q, want %g, %q", c.j, got, words, c.factor, c.words)
		}
	}
	truth := Truth{Sessions: 9, Seconds: 300, Tokens: 1, CostUSD: 0.3}
	if got := Compare(ledger.Forecast{Sessions: span3(2, 3, 5)}, truth); got.Sessions.Factor() != 3 || got.Sessions.Verdict != Above || got.Tokens.Off() != "" {
		t.Errorf("%+v", got)
	}
}

func TestAnyGuess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w Work
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			w.Parts = append(w.Parts, Part{
				Tasks: rapid.Int().Draw(t, "tasks"), Whole: rapid.Bool().Draw(t, "whole"), Complexity: rapid.SampledFrom([]Complexity{Simple, Normal, Complex, ""}).Draw(t, "complexity"),
			})
		}
		w.Model = rapid.SampledFrom([]string{"", "opus", "haiku", "x"}).Draw(t, "model")
		past := rapid.SliceOfN(rapid.Custom(anySample), 0, 6).Draw(t, "past")
		limits := anyLimits(t)
		g := Cold(w, past, limits)
		for name, r := range ranges(g.Forecast) {
			if !(0 < r.Low && r.Low <= r.Likely && r.Likely <= r.High && r.High < 1e15) {
				t.Fatalf("%s %+v", name, r)
			}
		}
		if _, err := json.Marshal(g); err != nil {
			t.Fatal(err)
		}
	})
}
