package episode

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
)

const (
	taskBytes     = 2000
	critiqueBytes = 4000
	nameBytes     = 200 // ids, source, status, one tag, one signal
	maxSteps      = 50
	maxTags       = 20
	maxSignals    = 10
)

// tidy returns e with bounded texts, without secrets and with numbers that have a
// JSON form. It does not write to what e points to.
func tidy(e Episode) Episode {
	e.At = e.At.Round(0).UTC()
	e.Task = safe(e.Task, taskBytes)
	e.Critique = safe(e.Critique, critiqueBytes)
	for _, p := range []*string{&e.ID, &e.SessionID, &e.RunID, &e.Source, &e.Status} {
		*p = safe(*p, nameBytes)
	}
	e.Tags = safeAll(e.Tags, maxTags)
	if !e.Success {
		e.Reward = 0
	}
	e.Reward = share(e.Reward)
	e.CostUSD = finite(e.CostUSD)
	steps := e.Steps
	e.Steps = nil
	for _, st := range steps[max(0, len(steps)-maxSteps):] {
		st.At = st.At.Round(0).UTC()
		st.Progress = share(st.Progress)
		st.CostUSD = finite(st.CostUSD)
		st.Signals = safeAll(st.Signals, maxSignals)
		e.Steps = append(e.Steps, st)
	}
	return e
}

// safe redacts before it cuts: half a secret no longer looks like one.
func safe(s string, limit int) string {
	return cut(logs.Redact(strings.ToValidUTF8(s, "\uFFFD")), limit)
}

func safeAll(list []string, limit int) []string {
	var out []string
	for _, s := range list {
		if len(out) == limit {
			break
		}
		if s = safe(strings.TrimSpace(s), nameBytes); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// cut returns the first bytes of s, at most limit, without half a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// oneLine returns s on one line, without characters that cannot be seen, and with
// at most limit characters.
func oneLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}

func share(x float64) float64 { return min(max(finite(x), 0), 1) }

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
