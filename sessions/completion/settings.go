package completion

import (
	"cmp"

	"autopilot/sessions/task"
)

// settings are those that hold for who is enabled next: what a person has chosen,
// then the desk's, then the usual ones.
func (d Desk) settings(chosen *Change) Settings {
	s := d.Defaults
	s.MaxIterations = cmp.Or(s.MaxIterations, UsualIterations)
	s.TimeoutMinutes = cmp.Or(s.TimeoutMinutes, UsualMinutes)
	s.Criteria = cmp.Or(s.Criteria, AllDone)
	if len(s.TaskSources) == 0 {
		s.TaskSources = task.Usual()
	}
	if chosen != nil {
		s = chosen.on(s)
	}
	return s
}

// on are the settings with the change.
func (c Change) on(s Settings) Settings {
	set(&s.MaxIterations, c.MaxIterations)
	set(&s.TimeoutMinutes, c.TimeoutMinutes)
	set(&s.Criteria, c.Criteria)
	set(&s.MaxTokens, c.MaxTokens)
	if c.TaskSources != nil {
		s.TaskSources = c.TaskSources
	}
	return s
}

// over is an earlier change with this one on top.
func (c Change) over(earlier *Change) *Change {
	if earlier == nil {
		return &c
	}
	out := *earlier
	out.MaxIterations = cmp.Or(c.MaxIterations, out.MaxIterations)
	out.TimeoutMinutes = cmp.Or(c.TimeoutMinutes, out.TimeoutMinutes)
	out.Criteria = cmp.Or(c.Criteria, out.Criteria)
	out.MaxTokens = cmp.Or(c.MaxTokens, out.MaxTokens)
	if c.TaskSources != nil {
		out.TaskSources = c.TaskSources
	}
	return &out
}

func (c Change) empty() bool {
	return c.MaxIterations == nil && c.TimeoutMinutes == nil && c.TaskSources == nil && c.Criteria == nil && c.MaxTokens == nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
