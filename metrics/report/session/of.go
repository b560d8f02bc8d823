package session

import (
	"fmt"
	"math"
	"strings"
	"time"

	"autopilot/metrics/report/wording"
)

const (
	maxPrompt = 4000 // runes
	maxLine   = 300  // runes
	maxGates  = 1000
)

const stamp = "2006-01-02T15:04:05.000Z"

// Of returns the view of a run.
func Of(f Facts) View {
	gates := gatesOf(f.Gates)
	v := View{
		SessionID: line(f.RunID), StartTime: at(f.Started), LastActivity: at(f.LastActivity),
		Iteration: max(0, f.Iteration), MaxIterations: max(0, f.MaxIterations), MaxHours: number(f.MaxHours, math.MaxFloat64),
		CompletionPromise: line(f.Promise), OriginalPrompt: wording.Text(f.Prompt, maxPrompt),
		HumanGates: gates, CircuitBreakers: breakersOf(f.Breakers), Checkpoints: []CheckpointView{},
	}
	v.sort(f.Items)
	for _, c := range f.Checkpoints {
		v.Checkpoints = append(v.Checkpoints, CheckpointView{at(c.At), max(0, c.Iteration), number(c.Percent, 100)})
	}
	v.Status = statusOf(f)
	if f.Over {
		reason := EndReason(f.End, f.Promised)
		v.EndTime, v.EndReason = at(f.Ended), &reason
	}
	return v
}

func statusOf(f Facts) Status {
	waits := false
	for _, g := range f.Gates {
		waits = waits || g.Status == "pending"
	}
	if f.Over {
		s := StatusOf(f.End)
		if waits && (s == Completed || s == Paused) {
			return NeedsHuman
		}
		return s
	}
	switch {
	case waits:
		return NeedsHuman
	case f.Waiting:
		return Paused
	case f.Iteration <= 0:
		return Initializing
	}
	return Running
}

// ended are the status and the reason for each kill-switch and cause.
func ended() map[string]struct {
	status Status
	reason string
} {
	return map[string]struct {
		status Status
		reason string
	}{
		"user-abort":              {Cancelled, ""},
		"max-sessions-reached":    {Completed, "max_iterations"},
		"max-hours-exceeded":      {Completed, "max_hours"},
		"token-budget-exceeded":   {Paused, ""},
		"resource-overload":       {Paused, ""},
		"low-confidence-fallback": {NeedsHuman, ""},
		"stall-timeout":           {Failed, ""},
		"spiral":                  {Failed, ""},
		"failed-wave":             {Failed, ""},
		"carryover-too-high":      {Failed, ""},

		workDone:          {Completed, ""},
		"no-tasks":        {Completed, ""},
		"manual-fallback": {NeedsHuman, ""},
		"needs-person":    {NeedsHuman, ""},
		"given-up":        {Failed, ""},
		"failed-tasks":    {Failed, ""},
		"no-progress":     {Failed, ""},
		"killed":          {Failed, ""},
		"error":           {Failed, ""},
	}
}

const workDone = "work-done"

// StatusOf is the status of a run that ended in this way.
func StatusOf(e End) Status {
	all := ended()
	for _, name := range []string{e.KillSwitch, e.Cause} {
		if x, ok := all[name]; ok {
			return x.status
		}
	}
	switch e.ExitCode {
	case 0:
		return Completed
	case 4:
		return NeedsHuman
	case 5, 6:
		return Paused
	case 129, 130, 143:
		return Cancelled
	}
	return Failed
}

// EndReason is why a run ended, in lower case with underscores. Promised says that the
// promised words were seen and believed.
func EndReason(e End, promised bool) string {
	all := ended()
	for _, name := range []string{e.KillSwitch, e.Cause} {
		x, ok := all[name]
		switch {
		case !ok:
		case x.reason != "":
			return x.reason
		case name == workDone && promised:
			return "completion_promise"
		default:
			return strings.ReplaceAll(name, "-", "_")
		}
	}
	return fmt.Sprintf("exit_%d", e.ExitCode)
}

// sort puts the items into the lists of the view. What was given up or finished
// elsewhere is in none.
func (v *View) sort(items []Item) {
	v.IncrementQueue, v.CompletedIncrements, v.FailedIncrements = []string{}, []string{}, []string{}
	for _, it := range items {
		id := line(it.ID)
		switch it.Status {
		case "waiting", "needs-human":
			v.IncrementQueue = append(v.IncrementQueue, id)
		case "in-progress":
			if v.CurrentIncrement == nil {
				v.CurrentIncrement = &id
			} else {
				v.IncrementQueue = append(v.IncrementQueue, id)
			}
		case "done":
			v.CompletedIncrements = append(v.CompletedIncrements, id)
		case "failed":
			v.FailedIncrements = append(v.FailedIncrements, id)
		}
	}
}

func gatesOf(gates []Gate) HumanGates {
	out := HumanGates{Approved: []string{}, Denied: []string{}}
	for _, g := range gates {
		words := line(g.ID)
		if s := line(g.Subject); s != "" {
			words += ": " + s
		}
		switch g.Status {
		case "pending":
			if out.Pending == nil {
				out.Pending = &words
			}
		case "approved", "used":
			if len(out.Approved) < maxGates {
				out.Approved = append(out.Approved, words)
			}
		case "denied", "expired":
			if len(out.Denied) < maxGates {
				out.Denied = append(out.Denied, words)
			}
		}
	}
	return out
}

func breakersOf(list []Breaker) map[string]BreakerView {
	const closed = "closed"
	out := map[string]BreakerView{"github": {State: closed}, "jira": {State: closed}, "ado": {State: closed}}
	for _, b := range list {
		name := line(b.Service)
		if name == "azure" {
			name = "ado"
		}
		state := strings.ReplaceAll(line(b.State), "-", "_")
		if state == "" {
			state = closed
		}
		out[name] = BreakerView{state, max(0, b.Failures)}
	}
	return out
}

func line(s string) string { return wording.Line(s, maxLine) }

func at(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(stamp)
	return &s
}

// number is a number that can be: from zero to most.
func number(v, most float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return min(v, most)
}
