package morning

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/episode"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/samples"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor"
	"autopilot/supervisor/breaker"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/testgate"
)

// Run is a run with all that belongs to it.
type Run struct {
	Place  job.Place
	Night  night.Night
	State  supervisor.State
	Folder string
	Record ledger.Run
}

// Find finds a run by its id, the last one for an empty id.
func Find(p job.Place, n night.Night, id string) (Run, error) {
	r := Run{Place: p, Night: n}
	project, found, err := p.FindProject()
	if err != nil {
		return r, err
	}
	if id == "" && found {
		if id, err = supervisor.LastRun(project); err != nil {
			return r, err
		}
	}
	if !found || id == "" {
		return r, outside.UsageHint("'autopilot run' makes one", "there is no run in %s yet", p.Repo.Top)
	}
	r.Folder = project.RunDir(id)
	if r.State, err = supervisor.LoadState(r.Folder); err == nil {
		r.Record = r.State.Record
		return r, nil
	}
	if r.Record, err = recorded(p, id); err != nil { // its folder is gone, its record is not
		return r, outside.UsageHint("'autopilot runs' lists them", "there is no run %s", id)
	}
	return r, nil
}

// recorded reads the record of a run from the ledger.
func recorded(p job.Place, id string) (ledger.Run, error) {
	out, err := ledger.Run{}, error(fs.ErrNotExist)
	bad := journal.Each(filepath.Join(p.MetricsDir(), ledger.RunsFile), func(_ int, line []byte) error {
		var rec ledger.Run
		if json.Unmarshal(line, &rec) == nil && rec.AutopilotRunID == id {
			out, err = rec, nil
		}
		return nil
	})
	if bad != nil {
		return out, bad
	}
	return out, err
}

// Facts are what the report of the run is made of.
func (r Run) Facts(now time.Time) report.Facts {
	f := report.Facts{
		Version: outside.Version(), Generated: now, Zone: time.Local, Run: r.whole(), Open: r.State.Alive(),
		Sessions: r.sessions(), Items: r.items(), Gates: r.gates(now), Tests: r.tests(), Publishing: r.publishing(now), Reflections: r.reflections(),
	}
	for _, b := range r.Night.Breakers.States(now) {
		f.Breakers = append(f.Breakers, report.Breaker{Name: b.Name, State: string(b.Position), Failures: b.Failures, Why: b.Error, RetryAt: until(b)})
	}
	f.Progress, f.ToDo = r.progress(f.Reflections), r.merges()
	f.Samples, f.Reward = r.samples(), r.reward()
	return f
}

func until(b breaker.State) time.Time {
	if b.Position == breaker.Closed {
		return time.Time{}
	}
	return b.Until
}

// sessions are those of the run, from the ledger and their folders.
func (r Run) sessions() []report.SessionFacts {
	var out []report.SessionFacts
	_ = journal.Each(filepath.Join(r.Place.MetricsDir(), ledger.SessionsFile), func(_ int, line []byte) error {
		var s ledger.Session
		if json.Unmarshal(line, &s) != nil {
			return nil
		}
		if item, ours := r.storyOf(s.AutopilotRunID); ours {
			out = append(out, r.session(s, len(out)+1, item))
		}
		return nil
	})
	return out
}

// session is one session of the run, for an item of the queue or a story.
func (r Run) session(s ledger.Session, number int, item string) report.SessionFacts {
	x := report.SessionFacts{
		Number: number, ID: s.SessionID, Type: s.SessionType, Model: s.Model, Started: time.Time(s.StartedAt), Ended: time.Time(s.CompletedAt),
		Ending: s.Ending, Cause: s.EndingCause, CostUSD: s.CostUSD, Caps: s.Caps, FileCount: s.TotalFilesChanged, Commits: s.Commits, Summary: s.Summary, Item: item,
	}
	if s.TokenInput != nil && s.TokenOutput != nil {
		x.Tokens = ledger.Tokens{Input: *s.TokenInput, Output: *s.TokenOutput}
	}
	for _, e := range r.Record.Endings { // a record that a plugin wrote has no ending
		if e.SessionID == s.SessionID {
			x.Ending, x.Cause = e.Ending, e.Cause
			if in := e.Tokens - x.Tokens.Output; e.Tokens > 0 && in >= 0 { // the record counts cache reads as input
				x.Tokens.Input = in
			}
		}
	}
	r.closer(&x)
	return x
}

// closer adds what is in the folder of a session.
func (r Run) closer(x *report.SessionFacts) {
	var res sessions.Result
	if r.Folder == "" || uuid.Validate(x.ID) != nil || statedir.LoadJSON(sessions.ResultPath(supervisor.SessionFolder(r.Folder, sessions.ID(x.ID))), &res) != nil {
		return
	}
	u := res.Usage
	x.Tokens = ledger.Tokens{Input: u.Input, Output: u.Output, CacheCreation: u.CacheCreation, CacheRead: u.CacheRead}
	x.Files, x.Refused = res.Files, res.Denials
	if rep, err := prompt.ParseReport(res.Report); err == nil {
		x.Summary, x.NextSteps = rep.Summary, rep.NextSteps
	}
}

// items are the items of the queue that the run had in hand.
func (r Run) items() []report.Item {
	if list := r.stories(); list != nil {
		return list
	}
	if r.Record.Source != "queue" {
		return nil
	}
	q, err := r.Night.Queue.Load()
	if err != nil {
		return nil
	}
	var out []report.Item
	for _, it := range q.Items {
		if it.RunID != r.Record.AutopilotRunID {
			continue
		}
		x := report.Item{ID: it.ID, Title: it.Short(), Status: string(it.Status), Why: it.Why, Sessions: it.Sessions}
		if it.Status == queue.NeedsHuman || it.Status == queue.Failed {
			x.Command = "autopilot queue retry " + it.ID
		}
		out = append(out, x)
	}
	return out
}

func (r Run) gates(now time.Time) []report.Gate {
	list, err := r.Night.Gates.List(now)
	if err != nil {
		return nil
	}
	var out []report.Gate
	for _, g := range list {
		if g.RunID != r.Record.AutopilotRunID && !g.Open() {
			continue
		}
		x := report.Gate{
			ID: g.ID, Subject: g.Subject, Status: string(g.Status), By: g.By, Because: g.Because, Asked: g.AskedAt, Answered: g.DecidedAt, Until: g.ExpiresAt,
		}
		if len(g.Rules) > 0 {
			x.Rule = g.Rules[0].Rule
		}
		if g.Open() {
			x.Command = "autopilot approve " + g.ID
		}
		out = append(out, x)
	}
	return out
}

func (r Run) tests() []report.TestRun {
	names, err := filepath.Glob(filepath.Join(r.Folder, "test-results", "*.json"))
	if err != nil || r.Folder == "" {
		return nil
	}
	var out []report.TestRun
	for _, name := range names { // in the order of their names, which is that of time
		var rep testgate.Report
		fi, err := os.Stat(name)
		if err != nil || statedir.LoadJSON(name, &rep) != nil {
			continue
		}
		t := report.TestRun{At: fi.ModTime(), Coverage: rep.Coverage, Summary: rep.Summary}
		for _, s := range rep.Suites {
			t.Passed, t.Failed, t.Skipped = t.Passed+s.Passed, t.Failed+s.Failed, t.Skipped+s.Skipped
		}
		t.Broken = !rep.Passed && t.Failed == 0
		out = append(out, t)
	}
	return out
}

func (r Run) publishing(now time.Time) report.Publishing {
	st, err := r.Night.Outbox.Status(now)
	if err != nil {
		return report.Publishing{}
	}
	p := report.Publishing{Pending: len(st.Pending), Refused: len(st.Refused)}
	entry := func(t publish.Target, subject, state, url, why string, at time.Time) {
		p.Entries = append(p.Entries, report.Entry{Target: t.String(), Subject: subject, State: state, URL: url, Why: why, At: at})
	}
	for _, t := range st.Taken {
		if t.RunID == r.Record.AutopilotRunID {
			p.Sent++
			entry(t.Target, t.Subject, "sent", t.Receipt.URL, "", t.At)
		}
	}
	for _, e := range st.Pending {
		entry(e.Target, e.Update.Subject, "pending", "", e.Why, e.PutAt)
	}
	for _, e := range st.Refused {
		entry(e.Target, e.Update.Subject, "refused", "", e.Why, e.Refused)
	}
	return p
}

func (r Run) reflections() []report.Reflection {
	var out []report.Reflection
	_ = journal.Each(filepath.Join(r.Folder, "reflections.jsonl"), func(_ int, line []byte) error {
		var rec pursuit.Record
		if json.Unmarshal(line, &rec) != nil {
			return nil
		}
		x := report.Reflection{
			At: rec.At, Session: rec.Iteration, Reflector: rec.Reflector, Trigger: string(rec.Trigger), Decision: strings.TrimSpace(string(rec.Decision.Action) + " " + rec.Decision.Reason), Error: rec.Error,
		}
		if a := rec.Assessment; a != nil {
			x.Percent, x.Progress, x.Reasoning = &a.PercentComplete, string(a.Progress), a.Reasoning
		}
		out = append(out, x)
		return nil
	})
	return out
}

// progress is how far the work was over time: as it was counted, or as it was assessed.
func (r Run) progress(reflections []report.Reflection) []report.Point {
	var out []report.Point
	if t := r.State.Tasks; t != nil {
		for _, s := range t.Steps {
			out = append(out, report.Point{At: s.At, Session: s.Iteration, Percent: 100 * s.Progress})
		}
		return out
	}
	for _, x := range reflections {
		if x.Percent != nil {
			out = append(out, report.Point{At: x.At, Session: x.Session, Percent: *x.Percent})
		}
	}
	return out
}

// samples are how the machine was during the run.
func (r Run) samples() []samples.Sample {
	if r.Folder == "" {
		return nil
	}
	list, err := samples.Load(r.Folder)
	if err != nil {
		return nil
	}
	return list
}

// reward is that of the run's episode, or nil.
func (r Run) reward() *float64 {
	project, found, err := r.Place.FindProject()
	if err != nil || !found {
		return nil
	}
	return rewards(project)[r.Record.AutopilotRunID]
}

// rewards are those of the episodes of a project by run. Of several the last one counts.
func rewards(p statedir.Project) map[string]*float64 {
	out := map[string]*float64{}
	// What cannot be read has no reward.
	_ = episode.Open(job.EpisodesDir(p), episode.Options{}).Each(func(e episode.Episode) error {
		if e.RunID != "" {
			out[e.RunID] = &e.Reward
		}
		return nil
	})
	return out
}
