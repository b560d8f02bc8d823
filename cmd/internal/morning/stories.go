package morning

import (
	"cmp"
	"fmt"
	"slices"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/supervisor/story"
)

// storyOf is the story that a run was for in the cohort that this run coordinated, and
// whether the run belongs to it at all. Its own sessions belong to any run.
func (r Run) storyOf(run string) (id string, ours bool) {
	if run == r.Record.AutopilotRunID {
		return "", true
	}
	if !r.Record.Coordinates() {
		return "", false
	}
	for _, s := range r.Record.Stories {
		if slices.Contains(s.Runs, run) {
			return s.ID, true
		}
	}
	return "", false
}

// whole is the record of the run; that of one that coordinated others has what these have
// used up.
func (r Run) whole() ledger.Run {
	rec := r.Record
	if rec.Coordinates() {
		rec.TotalTokensUsed, rec.TotalCostUSD = rec.CohortTokens, rec.CohortCostUSD
	}
	return rec
}

// kept are the stories that are done and whose branch is there to be merged.
func (r Run) kept() []ledger.Story {
	if !r.Record.Coordinates() || r.State.Alive() {
		return nil
	}
	var out []ledger.Story
	for _, s := range r.Record.Stories {
		if s.Kept != "" && s.Status == string(story.Done) {
			out = append(out, s)
		}
	}
	return out
}

// merges are what a person does about the branches that stories have left.
func (r Run) merges() []string {
	var out []string
	for _, s := range r.kept() {
		out = append(out, fmt.Sprintf("look at and merge branch %s (work tree %s)", s.Branch, s.Worktree))
	}
	return out
}

// stories are the pieces of work of a run that coordinated others.
func (r Run) stories() []report.Item {
	if !r.Record.Coordinates() {
		return nil
	}
	words := map[story.Status]string{
		story.Done: report.ItemDone, story.Waiting: report.ItemWaiting, story.Running: "in-progress", story.Person: "needs-human",
		story.Failed: "failed", story.Shut: "failed", story.Stopped: report.ItemWaiting,
	}
	var out []report.Item
	for _, s := range r.Record.Stories {
		x := report.Item{ID: s.ID, Title: s.Title, Status: words[story.Status(s.Status)], Why: s.Why, Sessions: s.Sessions}
		if x.Why == "" && s.Commits > 0 {
			x.Why = fmt.Sprintf("on branch %s, which is not merged", s.Branch)
		}
		if s.Draft != "" {
			x.Why = cmp.Or(s.Why, "draft: "+s.Draft)
		}
		switch {
		case r.State.Alive():
		case x.Status == "needs-human":
			x.Command = "autopilot answer " + s.ID + " TEXT"
		case x.Status != report.ItemDone:
			x.Command = "autopilot resume " + r.Record.AutopilotRunID
		}
		out = append(out, x)
	}
	return out
}
