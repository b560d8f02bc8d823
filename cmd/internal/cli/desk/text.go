package desk

import (
	"fmt"
	"strings"
	"time"

	"autopilot/sessions/completion"
	"autopilot/supervisor/ending"
)

// shownTasks is how many remaining tasks are named.
const shownTasks = 10

// Text is how far the tasks are, for a person; nothing where there are none
// and nobody asked for persistent completion.
func Text(s completion.Status) string {
	if !s.Enabled && s.Iterations == 0 && s.Tasks.Total == 0 && len(s.Broken) == 0 {
		return ""
	}
	var b strings.Builder
	switch {
	case s.Waiting:
		b.WriteString("persistent completion: enabled for the next session that stops here\n")
	case s.Enabled:
		fmt.Fprintf(&b, "persistent completion: enabled for session %s, iteration %d of %d, %s of %d minutes\n", s.SessionID, s.Iterations, s.MaxIterations,
			ending.Elapsed(time.Duration(s.ElapsedMS)*time.Millisecond), s.TimeoutMinutes)
	default:
		fmt.Fprintf(&b, "persistent completion: disabled, %d iterations\n", s.Iterations)
	}
	fmt.Fprintf(&b, "  tasks       %d of %d complete (%d%%), from %s\n", s.Tasks.Completed, s.Tasks.Total, s.Tasks.Percent, strings.Join(s.TaskSources, ", "))
	if s.Tasks.Failed > 0 {
		fmt.Fprintf(&b, "  failed      %d\n", s.Tasks.Failed)
	}
	if s.Stalled > 0 {
		fmt.Fprintf(&b, "  stalled     %d iterations without a further completed task\n", s.Stalled)
	}
	for i, t := range s.Remaining {
		if i == shownTasks {
			fmt.Fprintf(&b, "  - and %d more; 'autopilot tasks' lists them\n", s.Tasks.Total-s.Tasks.Completed-shownTasks)
			break
		}
		fmt.Fprintf(&b, "  - [%s] %s (%s)\n", t.Source, t.Subject, t.Status)
	}
	for _, f := range s.Broken {
		fmt.Fprintf(&b, "  cannot be read: %s: %s\n", f.Path, f.Why)
	}
	return b.String()
}
