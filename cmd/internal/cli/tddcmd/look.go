package tddcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/workflow"
)

func statusCommand(std outside.Stdio) *cobra.Command {
	return kind{
		use: "status", short: "Show how far the run is",
		run: func(ctx context.Context, w workflow.Workflow, _ []string) (answer, error) {
			s, err := w.Standing(ctx)
			if err != nil {
				return answer{}, err
			}
			return answer{value: s, text: standingText(s)}, nil
		},
	}.command(std)
}

func standingText(s tdd.Standing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: task %s %s\n", s.Status, s.TaskID, oneLine(s.TaskTitle))
	fmt.Fprintf(&b, "  run       %s\n  branch    %s\n", s.RunID, s.Branch)
	fmt.Fprintf(&b, "  at        %s", s.CurrentPhase)
	if s.CurrentSubtask != "" {
		fmt.Fprintf(&b, " of subtask %s, attempt %d of %d", s.CurrentSubtask, s.AttemptNumber, s.MaxAttempts)
	}
	total := len(s.Progress.Completed) + len(s.Progress.Remaining)
	if s.Progress.Current != "" {
		total++
	}
	fmt.Fprintf(&b, "\n  subtasks  %d of %d complete", len(s.Progress.Completed), total)
	if len(s.Progress.Remaining) > 0 {
		fmt.Fprintf(&b, ", then %s", strings.Join(s.Progress.Remaining, ", "))
	}
	fmt.Fprintf(&b, "\n  commits   %d\n  duration  %s\n", s.Commits, s.Duration)
	if s.Why != "" {
		fmt.Fprintf(&b, "  why       %s\n", s.Why)
	}
	return b.String()
}

func resumeCommand(std outside.Stdio) *cobra.Command {
	var id string
	return kind{
		changes: true, use: "resume", short: "Go on with a run that was interrupted or paused",
		long: "Go on with the current run: put right what a kill has left, check the branch out, and give a paused run as many\nattempts as before.",
		flags: func(c *cobra.Command) {
			c.Flags().StringVar(&id, "run-id", "", "another run, with this `ID`; 'autopilot tdd runs' lists them")
		},
		run: func(ctx context.Context, w workflow.Workflow, _ []string) (answer, error) {
			r, err := w.Resume(ctx, id)
			if err != nil {
				return answer{}, err
			}
			return answer{value: r, text: fmt.Sprintf("resumed: %s\n%s", r.RunID, nextText(r.NextAction))}, nil
		},
	}.command(std)
}

func abortCommand(std outside.Stdio) *cobra.Command {
	var req tdd.AbortRequest
	return kind{
		changes: true, use: "abort", short: "Give the run up",
		long: "Give the current run up, whatever its state is. Branch and commits stay, unless --cleanup is given.",
		flags: func(c *cobra.Command) {
			c.Flags().BoolVar(&req.Cleanup, "cleanup", false, "delete the run's branch and its state, after a question")
			c.Flags().BoolVar(&req.NoConfirm, "no-confirm", false, "do not ask")
		},
		run: func(ctx context.Context, w workflow.Workflow, _ []string) (answer, error) {
			s, err := w.Abort(ctx, req)
			if err != nil {
				return answer{}, err
			}
			return answer{value: s, text: fmt.Sprintf("aborted: %s\n  %s\n", s.RunID, s.Note)}, nil
		},
	}.command(std)
}

func reportCommand(std outside.Stdio) *cobra.Command {
	return kind{
		use: "report [RUN-ID]", short: "Print a whole run", args: arg.AtMost(1),
		run: func(_ context.Context, w workflow.Workflow, args []string) (answer, error) {
			r, err := w.Report(strings.Join(args, ""))
			if err != nil {
				return answer{}, err
			}
			return answer{value: r, text: r.Text()}, nil
		},
	}.command(std)
}

func runsCommand(std outside.Stdio) *cobra.Command {
	return kind{
		use: "runs", short: "List the runs of this work tree",
		run: func(_ context.Context, w workflow.Workflow, _ []string) (answer, error) {
			list, err := w.Store.List()
			if err != nil && len(list) == 0 {
				return answer{}, err
			}
			var b strings.Builder
			for _, m := range list {
				fmt.Fprintf(&b, "%-12s %s  %d subtasks, %d commits\n", m.Status, m.RunID, len(m.SubtasksCompleted), m.TotalCommits)
			}
			if len(list) == 0 {
				b.WriteString("no runs\n")
			}
			if err != nil {
				fmt.Fprintf(std.Err, "autopilot: warning: %v\n", err)
			}
			return answer{value: list, text: b.String()}, nil
		},
	}.command(std)
}

// shownBefore is how many earlier events watch begins with.
const shownBefore = 10

func watchCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "watch", Short: "Follow the events of the run until it is over", Args: arg.None,
		Long: "Print the last events of the current run and then each new one, until the run is complete or aborted. Ctrl-C ends\nthe watching, not the run.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the lines as they are")
	c.RunE = func(c *cobra.Command, _ []string) error {
		w, err := open(c.Context(), std, false)
		if err != nil {
			return err
		}
		s, err := w.Standing(c.Context())
		if err != nil {
			return refused(std, asJSON, err)
		}
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		err = w.Store.Follow(ctx, s.RunID, shownBefore, func(a tdd.Activity) error {
			if asJSON {
				return line(std, a)
			}
			return std.Say("%s\n", eventText(a))
		})
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return c
}

func line(std outside.Stdio, a tdd.Activity) error {
	enc := json.NewEncoder(std.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}

// eventText is an event in one line.
func eventText(a tdd.Activity) string {
	parts := []string{a.TS.Local().Format(time.TimeOnly), fmt.Sprintf("%-18s", a.Event)}
	add := func(words ...string) {
		if text := strings.Join(words, ""); words[len(words)-1] != "" {
			parts = append(parts, text)
		}
	}
	add(a.SubtaskID)
	add(a.Phase)
	if a.From != "" || a.To != "" {
		add(a.From, " -> ", a.To)
	}
	if a.Passed != nil && a.Failed != nil {
		add(fmt.Sprintf("%d failed, %d passed", *a.Failed, *a.Passed))
	}
	add(a.Status)
	add(a.Branch)
	if len(a.SHA) > 10 {
		add(a.SHA[:10])
	}
	add(a.LinesChanged)
	add(oneLine(a.Message))
	add(a.Duration)
	add(oneLine(a.Error))
	return strings.Join(parts, " ")
}
