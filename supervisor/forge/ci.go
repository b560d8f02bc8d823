package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Values of [CI.Status].
const (
	Green   = "green"
	Red     = "red"
	Pending = "pending"
	NoCI    = "none" // nothing has looked at the branch
)

// CI is how continuous integration stands.
type CI struct {
	Status string // one of the constants
	Detail string // one line: the commit and what ran on it
	URL    string // of what decided; may be empty
}

const (
	runPage      = 100
	pipelinePage = 20
	mostNamed    = 3 // workflows in a detail
)

// CI returns how continuous integration stands for a branch: for the newest commit of it
// that was looked at. What was skipped or cancelled has not looked.
//
// On GitHub these are the newest runs of each workflow of Actions, without those of forks
// whose branch has the same name. One that has failed, timed out or could not start makes
// it red, even while others run. On GitLab it is the newest pipeline of the branch.
func (f Forge) CI(ctx context.Context, branch string) (CI, error) {
	op := "look at the CI of " + oneLine(branch, maxLabel)
	if !isBranch(branch) {
		return CI{}, fmt.Errorf("%s: it is no name of a branch", op)
	}
	if f.Kind == GitLab {
		return f.pipelines(ctx, op, branch)
	}
	raw, err := f.get(ctx, op, "actions/runs", url.Values{
		"branch": {branch}, "per_page": {fmt.Sprint(runPage)}, "exclude_pull_requests": {"true"},
	})
	if err != nil {
		return CI{}, err
	}
	runs, full, err := readRuns(raw)
	if err != nil {
		return CI{}, f.program().unreadable(op, "%v", err)
	}
	return judge(runs, full), nil
}

// run is a run of a workflow, or a pipeline.
type run struct {
	id       int
	workflow int
	name     string
	sha      string
	at       time.Time
	url      string
	outcome  string // as the host calls it
	verdict  string // Green, Red, Pending, or NoCI when it has not looked
}

// readRuns reads the runs of GitHub's answer. Full says that there may be more of them.
func readRuns(raw []byte) (runs []run, full bool, err error) {
	top, err := object(raw)
	if err != nil {
		return nil, false, err
	}
	var within json.RawMessage
	if top.read("workflow_runs", &within); top.err != nil {
		return nil, false, top.err
	}
	list, err := entries(within)
	if err != nil {
		return nil, false, fmt.Errorf("the field \"workflow_runs\": %w", err)
	}
	for i := range list {
		e := &list[i]
		r, own := readRun(e)
		if e.err == nil && r.verdict == "" {
			e.err = fmt.Errorf("the outcome %q is not known", oneLine(r.outcome, maxLabel))
		}
		if e.err != nil {
			return nil, false, fmt.Errorf("run %d of the answer: %w", i+1, e.err)
		}
		if own {
			runs = append(runs, r)
		}
	}
	return runs, len(list) >= runPage, nil
}

// readRun reads a run. Own is false for one whose commit is in a fork.
func readRun(e *entry) (r run, own bool) {
	type repository struct {
		ID int64 `json:"id"`
	}
	var here repository
	var head *repository
	r = run{
		id: e.number("id"), workflow: e.number("workflow_id"), sha: e.text("head_sha"), at: e.time("created_at"), url: e.link("html_url"),
		outcome: e.text("status"),
	}
	e.may("name", &r.name)
	e.read("repository", &here)
	e.may("head_repository", &head) // null when the fork is gone
	if r.outcome == "completed" {
		r.outcome = e.text("conclusion")
	}
	r.verdict = runVerdict(r.outcome)
	return r, head != nil && head.ID == here.ID
}

// runVerdict says what a status or a conclusion of a run of GitHub Actions means, or
// nothing when it is not known.
func runVerdict(outcome string) string {
	switch outcome {
	case "success", "neutral":
		return Green
	case "failure", "timed_out", "startup_failure":
		return Red
	case "queued", "in_progress", "requested", "waiting", "pending", "action_required":
		return Pending
	case "cancelled", "skipped", "stale":
		return NoCI
	}
	return ""
}

// judge says how the newest commit stands on which a run has looked.
func judge(runs []run, full bool) CI {
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id)) })
	for len(runs) > 0 {
		sha := runs[0].sha
		var latest, older []run
		for _, r := range runs {
			switch {
			case r.sha != sha:
				older = append(older, r)
			case !slices.ContainsFunc(latest, func(l run) bool { return l.workflow == r.workflow }):
				latest = append(latest, r)
			}
		}
		for _, status := range []string{Red, Pending, Green} {
			if those := slices.DeleteFunc(slices.Clone(latest), func(r run) bool { return r.verdict != status }); len(those) > 0 {
				ci := CI{Status: status, Detail: detail(sha, those, len(latest)), URL: those[0].url}
				if full && len(older) == 0 {
					ci.Detail += fmt.Sprintf(", among the newest %d runs", runPage)
				}
				return ci
			}
		}
		runs = older
	}
	return CI{Status: NoCI, Detail: "no run has looked at the branch"}
}

// detail names the runs that decided.
func detail(sha string, those []run, all int) string {
	var names []string
	for _, r := range those[:min(len(those), mostNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", cmp.Or(oneLine(r.name, 60), fmt.Sprintf("workflow %d", r.workflow)), strings.ReplaceAll(r.outcome, "_", " ")))
	}
	if more := len(those) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d of %d workflows on %s: %s", len(those), all, shortSHA(sha), strings.Join(names, ", "))
}

func shortSHA(sha string) string { return oneLine(sha[:min(len(sha), 10)], 10) }

// pipelines says how the newest pipeline of a branch of GitLab stands that has looked.
func (f Forge) pipelines(ctx context.Context, op, branch string) (CI, error) {
	raw, err := f.get(ctx, op, "pipelines", url.Values{
		"ref": {branch}, "order_by": {"id"}, "sort": {"desc"}, "per_page": {fmt.Sprint(pipelinePage)},
	})
	if err != nil {
		return CI{}, err
	}
	list, err := entries(raw)
	if err != nil {
		return CI{}, f.program().unreadable(op, "%v", err)
	}
	var newest run
	for i := range list {
		e := &list[i]
		r := run{id: e.number("id"), sha: e.text("sha"), outcome: e.text("status"), url: e.link("web_url")}
		r.verdict = pipelineVerdict(r.outcome)
		if e.err == nil && r.verdict == "" {
			e.err = fmt.Errorf("the status %q is not known", oneLine(r.outcome, maxLabel))
		}
		if e.err != nil {
			return CI{}, f.program().unreadable(op, "pipeline %d of the answer: %v", i+1, e.err)
		}
		if r.verdict != NoCI && r.id > newest.id {
			newest = r
		}
	}
	if newest.id == 0 {
		return CI{Status: NoCI, Detail: "no pipeline has looked at the branch"}, nil
	}
	return CI{
		Status: newest.verdict, URL: newest.url,
		Detail: fmt.Sprintf("pipeline %d on %s: %s", newest.id, shortSHA(newest.sha), strings.ReplaceAll(newest.outcome, "_", " ")),
	}, nil
}

// pipelineVerdict says what the status of a pipeline of GitLab means, or nothing when it is
// not known.
func pipelineVerdict(status string) string {
	switch status {
	case "success":
		return Green
	case "failed":
		return Red
	case "created", "waiting_for_resource", "waiting_for_callback", "preparing", "pending", "running", "manual", "scheduled":
		return Pending
	case "canceled", "canceling", "skipped":
		return NoCI
	}
	return ""
}
