package stats

import "fmt"

// enough is how many cases it takes before something is said about them.
const enough = 3

// Lessons says in a few lines what earlier runs teach whoever judges the next
// one. It is empty while there is too little to go by.
func (m Metrics) Lessons() []string {
	var out []string
	if r := m.Reflections; r.Judged >= enough && r.Accuracy != nil {
		out = append(out, fmt.Sprintf("%d of %d assessments of progress were right when compared with what came after", r.Correct, r.Judged))
	}
	if said := m.FalseStops + m.GoalsAchieved; said >= enough && m.FalseStops > 0 {
		out = append(out, fmt.Sprintf("of %d times a goal was said to be reached, %d were wrong: a check failed", said, m.FalseStops))
	}
	if n := m.MeanIterationsToCompletion; n != nil && m.GoalsAchieved >= enough {
		out = append(out, fmt.Sprintf("a goal that was reached took %.1f sessions on average; %d of %d goals were reached", *n, m.GoalsAchieved, m.Goals))
	}
	return out
}
