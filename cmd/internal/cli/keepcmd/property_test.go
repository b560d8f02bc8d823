package keepcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/morning"
	"autopilot/cmd/internal/stories"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/keep"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

// seen is what status, runs, report, resume, answer and fleet get to see of a run.
func seen(t *rapid.T, p job.Place, project statedir.Project, id string, now time.Time) map[string]string {
	out := map[string]string{}
	note := func(what string, v any, err error) {
		data, jerr := json.Marshal(v)
		if jerr != nil {
			t.Fatal(jerr)
		}
		out[what] = fmt.Sprintf("%s %v", data, err)
	}
	folder := project.RunDir(id)
	st, err := supervisor.LoadState(folder)
	note("state", st, err)
	note("resumable", supervisor.NotResumable(st), nil)
	taken := st
	note("take up", nil, supervisor.TakeUp(&taken, "", killswitch.Limits{MaxSessions: 100, MaxHours: 100}))
	if st.Record.ResumedFrom != "" {
		_, err := supervisor.LoadState(project.RunDir(st.Record.ResumedFrom))
		note("before", errors.Is(err, os.ErrNotExist), nil)
	}
	setup, err := job.LoadSetup(folder)
	note("setup", setup, err)
	cohort, err := stories.Load(folder)
	note("cohort", cohort, err)
	last, err := supervisor.LastRun(project)
	note("last", last, err)
	written, err := supervisor.LastWritten(project)
	note("last written", written, err)
	n, err := p.Night(false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := morning.Find(p, n, id)
	note("report", string(report.Markdown(r.Facts(now))), err)
	note("view", r.View(now), nil)
	return out
}

// A gc never takes away what the other commands show of a run that it keeps, and it keeps
// every run that can be continued, that is open, or that somebody refers to.
func TestOtherCommandsSeeTheSame(t *testing.T) {
	s := newSite(t)
	place, err := job.SetUpBare(t.Context(), s.std)
	if err != nil {
		t.Fatal(err)
	}
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		root := filepath.Join(s.home, fmt.Sprint("state", round))
		p := place
		p.State = root
		project, err := statedir.OpenProject(root, s.repo)
		if err != nil {
			rt.Fatal(err)
		}
		needed := map[string]bool{}
		ids := scatter(t, rt, s, project, needed)
		policy := keep.Policy{
			Days: rapid.IntRange(0, 60).Draw(rt, "keep days"), Runs: rapid.IntRange(0, 4).Draw(rt, "keep runs"), CompressAfter: time.Duration(rapid.IntRange(-1, 30).Draw(rt, "compress")) * 24 * time.Hour,
		}
		now := time.Now()
		projects, problems := keep.Look(t.Context(), root, now)
		if len(problems) > 0 {
			rt.Fatal(problems)
		}
		items := keep.Decide(projects, policy, now)
		gone := map[string]bool{}
		for _, it := range items {
			gone[it.RunID] = it.Action == keep.Remove
		}
		before := map[string]map[string]string{}
		for _, id := range ids {
			if gone[id] && needed[id] {
				rt.Fatalf("run %s is needed and would go", id)
			}
			before[id] = seen(rt, p, project, id, now)
		}
		rows, _ := fleet.List(t.Context(), fleet.Options{Root: root, Now: now})
		done, err := keep.Apply(t.Context(), keep.Options{Root: root, Policy: policy, Lock: func(ctx context.Context, tree string) (string, error) { return lockOf(ctx, root, tree) }}, items, now)
		if err != nil {
			rt.Fatal(err)
		}
		for _, d := range done {
			if d.Err != nil || d.Skipped != "" {
				rt.Fatalf("%+v", d)
			}
		}
		for _, id := range ids {
			if gone[id] {
				if there(project.RunDir(id)) {
					rt.Fatalf("run %s is still there", id)
				}
				continue
			}
			if diff := cmp.Diff(before[id], seen(rt, p, project, id, now)); diff != "" {
				rt.Fatalf("of run %s something else is seen (-before +after):\n%s", id, diff)
			}
		}
		after, _ := fleet.List(t.Context(), fleet.Options{Root: root, Now: now})
		if diff := cmp.Diff(rows, after); diff != "" {
			rt.Fatalf("the fleet (-before +after):\n%s", diff)
		}
	})
}

// scatter writes runs of all kinds and ages.
func scatter(t *testing.T, rt *rapid.T, s *site, project statedir.Project, needed map[string]bool) []string {
	var ids []string
	var all []supervisor.State
	for i := range rapid.IntRange(1, 6).Draw(rt, "runs") {
		st := done(fmt.Sprintf("r%d", i), rapid.Float64Range(0, 100).Draw(rt, "days"))
		id := st.Record.AutopilotRunID
		switch rapid.SampledFrom([]string{"done", "done", "stopped", "dead", "continues", "cohort", "gate"}).Draw(rt, "kind") {
		case "stopped":
			st.Record.Termination.Status, st.Record.Termination.Resumable = ledger.Stopped, true
			needed[id] = true
		case "dead":
			st.Finished, st.Record.Termination = false, nil
			needed[id] = true
			put(t, project.Dir, map[string]string{"open/" + id: ""})
		case "continues":
			if i > 0 {
				st.Record.ResumedFrom = ids[i-1]
				st.Record.Termination.Status, st.Record.Termination.Resumable = ledger.Stopped, true
				all[i-1].ResumedBy = id
				needed[ids[i-1]], needed[id] = true, true
			}
		case "cohort":
			member := story.Member{Story: story.Story{ID: "a"}, Status: story.Done, Runs: []string{"nobody"}}
			if rapid.Bool().Draw(rt, "tree") {
				member.Worktree = s.home
				needed[id] = true
			}
			put(t, project.RunDir(id), map[string]string{story.File: mustJSON(t, story.Cohort{Version: story.Version, RunID: id, Members: []story.Member{member}})})
		case "gate":
			needed[id] = true
			put(t, project.Dir, map[string]string{
				fmt.Sprintf("gates/g-%06d.0123456789ab.json", i): fmt.Sprintf(`{"id": "g-%06d", "fingerprint": "0123456789ab", "run_id": %q, "status": "pending", "expires_at": "2099-01-01T00:00:00Z"}`, i, id),
			})
		}
		ids, all = append(ids, id), append(all, st)
	}
	for _, st := range all {
		s.run(t, project, st)
	}
	last := ids[len(ids)-1]
	needed[last] = true
	s.last(t, project, last)
	return ids
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
