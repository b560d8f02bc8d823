package suitability

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/killswitch"
)

func ptr[T any](v T) *T { return &v }

// good are signals that pass every gate without a warning.
func good() Signals {
	return Signals{
		Confidence: ptr(0.9), Floor: ptr(0.5), RecentRuns: history(0, 5), CI: &CI{Status: "green"},
		ResourceVerdict: ptr("green"), Dial: AutonomousGated,
	}
}

// with changes good signals.
func with(change func(*Signals)) Signals {
	s := good()
	change(&s)
	return s
}

// history is fired runs that trouble ended and quiet ones that ended by themselves.
func history(fired, quiet int) []Run {
	var out []Run
	for range fired {
		out = append(out, Run{KillSwitch: "spiral"})
	}
	for range quiet {
		out = append(out, Run{})
	}
	return out
}

func TestGoodSignalsPass(t *testing.T) {
	t.Parallel()
	want := Verdict{
		Suitable: true, Confidence: 0.9, Floor: 0.5,
		Rationale: "suitable=true; confidence 0.9 >= 0.5 ok; kill-switch fired in 0 of 5 runs (0) ok; CI green ok; resource green ok",
		Gates: []Gate{
			{"confidence", true, "0.9 >= 0.5"},
			{"kill-switch", true, "fired in 0 of 5 runs (0)"},
			{"ci", true, "green"},
			{"resource", true, "green"},
		},
		Warnings: []string{}, Dial: AutonomousGated, Autonomous: true,
	}
	if diff := cmp.Diff(want, Judge(good())); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// TestNothingIsKnown is the verdict of a repository of which nothing is known.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	want := Verdict{
		Floor:     0.5,
		Rationale: "suitable=false; confidence absent FAIL; kill-switch skipped (0<5 runs) ok; CI absent ok; resource absent ok",
		Gates: []Gate{
			{"confidence", false, "absent"}, {"kill-switch", true, "skipped (0<5 runs)"}, {"ci", true, "absent"}, {"resource", true, "absent"},
		},
		Warnings: []string{
			"confidence absent, which counts as none", "history skipped: 0 of at least 5 runs", "CI signal absent", "resource signal absent",
			"the dial is off: the verdict is advice",
		},
		Dial: Off,
	}
	if diff := cmp.Diff(want, Judge(Signals{})); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		s      Signals
		gate   int
		passed bool
		detail string
		warn   string // part of a warning; empty for no warning at all
	}{
		{"above the floor", with(func(s *Signals) { s.Confidence = ptr(0.51) }), 0, true, "0.51 >= 0.5", ""},
		{"equal passes", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.85), ptr(0.85) }), 0, true, "0.85 >= 0.85", ""},
		{"a hair below", with(func(s *Signals) { s.Confidence = ptr(math.Nextafter(0.5, 0)) }), 0, false, "0.49999999999999994 < 0.5", ""},
		{"none", with(func(s *Signals) { s.Confidence = nil }), 0, false, "absent", "confidence absent"},
		{"none is not enough for a floor of 0", with(func(s *Signals) { s.Confidence, s.Floor = nil, ptr(0.0) }), 0, false, "absent", "confidence absent"},
		{"not a number", with(func(s *Signals) { s.Confidence, s.Floor = ptr(math.NaN()), ptr(0.0) }), 0, false, "malformed", "not a finite number"},
		{"endless", with(func(s *Signals) { s.Confidence = ptr(math.Inf(1)) }), 0, false, "malformed", "not a finite number"},
		{"more than all", with(func(s *Signals) { s.Confidence = ptr(1e300) }), 0, true, "1e+300 >= 0.5", "no share"},
		{"a floor of 0 is one", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.0), ptr(0.0) }), 0, true, "0 >= 0", ""},
		{"a floor of 1 is one", with(func(s *Signals) { s.Confidence, s.Floor = ptr(1.0), ptr(1.0) }), 0, true, "1 >= 1", ""},
		{"no floor is not 0", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.4), nil }), 0, false, "0.4 < 0.5", ""},
		{"a floor above 1", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.6), ptr(1.1) }), 0, true, "0.6 >= 0.5", "floor is 1.1, want 0 to 1; 0.5 is used"},
		{"a floor below 0", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.4), ptr(-0.1) }), 0, false, "0.4 < 0.5", "floor is -0.1"},
		{"a floor that is no number", with(func(s *Signals) { s.Confidence, s.Floor = ptr(0.4), ptr(math.NaN()) }), 0, false, "0.4 < 0.5", "floor is NaN"},

		{"four runs are no history", with(func(s *Signals) { s.RecentRuns = history(4, 0) }), 1, true, "skipped (4<5 runs)", "history skipped: 4"},
		{"one of five is too much", with(func(s *Signals) { s.RecentRuns = history(1, 4) }), 1, false, "fired in 1 of 5 runs (0.2)", ""},
		{"one of six is not", with(func(s *Signals) { s.RecentRuns = history(1, 5) }), 1, true, "fired in 1 of 6 runs (0.167)", ""},
		{"three of fifteen is", with(func(s *Signals) { s.RecentRuns = history(3, 12) }), 1, false, "fired in 3 of 15 runs (0.2)", ""},
		{"nine of fifty is not", with(func(s *Signals) { s.RecentRuns = history(9, 41) }), 1, true, "fired in 9 of 50 runs (0.18)", ""},
		{"dry runs are not counted", with(func(s *Signals) {
			s.RecentRuns = append(history(1, 4), Run{DryRun: true}, Run{DryRun: true})
		}), 1, false, "fired in 1 of 5 runs (0.2)", ""},
		{"dry runs are not enough", with(func(s *Signals) {
			s.RecentRuns = append(history(4, 0), Run{DryRun: true}, Run{DryRun: true, KillSwitch: "spiral"})
		}), 1, true, "skipped (4<5 runs)", "history skipped: 4"},
		{"coordinators are not counted", with(func(s *Signals) {
			s.RecentRuns = append(history(1, 4), Run{Kind: "multi-story-coordinator"})
		}), 1, false, "fired in 1 of 5 runs (0.2)", ""},

		{"red", with(func(s *Signals) { s.CI.Status = "red" }), 2, false, "red", ""},
		{"unknown", with(func(s *Signals) { s.CI.Status = "unknown" }), 2, true, "unknown", ""},
		{"no pipeline", with(func(s *Signals) { s.CI = nil }), 2, true, "absent", "CI signal absent"},
		{"a pipeline without words", with(func(s *Signals) { s.CI = &CI{} }), 2, true, "malformed", "CI signal malformed"},
		{"only the word itself is red", with(func(s *Signals) { s.CI.Status = "Red\n" }), 2, true, `"Red\n"`, `CI status is "Red\n", want green`},

		{"critical", with(func(s *Signals) { s.ResourceVerdict = ptr("critical") }), 3, false, "critical", ""},
		{"critical in any form", with(func(s *Signals) { s.ResourceVerdict = ptr(" CRITICAL\n") }), 3, false, "critical", ""},
		{"degraded", with(func(s *Signals) { s.ResourceVerdict = ptr("degraded") }), 3, true, "degraded", ""},
		{"warn", with(func(s *Signals) { s.ResourceVerdict = ptr("Warn") }), 3, true, "warn", ""},
		{"no machine", with(func(s *Signals) { s.ResourceVerdict = nil }), 3, true, "absent", "resource signal absent"},
		{"a machine without words", with(func(s *Signals) { s.ResourceVerdict = ptr(" ") }), 3, true, "malformed", "resource signal malformed"},
		{"another word", with(func(s *Signals) { s.ResourceVerdict = ptr("\x1b[31mcritical") }), 3, true, `"\x1b[31mcritical"`, `want green, warn`},
	}
	for _, tt := range tests {
		got := Judge(tt.s)
		if g := got.Gates[tt.gate]; g.Passed != tt.passed || g.Detail != tt.detail {
			t.Errorf("%s: got %t %q, want %t %q", tt.name, g.Passed, g.Detail, tt.passed, tt.detail)
		}
		if got.Suitable != tt.passed {
			t.Errorf("%s: suitable=%t although the others pass", tt.name, got.Suitable)
		}
		if all := strings.Join(got.Warnings, "\n"); !strings.Contains(all, tt.warn) || (tt.warn == "") != (all == "") {
			t.Errorf("%s: warnings %q, want %q", tt.name, got.Warnings, tt.warn)
		}
	}
}

func TestFired(t *testing.T) {
	t.Parallel()
	quiet := map[killswitch.Reason]bool{killswitch.MaxSessionsReached: true, killswitch.MaxHoursExceeded: true, killswitch.UserAbort: true}
	for _, r := range killswitch.All() {
		if got := (Run{KillSwitch: string(r)}).Fired(); got == quiet[r] {
			t.Errorf("%s: fired=%t", r, got)
		}
	}
	if (Run{}).Fired() {
		t.Error("a run without a switch fired")
	}
	if !(Run{KillSwitch: "stale-subagent-min"}).Fired() {
		t.Error("a switch of another program did not fire")
	}
	if !(Run{KillSwitch: "user-abort", AbortedByCohort: true}).Fired() {
		t.Error("a stop by the cohort counts as a person's")
	}
	if (Run{KillSwitch: "max-sessions-reached", AbortedByCohort: true}).Fired() {
		t.Error("a run that reached its limit before the cohort stopped fired")
	}
}

// TestCleanEndsKeepTheGateOpen is a repository that has only had good nights.
func TestCleanEndsKeepTheGateOpen(t *testing.T) {
	t.Parallel()
	var runs []Run
	for range 20 {
		runs = append(runs, Run{KillSwitch: "max-sessions-reached"}, Run{KillSwitch: "max-hours-exceeded"}, Run{KillSwitch: "user-abort"})
	}
	if v := Judge(with(func(s *Signals) { s.RecentRuns = runs })); !v.Suitable {
		t.Errorf("not suitable: %s", v.Rationale)
	}
}

func TestRationale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		s    Signals
		want string
	}{
		{
			"CI red", with(func(s *Signals) { s.CI.Status = "red" }),
			"suitable=false; FORCED: CI red; confidence 0.9 >= 0.5 ok; kill-switch fired in 0 of 5 runs (0) ok; CI red FAIL; resource green ok",
		},
		{
			"resource critical", with(func(s *Signals) { s.ResourceVerdict = ptr("Critical") }),
			"suitable=false; FORCED: resource critical; confidence 0.9 >= 0.5 ok; kill-switch fired in 0 of 5 runs (0) ok; CI green ok; resource critical FAIL",
		},
		{
			"everything", with(func(s *Signals) {
				s.CI.Status, s.ResourceVerdict, s.Confidence, s.RecentRuns = "red", ptr("critical"), ptr(0.25), history(5, 0)
			}),
			"suitable=false; FORCED: CI red + resource critical; confidence 0.25 < 0.5 FAIL; kill-switch fired in 5 of 5 runs (1) FAIL; CI red FAIL; resource critical FAIL",
		},
		{
			"no force in a low confidence", with(func(s *Signals) { s.Confidence = ptr(0.25) }),
			"suitable=false; confidence 0.25 < 0.5 FAIL; kill-switch fired in 0 of 5 runs (0) ok; CI green ok; resource green ok",
		},
	}
	for _, tt := range tests {
		if got := Judge(tt.s).Rationale; got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestDial(t *testing.T) {
	t.Parallel()
	tests := []struct {
		dial       Dial
		suitable   bool
		want       Dial
		autonomous bool
		warn       string
	}{
		{AutonomousGated, true, AutonomousGated, true, ""},
		{AutonomousGated, false, AutonomousGated, false, ""},
		{" Autonomous-Gated ", true, AutonomousGated, true, ""},
		{Advisory, true, Advisory, false, ""},
		{Off, true, Off, false, "the dial is off"},
		{"", true, Off, false, "the dial is off"},
		{"always", true, Off, false, `dial is "always", want off`},
		{"autonomous", true, Off, false, `dial is "autonomous", want off`},
	}
	for _, tt := range tests {
		got := Judge(with(func(s *Signals) {
			s.Dial = tt.dial
			if !tt.suitable {
				s.CI.Status = "red"
			}
		}))
		all := strings.Join(got.Warnings, "\n")
		if got.Suitable != tt.suitable || got.Dial != tt.want || got.Autonomous != tt.autonomous || !strings.Contains(all, tt.warn) || (tt.warn == "") != (all == "") {
			t.Errorf("%q: got %t %s %t %q, want %t %s %t %q", tt.dial, got.Suitable, got.Dial, got.Autonomous, all, tt.suitable, tt.want, tt.autonomous, tt.warn)
		}
	}
}

func TestParseDial(t *testing.T) {
	t.Parallel()
	for _, d := range Dials() {
		if got, ok := ParseDial(" " + strings.ToUpper(string(d)) + "\t"); got != d || !ok {
			t.Errorf("%s: got %s %t", d, got, ok)
		}
	}
	for _, text := range []string{"", " ", "on", "autonomous", "autonomous gated", "off off"} {
		if got, ok := ParseDial(text); got != Off || ok {
			t.Errorf("%q: got %s %t, want off and false", text, got, ok)
		}
	}
}

func TestFirstDial(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   []string
		want Dial
	}{
		{nil, Off},
		{[]string{"", " ", "nonsense"}, Off},
		{[]string{"", "ADVISORY", "autonomous-gated"}, Advisory},
		{[]string{"nonsense", "autonomous-gated", "off"}, AutonomousGated},
		{[]string{"off", "autonomous-gated"}, Off},
	}
	for _, tt := range tests {
		if got := FirstDial(tt.in...); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestVerdictJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Judge(Signals{Confidence: ptr(math.NaN()), Dial: Advisory}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"suitable":false,"confidence":0,"floor":0.5,` +
		`"rationale":"suitable=false; confidence malformed FAIL; kill-switch skipped (0<5 runs) ok; CI absent ok; resource absent ok",` +
		`"gates":[{"name":"confidence","passed":false,"detail":"malformed"},{"name":"kill-switch","passed":true,"detail":"skipped (0<5 runs)"},` +
		`{"name":"ci","passed":true,"detail":"absent"},{"name":"resource","passed":true,"detail":"absent"}],` +
		`"warnings":["confidence is not a finite number, which counts as none","history skipped: 0 of at least 5 runs","CI signal absent","resource signal absent"],` +
		`"dial":"advisory","autonomous":false}`
	if got := strings.ReplaceAll(string(got), `\u003c`, "<"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, _ := json.Marshal(Judge(good())); !strings.Contains(string(got), `"warnings":[]`) {
		t.Errorf("no warnings are null in %s", got)
	}
}

// signs draws signals with any texts and numbers in them.
func signs() *rapid.Generator[Signals] {
	return rapid.Custom(func(t *rapid.T) Signals {
		number := rapid.Ptr(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 0.5, 1, math.NaN(), math.Inf(1)})), true)
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"red", "green", "critical", "off", "autonomous-gated"}))
		run := rapid.Custom(func(t *rapid.T) Run {
			return Run{KillSwitch: rapid.SampledFrom([]string{"", "spiral", "user-abort", "max-hours-exceeded"}).Draw(t, "switch"), DryRun: rapid.Bool().Draw(t, "dry")}
		})
		s := Signals{
			Confidence: number.Draw(t, "confidence"), Floor: number.Draw(t, "floor"), RecentRuns: rapid.SliceOf(run).Draw(t, "runs"),
			ResourceVerdict: rapid.Ptr(word, true).Draw(t, "resource"), Dial: Dial(word.Draw(t, "dial")),
		}
		if rapid.Bool().Draw(t, "ci") {
			s.CI = &CI{Status: word.Draw(t, "status")}
		}
		if rapid.Bool().Draw(t, "odd") {
			s.Malformed = map[string]string{rapid.SampledFrom(Keys()).Draw(t, "key"): rapid.String().Draw(t, "found")}
		}
		return s
	})
}

func TestJudgeKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := signs().Draw(t, "signals")
		if problem := broken(Judge(s)); problem != "" {
			t.Fatal(problem)
		}
	})
}

// broken says which promise a verdict does not keep.
func broken(v Verdict) string {
	all := true
	for _, g := range v.Gates {
		all = all && g.Passed
	}
	_, dialKnown := ParseDial(string(v.Dial))
	switch {
	case len(v.Gates) != 4 || v.Suitable != all:
		return fmt.Sprintf("suitable=%t with gates %v", v.Suitable, v.Gates)
	case v.Autonomous != (v.Suitable && v.Dial == AutonomousGated):
		return fmt.Sprintf("autonomous=%t with %t and %s", v.Autonomous, v.Suitable, v.Dial)
	case !(v.Floor >= 0 && v.Floor <= 1):
		return fmt.Sprintf("floor %v", v.Floor)
	case !dialKnown:
		return fmt.Sprintf("dial %q", v.Dial)
	case v.Suitable && v.Confidence < v.Floor:
		return fmt.Sprintf("suitable with %v below %v", v.Confidence, v.Floor)
	case v.Warnings == nil:
		return "warnings are nil"
	}
	texts := append([]string{v.Rationale}, v.Warnings...)
	for _, g := range v.Gates {
		texts = append(texts, g.Detail)
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool {
			return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
		}) || len(text) > 2000 {
			return fmt.Sprintf("not one safe line: %q", text)
		}
	}
	if _, err := json.Marshal(v); err != nil {
		return err.Error()
	}
	return ""
}
