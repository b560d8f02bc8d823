package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/reflector"
	"autopilot/reflector/goal"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/pursuit"
)

const (
	reflectionsName = "reflections.jsonl"
	diffBytes       = 4000
	diffTime        = 10 * time.Second
)

// Run is the run that follows goals.
type Run struct {
	Night   night.Night
	Project statedir.Project
	Log     *slog.Logger
}

// Goals has a run follow its goals: Goals, Pursuit, Reflections, Forecast and Analyse of its
// options are filled in. RunID, Folder, Previous and Session have to be there. It returns
// lines for the log, behind its first.
func Goals(ctx context.Context, std outside.Stdio, j job.Job, w Run, o *supervisor.Options) (notes []string, err error) {
	f, err := pursue(ctx, std, j, w, *o)
	if err != nil {
		return nil, err
	}
	o.Goals, o.Pursuit, o.Reflections, o.Forecast, o.Analyse = f.goals, f.options, f.keep, f.forecast, f.analyse
	return f.notes, nil
}

// following is what a run needs to follow its goals.
type following struct {
	goals    []pursuit.Goal
	options  pursuit.Options
	keep     func(pursuit.Record) error
	forecast *ledger.Forecast
	analyse  func(context.Context) ([]pursuit.Goal, reflector.Usage)
	notes    []string // for the log, behind its first line
}

// pursue prepares following the goals of a run.
func pursue(ctx context.Context, std outside.Stdio, j job.Job, w Run, o supervisor.Options) (following, error) {
	spec := o.Session
	for _, old := range j.Refined {
		w.Log.Warn("an ambiguous goal was replaced by the suggested one", "goal", old)
	}
	for _, text := range j.Texts() {
		if o.Previous != nil && strings.Contains(text, logs.Redacted) {
			w.Log.Warn("a goal held a secret, which is not kept: sessions are told it without", "goal", text)
		}
	}
	spec.RunID = o.RunID
	r, model, err := j.Reflector(std, spec, filepath.Join(o.Folder, "reflections"))
	if err != nil {
		return following{}, err
	}
	if model != nil {
		model = w.Night.Guarded(model)
		r = reflector.Asking{Model: model}
	}
	var notes []string
	if j.Cfg.ReflectEvery > 0 {
		notes = append(notes, fmt.Sprintf("looks back are made by %s, every %d sessions at first", r.Name(), j.Cfg.ReflectEvery))
	}
	f := following{notes: notes, goals: j.Pursued(), keep: func(rec pursuit.Record) error { return keepReflection(o.Folder, rec) }}
	if model != nil && j.Cfg.ReflectEvery > 0 {
		f.analyse = func(ctx context.Context) ([]pursuit.Goal, reflector.Usage) {
			spent := analyse(ctx, j, w, model)
			return j.Pursued(), spent
		}
	}
	runner := gate.Runner{
		Dir: j.Repo.Top, Environ: spec.Environ, RunID: o.RunID, Token: spec.Token, APIKey: j.Cfg.UseAPIKey, Timeout: j.Cfg.VerifyTimeout, Sweeper: spec.Sweeper,
	}
	check, err := w.Night.Checks(j.Source, spec.Environ, runner, o.Folder)
	if err != nil {
		return f, err
	}
	f.options = pursuit.Options{
		Reflector: r, Matrix: reflector.Matrix(j.Cfg.Matrix), Check: check,
		Diff: func(ctx context.Context, from string) string {
			ctx, cancel := context.WithTimeout(ctx, diffTime)
			defer cancel()
			text, err := j.Repo.Summary(ctx, from, diffBytes, spec.Ignore...)
			if err != nil {
				w.Log.Warn("what has changed cannot be summed up", "err", err.Error())
			}
			return text
		},
	}
	if j.Cfg.ReflectEvery > 0 {
		if past, err := j.Runs(); err == nil { // without them nothing is learned from
			f.options.Lessons = past.Metrics().Lessons()
		}
	}
	if j.Foresees() && o.Previous == nil {
		expected, words, err := j.Forecast()
		if err != nil {
			w.Log.Warn("there is no forecast", "err", err.Error())
			return f, nil
		}
		f.forecast = &expected
		f.notes = append(f.notes, "forecast: "+words)
	}
	return f, nil
}

// analyse asks the model for better criteria and milestones. Without its answer
// those from the words of the goal stand. It returns what was spent.
func analyse(ctx context.Context, j job.Job, w Run, model reflector.Model) (spent reflector.Usage) {
	for i, a := range j.Goals {
		better := a
		asked, err := reflector.AskJSON(ctx, model, goal.Prompt(a.Goal), func(reply []byte) (err error) {
			better, err = goal.Merge(a, reply)
			return err
		})
		spent = spent.Add(asked.Usage)
		if err != nil {
			w.Log.Warn("the goal was analysed without a model", "reflector", model.Name(), "err", err.Error())
			continue
		}
		if better.Ambiguous && !a.Ambiguous {
			w.Log.Warn("the model finds that the end of the goal cannot be told", "goal", a.Goal, "issue", better.Issue)
			better.Ambiguous = false
		}
		j.Goals[i] = better
	}
	return spent
}

// keepReflection appends a reflection to the run's own journal.
func keepReflection(folder string, rec pursuit.Record) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	w, err := journal.Open(filepath.Join(folder, reflectionsName), journal.Options{})
	if err != nil {
		return err
	}
	if err := w.Append(data); err != nil {
		_ = w.Close()
		return err
	}
	return w.Close()
}
