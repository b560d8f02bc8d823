package stats

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const none = "-"

// row is one line for people.
type row struct{ name, value, note string }

// Text says the metrics for people, one in a line, with the target where there is
// one and "-" for what is not known. It ends in a newline.
func (m Metrics) Text() string {
	rows := []row{
		{"runs", number(m.Runs), number(m.GoalRuns) + " with a goal"},
		{"goals", number(m.Goals), ""},
		{"goals achieved", number(m.GoalsAchieved), ""},
		{"completion rate", percent(m.CompletionRate), target(m.CompletionRate, TargetCompletion, true)},
		{"sessions to completion", decimal(m.MeanIterationsToCompletion, 1), "mean"},
		{"false stops", number(m.FalseStops), ""},
		{"false stop rate", percent(m.FalseStopRate), target(m.FalseStopRate, TargetFalseStops, false)},
		{"reflections", number(m.Reflections.Count), number(m.Reflections.Failed) + " failed"},
		{"reflection accuracy", percent(m.Reflections.Accuracy), fmt.Sprintf("%d of %d judged", m.Reflections.Correct, m.Reflections.Judged)},
		{"reflection score", decimal(m.Reflections.Score, 2), "0 to 1"},
	}
	for _, name := range byCount(m.ByReflector) {
		rows = append(rows, row{"  by " + name, number(m.ByReflector[name]), ""})
	}
	rows = append(rows, row{"forecasts", number(m.Forecasts.Runs), ""})
	for _, q := range []struct {
		name  string
		share *float64
	}{{"sessions", m.Forecasts.Sessions}, {"time", m.Forecasts.Seconds}, {"tokens", m.Forecasts.Tokens}, {"cost", m.Forecasts.CostUSD}} {
		rows = append(rows, row{"  " + q.name + " within bounds", percent(q.share), ""})
	}
	rows = append(rows, row{"reasons", "", ""})
	for _, name := range byCount(m.Reasons) {
		rows = append(rows, row{"  " + name, number(m.Reasons[name]), ""})
	}
	rows = append(rows,
		row{"total sessions", number(m.Totals.Sessions), ""},
		row{"total tokens", number(m.Totals.Tokens), ""},
		row{"total cost", "$" + strconv.FormatFloat(m.Totals.CostUSD, 'f', 2, 64), ""},
		row{"total time", clock(m.Totals.Seconds), ""})
	return table(rows)
}

// table sets values flush right, so that digits stand below each other.
func table(rows []row) string {
	names, values := 0, 0
	for _, r := range rows {
		names, values = max(names, utf8.RuneCountInString(r.name)), max(values, utf8.RuneCountInString(r.value))
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s  %*s  %s", names, r.name, values, r.value, r.note), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func percent(share *float64) string {
	if share == nil {
		return none
	}
	return strconv.FormatFloat(*share*100, 'f', 1, 64) + "%"
}

func decimal(v *float64, places int) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v, 'f', places, 64)
}

// target says what is wanted, and whether it is so: the rounded value beside it
// may look like the target itself.
func target(share *float64, bound float64, above bool) string {
	sign := "<"
	if above {
		sign = ">"
	}
	words := fmt.Sprintf("target %s %g%%", sign, bound*100)
	switch {
	case share == nil:
		return words
	case above && *share > bound, !above && *share < bound:
		return words + ": met"
	}
	return words + ": missed"
}

// clock says seconds as 1h23m20s; more than the longest duration is that.
func clock(seconds int64) string {
	const longest = int64(1<<63-1) / int64(time.Second)
	return (time.Duration(min(seconds, longest)) * time.Second).String()
}
