package desk

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// LimitFlags change the limits of persistent completion. They are read as text, so
// that what is refused is named in one way.
type LimitFlags struct {
	iterations, minutes, tokens, criteria string
	sources                               []string
}

// Add gives a command the flags.
func (l *LimitFlags) Add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.iterations, "max-iterations", "", fmt.Sprintf("how often a session is sent on at most (1..%d) [%d]", completion.MostIterations, completion.UsualIterations))
	f.StringVar(&l.minutes, "timeout", "", fmt.Sprintf("`MINUTES` after enabling when it may stop (1..%d) [%d]", completion.MostMinutes, completion.UsualMinutes))
	f.StringSliceVar(&l.sources, "task-sources", nil, "where its tasks come from: "+strings.Join(task.Sources(), ", "))
	f.StringVar(&l.criteria, "completion-criteria", "", "when tasks are complete: "+completion.AllDone+", "+completion.AllSucceeded)
	f.StringVar(&l.tokens, "max-iteration-tokens", "", "tokens, estimated from the transcript, after which it may stop; 0 is no limit")
}

// Change is what was typed; changed is false when nothing was.
func (l *LimitFlags) Change(c *cobra.Command) (ch completion.Change, changed bool, err error) {
	number := func(flag, text string) *int64 {
		if !c.Flags().Changed(flag) || err != nil {
			return nil
		}
		n, perr := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if perr != nil {
			err = outside.Usage("--%s: %q is no whole number", flag, text)
			return nil
		}
		changed = true
		return &n
	}
	if n := number("max-iterations", l.iterations); n != nil {
		v := int(*n)
		ch.MaxIterations = &v
	}
	if n := number("timeout", l.minutes); n != nil {
		v := int(*n)
		ch.TimeoutMinutes = &v
	}
	ch.MaxTokens = number("max-iteration-tokens", l.tokens)
	if c.Flags().Changed("task-sources") {
		if l.sources == nil {
			l.sources = []string{}
		}
		ch.TaskSources, changed = l.sources, true
	}
	if c.Flags().Changed("completion-criteria") {
		ch.Criteria, changed = &l.criteria, true
	}
	return ch, changed, err
}

// Configure changes the limits of this repository and says so.
func Configure(ctx context.Context, std outside.Stdio, ch completion.Change, asJSON bool) error {
	d, err := openDesk(ctx, std, opening{create: true})
	if err != nil {
		return err
	}
	s, err := d.Configure(ch, time.Now())
	if err != nil {
		return Refusal(err)
	}
	if asJSON {
		return std.JSON(s)
	}
	return std.Say("Config updated: maxIterations=%d, timeout=%dmin, sources=%s\n", s.MaxIterations, s.TimeoutMinutes, strings.Join(s.TaskSources, ","))
}
