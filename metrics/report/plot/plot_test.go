package plot_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/samples"
)

func at(minutes int) time.Time {
	return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func ptr[T any](v T) *T { return &v }

func TestVelocity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		looks []plot.Look
		want  string // empty when it is not known
	}{
		"none":                  {nil, ""},
		"one look":              {[]plot.Look{{1, 10}}, ""},
		"no session between":    {[]plot.Look{{1, 10}, {1, 20}}, ""},
		"by sessions":           {[]plot.Look{{0, 0}, {1, 30}, {4, 50}}, "12.5%"},
		"backwards":             {[]plot.Look{{1, 50}, {3, 40}}, "-5%"},
		"numbers that are none": {[]plot.Look{{0, math.NaN()}, {1, 10}, {2, -1}, {3, 30}, {4, 101}}, "10%"},
		"no move":               {[]plot.Look{{1, 50}, {3, 50}}, "0%"},
	} {
		v, ok := plot.Velocity(c.looks)
		if got := plot.VelocityWords(v); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s: %s %v, want %q", name, got, ok, c.want)
		}
	}
}

func TestGained(t *testing.T) {
	t.Parallel()
	if svg := plot.Gained([]plot.Look{{1, 10}}); svg != "" {
		t.Errorf("one look is drawn: %s", svg)
	}
	svg := plot.Gained([]plot.Look{{0, 0}, {1, 30}, {2, 20}, {4, 60}})
	for _, want := range []string{"session 1: gained 30%<", "session 2: gained 0%, less than before<", "session 4: gained 40%<", "In the mean it was 15% of the work in a session."} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	list := []plot.Session{{Number: 1, CostUSD: 2, Completed: true, Tokens: ledger.Tokens{Input: 5, CacheRead: 1000}}, {Number: 2}}
	for name, svg := range map[string]string{"tokens": plot.Tokens(list, "Words."), "cost": plot.Cost(list, "Words.")} {
		if !strings.Contains(svg, "Words. A cross stands over") || strings.Count(svg, `class="red"`) != 1 {
			t.Errorf("%s:\n%s", name, svg)
		}
	}
	free := []plot.Session{{Number: 1, Completed: true, Tokens: ledger.Tokens{CacheRead: 7}}}
	if plot.Tokens(free, "") != "" || plot.Cost(free, "") != "" || plot.Cost(nil, "") != "" {
		t.Error("nothing is drawn")
	}
}

func night() []samples.Sample {
	return []samples.Sample{
		{At: at(0), Tier: "green", AvailableGB: ptr(12.0), SwapGB: ptr(0.0), Peers: ptr(0)},
		{At: at(1), Tier: "warn", AvailableGB: ptr(5.0), SwapGB: ptr(1.25), Peers: ptr(3)},
		{At: at(2), Tier: "warn", AvailableGB: ptr(4.0), Suspended: 90},
		{At: at(60), Tier: "green", AvailableGB: ptr(11.0), SwapGB: ptr(0.5), Peers: ptr(1)},
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	m := plot.Of(night())
	want := plot.Machine{Samples: 4, LeastGB: ptr(4.0), MostGB: ptr(12.0), SwapGB: ptr(1.25), Peers: ptr(3), Worst: "warn", Share: 0.5, SleptFor: 90 * time.Second}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := m.Words(), "Available were 4 to 12 GB, at most 1.3 GB of swap were in use. The worst tier was warn, in 50% of the samples."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	bad := plot.Of([]samples.Sample{{Tier: "odd", AvailableGB: ptr(math.NaN()), SwapGB: ptr(math.Inf(1)), Peers: ptr(-1), Suspended: math.Inf(1)}, {AvailableGB: ptr(-1.0)}})
	if diff := cmp.Diff(plot.Machine{Samples: 2}, bad); diff != "" {
		t.Errorf("what cannot be (-want +got):\n%s", diff)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	want := []chart.Span{{From: at(0), Level: 0}, {From: at(1), Level: 1}, {From: at(3), Level: -1}, {From: at(60), Level: 0}, {From: at(61), Level: -1}}
	if diff := cmp.Diff(want, plot.Spans(night())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	list := night()
	list[0], list[3] = list[3], list[0] // the order is that of time
	svg := plot.Memory(list, at(0))
	for _, want := range []string{"Available were 4 to 12 GB", "minutes since the start", `class="band l1"`, `class="line k1"`, "warn for 2 minutes, from 1 minute after the start"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	_, rest, _ := strings.Cut(svg, `class="line" d="`)
	line, _, _ := strings.Cut(rest, `"`)
	if strings.Count(line, "M") != 2 {
		t.Errorf("the gap of an hour is drawn over: %s", line)
	}
	if plot.Memory(nil, at(0)) != "" || plot.Memory(night()[:1], at(0)) != "" || plot.Memory([]samples.Sample{{At: at(0), Tier: "green"}, {At: at(1), Tier: "green"}}, at(0)) != "" {
		t.Error("nothing is drawn")
	}
}
