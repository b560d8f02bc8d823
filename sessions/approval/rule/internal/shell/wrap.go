package shell

import (
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/wrap"
)

// wrapper looks at what a command runs that is one of its arguments.
func (w *walker) wrapper(name string, c *flow.Command) bool {
	if name == "git" {
		w.git(c)
		return true
	}
	steps, ok := wrap.Steps(c)
	for _, s := range steps {
		switch s.Kind {
		case wrap.Runs:
			w.run(s.Command)
		case wrap.Told:
			w.Visit(s.Command)
		case wrap.Shell:
			w.inShell(s.Text, s.Command)
		case wrap.Perhaps:
			in := w.within(s.Command)
			in.code = true // it may be something else
			in.hidden(s.Text, s.Command)
		case wrap.Input:
			w.within(s.Command).feed(s.Command.Stdin(), c)
		}
	}
	return ok
}
