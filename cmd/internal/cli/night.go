package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/sessions/approval"
	"autopilot/supervisor/breaker"
	"autopilot/supervisor/queue"
)

// nightView is what 'status' knows of the queue, of calls that are held, and of what is
// told to others.
type nightView struct {
	Queue    queue.Summary   `json:"queue"`
	Current  string          `json:"current_item,omitempty"`
	Held     []approval.Gate `json:"held_calls"`
	Breakers []breaker.State `json:"breakers"`
	Unsent   int             `json:"updates_waiting"`
	Refused  int             `json:"updates_refused"`
	Broken   []string        `json:"broken"` // what cannot be read
}

// viewNight reads what it can; what is broken is named and hides nothing else.
func viewNight(p job.Place, now time.Time) *nightView {
	v := &nightView{Held: []approval.Gate{}, Breakers: []breaker.State{}, Broken: []string{}}
	n, err := p.Night(false)
	if err != nil {
		v.Broken = append(v.Broken, err.Error())
		return v
	}
	q, err := n.Queue.Load()
	v.broken(err)
	v.Queue = q.Summary(nil)
	for _, it := range q.Items {
		if it.Status == queue.InProgress {
			v.Current = it.ID
		}
	}
	gates, err := n.Gates.List(now)
	v.broken(err)
	for _, g := range gates {
		if g.Open() {
			v.Held = append(v.Held, g)
		}
	}
	for _, s := range n.Breakers.States(now) {
		if s.Position != breaker.Closed || s.Failures > 0 {
			v.Breakers = append(v.Breakers, s)
		}
	}
	c, err := n.Outbox.Counts()
	v.broken(err)
	v.Unsent, v.Refused = c.Waiting, c.Refused
	if c.Broken > 0 {
		v.Broken = append(v.Broken, fmt.Sprintf("%d entries of the outbox cannot be read", c.Broken))
	}
	return v
}

func (v *nightView) broken(err error) {
	if err != nil {
		v.Broken = append(v.Broken, err.Error())
	}
}

// text is empty where there is nothing of it.
func (v *nightView) text() string {
	var b strings.Builder
	if s := v.Queue; s.Total > 0 {
		fmt.Fprintf(&b, "queue: %d of %d done, %d failed, %d need a person, %d wait", s.Done, s.Total, s.Failed, s.NeedsHuman, s.Waiting)
		if v.Current != "" {
			b.WriteString("; at work on " + v.Current)
		}
		b.WriteString("\n")
	}
	for _, g := range v.Held {
		fmt.Fprintf(&b, "held: %s  %s (%s); 'autopilot approve %s'\n", g.ID, g.Subject, g.Rules[0].Rule, g.ID)
	}
	for _, s := range v.Breakers {
		fmt.Fprintf(&b, "breaker: %s is %s %s: %s\n", s.Name, s.Position, s.Reason(), s.Error)
	}
	if v.Unsent+v.Refused > 0 {
		fmt.Fprintf(&b, "updates: %d wait to be sent, %d were refused; 'autopilot sync status'\n", v.Unsent, v.Refused)
	}
	for _, words := range v.Broken {
		fmt.Fprintf(&b, "broken: %s; 'autopilot doctor' says how to mend it\n", words)
	}
	return b.String()
}

func cancelCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "cancel", Short: "End the run in this repository at once, and what waits of it", Args: arg.None,
		Long: "End the run at once, as 'stop --now' does. Calls that are held are denied, and the item of the queue that was\nbegun waits again. It can be used from any shell; -C names the repository.",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := nightcmd.ByPerson(c.Context(), std, "cancel"); err != nil {
				return err
			}
			p, err := job.SetUp(c.Context(), std, nil)
			if err != nil {
				return err
			}
			if err := stopRun(c.Context(), std, p, true); err != nil {
				return err
			}
			n, err := p.Night(false)
			if err != nil {
				return err
			}
			done, err := n.GiveUp(nightcmd.Person(), time.Now())
			for _, words := range done {
				fmt.Fprintln(std.Out, screen.Plain(words))
			}
			return err
		},
	}
}
