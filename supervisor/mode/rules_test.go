package mode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRulesForEveryMode takes one rule at a time and says what it makes of each of the six modes.
func TestRulesForEveryMode(t *testing.T) {
	t.Parallel()
	const wide = "massive refactor"
	heavy := Signals{TopPriorities: make([]int64, 8), TaskDescriptionText: wide} // pressure 0.75
	of := func(housekeeping, feature, deep, discovery, evolve, retro float64) map[Mode]float64 {
		return map[Mode]float64{Housekeeping: housekeeping, Feature: feature, Deep: deep, Discovery: discovery, Evolve: evolve, PlanRetro: retro}
	}
	tests := []struct {
		name    string
		signals Signals
		want    map[Mode]float64
	}{
		{"nothing", Signals{}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"a trend with a high rate", Signals{RecentSessions: times(3, rated(Discovery, 0.9))}, of(0.4, 0.4, 0.4, 0.65, 0.4, 0.4)},
		{"a trend with a low rate", Signals{RecentSessions: times(3, rated(Discovery, 0.89))}, of(0.5, 0.5, 0.5, 0.57, 0.5, 0.5)},
		{"a trend of an unknown type", Signals{RecentSessions: times(3, rated("other", 1))}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"a trend of no type", Signals{RecentSessions: times(3, rated("", 1))}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"a rate above 1", Signals{RecentSessions: append(times(2, rated(Deep, 0.5)), rated(Deep, 1.7))}, of(0.4, 0.4, 0.65, 0.4, 0.4, 0.4)},
		{"tier fast", Signals{BootstrapLock: tier("fast")}, of(0.6, 0.4, 0.4, 0.4, 0.4, 0.4)},
		{"tier standard", Signals{BootstrapLock: tier("standard")}, of(0.4, 0.6, 0.4, 0.4, 0.4, 0.4)},
		{"tier deep", Signals{BootstrapLock: tier("deep")}, of(0.4, 0.4, 0.6, 0.4, 0.4, 0.4)},
		{"a tier in capitals is none", Signals{BootstrapLock: tier("Deep")}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"one learning", Signals{Learnings: []Learning{hint("PLAN-RETRO after deepening")}}, of(0.5, 0.5, 0.55, 0.5, 0.5, 0.55)},
		{"three learnings", Signals{Learnings: times(3, hint("evolve"))}, of(0.5, 0.5, 0.5, 0.5, 0.6, 0.5)},
		{"carryover of a fifth", Signals{CarryoverRatio: num(0.2)}, of(0.4, 0.4, 0.5, 0.4, 0.4, 0.4)},
		{"carryover below it", Signals{CarryoverRatio: num(0.1999)}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"low pressure", Signals{TopPriorities: []int64{}}, of(0.5, 0.55, 0.5, 0.5, 0.5, 0.5)},
		{"medium pressure", Signals{TopPriorities: make([]int64, 6)}, of(0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
		{"high pressure", heavy, of(0.4, 0.35, 0.5, 0.5, 0.5, 0.5)},
		{
			"every penalty at once",
			Signals{
				RecentSessions: times(3, rated(Evolve, 1)), BootstrapLock: tier("deep"), CarryoverRatio: num(0.2),
				TopPriorities: heavy.TopPriorities, TaskDescriptionText: wide,
			},
			of(0.1, 0.05, 0.5, 0.2, 0.45, 0.2),
		},
		{
			"every bonus at once",
			Signals{
				RecentSessions: times(3, rated(Feature, 1)), BootstrapLock: tier("standard"), Learnings: times(2, hint("feature")),
				TopPriorities: []int64{1},
			},
			of(0.3, 0.9, 0.3, 0.3, 0.3, 0.3),
		},
	}
	for _, tt := range tests {
		f := gather(&tt.signals)
		got := map[Mode]float64{}
		for _, m := range modes() {
			got[m] = f.scoreOf(m).confidence()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestConfidenceStaysInRange goes beyond what the rules can add up to today.
func TestConfidenceStaysInRange(t *testing.T) {
	t.Parallel()
	if got := (score{trend: 0.15, tier: 0.2, learnings: 0.2}).confidence(); got != 0.9 {
		t.Errorf("got %v, want 0.9 at most", got)
	}
	if got := (score{otherTrend: 0.4, carryover: 0.4}).confidence(); got != 0 {
		t.Errorf("got %v, want 0 at least", got)
	}
}

func TestRanked(t *testing.T) {
	t.Parallel()
	in := []Alternative{{Housekeeping, 0.09}, {Feature, 0.1}, {Deep, 0.4}, {Discovery, 0.4}, {Evolve, 0.05}}
	want := []Alternative{{Deep, 0.4}, {Discovery, 0.4}, {Feature, 0.1}}
	if diff := cmp.Diff(want, ranked(in)); diff != "" {
		t.Errorf("alternatives (-want +got):\n%s", diff)
	}
}

// TestDemotedModeIsRankedAgain puts the old primary among the alternatives by its confidence, not in front.
func TestDemotedModeIsRankedAgain(t *testing.T) {
	t.Parallel()
	got := Select(&Signals{RecommendedMode: Feature, BootstrapLock: tier("deep"), Learnings: times(2, hint("evolve"))})
	want := []Alternative{{Evolve, 0.5}, {Feature, 0.4}, {Housekeeping, 0.4}}
	if got.Mode != Deep || got.Confidence != 0.6 {
		t.Errorf("got %s %v, want deep 0.6", got.Mode, got.Confidence)
	}
	if diff := cmp.Diff(want, got.Alternatives); diff != "" {
		t.Errorf("alternatives (-want +got):\n%s", diff)
	}
}
