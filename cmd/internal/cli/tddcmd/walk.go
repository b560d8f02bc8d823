package tddcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/workflow"
)

func startCommand(std outside.Stdio) *cobra.Command {
	var req tdd.StartRequest
	var attempts string
	k := kind{
		changes: true, use: "start TASK", short: "Begin a run of a task: check, make the branch, say what is next", args: arg.Exactly("the id of a task"),
		long: "Check that the work tree is clean and that the tests pass, make the branch, and begin with the first open\nsubtask. TASK is the id of a task with subtasks in .taskmaster/tasks/tasks.json. Where something would have\nto be confirmed and nobody can be asked, it is refused.",
		flags: func(c *cobra.Command) {
			c.Flags().StringVar(&req.Branch, "branch", "", "`NAME` of the branch, instead of one from the setting branch-pattern")
			c.Flags().StringVar(&req.Tag, "tag", "", "the task's `TAG`, instead of the current one, which is switched")
			c.Flags().StringVar(&attempts, "max-attempts", "", "refusals of one step after which the run is paused (1..100), instead of the setting")
			c.Flags().BoolVar(&req.NoConfirm, "no-confirm", false, "go on with changes in the work tree, which are left alone, and with failing tests")
		},
		run: func(ctx context.Context, w workflow.Workflow, args []string) (answer, error) {
			req.TaskID = args[0]
			if attempts != "" {
				n, err := strconv.Atoi(attempts)
				if err != nil || n < 1 || n > 100 {
					return answer{}, outside.Usage("--max-attempts %s is out of range: 1 to 100", attempts)
				}
				req.MaxAttempts = n
			}
			s, err := w.Start(ctx, req)
			if err != nil {
				return answer{}, err
			}
			text := fmt.Sprintf("started: task %s %s\n  run     %s\n  branch  %s\n  tag     %s, %d subtasks\n", s.TaskID, oneLine(s.Title), s.RunID, s.Branch, s.Tag, s.Subtasks)
			return answer{value: s, text: warnings(s.Warnings) + text + nextText(s.NextAction)}, nil
		},
	}
	return k.command(std)
}

func nextCommand(std outside.Stdio) *cobra.Command {
	return kind{
		use: "next", short: "Say what has to be done now",
		long: "Say what has to be done now: red, green, commit, finalize, complete, or paused, with the subtask, what helps\nwith it, and instructions.",
		run: func(ctx context.Context, w workflow.Workflow, _ []string) (answer, error) {
			n, err := w.Next(ctx)
			if err != nil {
				return answer{}, err
			}
			text := nextText(n)
			if s := n.Subtask; s != nil {
				for _, p := range [][2]string{{"description", s.Description}, {"details", s.Details}, {"tests", s.TestStrategy}} {
					if p[1] != "" {
						text += fmt.Sprintf("  %s: %s\n", p[0], oneLine(p[1]))
					}
				}
			}
			return answer{value: n, text: text}, nil
		},
	}.command(std)
}

func completeCommand(std outside.Stdio) *cobra.Command {
	var results, coverage string
	var files []string
	k := kind{
		changes: true, use: "complete [PHASE [SUBTASK]]", short: "Report the test results of the red or green phase", args: arg.AtMost(2),
		long: "Report what the tests say at the end of a phase: in red at least one must fail, in green all must pass. Where the\nproject's test command is known it is run, and a report that it contradicts is refused. PHASE is red or green.",
		flags: func(c *cobra.Command) {
			c.Flags().StringVar(&results, "results", "", "`failed:N,passed:N`, with skipped and total where known, or the same as JSON")
			c.Flags().StringVar(&coverage, "coverage", "", "`PERCENT` of lines that the tests run, or lines:N,branches:N,functions:N,statements:N")
			c.Flags().StringSliceVar(&files, "files", nil, "files that were changed, relative to the top of the repository; found when left out")
		},
		run: func(ctx context.Context, w workflow.Workflow, args []string) (answer, error) {
			req, err := completion(args, results, coverage, files)
			if err != nil {
				return answer{}, err
			}
			j, err := w.Complete(ctx, req)
			if err != nil {
				return answer{}, err
			}
			return answer{value: j, text: judgedText(j), failed: judgedCode(j)}, nil
		},
	}
	return k.command(std)
}

func completion(args []string, results, coverage string, files []string) (tdd.CompleteRequest, error) {
	req := tdd.CompleteRequest{Files: files}
	if len(args) > 0 {
		req.Phase = tdd.At(strings.ToLower(args[0]))
		if req.Phase != tdd.Red && req.Phase != tdd.Green {
			return req, outside.UsageHint("'autopilot tdd commit' and 'autopilot tdd finalize' end the other ones", "%q is no phase that can be completed; there are red and green", args[0])
		}
	}
	if len(args) > 1 {
		req.SubtaskID = args[1]
	}
	if results != "" {
		r, err := tdd.ParseResults(results)
		if err != nil {
			return req, outside.UsageHint("--results failed:3,passed:0", "%v", err)
		}
		req.Results = &r
	}
	if coverage != "" {
		c, err := tdd.ParseCoverage(coverage)
		if err != nil {
			return req, outside.UsageHint("--coverage 92", "%v", err)
		}
		req.Coverage = c
	}
	return req, nil
}

func judgedCode(j tdd.Judged) int {
	switch {
	case j.Validated:
		return 0
	case j.NextAction.Action == tdd.ActionPaused:
		return supervisor.ExitPerson
	}
	return supervisor.ExitFailures
}

func judgedText(j tdd.Judged) string {
	var b strings.Builder
	b.WriteString(j.Message + "\n")
	if j.Warning != "" {
		fmt.Fprintf(&b, "warning: %s\n", j.Warning)
	}
	if j.Suggestion != "" {
		fmt.Fprintf(&b, "hint: %s\n", j.Suggestion)
	}
	if m := j.Measured; m != nil {
		fmt.Fprintf(&b, "  '%s': %s (%s)\n", m.Command, m.Words(), m.Detail)
	}
	b.WriteString(nextText(j.NextAction))
	return b.String()
}

func commitCommand(std outside.Stdio) *cobra.Command {
	var req tdd.CommitRequest
	k := kind{
		changes: true, use: "commit [SUBTASK]", short: "Commit what the subtask changed, and go on to the next one", args: arg.AtMost(1),
		long: "Commit the files that the subtask changed together with its status in tasks.json, on the run's own branch and never\non a default one. Hooks run and commits are signed as the repository has it.",
		flags: func(c *cobra.Command) {
			c.Flags().StringVar(&req.Message, "message", "", "summary in the subject, instead of the subtask's title")
			c.Flags().StringSliceVar(&req.Files, "files", nil, "files to commit, relative to the top of the repository; found when left out")
		},
		run: func(ctx context.Context, w workflow.Workflow, args []string) (answer, error) {
			if len(args) > 0 {
				req.SubtaskID = args[0]
			}
			c, err := w.Commit(ctx, req)
			if err != nil {
				return answer{}, err
			}
			subject, _, _ := strings.Cut(c.Message, "\n")
			text := fmt.Sprintf("committed: %.10s %s (%d files)\n", c.CommitSHA, subject, len(c.Files))
			return answer{value: c, text: warnings(c.Warnings) + text + nextText(c.NextAction)}, nil
		},
	}
	return k.command(std)
}

func finalizeCommand(std outside.Stdio) *cobra.Command {
	var req tdd.FinalizeRequest
	k := kind{
		changes: true, use: "finalize", short: "Run the whole suite and end the run",
		long: "Run the whole test suite with coverage; when it passes, set the task to done with a commit of its own, and end the\nrun. With --push the branch is pushed to the setting remote, never forced.",
		flags: func(c *cobra.Command) {
			c.Flags().BoolVar(&req.Push, "push", false, "push the branch, also of a run that is complete already")
		},
		run: func(ctx context.Context, w workflow.Workflow, _ []string) (answer, error) {
			f, err := w.Finalize(ctx, req)
			if err != nil {
				return answer{}, err
			}
			text := fmt.Sprintf("complete: %s\n  branch  %s, %d commits\n", f.Message, f.Branch, f.Commits)
			if f.Pushed != "" {
				text += fmt.Sprintf("  pushed  %s\n", f.Pushed)
			}
			return answer{value: f, text: warnings(f.Warnings) + text}, nil
		},
	}
	return k.command(std)
}
