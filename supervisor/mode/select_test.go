package mode

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func num(v float64) *float64 { return &v }

// rated is a session that says its completion rate at the top level.
func rated(m Mode, rate float64) Session { return Session{Type: m, CompletionRate: num(rate)} }

// nested is a session that says its completion rate only inside effectiveness, with nothing carried over.
func nested(m Mode, rate float64) Session {
	return Session{Type: m, Effectiveness: &Effectiveness{CompletionRate: num(rate)}}
}

// carried is a session with planned issues of which some were carried over.
func carried(carryover, planned float64) Session {
	return Session{Type: Evolve, Effectiveness: &Effectiveness{Carryover: num(carryover), PlannedIssues: num(planned)}}
}

func times[T any](n int, v T) []T {
	var out []T
	for range n {
		out = append(out, v)
	}
	return out
}

func tier(t string) map[string]string { return map[string]string{"tier": t} }

func hint(subject string) Learning {
	return Learning{Type: "effective-sizing", Subject: subject, Confidence: 0.8}
}

func TestSelectDecides(t *testing.T) {
	t.Parallel()
	wide := "every agent changes" // pressure +0.25
	tests := []struct {
		name    string
		signals *Signals
		mode    Mode
		conf    float64
		level   Pressure
	}{
		{"nil", nil, Feature, 0, PressureLow},
		{"empty", &Signals{}, Feature, 0, PressureLow},
		{"unknown mode", &Signals{RecommendedMode: "banana"}, Feature, 0, PressureLow},
		{"case matters", &Signals{RecommendedMode: "Deep"}, Feature, 0, PressureLow},
		{"mode alone", &Signals{RecommendedMode: Evolve}, Evolve, 0.5, PressureLow},

		{"low completion goes first", &Signals{CompletionRate: num(0.49), CarryoverRatio: num(0.9), RecommendedMode: Feature}, PlanRetro, 0.80, PressureLow},
		{"completion of one half is enough", &Signals{CompletionRate: num(0.5), RecommendedMode: Evolve}, Evolve, 0.5, PressureLow},
		{"completion 0", &Signals{CompletionRate: num(0)}, PlanRetro, 0.80, PressureLow},
		{"high carryover", &Signals{CarryoverRatio: num(0.3), RecommendedMode: Feature}, Deep, 0.75, PressureLow},
		{"carryover just below", &Signals{CarryoverRatio: num(0.29), RecommendedMode: Evolve}, Evolve, 0.4, PressureLow},
		{"not a number is absent", &Signals{CompletionRate: num(math.NaN()), CarryoverRatio: num(math.Inf(1))}, Feature, 0, PressureLow},
		{"pressure beside a fixed answer", &Signals{CompletionRate: num(0.1), TopPriorities: make([]int64, 8), TaskDescriptionText: wide}, PlanRetro, 0.80, PressureHigh},
		{"pressure beside no answer", &Signals{TopPriorities: make([]int64, 6)}, Feature, 0, PressureMedium},

		{"trend without rates", &Signals{RecommendedMode: Deep, RecentSessions: times(3, Session{Type: Deep})}, Deep, 0.57, PressureLow},
		{"trend with rates", &Signals{RecommendedMode: Deep, RecentSessions: times(3, rated(Deep, 0.9))}, Deep, 0.65, PressureLow},
		{"trend with nested rates", &Signals{RecommendedMode: Deep, RecentSessions: times(3, nested(Deep, 0.9))}, Deep, 0.65, PressureLow},
		{"mean rate just below", &Signals{RecommendedMode: Deep, RecentSessions: times(3, rated(Deep, 0.89))}, Deep, 0.57, PressureLow},
		{"an absent rate counts as 0", &Signals{RecommendedMode: Deep, RecentSessions: append(times(2, rated(Deep, 1)), Session{Type: Deep})}, Deep, 0.57, PressureLow},
		{"two sessions are no trend", &Signals{RecommendedMode: Deep, RecentSessions: times(2, rated(Deep, 1))}, Deep, 0.5, PressureLow},
		{"only the last three count", &Signals{RecommendedMode: Deep, RecentSessions: append([]Session{{Type: Feature}}, times(3, rated(Deep, 1))...)}, Deep, 0.65, PressureLow},
		{"a break in the trend", &Signals{RecommendedMode: Deep, RecentSessions: []Session{{Type: Deep}, {Type: Deep}, {Type: Feature}}}, Deep, 0.5, PressureLow},
		{"an empty record breaks the trend", &Signals{RecommendedMode: Deep, RecentSessions: []Session{{Type: Deep}, {}, {Type: Deep}}}, Deep, 0.5, PressureLow},

		{"trend against loses to the trend", &Signals{RecommendedMode: Evolve, RecentSessions: times(3, rated(Deep, 1))}, Deep, 0.65, PressureLow},
		{"weak trend against costs nothing but wins", &Signals{RecommendedMode: Evolve, RecentSessions: times(3, rated(Deep, 0.5))}, Deep, 0.57, PressureLow},
		{"trend towards an unknown type", &Signals{RecommendedMode: Deep, RecentSessions: times(3, rated("odd", 1))}, Deep, 0.5, PressureLow},
		{"trend against with support for both", &Signals{RecommendedMode: Evolve, RecentSessions: times(3, rated(PlanRetro, 1)), Learnings: times(2, hint("evolve"))}, Evolve, 0.5, PressureLow},

		{"tier fast", &Signals{RecommendedMode: Housekeeping, BootstrapLock: tier("fast")}, Housekeeping, 0.6, PressureLow},
		{"tier standard", &Signals{RecommendedMode: Feature, BootstrapLock: tier("standard")}, Feature, 0.6, PressureLow},
		{"tier deep", &Signals{RecommendedMode: Deep, BootstrapLock: tier("deep")}, Deep, 0.6, PressureLow},
		{"tier conflict loses to the tier", &Signals{RecommendedMode: Feature, BootstrapLock: tier("deep")}, Deep, 0.6, PressureLow},
		{"unknown tier", &Signals{RecommendedMode: Feature, BootstrapLock: tier("huge")}, Feature, 0.5, PressureLow},

		{"one learning", &Signals{RecommendedMode: Deep, Learnings: []Learning{hint("DEEP sessions of 18")}}, Deep, 0.55, PressureLow},
		{"two learnings", &Signals{RecommendedMode: Deep, Learnings: times(2, hint("deep"))}, Deep, 0.6, PressureLow},
		{"learnings are capped", &Signals{RecommendedMode: Deep, Learnings: times(9, hint("deep"))}, Deep, 0.6, PressureLow},
		{"the other type of learning", &Signals{RecommendedMode: Deep, Learnings: []Learning{{Type: "scope-guidance", Subject: "deep"}}}, Deep, 0.55, PressureLow},
		{"a type that gives no hint", &Signals{RecommendedMode: Deep, Learnings: []Learning{{Type: "anti-pattern", Subject: "deep"}}}, Deep, 0.5, PressureLow},

		{"carryover of a fifth", &Signals{RecommendedMode: Evolve, CarryoverRatio: num(0.2)}, Evolve, 0.4, PressureLow},
		{"carryover below a fifth", &Signals{RecommendedMode: Evolve, CarryoverRatio: num(0.19)}, Evolve, 0.5, PressureLow},
		{"carryover does not hurt deep", &Signals{RecommendedMode: Deep, CarryoverRatio: num(0.2)}, Deep, 0.5, PressureLow},

		{"feature at ease", &Signals{RecommendedMode: Feature, TopPriorities: []int64{}}, Feature, 0.55, PressureLow},
		{"feature with nothing known", &Signals{RecommendedMode: Feature}, Feature, 0.5, PressureLow},
		{"text is an input", &Signals{RecommendedMode: Feature, TaskDescriptionText: "fix it"}, Feature, 0.55, PressureLow},
		{"effectiveness is an input", &Signals{RecommendedMode: Feature, RecentSessions: []Session{{Effectiveness: &Effectiveness{}}}}, Feature, 0.55, PressureLow},
		{"feature under medium pressure", &Signals{RecommendedMode: Feature, TopPriorities: make([]int64, 6)}, Feature, 0.5, PressureMedium},
		{"feature under high pressure", &Signals{RecommendedMode: Feature, TopPriorities: make([]int64, 8), TaskDescriptionText: wide}, Feature, 0.35, PressureHigh},
		{"housekeeping under high pressure", &Signals{RecommendedMode: Housekeeping, TopPriorities: make([]int64, 8), TaskDescriptionText: wide}, Housekeeping, 0.4, PressureHigh},
		{"deep under high pressure", &Signals{RecommendedMode: Deep, TopPriorities: make([]int64, 8), TaskDescriptionText: wide}, Deep, 0.5, PressureHigh},
		{"all penalties", &Signals{RecommendedMode: Feature, CarryoverRatio: num(0.2), TopPriorities: make([]int64, 8), TaskDescriptionText: wide}, Feature, 0.25, PressureHigh},

		{"0.825 rounds up", &Signals{RecommendedMode: Feature, RecentSessions: times(3, Session{Type: Feature}), BootstrapLock: tier("standard"), Learnings: times(2, hint("feature")), TopPriorities: []int64{}}, Feature, 0.83, PressureLow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Select(tt.signals)
			if got.Mode != tt.mode || got.Confidence != tt.conf || got.ContextPressure != tt.level {
				t.Errorf("got %s %v %s, want %s %v %s", got.Mode, got.Confidence, got.ContextPressure, tt.mode, tt.conf, tt.level)
			}
		})
	}
}

// TestReachableConfidence tries every combination of what can speak for a mode and takes the best.
func TestReachableConfidence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		session func(Mode) Session
		want    map[Mode]float64
	}{
		{
			"rates at the top level", func(m Mode) Session { return rated(m, 0.9) },
			map[Mode]float64{Feature: 0.90, Deep: 0.85, Housekeeping: 0.85, Discovery: 0.75, Evolve: 0.75, PlanRetro: 0.75},
		},
		{
			"rates inside effectiveness", func(m Mode) Session { return nested(m, 0.9) },
			map[Mode]float64{Feature: 0.90, Deep: 0.85, Housekeeping: 0.85, Discovery: 0.75, Evolve: 0.75, PlanRetro: 0.75},
		},
		{
			"no rates", func(m Mode) Session { return Session{Type: m} },
			map[Mode]float64{Feature: 0.83, Deep: 0.78, Housekeeping: 0.78, Discovery: 0.68, Evolve: 0.68, PlanRetro: 0.68},
		},
	}
	for _, tt := range tests {
		got := map[Mode]float64{}
		for _, m := range modes() {
			for _, name := range []string{"", "fast", "standard", "deep"} {
				for hints := range 4 {
					for sessions := range 5 {
						for _, priorities := range [][]int64{nil, {}, make([]int64, 8)} {
							s := &Signals{
								RecommendedMode: m, BootstrapLock: tier(name), Learnings: times(hints, hint(string(m))),
								RecentSessions: times(sessions, tt.session(m)), TopPriorities: priorities,
							}
							if rec := Select(s); rec.Mode == m {
								got[m] = max(got[m], rec.Confidence)
							}
						}
					}
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: best confidence (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	preparing := times(2, hint("discovery, plan-retro"))
	tests := []struct {
		name    string
		signals *Signals
		mode    Mode
		want    []Alternative
	}{
		{"none without sessions, learnings and lock", &Signals{RecommendedMode: Deep, TopPriorities: []int64{1}}, Deep, []Alternative{}},
		{
			"an empty lock is a lock", &Signals{RecommendedMode: Deep, BootstrapLock: map[string]string{}}, Deep,
			[]Alternative{{Housekeeping, 0.5}, {Feature, 0.5}, {Discovery, 0.5}},
		},
		{
			"equal ones keep the order of the modes", &Signals{RecommendedMode: Housekeeping, Learnings: []Learning{{}}}, Housekeeping,
			[]Alternative{{Feature, 0.5}, {Deep, 0.5}, {Discovery, 0.5}},
		},
		{"low completion", &Signals{CompletionRate: num(0.2)}, PlanRetro, []Alternative{{Feature, 0.3}, {Discovery, 0.25}}},
		{"high carryover", &Signals{CarryoverRatio: num(0.5)}, Deep, []Alternative{{Feature, 0.3}, {PlanRetro, 0.2}}},
		{
			"a better one takes the place", &Signals{RecommendedMode: Feature, BootstrapLock: tier("deep")}, Deep,
			[]Alternative{{Feature, 0.4}, {Housekeeping, 0.4}, {Discovery, 0.4}},
		},
		{
			"an equal one does not", &Signals{RecommendedMode: Evolve, RecentSessions: times(3, Session{Type: Evolve}), BootstrapLock: tier("bad"), Learnings: nil}, Evolve,
			[]Alternative{{Housekeeping, 0.5}, {Feature, 0.5}, {Deep, 0.5}},
		},
		{
			"preparing modes are never promoted", &Signals{RecommendedMode: Deep, Learnings: preparing}, Deep,
			[]Alternative{{Discovery, 0.6}, {PlanRetro, 0.6}, {Housekeeping, 0.5}},
		},
		{
			"the best promotable is behind them", &Signals{RecommendedMode: Feature, Learnings: preparing, CarryoverRatio: num(0.25)}, Deep,
			[]Alternative{{Discovery, 0.5}, {PlanRetro, 0.5}, {Feature, 0.4}},
		},
		{
			"only the best three are looked at", &Signals{RecommendedMode: Housekeeping, Learnings: append(times(2, hint("discovery, evolve, plan-retro")), hint("evolve"), hint("deep"))}, Evolve,
			[]Alternative{{Discovery, 0.6}, {PlanRetro, 0.6}, {Housekeeping, 0.5}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Select(tt.signals)
			if got.Mode != tt.mode {
				t.Errorf("mode: got %s, want %s", got.Mode, tt.mode)
			}
			if diff := cmp.Diff(tt.want, got.Alternatives); diff != "" {
				t.Errorf("alternatives (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPressure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		signals Signals
		score   float64
		level   Pressure
	}{
		{"nothing", Signals{}, 0, PressureLow},
		{"three priorities", Signals{TopPriorities: make([]int64, 3)}, 0, PressureLow},
		{"five priorities", Signals{TopPriorities: make([]int64, 5)}, 0.2, PressureLow},
		{"six priorities", Signals{TopPriorities: make([]int64, 6)}, 0.3, PressureMedium},
		{"many priorities are capped", Signals{TopPriorities: make([]int64, 50)}, 0.5, PressureMedium},
		{"across all", Signals{TaskDescriptionText: "Across ALL files"}, 0.25, PressureLow},
		{"every skill", Signals{TaskDescriptionText: "touch every skill"}, 0.25, PressureLow},
		{"every repository", Signals{TaskDescriptionText: "in every repository"}, 0.25, PressureLow},
		{"repo-wide", Signals{TaskDescriptionText: "a Repo-wide change"}, 0.25, PressureLow},
		{"repowide", Signals{TaskDescriptionText: "repowide"}, 0.25, PressureLow},
		{"cross-cutting", Signals{TaskDescriptionText: "cross-cutting"}, 0.25, PressureLow},
		{"rename across", Signals{TaskDescriptionText: "rename across modules"}, 0.25, PressureLow},
		{"massive refactor", Signals{TaskDescriptionText: "a massive refactoring"}, 0.25, PressureLow},
		{"every test is not a phrase", Signals{TaskDescriptionText: "every test, across most"}, 0, PressureLow},
		{"carryover of 0.3 is free", Signals{RecentSessions: []Session{carried(3, 10)}}, 0, PressureLow},
		{"carryover of 0.5", Signals{RecentSessions: []Session{carried(5, 10)}}, 0.2, PressureLow},
		{"carryover is capped", Signals{RecentSessions: []Session{carried(10, 10)}}, 0.25, PressureLow},
		{"carryover is a mean", Signals{RecentSessions: []Session{carried(10, 10), carried(0, 10)}}, 0.2, PressureLow},
		{"nothing planned does not count", Signals{RecentSessions: []Session{carried(5, 10), carried(0, 0), {Type: Deep}}}, 0.2, PressureLow},
		{"an unknown carryover does not count", Signals{RecentSessions: []Session{carried(5, 10), nested(Deep, 1)}}, 0.2, PressureLow},
		{"the last five count", Signals{RecentSessions: append(times(5, carried(10, 10)), times(5, carried(0, 10))...)}, 0, PressureLow},
		{"just below high", Signals{TopPriorities: make([]int64, 8), RecentSessions: []Session{carried(49, 100)}}, 0.69, PressureMedium},
		{"high", Signals{TopPriorities: make([]int64, 8), RecentSessions: []Session{carried(5, 10)}}, 0.7, PressureHigh},
		{"all of it", Signals{TopPriorities: make([]int64, 8), TaskDescriptionText: "repowide", RecentSessions: []Session{carried(9, 10)}}, 1, PressureHigh},
		{"an overflow does not count", Signals{RecentSessions: []Session{carried(math.MaxFloat64, 0.1), carried(5, 10)}}, 0.2, PressureLow},
	}
	for _, tt := range tests {
		level, score := pressureOf(&tt.signals)
		if level != tt.level || score != tt.score {
			t.Errorf("%s: got %s %v, want %s %v", tt.name, level, score, tt.level, tt.score)
		}
	}
}

func TestRound2(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]float64{0.825: 0.83, 0.775: 0.78, 0.675: 0.68, 0.575: 0.57, 0.115: 0.12, 1.005: 1, 0: 0} {
		if got := round2(in); got != want {
			t.Errorf("round2(%v): got %v, want %v", in, got, want)
		}
	}
}

func TestPartsAndMissing(t *testing.T) {
	t.Parallel()
	type brief struct {
		Name  string
		Value float64
	}
	tests := []struct {
		name    string
		signals *Signals
		parts   []brief
		missing []string
	}{
		{"nil", nil, nil, []string{"recommendedMode", "completionRate", "carryoverRatio", "recentSessions", "bootstrapLock", "learnings", "topPriorities"}},
		{"no mode", &Signals{CompletionRate: num(1)}, nil, []string{"recommendedMode", "carryoverRatio"}},
		{"unknown mode", &Signals{RecommendedMode: "x", CompletionRate: num(1), CarryoverRatio: num(0)}, nil, []string{}},
		{"low completion", &Signals{CompletionRate: num(0.1)}, []brief{{"completion-rate", 0.8}}, []string{}},
		{"high carryover", &Signals{CarryoverRatio: num(0.4)}, []brief{{"carryover", 0.75}}, []string{"completionRate"}},
		{
			"everything for feature",
			&Signals{RecommendedMode: Feature, CompletionRate: num(1), CarryoverRatio: num(0), TopPriorities: []int64{1}, RecentSessions: times(3, nested(Feature, 1)), BootstrapLock: tier("standard"), Learnings: times(2, hint("feature"))},
			[]brief{{"base", 0.5}, {"trend", 0.15}, {"tier", 0.1}, {"learnings", 0.1}, {"carryover", 0}, {"pressure", 0.05}},
			[]string{},
		},
		{
			"rates are missing",
			&Signals{RecommendedMode: Deep, CompletionRate: num(1), CarryoverRatio: num(0.2), RecentSessions: times(3, Session{Type: Deep}), BootstrapLock: tier("what"), Learnings: []Learning{{}}},
			[]brief{{"base", 0.5}, {"trend", 0.075}, {"learnings", 0}, {"carryover", 0}},
			[]string{"recentSessions.completion_rate", "bootstrapLock.tier"},
		},
		{
			"no trend in mixed sessions",
			&Signals{RecommendedMode: Deep, CompletionRate: num(1), CarryoverRatio: num(0.1), RecentSessions: []Session{{Type: Deep}, {Type: Feature}, {Type: Deep}}, BootstrapLock: tier("deep"), Learnings: []Learning{hint("deep")}},
			[]brief{{"base", 0.5}, {"trend", 0}, {"tier", 0.1}, {"learnings", 0.05}, {"carryover", 0}},
			[]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Select(tt.signals)
			if diff := cmp.Diff(tt.missing, got.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			var parts []brief
			for _, p := range got.Parts {
				parts = append(parts, brief{p.Name, p.Value})
				if p.Why == "" {
					t.Errorf("part %s has no reason", p.Name)
				}
			}
			if diff := cmp.Diff(tt.parts, parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPenaltiesAreExplained looks at a mode that keeps its place although everything else speaks against it.
func TestPenaltiesAreExplained(t *testing.T) {
	t.Parallel()
	s := &Signals{
		RecommendedMode: Housekeeping, CarryoverRatio: num(0.2), BootstrapLock: tier("deep"),
		RecentSessions: times(3, rated(PlanRetro, 1)), Learnings: times(2, hint("housekeeping")),
		TopPriorities: make([]int64, 8), TaskDescriptionText: "repowide",
	}
	f := gather(s)
	parts, _ := f.explain(Housekeeping, f.scoreOf(Housekeeping))
	want := []Part{
		{"base", 0.5, "housekeeping is the mode being weighed"},
		{"other-trend", -0.1, `the last 3 sessions were "plan-retro", mean completion rate 1.00`},
		{"tier-conflict", -0.1, "bootstrap tier deep stands for deep"},
		{"learnings", 0.1, "2 of 2 learnings counted for housekeeping, at most 2 do"},
		{"carryover", -0.1, "carryover ratio is 0.20, from 0.20 on it speaks for deep"},
		{"pressure", -0.1, "context pressure is high (0.75)"},
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	line := recommendedBecause(Housekeeping, f.scoreOf(Housekeeping))
	wantLine := "housekeeping is recommended: learnings +0.1, other-trend -0.1, tier-conflict -0.1, carryover -0.1, pressure -0.1"
	if line != wantLine || len(line) > 120 {
		t.Errorf("rationale: got %q (%d characters), want %q", line, len(line), wantLine)
	}
}

func TestRationale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		signals *Signals
		want    string
	}{
		{nil, "there are no signals"},
		{&Signals{}, "no mode is recommended"},
		{&Signals{RecommendedMode: "ba\nnana"}, `recommended mode "ba\nnana" is unknown`},
		{&Signals{RecommendedMode: Mode(strings.Repeat("é", 500))}, `recommended mode "` + strings.Repeat("é", 60) + `" is unknown`},
		{&Signals{CompletionRate: num(0.4)}, "completion rate 0.40 is below 0.50: look back before going on"},
		{&Signals{CarryoverRatio: num(0.355)}, "carryover ratio 0.35 is 0.30 or more: a deep session clears it"},
		{&Signals{RecommendedMode: Deep}, "deep is recommended, no signal speaks for or against it"},
		{&Signals{RecommendedMode: Deep, RecentSessions: times(3, Session{Type: Deep}), BootstrapLock: tier("deep")}, "deep is recommended: trend +0.075, tier +0.1"},
		{&Signals{RecommendedMode: Feature, BootstrapLock: tier("deep")}, "deep (0.60) outscores the recommended feature (0.40)"},
	}
	for _, tt := range tests {
		if got := Select(tt.signals).Rationale; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got := Select(&Signals{CarryoverRatio: num(1e300)}).Rationale; utf8.RuneCountInString(got) != 120 {
		t.Errorf("a huge ratio gives %d characters, want 120: %q", utf8.RuneCountInString(got), got)
	}
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	for _, m := range modes() {
		want := m == Housekeeping || m == Feature || m == Deep
		got, ok, reason := Executable(Recommendation{Mode: m, Confidence: 0.9})
		if got != m || ok != want || ok != Runnable(m) || (reason == "") != ok {
			t.Errorf("%s: got %s %t %q, want the same mode and %t", m, got, ok, reason, want)
		}
	}
	_, _, reason := Executable(Select(&Signals{CompletionRate: num(0)}))
	if want := `mode "plan-retro" is not one that /session runs (housekeeping, feature, deep)`; reason != want {
		t.Errorf("got %q, want %q", reason, want)
	}
	if Runnable("") || Runnable("Deep") {
		t.Error("an unknown mode is runnable")
	}
}

func TestRecommendationJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Select(&Signals{RecommendedMode: Deep, CompletionRate: num(1), CarryoverRatio: num(0), TopPriorities: []int64{}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mode":"deep","confidence":0.5,"rationale":"deep is recommended, no signal speaks for or against it",` +
		`"alternatives":[],"context_pressure":"low","parts":[{"name":"base","value":0.5,"why":"deep is the mode being weighed"},` +
		`{"name":"carryover","value":0,"why":"carryover ratio is 0.00, from 0.20 on it speaks for deep"},` +
		`{"name":"pressure","value":0,"why":"context pressure is low (0.00)"}],` +
		`"missing":["recentSessions","bootstrapLock","learnings"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, _ := json.Marshal(Select(nil)); !strings.Contains(string(got), `"alternatives":[],"context_pressure":"low","parts":[]`) {
		t.Errorf("no signals: lists are null in %s", got)
	}
}

func anyMode() *rapid.Generator[Mode] {
	return rapid.SampledFrom(append(modes(), "", "odd"))
}

func ratio() *rapid.Generator[*float64] {
	return rapid.Ptr(rapid.OneOf(
		rapid.SampledFrom([]float64{0, 0.2, 0.3, 0.5, 0.9, 1, math.NaN(), math.Inf(1), math.Inf(-1), -3, 1e308}),
		rapid.Float64Range(0, 1)), true)
}

func anySignals() *rapid.Generator[*Signals] {
	return rapid.Custom(func(t *rapid.T) *Signals {
		favourite := anyMode().Draw(t, "favourite")
		session := rapid.Custom(func(t *rapid.T) Session {
			s := Session{Type: favourite, CompletionRate: ratio().Draw(t, "rate")}
			if rapid.IntRange(0, 5).Draw(t, "stray") == 0 {
				s.Type = anyMode().Draw(t, "type")
			}
			if rapid.Bool().Draw(t, "effective") {
				s.Effectiveness = &Effectiveness{ratio().Draw(t, "planned"), ratio().Draw(t, "carryover"), ratio().Draw(t, "inner rate")}
			}
			return s
		})
		learning := rapid.Custom(func(t *rapid.T) Learning {
			return hint(rapid.SampledFrom([]string{"deep", "feature", "evolve discovery", "plan-retro", "housekeeping"}).Draw(t, "subject"))
		})
		s := &Signals{
			RecommendedMode: anyMode().Draw(t, "mode"),
			CarryoverRatio:  ratio().Draw(t, "carryover ratio"),
			CompletionRate:  ratio().Draw(t, "completion rate"),
			RecentSessions:  rapid.SliceOfN(session, 0, 6).Draw(t, "sessions"),
			Learnings:       rapid.SliceOfN(learning, 0, 6).Draw(t, "learnings"),
		}
		if rapid.Bool().Draw(t, "priorities") {
			s.TopPriorities = make([]int64, rapid.IntRange(0, 12).Draw(t, "count"))
		}
		if rapid.Bool().Draw(t, "lock") {
			s.BootstrapLock = tier(rapid.SampledFrom([]string{"fast", "standard", "deep", "odd"}).Draw(t, "tier"))
		}
		if rapid.Bool().Draw(t, "wide") {
			s.TaskDescriptionText = "repo-wide"
		}
		return s
	})
}

func TestSelectKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySignals().Draw(t, "signals")
		got := Select(s)
		checkPromises(t, got)
		if diff := cmp.Diff(got, Select(s)); diff != "" {
			t.Fatalf("the second answer differs:\n%s", diff)
		}
	})
}

// checkPromises fails t where a recommendation is not of the promised form.
func checkPromises(t interface{ Fatalf(string, ...any) }, got Recommendation) {
	if !known(got.Mode) {
		t.Fatalf("mode %q is unknown", got.Mode)
	}
	if !(got.Confidence >= 0 && got.Confidence <= 0.9) || round2(got.Confidence) != got.Confidence {
		t.Fatalf("confidence %v is not 0 to 0.9 with two decimals", got.Confidence)
	}
	if utf8.RuneCountInString(got.Rationale) > 120 || got.Rationale == "" {
		t.Fatalf("rationale %q is empty or too long", got.Rationale)
	}
	if got.Alternatives == nil || got.Parts == nil || got.Missing == nil {
		t.Fatalf("a list is nil: %+v", got)
	}
	if len(got.Alternatives) > 3 {
		t.Fatalf("%d alternatives", len(got.Alternatives))
	}
	seen := map[Mode]bool{got.Mode: true}
	for i, a := range got.Alternatives {
		if seen[a.Mode] || !known(a.Mode) {
			t.Fatalf("alternative %q is unknown or there twice", a.Mode)
		}
		seen[a.Mode] = true
		if a.Confidence < 0.1 || i > 0 && a.Confidence > got.Alternatives[i-1].Confidence {
			t.Fatalf("alternatives are not ranked: %v", got.Alternatives)
		}
		if !preparesOnly(a.Mode) && a.Confidence > got.Confidence {
			t.Fatalf("alternative %s %v is better than %v", a.Mode, a.Confidence, got.Confidence)
		}
	}
	sum := 0.0
	for _, p := range got.Parts {
		sum += p.Value
	}
	if math.Abs(sum-got.Confidence) > 0.005+1e-9 {
		t.Fatalf("parts add up to %v, confidence is %v", sum, got.Confidence)
	}
}
