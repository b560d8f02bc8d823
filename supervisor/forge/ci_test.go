package forge_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/forge"
)

const (
	ghRuns        = "actions/runs?branch=main&exclude_pull_requests=true&per_page=100"
	glabPipelines = "pipelines?order_by=id&per_page=20&ref=main&sort=desc"
)

// run is a run of GitHub Actions.
type run struct {
	sha        string
	workflow   int
	minute     int // of its beginning
	status     string
	conclusion string
	fork       bool
}

// ghRun is GitHub's answer about runs, with fields that nobody asked for.
func ghRun(runs ...run) string {
	var all []string
	for i, r := range runs {
		conclusion, head := "null", `{"id":1,"full_name":"acme/shop"}`
		if r.conclusion != "" {
			conclusion = fmt.Sprintf("%q", r.conclusion)
		}
		if r.fork {
			head = []string{`{"id":2,"full_name":"stranger/shop"}`, "null"}[i%2]
		}
		at := time.Date(2026, 1, 1, 0, r.minute, 0, 0, time.UTC).Format(time.RFC3339)
		all = append(all, fmt.Sprintf(`{"id":%d,"name":"flow %d","workflow_id":%d,"head_branch":"main","head_sha":%q,"status":%q,"conclusion":%s,"created_at":%q,"html_url":"https://github.com/acme/shop/actions/runs/%d",
			"repository":{"id":1,"full_name":"acme/shop"},"head_repository":%s,"event":"push","run_attempt":1}`,
			100+i, max(r.workflow, 1), max(r.workflow, 1), cmp.Or(r.sha, strings.Repeat("a", 40)), r.status, conclusion, at, 100+i, head))
	}
	return fmt.Sprintf(`{"total_count":%d,"workflow_runs":[%s]}`, len(runs), strings.Join(all, ","))
}

func done(conclusion string, r run) run {
	r.status, r.conclusion = "completed", conclusion
	return r
}

func TestCIOfGitHub(t *testing.T) {
	t.Parallel()
	old, young := strings.Repeat("0", 40), strings.Repeat("1", 40)
	full := make([]run, 100)
	for i := range full {
		full[i] = done("success", run{sha: young, workflow: 1, minute: 200 - i})
	}
	for name, c := range map[string]struct {
		runs   []run
		want   string
		detail string // part of it
		url    string // end of it
	}{
		"no runs":        {nil, forge.NoCI, "no run", ""},
		"green":          {[]run{done("success", run{workflow: 1}), done("neutral", run{workflow: 2})}, forge.Green, "2 of 2 workflows on aaaaaaaaaa: flow 2 (neutral), flow 1 (success)", "/101"},
		"one red":        {[]run{done("success", run{workflow: 1}), done("failure", run{workflow: 2})}, forge.Red, "1 of 2 workflows on aaaaaaaaaa: flow 2 (failure)", "/101"},
		"timed out":      {[]run{done("timed_out", run{})}, forge.Red, "timed out", "/100"},
		"no start":       {[]run{done("startup_failure", run{})}, forge.Red, "startup failure", "/100"},
		"pending":        {[]run{done("success", run{workflow: 1}), {workflow: 2, status: "in_progress"}}, forge.Pending, "flow 2 (in progress)", "/101"},
		"waits":          {[]run{done("action_required", run{})}, forge.Pending, "action required", "/100"},
		"red, others on": {[]run{{workflow: 1, status: "queued"}, done("failure", run{workflow: 2})}, forge.Red, "flow 2", "/101"},
		"many red":       {[]run{done("failure", run{workflow: 1}), done("failure", run{workflow: 2}), done("failure", run{workflow: 3}), done("failure", run{workflow: 4})}, forge.Red, "4 of 4 workflows", "/103"},

		"mended by another run":     {[]run{done("failure", run{minute: 1}), done("success", run{minute: 2})}, forge.Green, "1 of 1", "/101"},
		"broken by another run":     {[]run{done("failure", run{minute: 2}), done("success", run{minute: 1})}, forge.Red, "1 of 1", "/100"},
		"an older commit was red":   {[]run{done("failure", run{sha: old, minute: 1}), done("success", run{sha: young, minute: 2})}, forge.Green, "on 1111111111", "/101"},
		"an older commit was green": {[]run{done("success", run{sha: old, minute: 1, workflow: 2}), done("failure", run{sha: young, minute: 2})}, forge.Red, "on 1111111111", "/101"},

		"cancelled is not red":       {[]run{done("cancelled", run{workflow: 1}), done("success", run{workflow: 2})}, forge.Green, "1 of 2", "/101"},
		"skipped is not red":         {[]run{done("skipped", run{workflow: 1}), done("stale", run{workflow: 2})}, forge.NoCI, "no run", ""},
		"cancelled has not looked":   {[]run{done("cancelled", run{sha: young, minute: 2}), done("failure", run{sha: old, minute: 1})}, forge.Red, "on 0000000000", "/101"},
		"cancelled after a failure":  {[]run{done("cancelled", run{minute: 2}), done("failure", run{minute: 1}), done("success", run{workflow: 2, minute: 1})}, forge.Green, "flow 2", "/102"},
		"a fork's branch":            {[]run{done("failure", run{sha: young, minute: 9, fork: true}), done("success", run{sha: old, minute: 1})}, forge.Green, "on 0000000000", "/101"},
		"a fork that is gone":        {[]run{done("success", run{sha: old, minute: 1}), done("failure", run{sha: young, minute: 9, fork: true})}, forge.Green, "on 0000000000", "/100"},
		"more runs than were looked": {full, forge.Green, "among the newest 100 runs", "/100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := onGitHub(t, call{args: ghGet(ghRuns), out: ghRun(c.runs...)}).CI(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != c.want || !strings.Contains(got.Detail, c.detail) || !strings.HasSuffix(got.URL, c.url) || c.url == "" && got.URL != "" {
				t.Errorf("got %+v, want %s, %q and %q", got, c.want, c.detail, c.url)
			}
		})
	}
}

func TestCIOfGitLab(t *testing.T) {
	t.Parallel()
	pipelines := func(statuses ...string) string { // the newest first
		var all []string
		for i, s := range statuses {
			id := 50 - i
			all = append(all, fmt.Sprintf(`{"id":%d,"iid":%d,"project_id":7,"status":%q,"source":"push","ref":"main","sha":"%040d","web_url":"https://gitlab.example.com/p/%d","created_at":"2026-01-01T00:00:00Z"}`, id, id, s, id, id))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, c := range map[string]struct {
		out    string
		want   string
		detail string
	}{
		"none":               {"[]", forge.NoCI, "no pipeline"},
		"green":              {pipelines("success", "failed"), forge.Green, "pipeline 50 on 0000000000: success"},
		"red":                {pipelines("failed", "success"), forge.Red, "failed"},
		"pending":            {pipelines("waiting_for_resource"), forge.Pending, "waiting for resource"},
		"a person is needed": {pipelines("manual"), forge.Pending, "manual"},
		"passed over":        {pipelines("canceled", "skipped", "failed", "success"), forge.Red, "pipeline 48"},
		"all passed over":    {pipelines("canceled", "canceling"), forge.NoCI, "no pipeline"},
		"not in order":       {"[" + strings.Trim(pipelines("success"), "[]") + "," + strings.ReplaceAll(strings.Trim(pipelines("failed"), "[]"), "50", "60") + "]", forge.Red, "pipeline 60"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := onGitLab(t, call{args: glabGet(glabPipelines), out: c.out}).CI(t.Context(), "main")
			if err != nil || got.Status != c.want || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("got %+v and the error %v, want %s, %q", got, err, c.want, c.detail)
			}
		})
	}
}

func TestCIAsksForTheBranch(t *testing.T) {
	t.Parallel()
	// Placeholders, as both programs know them, must not reach them as such.
	got, err := onGitHub(t, call{args: ghGet("actions/runs?branch=story%2F%7Bowner%7D%26x%23%C3%A9&exclude_pull_requests=true&per_page=100"), out: `{"workflow_runs":[]}`}).CI(t.Context(), "story/{owner}&x#é")
	if err != nil || got.Status != forge.NoCI {
		t.Errorf("got %+v and the error %v", got, err)
	}
	for _, branch := range []string{"", "a b", "-x", "a:repo", "refs/heads/main"} {
		if _, err := onGitHub(t).CI(t.Context(), branch); err == nil {
			t.Errorf("the branch %q was asked for", branch)
		}
	}
}
