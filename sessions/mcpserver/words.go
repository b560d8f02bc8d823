package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/prompt"
	"autopilot/sessions/task"
)

const subjectLength = 200

func statusText(s completion.Status) string {
	var b strings.Builder
	switch {
	case s.Enabled && s.Waiting:
		b.WriteString("Persistent completion is on; the next session that stops here is bound to it.\n")
	case s.Enabled:
		fmt.Fprintf(&b, "Persistent completion is on for session %s.\n", oneLine(s.SessionID))
	default:
		b.WriteString("Persistent completion is off.\n")
	}
	minutes := time.Duration(s.ElapsedMS) * time.Millisecond / time.Minute
	fmt.Fprintf(&b, "Iteration %d of %d, minute %d of %d, about %d tokens.\n", s.Iterations, s.MaxIterations, minutes, s.TimeoutMinutes, s.Tokens)
	fmt.Fprintf(&b, "Tasks: %s, from %s.\n", countText(s.Tasks), list(s.TaskSources))
	if s.Stalled > 0 {
		fmt.Fprintf(&b, "No further task was completed for %s.\n", number(s.Stalled, "iteration"))
	}
	if len(s.Remaining) > 0 {
		b.WriteString("Remaining:\n")
	}
	for _, t := range s.Remaining {
		fmt.Fprintf(&b, "- %s (%s)\n", t.Subject, taskNote(t))
	}
	if more := s.Tasks.Total - s.Tasks.Completed - len(s.Remaining); more > 0 && len(s.Remaining) > 0 {
		fmt.Fprintf(&b, "- and %d more\n", more)
	}
	for _, f := range s.Broken {
		fmt.Fprintf(&b, "Cannot be read: %s: %s.\n", oneLine(f.Path), oneLine(f.Why))
	}
	if s.Warning != "" {
		fmt.Fprintf(&b, "Warning: %s.\n", oneLine(s.Warning))
	}
	if len(s.Others) > 0 {
		fmt.Fprintf(&b, "Other sessions of the project: %s.\n", list(s.Others))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func countText(c task.Count) string {
	text := fmt.Sprintf("%d of %d complete (%d %%)", c.Completed, c.Total, c.Percent)
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d of them failed", c.Failed)
	}
	return text
}

func taskNote(t task.Task) string {
	note := oneLine(t.Status) + ", " + t.Source
	if t.Blocked {
		note += ", blocked"
	}
	if t.Dead {
		note += ", its owner is gone"
	}
	return note
}

func settingsText(s completion.Settings) string {
	tokens := "any number of tokens"
	if s.MaxTokens > 0 {
		tokens = number(s.MaxTokens, "token")
	}
	return fmt.Sprintf("Settings: at most %s, %s and %s; complete means %s; tasks from %s.",
		number(s.MaxIterations, "iteration"), number(s.TimeoutMinutes, "minute"), tokens, s.Criteria, list(s.TaskSources))
}

func logText(events []completion.Event) string {
	if len(events) == 0 {
		return "The log is empty."
	}
	lines := make([]string, len(events))
	for i, e := range events {
		line := fmt.Sprintf("%s %v", eventTime(e["ts"]), e["event"])
		for _, k := range slices.Sorted(maps.Keys(e)) {
			if k == "ts" || k == "event" {
				continue
			}
			if v, err := encode(e[k]); err == nil {
				line += fmt.Sprintf(" %s=%s", k, v)
			}
		}
		lines[i] = oneLine(line)
	}
	return strings.Join(lines, "\n")
}

// eventTime takes the number as it comes: fresh from the program, or read back
// from a file.
func eventTime(ts any) string {
	var ms int64
	switch v := ts.(type) {
	case int64:
		ms = v
	case int:
		ms = int64(v)
	case float64:
		ms = int64(v)
	case json.Number:
		ms, _ = v.Int64() // 0, which is no time, when it is none
	}
	if ms == 0 {
		return "(no time)"
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

func learnedText(l episode.Learned) string {
	if l.Episodes == 0 {
		return "There are no episodes yet, so there is nothing to learn from."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d succeeded, %d failed. Mean reward %.2f, confidence %.2f.\n", number(l.Episodes, "episode"), l.Successes, l.Failures, l.AvgReward, l.Confidence)
	patterns(&b, "Successes have in common:", l.Patterns)
	patterns(&b, "Failures have in common:", l.FailurePatterns)
	if len(l.Recommendations) > 0 {
		b.WriteString("Recommended:\n")
	}
	for _, r := range l.Recommendations {
		fmt.Fprintf(&b, "- %s\n", oneLine(r))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func patterns(b *strings.Builder, title string, list []episode.Pattern) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(b, title)
	for _, p := range list {
		fmt.Fprintf(b, "- %s (%s, mean reward %.2f)\n", oneLine(p.Pattern), number(p.Frequency, "episode"), p.AvgReward)
	}
}

func predictionText(p episode.Prediction) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Next: %s\nConfidence %.2f: %s\n%s left.\n", oneLine(p.Action), p.Confidence, oneLine(cmp.Or(p.Reason, "no reason is given")), number(p.Remaining, "task"))
	for _, a := range p.Alternatives {
		fmt.Fprintf(&b, "Or: %s (expected reward %.2f)\n", oneLine(a.Action), a.Reward)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func number[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func list(names []string) string {
	if len(names) == 0 {
		return "nowhere"
	}
	return oneLine(strings.Join(names, ", "))
}

// oneLine keeps foreign text from breaking out of its line.
func oneLine(s string) string { return prompt.Cut(strings.Join(strings.Fields(s), " "), subjectLength) }
