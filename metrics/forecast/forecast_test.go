package forecast

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
)

// day is the end of a run, some days after the first of a year.
func day(n int) time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// took is a run of size 1 that reached its goal with so many sessions, each of a
// minute, 1,000 tokens and $0.10.
func took(sessions int) Sample {
	n := float64(sessions)
	return Sample{Size: 1, Sessions: sessions, Seconds: 60 * n, Tokens: 1000 * n, CostUSD: 0.1 * n, Achieved: true, At: day(0)}
}

func samples(sessions ...int) []Sample {
	var out []Sample
	for _, n := range sessions {
		out = append(out, took(n))
	}
	return out
}

func span3(low, likely, high float64) ledger.Range {
	return ledger.Range{Low: low, Likely: likely, High: high}
}

// near allows for the rounding of money.
func near() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 0.0002 })
}

func TestGuess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size                            int
		sessions, seconds, tokens, cost ledger.Range
	}{
		{1, span3(1, 1, 3), span3(100, 300, 900), span3(20_000, 60_000, 180_000), span3(0.1, 0.3, 0.9)},
		{6, span3(2, 6, 18), span3(600, 1800, 5400), span3(120_000, 360_000, 1_080_000), span3(0.6, 1.8, 5.4)},
		{7, span3(2, 7, 21), span3(700, 2100, 6300), span3(140_000, 420_000, 1_260_000), span3(0.7, 2.1, 6.3)},
	} {
		want := Expectation{Forecast: ledger.Forecast{Sessions: tt.sessions, Seconds: tt.seconds, Tokens: tt.tokens, CostUSD: tt.cost}}
		if diff := cmp.Diff(want, Make(nil, tt.size, Limits{}), near()); diff != "" {
			t.Errorf("size %d (-want +got):\n%s", tt.size, diff)
		}
	}
	for a, b := range map[int]int{0: 1, -5: 1, math.MinInt: 1, 1001: 1000, math.MaxInt: 1000} {
		if diff := cmp.Diff(Make(nil, b, Limits{}), Make(nil, a, Limits{})); diff != "" {
			t.Errorf("size %d is not that of %d (-want +got):\n%s", a, b, diff)
		}
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	with := func(s Sample, change func(*Sample)) Sample { change(&s); return s }
	sized := func(sessions, size int) Sample { return with(took(sessions), func(s *Sample) { s.Size = size }) }
	ended := func(sessions int, at time.Time) Sample { return with(took(sessions), func(s *Sample) { s.At = at }) }
	broken := func(sessions int) Sample { return with(took(sessions), func(s *Sample) { s.Achieved = false }) }
	for _, tt := range []struct {
		name string
		past []Sample
		size int
		runs int
		want ledger.Range // of sessions
	}{
		{"one", samples(4), 1, 1, span3(4, 4, 4)},
		{"the span below four", samples(9, 2, 5), 1, 3, span3(2, 5, 9)},
		{"between two, rounded up", samples(2, 5), 1, 2, span3(2, 4, 5)},
		{"quartiles from four", samples(1, 3, 5, 100), 1, 4, span3(2, 4, 53)},
		{"quartiles of eight", samples(8, 1, 2, 3, 4, 5, 6, 7), 1, 8, span3(2, 5, 7)},
		{"equal values", samples(3, 3, 3, 3, 9), 1, 5, span3(3, 3, 5)},
		{"a like size outweighs many others", []Sample{sized(2, 1), sized(2, 1), sized(2, 1), sized(20, 8), sized(20, 8)}, 8, 5, span3(18, 20, 20)},
		{"the other way round", []Sample{sized(2, 1), sized(2, 1), sized(2, 1), sized(20, 8), sized(20, 8)}, 1, 5, span3(2, 2, 2)},
		{"sizes do not scale", samples(2, 2, 2, 2), 10, 4, span3(2, 2, 2)},
		{"recent ones weigh up to twice", []Sample{ended(2, day(0)), ended(2, day(0)), ended(8, day(3650)), ended(8, day(3650))}, 1, 4, span3(2, 8, 8)},
		{"no time is long ago", []Sample{ended(2, time.Time{}), ended(2, time.Time{}), ended(8, day(0)), ended(8, day(0))}, 1, 4, span3(2, 8, 8)},
		{"no times at all", []Sample{ended(2, time.Time{}), ended(4, time.Time{})}, 1, 2, span3(2, 3, 4)},
		{"a run that did not get there weighs half", []Sample{broken(2), broken(2), took(8), took(8)}, 1, 4, span3(2, 8, 8)},
		{"only such runs", []Sample{broken(2), broken(4)}, 1, 2, span3(2, 3, 4)},
		{"no sessions are no evidence", append(samples(0, -4), took(3)), 1, 1, span3(3, 3, 3)},
		{"what cannot be is no evidence", append(samples(math.MaxInt), took(3)), 1, 1, span3(3, 3, 3)},
		{"a late time without use makes nothing old", []Sample{ended(2, day(-3650)), ended(2, day(-3650)), took(8), took(8), ended(0, day(9999))}, 1, 4, span3(2, 8, 8)},
	} {
		e := Make(tt.past, tt.size, Limits{})
		if diff := cmp.Diff(tt.want, e.Sessions); diff != "" || e.Runs != tt.runs {
			t.Errorf("%s: from %d runs, want %d (-want +got):\n%s", tt.name, e.Runs, tt.runs, diff)
		}
	}
}

func TestMakeOtherQuantities(t *testing.T) {
	t.Parallel()
	past := samples(2, 4, 6)
	past[0].CostUSD, past[1].CostUSD, past[2].CostUSD = math.NaN(), math.Inf(1), -1
	past[0].Tokens, past[1].Tokens = 0, 1e300
	got := Make(past, 1, Limits{})
	want := ledger.Forecast{
		Runs: 3, Sessions: span3(2, 4, 6), Seconds: span3(120, 240, 360),
		Tokens:  span3(6000, 6000, 6000), // one run knows them
		CostUSD: span3(0.4, 1.2, 3.6),    // none does: 4 sessions at $0.30
	}
	if diff := cmp.Diff(want, got.Forecast, near()); diff != "" {
		t.Errorf("forecast (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	past := samples(2, 4, 6) // 120 to 360 s, 2,000 to 6,000 tokens, $0.20 to $0.60
	for _, tt := range []struct {
		name    string
		at      Limits
		exceeds []string
		want    ledger.Forecast
	}{
		{"none", Limits{}, nil, ledger.Forecast{Runs: 3, Sessions: span3(2, 4, 6), Seconds: span3(120, 240, 360), Tokens: span3(2000, 4000, 6000), CostUSD: span3(0.2, 0.4, 0.6)}},
		{"no limits", Limits{-1, math.NaN(), math.Inf(1), -0.5}, nil, ledger.Forecast{Runs: 3, Sessions: span3(2, 4, 6), Seconds: span3(120, 240, 360), Tokens: span3(2000, 4000, 6000), CostUSD: span3(0.2, 0.4, 0.6)}},
		{"just so", Limits{4, 240, 4000, 0.4}, nil, ledger.Forecast{Runs: 3, Sessions: span3(2, 4, 4), Seconds: span3(120, 240, 240), Tokens: span3(2000, 4000, 4000), CostUSD: span3(0.2, 0.4, 0.4)}},
		{"all", Limits{1, 60, 1000, 0.1}, []string{"sessions", "time", "tokens", "cost"}, ledger.Forecast{Runs: 3, Sessions: span3(1, 1, 1), Seconds: span3(60, 60, 60), Tokens: span3(1000, 1000, 1000), CostUSD: span3(0.1, 0.1, 0.1)}},
		{"some", Limits{Seconds: 239, CostUSD: 0.3}, []string{"time", "cost"}, ledger.Forecast{Runs: 3, Sessions: span3(2, 4, 6), Seconds: span3(120, 239, 239), Tokens: span3(2000, 4000, 6000), CostUSD: span3(0.2, 0.3, 0.3)}},
	} {
		e := Make(past, 1, tt.at)
		if diff := cmp.Diff(Expectation{tt.want, tt.exceeds}, e, near()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	full := ledger.Forecast{Runs: 7, Sessions: span3(2, 3, 5), Seconds: span3(900, 1440, 3000), Tokens: span3(1e5, 180_000, 3e5), CostUSD: span3(0.5, 0.9, 1.6)}
	for _, tt := range []struct {
		e    Expectation
		want string
	}{
		{Expectation{Forecast: full}, "3 sessions (2-5), about 24m (15m-50m), 180k tokens, $0.90 ($0.50-$1.60); from 7 earlier runs"},
		{Expectation{full, []string{"sessions", "cost"}}, "3 sessions (2-5), about 24m (15m-50m), 180k tokens, $0.90 ($0.50-$1.60); from 7 earlier runs; cut to the limit of sessions, cost"},
		{Make(samples(1), 1, Limits{}), "1 session, about 1m, 1k tokens, $0.10; from 1 earlier run"},
		{Make(nil, 1, Limits{}), "1 session (1-3), about 5m (2m-15m), 60k tokens, $0.30 ($0.10-$0.90); a guess without earlier runs"},
		{Make(nil, 100, Limits{}), "100 sessions (33-300), about 8h 20m (2h 47m-25h), 6M tokens, $30.00 ($10.00-$90.00); a guess without earlier runs"},
		{Expectation{}, "0 sessions, about 0s, 0 tokens, $0.00; a guess without earlier runs"},
		{
			Expectation{Forecast: ledger.Forecast{Sessions: span3(math.NaN(), math.Inf(1), 1), Seconds: span3(-1, -1, -1), Tokens: span3(0, 1e300, 0), CostUSD: span3(0, math.NaN(), 1)}},
			"- sessions (--1), about -, - tokens, - ($0.00-$1.00); a guess without earlier runs",
		},
	} {
		if got := tt.e.Text(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		word  func(float64) string
		words map[float64]string
	}{
		{"span", span, map[float64]string{
			0: "0s", 0.4: "0s", 59.4: "59s", 59.5: "1m", 89: "1m", 90: "2m", 3569: "59m", 3570: "1h", 3600: "1h", 4980: "1h 23m",
			2*86400 - 31: "47h 59m", 2 * 86400: "2d", 273_600: "3d 4h", 1e16: "-", -1: "-",
		}},
		{"count", count, map[float64]string{0: "0", 999: "999", 999.6: "1k", 1499: "1k", 180_000: "180k", 999_499: "999k", 999_600: "1M", 1_840_000: "1.8M", 999_960_000: "1G", 2.5e9: "2.5G", 1e15: "-"}},
		{"dollars", dollars, map[float64]string{0: "$0.00", 0.0001: "<$0.01", 0.005: "$0.01", 0.9: "$0.90", 12.345: "$12.35", math.Inf(1): "-"}},
	} {
		for v, want := range tt.words {
			if got := tt.word(v); got != want {
				t.Errorf("%s of %v: got %q, want %q", tt.name, v, got, want)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	f := ledger.Forecast{Sessions: span3(2, 3, 5), Seconds: span3(900, 1440, 3000), Tokens: span3(1e5, 180_000, 3e5), CostUSD: span3(0.5, 0.9, 1.6)}
	for _, tt := range []struct {
		name  string
		truth Truth
		want  [4]Verdict
		text  string
	}{
		{"all", Truth{4, 3900, 180_000, 0.4}, [4]Verdict{Within, Above, Within, Below}, "sessions 4, within 2-5; time 1h 5m, above 15m-50m; tokens 180k, within 100k-300k; cost $0.40, below $0.50-$1.60"},
		{"lower bounds", Truth{2, 900, 1e5, 0.5}, [4]Verdict{Within, Within, Within, Within}, "sessions 2, within 2-5; time 15m, within 15m-50m; tokens 100k, within 100k-300k; cost $0.50, within $0.50-$1.60"},
		{"upper bounds", Truth{5, 3000, 3e5, 1.6}, [4]Verdict{Within, Within, Within, Within}, "sessions 5, within 2-5; time 50m, within 15m-50m; tokens 300k, within 100k-300k; cost $1.60, within $0.50-$1.60"},
		{"just outside", Truth{1, 3000.1, 99_999, 1.61}, [4]Verdict{Below, Above, Below, Above}, "sessions 1, below 2-5; time 50m, above 15m-50m; tokens 100k, below 100k-300k; cost $1.61, above $0.50-$1.60"},
		{"not measured", Truth{3, 0, math.NaN(), math.Inf(1)}, [4]Verdict{Within, Unknown, Unknown, Unknown}, "sessions 3, within 2-5"},
		{"nothing", Truth{-1, -1, -1, -1}, [4]Verdict{Unknown, Unknown, Unknown, Unknown}, "nothing to compare"},
	} {
		c := Compare(f, tt.truth)
		if got := [4]Verdict{c.Sessions.Verdict, c.Seconds.Verdict, c.Tokens.Verdict, c.CostUSD.Verdict}; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if got := c.Text(); got != tt.text {
			t.Errorf("%s: got  %s\nwant %s", tt.name, got, tt.text)
		}
	}
	for name, r := range map[string]ledger.Range{
		"empty": {}, "upside down": span3(5, 3, 2), "likely above": span3(2, 9, 5), "likely below": span3(2, 1, 5), "not finite": span3(1, 2, math.Inf(1)), "no number": span3(math.NaN(), 2, 3), "negative": span3(-1, 2, 3),
	} {
		if got := Compare(ledger.Forecast{Sessions: r}, Truth{Sessions: 3}).Sessions; got != (Judged{Verdict: Unknown, Truth: 3}) {
			t.Errorf("%s: got %+v, want an unknown verdict and no range", name, got)
		}
	}
}

func TestTruthOf(t *testing.T) {
	t.Parallel()
	full := ledger.Run{Sessions: []string{"1", "2", "3"}, IterationsCompleted: 2, DurationSeconds: 100, WaitedSeconds: 30, TotalTokensUsed: 5000, TotalCostUSD: 0.5}
	for _, tt := range []struct {
		name   string
		change func(*ledger.Run)
		want   Truth
	}{
		{"all", func(*ledger.Run) {}, Truth{Sessions: 3, Seconds: 70, Tokens: 5000, CostUSD: 0.5}},
		{"sessions are only counted", func(r *ledger.Run) { r.Sessions = nil }, Truth{Sessions: 2, Seconds: 70, Tokens: 5000, CostUSD: 0.5}},
		{"more waiting than time", func(r *ledger.Run) { r.WaitedSeconds = 1000 }, Truth{Sessions: 3, Tokens: 5000, CostUSD: 0.5}},
		{"numbers that cannot be", func(r *ledger.Run) {
			r.DurationSeconds, r.WaitedSeconds, r.TotalTokensUsed, r.TotalCostUSD = -5, -7, -1, math.NaN()
		}, Truth{Sessions: 3}},
	} {
		r := full
		tt.change(&r)
		if diff := cmp.Diff(tt.want, TruthOf(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	length := func(s string) int { return len(s) }
	goals := func(texts ...string) (r ledger.Run) {
		for _, s := range texts {
			r.Goals = append(r.Goals, ledger.Goal{Text: s})
		}
		return r
	}
	for _, tt := range []struct {
		name string
		run  ledger.Run
		size func(string) int
		want int
	}{
		{"one", goals("aa"), length, 2},
		{"several", goals("aa", "bbb"), length, 5},
		{"the text alone", ledger.Run{Goal: "cccc"}, length, 4},
		{"a size that cannot be", goals(""), length, 1},
		{"without a function", goals("aa", "bbb", "c"), nil, 3},
		{"without bounds", goals("aa", "bbb"), func(string) int { return math.MaxInt }, maxSize},
	} {
		if got := SizeOf(tt.run, tt.size); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
