package tool

import (
	"context"
	"fmt"
	"strings"

	"autopilot/sessions/completion"
	"autopilot/sessions/mcpserver"
	"autopilot/supervisor/tdd"
)

// Instructions tell an agent what the tools are for.
const Instructions = `The tools autopilot_start, autopilot_next, autopilot_complete_phase, autopilot_commit and autopilot_finalize go through one task test by test: write a failing test (red), make it pass (green), commit, subtask by subtask.
In such a run ask autopilot_next what to do, do only that, run the tests yourself, and report their numbers with autopilot_complete_phase. Leave commits and branches to autopilot_commit. When the run is paused, stop: a person has to look at it.`

// Runs begins and ends runs, takes them up again, and says how far one is. An error of
// Standing that is a refusal of the kind Invalid means that there is no run.
type Runs interface {
	Start(ctx context.Context, r tdd.StartRequest) (tdd.Started, error)
	Resume(ctx context.Context, runID string) (tdd.Resumed, error)
	Abort(ctx context.Context, r tdd.AbortRequest) (tdd.Stopped, error)
	Standing(ctx context.Context) (tdd.Standing, error)
}

// Steps goes through a run.
type Steps interface {
	Next(ctx context.Context) (tdd.Next, error)
	Complete(ctx context.Context, r tdd.CompleteRequest) (tdd.Judged, error)
	Commit(ctx context.Context, r tdd.CommitRequest) (tdd.Committed, error)
	Finalize(ctx context.Context, r tdd.FinalizeRequest) (tdd.Finalized, error)
}

// Options say what the tools work on.
type Options struct {
	Runs  Runs
	Steps Steps
	Root  string // of the project, an absolute path
	// Completion is the state of persistent completion, which the same tool tells.
	Completion func(ctx context.Context) (completion.Status, error)
	Network    bool // Completion may ask a service on the network
}

// Tools are the tools of the workflow. The one for the status takes the place of that
// of the server.
func Tools(o Options) []mcpserver.Tool {
	return []mcpserver.Tool{o.start(), o.next(), o.completePhase(), o.commit(), o.status(), o.resume(), o.finalize(), o.abort()}
}

// within refuses a call for another project than that of the server.
func within[In interface{ root() string }, Out any](o Options, do mcpserver.Action[In, Out]) mcpserver.Action[In, Out] {
	return func(ctx context.Context, in In) (Out, string, error) {
		if err := o.inside(in.root()); err != nil {
			var none Out
			return none, "", err
		}
		out, text, err := do(ctx, in)
		return out, text, byTools(err)
	}
}

// byTools names tools in the way out of a refusal, where it names commands. Resuming
// stays a command: a paused run is a person's matter.
func byTools(err error) error {
	r, ok := err.(*tdd.Refusal) // one that is wrapped would lose its wrapping
	if !ok {
		return err
	}
	said := *r
	said.Way = strings.NewReplacer(
		"autopilot tdd start TASK", "autopilot_start", "'autopilot tdd next'", "autopilot_next", "'autopilot tdd commit'", "autopilot_commit",
		"'autopilot tdd finalize'", "autopilot_finalize", "autopilot tdd abort", "autopilot_abort",
		"--files", "files", "--branch", "branch", "or say --no-confirm: ", "or a person starts it with --no-confirm: ",
	).Replace(r.Way)
	said.Cause = err
	return &said
}

func (o Options) start() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_start", mcpserver.Trait{
		Title: "Start a task", Hint: mcpserver.Changes,
		About: "Start the test-driven workflow for a task of the project's task list: check the work tree, make a branch, begin with the first open subtask. Refused in a work tree with changes.",
	}, limitStart, within(o, func(ctx context.Context, in startArguments) (tdd.Started, string, error) {
		r, err := in.request()
		if err != nil {
			return tdd.Started{}, "", err
		}
		out, err := o.Runs.Start(ctx, r)
		if err != nil {
			return tdd.Started{}, "", err
		}
		out.NextAction = shortNext(out.NextAction)
		return out, startedText(out), nil
	}))
}

func (o Options) next() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_next", mcpserver.Trait{
		Title: "Next step of the task", Hint: mcpserver.Reads,
		About: "What has to be done now in the test-driven run: red (write failing tests), green (make them pass), commit, finalize, complete or paused, with the subtask and what helps with it.",
	}, limitRoot, within(o, func(ctx context.Context, in placeArguments) (tdd.Next, string, error) {
		out, err := o.Steps.Next(ctx)
		if err != nil {
			return tdd.Next{}, "", err
		}
		out = shortNext(out)
		return out, nextText(out), nil
	}))
}

func (o Options) completePhase() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_complete_phase", mcpserver.Trait{
		Title: "Complete red or green", Hint: mcpserver.Advances,
		About: "Report the results of the tests at the end of red or green. With validated true the run goes on to the next step; with false the step is not complete, and message and suggestion say why. Where the project's tests are known they are run to check the report.",
	}, limitComplete, within(o, func(ctx context.Context, in completeArguments) (tdd.Judged, string, error) {
		out, err := o.Steps.Complete(ctx, in.request())
		if err != nil {
			return tdd.Judged{}, "", err
		}
		out.Measured, out.NextAction = shortMeasured(out.Measured), shortNext(out.NextAction)
		return out, judgedText(out), nil
	}))
}

func (o Options) commit() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_commit", mcpserver.Trait{
		Title: "Commit the subtask", Hint: mcpserver.Advances,
		About: "Commit what the subtask changed, with a message that names task and test results, mark the subtask as done, and go on to the next one. Only after green.",
	}, limitCommit, within(o, func(ctx context.Context, in commitArguments) (tdd.Committed, string, error) {
		out, err := o.Steps.Commit(ctx, tdd.CommitRequest{SubtaskID: in.SubtaskID, Message: in.Message, Files: named(in.Files)})
		if err != nil {
			return tdd.Committed{}, "", err
		}
		out.Files, out.NextAction = some(out.Files), shortNext(out.NextAction)
		return out, committedText(out), nil
	}))
}

func (o Options) resume() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_resume", mcpserver.Trait{
		Title: "Resume a run", Hint: mcpserver.Changes,
		About: "Go on with a run that was interrupted, or that is paused and a person has looked at: from the step at which it stands, with all its tries.",
	}, limitResume, within(o, func(ctx context.Context, in resumeArguments) (tdd.Resumed, string, error) {
		out, err := o.Runs.Resume(ctx, in.RunID)
		if err != nil {
			return tdd.Resumed{}, "", err
		}
		out.NextAction = shortNext(out.NextAction)
		return out, resumedText(out), nil
	}))
}

func (o Options) finalize() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_finalize", mcpserver.Trait{
		Title: "Finalize the task", Hint: mcpserver.Advances, Network: true,
		About: "End a run whose subtasks are all complete: run all tests once more, check the coverage, mark the task as done. Pushes the branch only when asked to.",
	}, limitRoot, within(o, func(ctx context.Context, in finalizeArguments) (tdd.Finalized, string, error) {
		out, err := o.Steps.Finalize(ctx, tdd.FinalizeRequest{Push: in.Push})
		if err != nil {
			return tdd.Finalized{}, "", err
		}
		return out, finalizedText(out), nil
	}))
}

func (o Options) abort() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_abort", mcpserver.Trait{
		Title: "Abort the run", Hint: mcpserver.Discards,
		About: "Give the run up. Branch and state stay, unless cleanup and confirm are both true. Only when a person asks for it.",
	}, limitRoot, within(o, func(ctx context.Context, in abortArguments) (tdd.Stopped, string, error) {
		if in.Cleanup && !in.Confirm {
			return tdd.Stopped{}, "", &tdd.Refusal{
				Kind: tdd.Refused, Message: "cleanup deletes the branch of the run and its state, and confirm is not true",
				Way: "without cleanup both are kept; call it with confirm true when a person wants them deleted",
			}
		}
		out, err := o.Runs.Abort(ctx, tdd.AbortRequest{Cleanup: in.Cleanup, NoConfirm: in.Confirm})
		if err != nil {
			return tdd.Stopped{}, "", err
		}
		out.Progress = full(out.Progress)
		return out, stoppedText(out), nil
	}))
}

// persistence has another name than the status of a run, which it would hide.
type persistence = completion.Status

// status is how persistent completion and the run are. Without a run it has nothing of
// one.
type status struct {
	persistence
	*tdd.Standing
}

func (o Options) status() mcpserver.Tool {
	return mcpserver.NewTool("autopilot_status", mcpserver.Trait{
		Title: "Autopilot status", Hint: mcpserver.Reads, Network: o.Network,
		About: "How far the test-driven run is, when there is one: task, branch, subtask, step, attempt, progress. And whether persistent completion is on, how far its count is, how many tasks are complete, and the first of those that are left.",
	}, limitRoot, within(o, func(ctx context.Context, in statusArguments) (status, string, error) {
		run, err := o.Runs.Standing(ctx)
		none := isNone(err)
		if err != nil && !none {
			return status{}, "", fmt.Errorf("run: %w", err)
		}
		st, err := o.Completion(ctx)
		if err != nil {
			return status{}, "", err
		}
		out := status{}
		var text string
		out.persistence, text = mcpserver.Answer(st)
		if !none {
			run.Progress = full(run.Progress)
			out.Standing, text = &run, standingText(run)+"\n"+text
		}
		if in.JSON {
			text = ""
		}
		return out, text, nil
	}))
}
