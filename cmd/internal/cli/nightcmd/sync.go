package nightcmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/courier/senders"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/outbox"
)

func syncCommand(std outside.Stdio) *cobra.Command {
	var asJSON, dry bool
	c := &cobra.Command{
		Use: "sync", Short: "Send what others are still to be told of the progress", Args: arg.None,
		Long: "Send the updates that wait in the outbox now, also those for targets that are no longer in the setting 'sync'; a\nrun sends by itself, to its own targets. What a target did not take stays and is tried again; what it refused for\ngood is set aside until 'sync retry ID'.\n\n" +
			"Tokens stand in the environment: GITHUB_TOKEN or GH_TOKEN; JIRA_URL, JIRA_EMAIL and JIRA_API_TOKEN;\nAZURE_DEVOPS_TOKEN; AUTOPILOT_WEBHOOK_SECRET signs webhooks, and webhook:$NAME takes an address from a variable.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be posted, and send nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !dry { // a look is allowed
			if err := ByPerson(c.Context(), std, "sync"); err != nil {
				return err
			}
		}
		p, n, err := place(c.Context(), std, false)
		if err != nil {
			return err
		}
		targets := p.Cfg.Night.Sync
		if dry {
			return preview(std, p.Repo.Top, n.Outbox, targets, asJSON)
		}
		res, err := n.Outbox.Deliver(c.Context(), senders.Of(p.Repo.Top, std), outbox.Options{Force: true, Batch: p.Cfg.Night.SyncInterval, Breakers: &n.Breakers})
		if err != nil {
			return err
		}
		if asJSON {
			err = std.JSON(res)
		} else {
			err = std.Say("%s", told(res, targets))
		}
		if err == nil && len(res.Kept)+len(res.Refused) > 0 {
			err = outside.Silent(supervisor.ExitFailures)
		}
		return err
	}
	return group(c, syncStatusCommand(std), entryCommand(std, "retry", "Try an update again that was refused", outbox.Outbox.Retry),
		entryCommand(std, "drop", "Forget an update, or a broken one by the name of its file", outbox.Outbox.Drop))
}

func told(res outbox.Result, targets []publish.Target) string {
	var b strings.Builder
	if res.Busy {
		return "another process is sending\n"
	}
	fmt.Fprintf(&b, "%d sent, %d wait, %d refused\n", len(res.Sent), len(res.Kept), len(res.Refused))
	for _, e := range res.Sent {
		fmt.Fprintf(&b, "  sent     %s  %s %s\n", named(e.Target, targets), e.Subject, e.Receipt.URL)
	}
	for _, e := range res.Kept {
		fmt.Fprintf(&b, "  waits    %s  %s  %s%s: %s\n", e.ID, named(e.Target, targets), e.Subject, until(e.Until), e.Why)
	}
	for _, e := range res.Refused {
		fmt.Fprintf(&b, "  refused  %s  %s  %s: %s\n", e.ID, named(e.Target, targets), e.Update.Subject, e.Why)
	}
	return b.String()
}

// named is a target, with a word where no run tells it any more.
func named(t publish.Target, targets []publish.Target) string {
	if slices.Contains(targets, t) {
		return t.String()
	}
	return t.String() + " (not in the setting sync)"
}

// until says when a wait ends.
func until(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	form := "15:04:05"
	if at = at.Local(); time.Until(at) > 12*time.Hour {
		form = "02 Jan 15:04"
	}
	return ", until " + at.Format(form)
}

// post is what would be posted.
type post struct {
	ID         string         `json:"id"`
	Target     publish.Target `json:"target"`
	Subject    string         `json:"subject"`
	Configured bool           `json:"configured"` // in the setting sync
	Preview    string         `json:"preview,omitempty"`
	Error      string         `json:"error,omitempty"` // why it could not be posted as things are
}

// preview prints what would be posted. A target to which nothing can be posted keeps no
// other from being shown.
func preview(std outside.Stdio, repo string, o outbox.Outbox, targets []publish.Target, asJSON bool) error {
	st, err := o.Status(time.Now())
	if err != nil {
		return err
	}
	posts := []post{}
	for _, e := range st.Pending {
		p := post{ID: e.ID, Target: e.Target, Subject: e.Update.Subject, Configured: slices.Contains(targets, e.Target)}
		if p.Preview, err = senders.Preview(repo, std, e.Target, e.Key, e.Update); err != nil {
			p.Error = err.Error()
		}
		posts = append(posts, p)
	}
	if asJSON {
		return std.JSON(posts)
	}
	if len(posts) == 0 {
		return std.Say("nothing waits to be sent\n")
	}
	var b strings.Builder
	for _, p := range posts {
		fmt.Fprintf(&b, "# %s  %s  %s\n", p.ID, named(p.Target, targets), p.Subject)
		if p.Error != "" {
			fmt.Fprintf(&b, "cannot be posted: %s\n", p.Error)
		}
		fmt.Fprintf(&b, "%s\n\n", p.Preview)
	}
	return std.Say("%s", b.String())
}

func syncStatusCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "status", Short: "Show what waits to be sent, what was refused, and what was taken last", Args: arg.None}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, n, err := place(c.Context(), std, false)
		if err != nil {
			return err
		}
		st, err := n.Outbox.Status(time.Now())
		if err != nil {
			return err
		}
		if asJSON {
			return std.JSON(st)
		}
		return std.Say("%s", standing(st, p.Cfg.Night.Sync))
	}
	return c
}

func standing(st outbox.Standing, targets []publish.Target) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d wait, %d refused, %d broken, %d dropped\n", len(st.Pending), len(st.Refused), st.Broken, st.Dropped)
	for _, e := range st.Pending {
		at := e.NextAt
		if e.RetryAt.After(at) {
			at = e.RetryAt
		}
		fmt.Fprintf(&b, "  waits    %s  %s  %s%s %s\n", e.ID, named(e.Target, targets), e.Update.Subject, until(at), e.Why)
	}
	for _, e := range st.Refused {
		fmt.Fprintf(&b, "  refused  %s  %s  %s %s\n", e.ID, named(e.Target, targets), e.Update.Subject, e.Why)
	}
	for _, name := range st.BrokenFiles {
		fmt.Fprintf(&b, "  broken   %s  'autopilot sync drop' removes it\n", name)
	}
	for _, t := range st.Taken {
		fmt.Fprintf(&b, "  taken %s  %s  %s %s\n", t.At.Local().Format("02 Jan 15:04"), t.Target, t.Subject, t.Receipt.URL)
	}
	return b.String()
}

func entryCommand(std outside.Stdio, name, short string, do func(outbox.Outbox, string) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " ID", Short: short, Args: arg.Exactly("the id of an update; 'autopilot sync status' lists them"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := ByPerson(c.Context(), std, "sync "+name); err != nil {
				return err
			}
			n, err := open(c.Context(), std)
			if err == nil {
				err = do(n.Outbox, args[0])
			}
			if err != nil {
				return outside.UsageHint("'autopilot sync status' lists them", "%v", err)
			}
			return nil
		},
	}
}
