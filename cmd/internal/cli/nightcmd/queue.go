package nightcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/supervisor/queue"
)

func queueCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "queue", Short: "The work of a night: increments and goals, one after the other",
		Long: "The queue holds increments of SpecWeave (.specweave/increments) and goals. 'autopilot run --source queue' works\nthrough it: one item at a time, by priority, then in order, each when what it waits for is done. What fails or\nneeds a person is kept apart, and the next one is taken up.",
		Example: "  autopilot queue add 0007-login 0008-logout\n  autopilot queue add --goal \"make the tests of ./parser pass\" --verify 'go test ./parser' --priority 1\n" +
			"  autopilot queue list\n  autopilot run --source queue --max-sessions 20 --max-hours 8",
	}
	return group(c, addCommand(std), listCommand(std), removeCommand(std), moveCommand(std), skipCommand(std), retryCommand(std))
}

func addCommand(std outside.Stdio) *cobra.Command {
	var item queue.Item
	var goals []string
	var all bool
	c := &cobra.Command{
		Use: "add [INCREMENT...]", Short: "Put increments or goals into the queue",
		Long: "Put increments into the queue, named by their folder or the beginning of it, or goals with --goal. The\npriority of an increment, and what it waits for, are read from its spec.md.",
	}
	c.Flags().StringArrayVar(&goals, "goal", nil, "a `GOAL` in words; may be repeated")
	c.Flags().StringArrayVar(&item.Verify, "verify", nil, "shell `COMMAND` that must succeed before the goal counts as reached; may be repeated")
	c.Flags().IntVar(&item.Priority, "priority", 0, "`N` from 1, done first; 0 is last")
	c.Flags().StringSliceVar(&item.After, "after", nil, "`ID` of an item that has to be done before; may be repeated")
	c.Flags().BoolVar(&all, "all-backlog", false, "every increment that is neither completed nor abandoned")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := ByPerson(c.Context(), std, "queue add"); err != nil {
			return err
		}
		switch {
		case len(args)+len(goals) == 0 && !all:
			return outside.UsageHint("autopilot queue add 0007-login, or --goal TEXT, or --all-backlog", "queue add needs an increment or a goal")
		case len(item.Verify) > 0 && len(goals) == 0:
			return outside.Usage("--verify is for goals; the tests of an increment are the test gate's")
		}
		_, n, err := place(c.Context(), std, true)
		if err != nil {
			return err
		}
		added, err := n.Enqueue(night.Wanted{Increments: args, Goals: goals, AllBacklog: all, Like: item})
		if err != nil {
			return night.Refusal(err)
		}
		for _, it := range added {
			fmt.Fprintf(std.Out, "added %s  %s\n", it.ID, screen.Plain(it.Short()))
		}
		if len(added) == 0 {
			fmt.Fprintln(std.Out, "nothing was added: all of them are in the queue, or there are none")
		}
		return nil
	}
	return c
}

// listed is an item as it is shown.
type listed struct {
	queue.Item
	Held string `json:"held,omitempty"` // why it cannot be begun now
	Next bool   `json:"next,omitempty"`
}

func listCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "Show the queue", Args: arg.None}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		_, n, err := place(c.Context(), std, false)
		if err != nil {
			return err
		}
		q, err := n.Queue.Load()
		if err != nil {
			return night.Refusal(err)
		}
		choice := q.Choose(n.QueueFacts())
		items := make([]listed, 0, len(q.Items))
		for _, it := range q.Items {
			l := listed{Item: it, Next: choice.Item != nil && choice.Item.ID == it.ID}
			for _, h := range choice.Held {
				if h.ID == it.ID {
					l.Held = h.Why
				}
			}
			items = append(items, l)
		}
		if asJSON {
			return std.JSON(map[string]any{"items": items, "summary": q.Summary(nil, choice.Held...)})
		}
		if len(items) == 0 {
			return std.Say("the queue is empty; 'autopilot queue add' fills it\n")
		}
		var b strings.Builder
		for _, l := range items {
			b.WriteString(screen.Plain(l.line()) + "\n")
		}
		return std.Say("%s", b.String())
	}
	return c
}

func (l listed) line() string {
	mark, why := "  ", l.Why
	if l.Next {
		mark = "> "
	}
	if why == "" {
		why = l.Held
	}
	if first, _, more := strings.Cut(why, "\n"); more {
		why = first + " …"
	}
	priority := "-"
	if l.Priority > 0 {
		priority = fmt.Sprint(l.Priority)
	}
	s := fmt.Sprintf("%s%-12s %2s  %-28s %s", mark, l.Status, priority, l.ID, l.Short())
	if why != "" {
		s += "\n      " + why
	}
	return s
}

// changing is a command that changes the items that are named.
func changing(std outside.Stdio, c *cobra.Command, done string, change func(q *queue.Queue, id string) error) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := ByPerson(c.Context(), std, "queue "+c.Name()); err != nil {
			return err
		}
		_, n, err := place(c.Context(), std, true)
		if err != nil {
			return err
		}
		var ids []string
		err = n.Queue.Update(func(q *queue.Queue) error {
			ids = nil
			for _, name := range args {
				id, err := q.Resolve(name)
				if err == nil {
					err = change(q, id)
				}
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return nil
		})
		if err != nil {
			return night.Refusal(err)
		}
		return std.Say("%s %s\n", done, strings.Join(ids, ", "))
	}
	return c
}

func atLeastOne(c *cobra.Command, args []string) error {
	return arg.Exactly("the id of an item")(c, args[:min(1, len(args))])
}

func removeCommand(std outside.Stdio) *cobra.Command {
	return changing(std, &cobra.Command{Use: "remove ID...", Short: "Take items out of the queue", Args: atLeastOne}, "removed",
		func(q *queue.Queue, id string) error { return q.RemoveItem(id) })
}

func retryCommand(std outside.Stdio) *cobra.Command {
	return changing(std, &cobra.Command{
		Use: "retry ID...", Short: "Put items that failed or needed a person back among those that wait", Args: atLeastOne,
	}, "waiting again:", func(q *queue.Queue, id string) error { return q.Retry(id, time.Now()) })
}

func skipCommand(std outside.Stdio) *cobra.Command {
	return changing(std, &cobra.Command{Use: "skip ID...", Short: "Leave items out of the night; 'queue retry' takes them back", Args: atLeastOne}, "skipped",
		func(q *queue.Queue, id string) error { return q.Skip(id, "skipped by a person", time.Now()) })
}

func moveCommand(std outside.Stdio) *cobra.Command {
	var to queue.Place
	c := &cobra.Command{
		Use: "move ID", Short: "Move an item within the queue", Args: arg.Exactly("the id of an item"),
		Long: "Move an item: --first, --last, --before ID, --after ID or --to N. A priority counts more than the place.",
	}
	c.Flags().BoolVar(&to.First, "first", false, "to the beginning")
	c.Flags().BoolVar(&to.Last, "last", false, "to the end")
	c.Flags().StringVar(&to.Before, "before", "", "before the item with this `ID`")
	c.Flags().StringVar(&to.After, "after", "", "behind the item with this `ID`")
	c.Flags().IntVar(&to.Position, "to", 0, "to the place `N`, from 1")
	return changing(std, c, "moved", func(q *queue.Queue, id string) error { return q.Move(id, to) })
}

// open is what a command needs of the work tree, for those that only look.
func open(ctx context.Context, std outside.Stdio) (night.Night, error) {
	_, n, err := place(ctx, std, false)
	return n, err
}
