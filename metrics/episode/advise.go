package episode

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	weakShare     = 0.4 // of the best score, below which a match says nothing
	weakScore     = 0.1 // of a query, below which a match says nothing
	adviceMatches = 10
	pastLimit     = 3
	sentenceLimit = 200 // characters
	quoteLimit    = 70
	stallSteps    = 5
)

// Advise says what the matches of one answer of Recall teach. It is pure. No list is
// nil, and without evidence all are empty.
//
// At most ten matches count, the best ones. A match whose score is below 0.4 of the
// best, or below 0.1, does not: it shares little more than a word with what lies
// ahead.
//
// Failures and successes are at most three each, the most alike first. Patterns are
// words and pairs of words of at least four letters, and tags, that two or more
// successes share, by frequency times mean reward, at most five. Recommendations are
// at most three sentences of 200 characters, each drawn from episodes.
//
// Confidence is log(n+1)/log(11) times the share of the more frequent outcome, with n
// matches that count: it grows with the evidence and is 1 when ten episodes agree.
func Advise(matches []Match) Advice {
	matches = relevant(matches)
	a := Advice{PastFailures: []Past{}, PastSuccesses: []Past{}, Recommendations: []string{}}
	won, lost := split(matches)
	a.PastSuccesses, a.PastFailures = pastOf(won), pastOf(lost)
	m := newMiner()
	rows := make([]row, len(won))
	for i, e := range won {
		rows[i] = m.row(e)
	}
	a.Patterns = patternsOf(m.find(rows, nil))
	a.Recommendations = recommend(won, lost, a.Patterns)
	a.Confidence = confidence(len(won), len(lost))
	return a
}

// relevant returns the matches that count, the best first.
func relevant(matches []Match) []Match {
	out := slices.Clone(matches)
	slices.SortStableFunc(out, func(x, y Match) int { return cmp.Compare(y.Score, x.Score) })
	for i, m := range out {
		if i == adviceMatches || !(m.Score >= max(weakScore, weakShare*out[0].Score)) {
			return out[:i]
		}
	}
	return out
}

func split(matches []Match) (won, lost []Episode) {
	for _, m := range matches {
		if m.Success {
			won = append(won, m.Episode)
		} else {
			lost = append(lost, m.Episode)
		}
	}
	return won, lost
}

func pastOf(list []Episode) []Past {
	out := []Past{}
	for _, e := range list[:min(pastLimit, len(list))] {
		out = append(out, Past{Task: e.Task, Critique: e.Critique, Reward: e.Reward})
	}
	return out
}

func confidence(won, lost int) float64 {
	n := won + lost
	if n == 0 {
		return 0
	}
	return min(1, math.Log(float64(n+1))/math.Log(adviceMatches+1)*float64(max(won, lost))/float64(n))
}

// recommend puts the nearest failure first, then what successes took, then further
// failures, of each task only the most alike.
func recommend(won, lost []Episode, patterns []Pattern) []string {
	out := []string{}
	seen := make(map[string]bool)
	for _, e := range lost {
		task := oneLine(e.Task, quoteLimit)
		if seen[task] {
			continue
		}
		seen[task] = true
		out = append(out, oneLine(ofFailure(e), sentenceLimit))
		if len(out) == 1 && len(won) > 0 {
			out = append(out, oneLine(ofSuccesses(won, patterns), sentenceLimit))
		}
	}
	if len(lost) == 0 && len(won) > 0 {
		out = append(out, oneLine(ofSuccesses(won, patterns), sentenceLimit))
	}
	return out[:min(pastLimit, len(out))]
}

// ofFailure says where e ended and what it left. That it should be broken up is said
// of work that stalled.
func ofFailure(e Episode) string {
	task := quote(e.Task)
	where := ""
	if n := len(e.Steps); n > 0 && e.Steps[n-1].Total > 0 {
		last := e.Steps[n-1]
		where = fmt.Sprintf(" at %d%% (%d of %d)", 100*last.Completed/last.Total, last.Completed, last.Total)
	}
	if e.Iterations > 0 {
		where += " after " + number(e.Iterations, "iteration")
	}
	var s string
	switch status := oneLine(e.Status, quoteLimit); {
	case stalled(e):
		s = fmt.Sprintf("Break %s into smaller tasks: it stalled%s", task, where)
	case status != "" && !strings.EqualFold(status, "failed"):
		s = fmt.Sprintf("%s was not completed before: %s%s", task, status, where)
	default:
		s = fmt.Sprintf("%s failed before%s", task, where)
	}
	if e.Critique != "" {
		s += ": " + e.Critique
	}
	return s
}

// stalled reports whether e ended without progress, by its status, by the signals of
// its last step, or because its last steps completed nothing.
func stalled(e Episode) bool {
	if strings.Contains(strings.ToLower(e.Status), "stall") {
		return true
	}
	n := len(e.Steps)
	if n == 0 {
		return false
	}
	if slices.Contains(e.Steps[n-1].Signals, "no-progress") {
		return true
	}
	same := 1
	for same < n && e.Steps[n-1-same].Completed == e.Steps[n-1].Completed {
		same++
	}
	return same > stallSteps
}

// ofSuccesses says what similar work took and what it had in common.
func ofSuccesses(won []Episode, patterns []Pattern) string {
	iterations, took := make([]int64, len(won)), make([]int64, len(won))
	for i, e := range won {
		iterations[i], took[i] = int64(e.Iterations), e.DurationMS
	}
	slices.Sort(iterations)
	if len(won) == 1 {
		return fmt.Sprintf("%s succeeded before in %s and %s", quote(won[0].Task), number(won[0].Iterations, "iteration"), span(took[0]))
	}
	few, many := iterations[0], iterations[len(iterations)-1]
	s := fmt.Sprintf("%d similar episodes succeeded in %d to %d iterations, half of them within %s", len(won), few, many, span(median(took)))
	if few == many {
		s = fmt.Sprintf("%d similar episodes succeeded in %s each, half of them within %s", len(won), number(int(few), "iteration"), span(median(took)))
	}
	if len(patterns) > 0 {
		var words []string
		for _, p := range patterns {
			words = append(words, p.Pattern)
		}
		s += "; in common: " + strings.Join(words, ", ")
	}
	return s
}

// median is the upper one of two in the middle; it sorts list.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func quote(task string) string {
	if task = oneLine(task, quoteLimit); task == "" {
		return "work without a name"
	}
	return `"` + task + `"`
}

func number(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// span is a time in words that are as exact as they need to be.
func span(ms int64) string {
	d := time.Duration(max(0, min(ms, math.MaxInt64/int64(time.Millisecond)))) * time.Millisecond
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}
