package killswitch

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func limits() Limits {
	return Limits{MaxSessions: 5, MaxHours: 4, MaxTokens: 1000, MaxCostUSD: 10, PeerAbort: 6, CarryoverThreshold: 0.5, ConfidenceThreshold: 0.85}
}

// names are the ten reasons as other programs read them.
func names() []Reason {
	return []Reason{
		"user-abort", "max-sessions-reached", "max-hours-exceeded", "token-budget-exceeded", "resource-overload", "low-confidence-fallback",
		"stall-timeout", "spiral", "failed-wave", "carryover-too-high",
	}
}

func TestAllAreTheTenNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(names(), All()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// TestNoReasonBesideAll reads the source, so that a constant that is added
// without being listed is found.
func TestNoReasonBesideAll(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "killswitch.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := map[Reason]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Reason" {
			for _, x := range v.Values {
				text, err := strconv.Unquote(x.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				got[Reason(text)] = true
			}
		}
		return true
	})
	want := map[Reason]bool{}
	for _, r := range names() {
		want[r] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constants of type Reason (-want +got):\n%s", diff)
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	seen := map[string]Reason{}
	for _, r := range All() {
		h := r.Hint()
		if !strings.HasSuffix(h, ".") {
			t.Errorf("hint of %s is %q, want a sentence", r, h)
		}
		if other, dup := seen[h]; dup {
			t.Errorf("%s and %s have the same hint", r, other)
		}
		seen[h] = r
	}
	if got := Reason("other").Hint(); got != "" {
		t.Errorf("hint of an unknown reason is %q, want none", got)
	}
}

func TestGraceful(t *testing.T) {
	t.Parallel()
	var got []Reason
	for _, r := range All() {
		if r.Graceful() {
			got = append(got, r)
		}
	}
	if diff := cmp.Diff([]Reason{MaxSessionsReached, MaxHoursExceeded}, got); diff != "" {
		t.Errorf("graceful reasons (-want +got):\n%s", diff)
	}
}

func TestHitAsJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Hit{Reason: Spiral, Detail: "x"})
	if want := `{"reason":"spiral","detail":"x"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestCheckBefore(t *testing.T) {
	t.Parallel()
	without := func(change func(*Limits)) Limits { l := limits(); change(&l); return l }
	tests := []struct {
		name string
		l    Limits
		f    Before
		want *Hit
	}{
		{"nothing known", limits(), Before{}, nil},
		{"no limits at all stop nothing but sessions and hours", Limits{MaxSessions: 1, MaxHours: 1}, Before{Spent: Spend{1 << 60, 1e9}, Mean: &Spend{1 << 60, 1e9}}, nil},

		{"abort", limits(), Before{Abort: "stop requested"}, &Hit{UserAbort, "stop requested"}},
		{"words of an abort are not a format", limits(), Before{Abort: "100%d"}, &Hit{UserAbort, "100%d"}},

		{"sessions below", limits(), Before{Completed: 4}, nil},
		{"sessions reached", limits(), Before{Completed: 5}, &Hit{MaxSessionsReached, "iterations_completed=5 >= max-sessions=5"}},
		{"sessions passed", limits(), Before{Completed: 6}, &Hit{MaxSessionsReached, "iterations_completed=6 >= max-sessions=5"}},

		{"hours below", limits(), Before{Elapsed: 4*time.Hour - 1}, nil},
		{"hours reached", limits(), Before{Elapsed: 4 * time.Hour}, &Hit{MaxHoursExceeded, "elapsed=4.00h >= max-hours=4.00h"}},
		{"hours passed", limits(), Before{Elapsed: 4*time.Hour + 90*time.Second}, &Hit{MaxHoursExceeded, "elapsed=4.03h >= max-hours=4.00h"}},
		{"half an hour", without(func(l *Limits) { l.MaxHours = 0.5 }), Before{Elapsed: 30 * time.Minute}, &Hit{MaxHoursExceeded, "elapsed=0.50h >= max-hours=0.50h"}},
		{"clock set back", limits(), Before{Elapsed: -time.Hour}, nil},

		{"tokens below", limits(), Before{Spent: Spend{Tokens: 999}}, nil},
		{"tokens reached", limits(), Before{Spent: Spend{Tokens: 1000}}, &Hit{TokenBudgetExceeded, "cumulative_tokens=1000 >= max-tokens=1000"}},
		{"tokens passed", limits(), Before{Spent: Spend{Tokens: 1001}}, &Hit{TokenBudgetExceeded, "cumulative_tokens=1001 >= max-tokens=1000"}},
		{"tokens off", without(func(l *Limits) { l.MaxTokens = 0 }), Before{Spent: Spend{Tokens: 1001}, Mean: &Spend{Tokens: 500}}, nil},
		{"tokens left are the mean", limits(), Before{Spent: Spend{Tokens: 600}, Mean: &Spend{Tokens: 400}}, nil},
		{
			"tokens left are less than the mean", limits(),
			Before{Spent: Spend{Tokens: 601}, Mean: &Spend{Tokens: 400}},
			&Hit{TokenBudgetExceeded, "tokens left=399 < mean of the last sessions=400 (max-tokens=1000)"},
		},
		{"tokens before the first session", limits(), Before{Spent: Spend{Tokens: 999}}, nil},

		{"cost below", limits(), Before{Spent: Spend{CostUSD: 9.9999}}, nil},
		{"cost reached", limits(), Before{Spent: Spend{CostUSD: 10}}, &Hit{TokenBudgetExceeded, "cumulative_cost_usd=10.0000 >= max-cost-usd=10.0000"}},
		{"cost passed", limits(), Before{Spent: Spend{CostUSD: 10.25}}, &Hit{TokenBudgetExceeded, "cumulative_cost_usd=10.2500 >= max-cost-usd=10.0000"}},
		{"cost off", without(func(l *Limits) { l.MaxCostUSD = 0 }), Before{Spent: Spend{CostUSD: 11}, Mean: &Spend{CostUSD: 5}}, nil},
		{"cost left is the mean", limits(), Before{Spent: Spend{CostUSD: 7.5}, Mean: &Spend{CostUSD: 2.5}}, nil},
		{
			"cost left is less than the mean", limits(),
			Before{Spent: Spend{CostUSD: 7.75}, Mean: &Spend{CostUSD: 2.5}},
			&Hit{TokenBudgetExceeded, "cost left=2.2500 < mean of the last sessions=2.5000 (max-cost-usd=10.0000)"},
		},

		{"peers at the threshold", limits(), Before{Verdict: "critical", Peers: new(6)}, nil},
		{"peers above it", limits(), Before{Verdict: "critical", Peers: new(7)}, &Hit{ResourceOverload, "verdict=critical peers=7 > threshold=6"}},
		{"peers not counted", limits(), Before{Verdict: "critical"}, nil},
		{"no verdict", limits(), Before{Peers: new(100)}, nil},
		{"a milder verdict", limits(), Before{Verdict: "degraded", Peers: new(100)}, nil},
		{"the verdict is that word alone", limits(), Before{Verdict: "Critical", Peers: new(100)}, nil},
		{"one peer is too many", without(func(l *Limits) { l.PeerAbort = 0 }), Before{Verdict: "critical", Peers: new(1)}, &Hit{ResourceOverload, "verdict=critical peers=1 > threshold=0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, CheckBefore(tt.l, tt.f)); diff != "" {
				t.Errorf("hit (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOrderBefore lets every two checks hold at once: the earlier one is told.
func TestOrderBefore(t *testing.T) {
	t.Parallel()
	mean := func(f *Before) *Spend {
		if f.Mean == nil {
			f.Mean = &Spend{}
		}
		return f.Mean
	}
	checks := []struct {
		want  Reason
		apply func(*Before)
	}{
		{UserAbort, func(f *Before) { f.Abort = "asked" }},
		{MaxSessionsReached, func(f *Before) { f.Completed = 5 }},
		{MaxHoursExceeded, func(f *Before) { f.Elapsed = 4 * time.Hour }},
		{TokenBudgetExceeded, func(f *Before) { f.Spent.Tokens = 1000 }},
		{TokenBudgetExceeded, func(f *Before) { f.Spent.Tokens, mean(f).Tokens = 900, 101 }},
		{TokenBudgetExceeded, func(f *Before) { f.Spent.CostUSD = 10 }},
		{TokenBudgetExceeded, func(f *Before) { f.Spent.CostUSD, mean(f).CostUSD = 9, 1.5 }},
		{ResourceOverload, func(f *Before) { f.Verdict, f.Peers = "critical", new(7) }},
	}
	for i, first := range checks {
		var alone Before
		first.apply(&alone)
		want := CheckBefore(limits(), alone)
		if want == nil || want.Reason != first.want {
			t.Fatalf("check %d alone: got %v, want %s", i, want, first.want)
		}
		for j := i + 1; j < len(checks); j++ {
			var both Before
			checks[j].apply(&both)
			first.apply(&both)
			if diff := cmp.Diff(want, CheckBefore(limits(), both)); diff != "" {
				t.Errorf("checks %d and %d hold (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

func TestCheckConfidence(t *testing.T) {
	t.Parallel()
	const below = "low-confidence-fallback"
	tests := []struct {
		name                  string
		threshold, confidence float64
		mode                  string
		want                  *Hit
	}{
		{"equal passes", 0.85, 0.85, "feature", nil},
		{"above", 0.85, 0.9, "feature", nil},
		{"below", 0.85, 0.7, "feature", &Hit{below, "confidence=0.7 < threshold=0.85 (mode=feature)"}},
		{"just below never prints as equal", 0.85, math.Nextafter(0.85, 0), "deep", &Hit{below, "confidence=0.8499999999999999 < threshold=0.85 (mode=deep)"}},
		{"below by a hundred-thousandth", 0.85, 0.84999, "deep", &Hit{below, "confidence=0.84999 < threshold=0.85 (mode=deep)"}},
		{"a threshold with more decimals", 0.85001, 0.85, "deep", &Hit{below, "confidence=0.85 < threshold=0.85001 (mode=deep)"}},
		{"not a number", 0.85, math.NaN(), "feature", &Hit{below, "confidence=NaN < threshold=0.85 (mode=feature)"}},
		{"not a number at threshold 0", 0, math.NaN(), "feature", &Hit{below, "confidence=NaN < threshold=0 (mode=feature)"}},
		{"no opinion at threshold 0", 0, 0, "feature", nil},
		{"no mode", 0.85, 0.9, "", &Hit{below, "no mode was recommended"}},
		{"no mode at threshold 0", 0, 1, "", &Hit{below, "no mode was recommended"}},
		{"certain at threshold 1", 1, 1, "goal", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := CheckConfidence(Limits{ConfidenceThreshold: tt.threshold}, tt.mode, tt.confidence)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckAfter(t *testing.T) {
	t.Parallel()
	carry := func(c, p int) After { return After{Carryover: new(c), Planned: new(p)} }
	tests := []struct {
		name string
		f    After
		want *Hit
	}{
		{"nothing known", After{}, nil},
		{"all is well", After{Spiral: new(0), Failed: new(0), Carryover: new(0), Planned: new(4)}, nil},
		{"stalled", After{Stalled: "nothing for 10m0s"}, &Hit{StallTimeout, "nothing for 10m0s"}},
		{"words of a stall are not a format", After{Stalled: "%s"}, &Hit{StallTimeout, "%s"}},
		{"spiral", After{Spiral: new(1)}, &Hit{Spiral, "agent_summary.spiral=1"}},
		{"spiral below zero", After{Spiral: new(-1)}, nil},
		{"failed", After{Failed: new(2)}, &Hit{FailedWave, "agent_summary.failed=2"}},
		{"failed below zero", After{Failed: new(-1)}, nil},
		{"broken", After{Broken: "crashed: exit status 3"}, &Hit{FailedWave, "crashed: exit status 3"}},
		{"exactly half", carry(1, 2), nil},
		{"half of many", carry(200, 400), nil},
		{"a little more than half", carry(201, 400), &Hit{CarryoverTooHigh, "carryover/planned=0.5025 > threshold=0.5 (carryover=201, planned=400)"}},
		{"hardly more than half", carry(50001, 100000), &Hit{CarryoverTooHigh, "carryover/planned=0.50001 > threshold=0.5 (carryover=50001, planned=100000)"}},
		{"a third repeats", carry(2, 3), &Hit{CarryoverTooHigh, "carryover/planned=0.6667 > threshold=0.5 (carryover=2, planned=3)"}},
		{"all of it", carry(3, 3), &Hit{CarryoverTooHigh, "carryover/planned=1 > threshold=0.5 (carryover=3, planned=3)"}},
		{"more than all of it", carry(6, 3), &Hit{CarryoverTooHigh, "carryover/planned=2 > threshold=0.5 (carryover=6, planned=3)"}},
		{"nothing planned", carry(3, 0), nil},
		{"less than nothing planned", carry(-3, -1), nil},
		{"no carryover", After{Planned: new(3)}, nil},
		{"no plan", After{Carryover: new(3)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, CheckAfter(limits(), tt.f)); diff != "" {
				t.Errorf("hit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrderAfter(t *testing.T) {
	t.Parallel()
	checks := []struct {
		want  Reason
		apply func(*After)
	}{
		{StallTimeout, func(f *After) { f.Stalled = "silent" }},
		{Spiral, func(f *After) { f.Spiral = new(1) }},
		{FailedWave, func(f *After) { f.Broken = "crashed" }},
		{FailedWave, func(f *After) { f.Failed = new(1) }},
		{CarryoverTooHigh, func(f *After) { f.Carryover, f.Planned = new(3), new(4) }},
	}
	for i, first := range checks {
		var alone After
		first.apply(&alone)
		want := CheckAfter(limits(), alone)
		if want == nil || want.Reason != first.want {
			t.Fatalf("check %d alone: got %v, want %s", i, want, first.want)
		}
		for j := i + 1; j < len(checks); j++ {
			var both After
			checks[j].apply(&both)
			first.apply(&both)
			if diff := cmp.Diff(want, CheckAfter(limits(), both)); diff != "" {
				t.Errorf("checks %d and %d hold (-want +got):\n%s", i, j, diff)
			}
		}
	}
}

// TestAbsentFactsNeverStop takes any limits: without a fact no check may hold.
func TestAbsentFactsNeverStop(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{
			MaxSessions: rapid.IntRange(1, 50).Draw(t, "sessions"), MaxHours: rapid.Float64Range(0.5, 24).Draw(t, "hours"),
			MaxTokens: rapid.Int64Range(0, 1<<40).Draw(t, "tokens"), MaxCostUSD: rapid.Float64Range(0, 1e6).Draw(t, "cost"),
			PeerAbort: rapid.IntRange(0, 1000).Draw(t, "peers"), CarryoverThreshold: rapid.Float64Range(0, 1).Draw(t, "carryover"),
		}
		if h := CheckBefore(l, Before{Verdict: rapid.SampledFrom([]string{"", "green", "critical"}).Draw(t, "verdict")}); h != nil {
			t.Errorf("before: got %v, want none", h)
		}
		if h := CheckAfter(l, After{}); h != nil {
			t.Errorf("after: got %v, want none", h)
		}
	})
}

// TestRatiosNeverPrintAsEqual holds for every plan that is carried over too far.
func TestRatiosNeverPrintAsEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		planned := rapid.IntRange(1, 1<<20).Draw(t, "planned")
		carried := rapid.IntRange(0, planned).Draw(t, "carried")
		l := Limits{CarryoverThreshold: rapid.Float64Range(0, 1).Draw(t, "threshold")}
		h := CheckAfter(l, After{Carryover: &carried, Planned: &planned})
		if over := float64(carried)/float64(planned) > l.CarryoverThreshold; over != (h != nil) {
			t.Fatalf("got %v for %d of %d at %v", h, carried, planned, l.CarryoverThreshold)
		}
		if h == nil {
			return
		}
		left, right, _ := strings.Cut(strings.TrimPrefix(h.Detail, "carryover/planned="), " > threshold=")
		right, _, _ = strings.Cut(right, " ")
		if left == right {
			t.Fatalf("%q compares a value with itself", h.Detail)
		}
	})
}
