package forecast

import (
	"math"
	"strings"

	"autopilot/metrics/ledger"
)

// Verdict says where the truth lies against a range, bounds included.
type Verdict string

// The verdicts. Unknown is that of a quantity that was not measured or not
// forecast.
const (
	Within  Verdict = "within"
	Above   Verdict = "above"
	Below   Verdict = "below"
	Unknown Verdict = "unknown"
)

// Truth is what a run took, in the units of a Sample. Zero is not measured.
type Truth struct {
	Sessions int
	Seconds  float64
	Tokens   float64
	CostUSD  float64
}

// Judged is one quantity of a forecast beside its truth. Numbers that cannot be
// are zero in it, and the verdict is Unknown.
type Judged struct {
	Verdict Verdict      `json:"verdict"`
	Truth   float64      `json:"truth"`
	Range   ledger.Range `json:"range"`
}

// Comparison is a forecast beside the truth.
type Comparison struct {
	Sessions Judged `json:"sessions"`
	Seconds  Judged `json:"seconds"`
	Tokens   Judged `json:"tokens"`
	CostUSD  Judged `json:"cost_usd"`
}

// Compare says for each quantity whether the truth lies within the forecast.
func Compare(f ledger.Forecast, truth Truth) Comparison {
	return Comparison{
		Sessions: judge(f.Sessions, float64(truth.Sessions)),
		Seconds:  judge(f.Seconds, truth.Seconds),
		Tokens:   judge(f.Tokens, truth.Tokens),
		CostUSD:  judge(f.CostUSD, truth.CostUSD),
	}
}

func judge(r ledger.Range, truth float64) Judged {
	j := Judged{Verdict: Unknown}
	known := positive(truth, math.MaxFloat64)
	if known {
		j.Truth = truth
	}
	if !(r.Low >= 0 && r.Low <= r.Likely && r.Likely <= r.High) || !positive(r.High, math.MaxFloat64) {
		return j
	}
	j.Range = r
	switch {
	case !known:
	case truth < r.Low:
		j.Verdict = Below
	case truth > r.High:
		j.Verdict = Above
	default:
		j.Verdict = Within
	}
	return j
}

// Text says the comparison in one line for people, such as "sessions 4, within
// 2-5; time 1h 5m, above 15m-50m". What is unknown is left out.
func (c Comparison) Text() string {
	var parts []string
	for _, q := range []struct {
		name string
		j    Judged
		word func(float64) string
	}{{Sessions, c.Sessions, sessions}, {Time, c.Seconds, span}, {Tokens, c.Tokens, count}, {Cost, c.CostUSD, dollars}} {
		switch q.j.Verdict {
		case Within, Above, Below:
			parts = append(parts, q.name+" "+q.word(q.j.Truth)+", "+string(q.j.Verdict)+" "+bounds(q.j.Range, q.word))
		case Unknown:
		}
	}
	if len(parts) == 0 {
		return "nothing to compare"
	}
	return strings.Join(parts, "; ")
}
