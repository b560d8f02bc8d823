package morning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/digest"
	"autopilot/metrics/statedir"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
)

// DigestOf gathers what is known of the runs of a repository that have ended since a moment.
func DigestOf(p job.Place, n night.Night, since, now time.Time) digest.Facts {
	f := digest.Facts{Version: outside.Version(), Generated: now, Zone: time.Local, Since: since, Repository: filepath.Base(p.Repo.Top)}
	b := book{place: p, night: n, name: f.Repository, since: since, now: now}
	b.tell(&f)
	return f
}

// DigestOfAll is DigestOf for all repositories of this machine that have a state folder.
func DigestOfAll(ctx context.Context, std outside.Stdio, since, now time.Time) (digest.Facts, error) {
	f := digest.Facts{Version: outside.Version(), Generated: now, Zone: time.Local, Since: since}
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return f, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	projects, err := statedir.Projects(root)
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
	}
	names := map[string]int{}
	for _, p := range projects {
		names[filepath.Base(p.Path)]++
	}
	told := map[string]bool{}
	for _, project := range projects {
		if ctx.Err() != nil {
			return f, context.Cause(ctx)
		}
		if ofStory(project) {
			continue // its records are kept where those of its cohort are
		}
		cfg, err := job.Resolve(std, project.Path, nil)
		if err != nil {
			f.Problems = append(f.Problems, fmt.Sprintf("%s: its settings cannot be used, so those that nobody has changed were: %v", project.Path, err))
			if cfg, err = config.Resolve(); err != nil {
				return f, err
			}
		}
		b := book{place: job.Place{Repo: repo.Repo{Top: project.Path}, Cfg: cfg, State: root}, name: filepath.Base(project.Path), dir: project.Path, since: since, now: now, told: told, others: projects}
		if names[b.name] > 1 {
			b.name = project.Path
		}
		if b.night, err = b.place.Night(false); err != nil {
			f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", project.Path, err))
			continue
		}
		b.tell(&f)
	}
	slices.SortStableFunc(f.Runs, func(a, b digest.Run) int {
		return time.Time(a.Record.CompletedAt).Compare(time.Time(b.Record.CompletedAt))
	})
	return f, nil
}

// ofStory reports whether a project is that of a story: its last run belongs to a cohort.
func ofStory(p statedir.Project) bool {
	id, err := supervisor.LastRun(p)
	if err != nil || id == "" {
		return false
	}
	st, err := supervisor.LoadState(p.RunDir(id))
	return err == nil && st.Record.ParentRunID != nil && *st.Record.ParentRunID != ""
}

// book is what is known of one repository.
type book struct {
	place job.Place
	night night.Night
	name  string
	dir   string // that its commands have to name; empty when they are given there
	since time.Time
	now   time.Time
	// Of several repositories: the runs that were told already, and all of their state
	// folders. A ledger may be there in two copies, as in work trees where it is versioned.
	told   map[string]bool
	others []statedir.Project

	project   statedir.Project
	found     bool
	continued map[string]bool // runs that another one continues
	latest    map[string]string
}

// tell adds what is known of the repository.
func (b *book) tell(f *digest.Facts) {
	var err error
	if b.project, b.found, err = b.place.FindProject(); err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", b.name, err))
	}
	records, err := b.records()
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", b.name, err))
	}
	sessions, err := b.sessions(records)
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", b.name, err))
	}
	var rewarded map[string]*float64
	if b.found && len(records) > 0 {
		rewarded = rewards(b.project)
	}
	f.Needs = append(f.Needs, b.gates()...)
	f.Needs = append(f.Needs, b.items()...)
	for _, rec := range records {
		r := b.run(rec)
		x := digest.Run{
			Repository: b.name, Record: rec, Progress: r.progress(r.reflections()), Tests: r.tests(), Items: r.items(), Samples: r.samples(), Reward: rewarded[rec.AutopilotRunID],
			Continued: b.continued[rec.AutopilotRunID],
		}
		for i, s := range sessions[rec.AutopilotRunID] {
			x.Sessions = append(x.Sessions, r.session(s, i+1, ""))
		}
		if t := r.State.Tasks; t != nil {
			x.TasksDone, x.Tasks = t.Completed, t.Total
		}
		f.Runs = append(f.Runs, x)
		f.Needs = append(f.Needs, b.needs(r)...)
	}
	f.Open = append(f.Open, b.open()...)
}

// run is a run of the repository with what is in its folder.
func (b *book) run(rec ledger.Run) Run {
	r := Run{Place: b.place, Night: b.night, Record: rec}
	if !b.found {
		return r
	}
	if st, ok := stateOf(b.project, rec); ok {
		r.State, r.Folder = st, b.project.RunDir(rec.AutopilotRunID)
	}
	return r
}

// stateOf is the state of a run in a project, where it is there.
func stateOf(p statedir.Project, rec ledger.Run) (supervisor.State, bool) {
	st, err := supervisor.LoadState(p.RunDir(rec.AutopilotRunID))
	return st, err == nil && time.Time(st.Record.StartedAt).Equal(time.Time(rec.StartedAt))
}

// elsewhere reports whether a run is one of another repository, of whose ledger this one has
// a copy.
func (b *book) elsewhere(rec ledger.Run) bool {
	if len(b.others) == 0 {
		return false
	}
	if _, here := stateOf(b.project, rec); b.found && here {
		return false
	}
	return slices.ContainsFunc(b.others, func(p statedir.Project) bool {
		_, there := stateOf(p, rec)
		return p.Dir != b.project.Dir && there
	})
}

// records are the runs that have ended in the time, in the order in which they did.
func (b *book) records() ([]ledger.Run, error) {
	var out []ledger.Run
	b.continued, b.latest = map[string]bool{}, map[string]string{}
	err := journal.Each(filepath.Join(b.place.MetricsDir(), ledger.RunsFile), func(_ int, line []byte) error {
		var r ledger.Run
		if json.Unmarshal(line, &r) != nil || r.AutopilotRunID == "" || r.DryRun {
			return nil
		}
		if r.ResumedFrom != "" {
			b.continued[r.ResumedFrom] = true
		}
		b.latest[aim(r)] = r.AutopilotRunID
		key := r.AutopilotRunID + " " + time.Time(r.StartedAt).UTC().Format(time.RFC3339Nano)
		if at := time.Time(r.CompletedAt); at.Before(b.since) || at.After(b.now) || b.told[key] || b.elsewhere(r) {
			return nil
		}
		if b.told != nil {
			b.told[key] = true
		}
		out = append(out, r)
		return nil
	})
	slices.SortStableFunc(out, func(a, b ledger.Run) int {
		return cmp.Or(time.Time(a.CompletedAt).Compare(time.Time(b.CompletedAt)), time.Time(a.StartedAt).Compare(time.Time(b.StartedAt)))
	})
	return out, err
}

// aim is what a run was for: a later one for the same makes it needless to resume it.
func aim(r ledger.Run) string {
	parts := []string{r.Source, r.Goal}
	for _, g := range r.Goals {
		parts = append(parts, g.Text)
	}
	if r.ParentRunID != nil {
		parts = append(parts, r.AutopilotRunID) // a story is resumed with its cohort
	}
	return strings.Join(parts, "\n")
}

// sessions are the session records of some runs, by run.
func (b *book) sessions(runs []ledger.Run) (map[string][]ledger.Session, error) {
	wanted, out := map[string]bool{}, map[string][]ledger.Session{}
	for _, r := range runs {
		wanted[r.AutopilotRunID] = true
	}
	if len(wanted) == 0 {
		return out, nil
	}
	err := journal.Each(filepath.Join(b.place.MetricsDir(), ledger.SessionsFile), func(_ int, line []byte) error {
		var s ledger.Session
		if json.Unmarshal(line, &s) == nil && wanted[s.AutopilotRunID] {
			out[s.AutopilotRunID] = append(out[s.AutopilotRunID], s)
		}
		return nil
	})
	return out, err
}

// open are the runs that are on.
func (b *book) open() []digest.Open {
	if !b.found {
		return nil
	}
	ids, err := supervisor.OpenRuns(b.project)
	if err != nil {
		return nil
	}
	var out []digest.Open
	for _, id := range ids {
		st, err := supervisor.LoadState(b.project.RunDir(id))
		words := ""
		switch {
		case errors.Is(err, os.ErrNotExist):
			words = "is starting"
		case err != nil:
			words = "its state cannot be read: " + err.Error()
		case st.Finished:
			continue
		case !st.Alive():
			words = "its supervisor is gone; the next start or 'autopilot status' finishes it"
		case st.Waiting != nil:
			words = fmt.Sprintf("waits until %s: %s", st.Waiting.Until.Local().Format("15:04"), st.Waiting.Why)
		default:
			words = fmt.Sprintf("session %d", st.Carried.Iterations+st.Iteration)
		}
		out = append(out, digest.Open{Repository: b.name, ID: id, Words: words})
	}
	return out
}
