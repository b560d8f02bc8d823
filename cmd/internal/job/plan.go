package job

import (
	"context"
	"fmt"
	"strings"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/reflector/goal"
	"autopilot/sessions/launch"
	"autopilot/sessions/prompt"
	"autopilot/sessions/task"
	"autopilot/supervisor"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// Plan is what a run would do, as far as that can be known now.
type Plan struct {
	Repository  string            `json:"repository"`
	Source      string            `json:"source"`
	Goal        string            `json:"goal,omitempty"`
	Mode        string            `json:"mode"`
	Goals       []PlannedGoal     `json:"goals"`
	Reflector   string            `json:"reflector"`     // who would look back; empty when nobody is asked
	Every       int               `json:"reflect_every"` // sessions between two looks back at first
	Forecast    *ledger.Forecast  `json:"forecast,omitempty"`
	Expected    string            `json:"expected,omitempty"` // the forecast in words
	DryRun      bool              `json:"dry_run"`
	Claude      string            `json:"claude"`
	Machine     probe.Snapshot    `json:"machine"`
	Tier        tier.Judgement    `json:"tier"`
	Tasks       *task.Count       `json:"tasks,omitempty"`
	KillSwitch  *killswitch.Hit   `json:"kill_switch"` // what would stop the run before it starts, or null
	Iterations  []PlannedSession  `json:"iterations"`
	Settings    []config.Setting  `json:"settings"`
	Environment []launch.Variable `json:"environment"`
	Notes       []string          `json:"notes"`
}

// PlannedGoal is a goal and what must hold before it counts as reached.
type PlannedGoal struct {
	goal.Analysis
	Checks []string `json:"checks"`
}

// PlannedSession is one iteration of a plan. Projected means that it depends on
// what the sessions before it do, and is shown for the signals as they are now.
type PlannedSession struct {
	Iteration int  `json:"iteration"`
	Projected bool `json:"projected"`
	source.Assignment
	Decision  string   `json:"decision"` // "run", "manual-fallback" or the kill-switch
	Detail    string   `json:"detail,omitempty"`
	Tier      string   `json:"tier"`
	Cap       int      `json:"agents_per_wave"`
	Signal    string   `json:"signal"`
	Arguments []string `json:"arguments"` // of the first process
}

// MakePlan works out what a run would do.
func MakePlan(ctx context.Context, std outside.Stdio, j Job) Plan {
	p := Plan{
		Repository: j.Repo.Top, Source: j.Source.Name(), Goal: j.Goal, Mode: j.Cfg.Mode, Goals: []PlannedGoal{}, DryRun: true,
		Machine:  j.Probe(ctx),
		Settings: j.Cfg.Settings, Environment: launch.Unattended(), Notes: append([]string{}, j.Cfg.Notes...),
	}
	claude, err := FindClaude(j.Cfg.Claude)
	if err != nil {
		p.Notes = append(p.Notes, "a run would not start: "+err.Error())
	}
	p.Claude = claude
	if err := CheckNested(std); err != nil {
		p.Notes = append(p.Notes, "a run would not start: "+err.Error())
	}
	if !j.Cfg.Night.Enabled {
		p.Notes = append(p.Notes, "a run would not start: runs are switched off in this repository")
	}
	if !j.Cfg.Persistence {
		p.Notes = append(p.Notes, "persistence is off for this repository: a run would end at once")
	}
	_, notes := launch.Env(std.Environ, launch.Identity{UseAPIKey: j.Cfg.UseAPIKey})
	p.Notes = append(p.Notes, notes...)
	for _, t := range j.Cfg.Night.Sync {
		p.Notes = append(p.Notes, "it would be told to "+t.String())
	}
	j.planGoals(std, &p)
	if t, ok := j.Source.(supervisor.Tracker); ok {
		tr := t.Track(ctx)
		p.Tasks = &tr.Count
		for _, f := range tr.Broken {
			p.Notes = append(p.Notes, fmt.Sprintf("a list of tasks cannot be read: %s: %s", f.Path, f.Why))
		}
		for _, why := range []string{tr.Blocked, tr.Person} {
			if why != "" {
				p.Notes = append(p.Notes, "a run would end: "+why)
			}
		}
		if tr.Total == tr.Completed {
			p.Notes = append(p.Notes, "no task remains: a run would end at once")
		}
	}
	p.Tier = tier.Judge(p.Machine.Signals, j.Cfg.AgentsPerWave)
	p.KillSwitch = killswitch.CheckBefore(j.Limits(), killswitch.Before{Verdict: string(p.Tier.Tier), Peers: p.Machine.Peers})
	for i := 1; i <= min(j.Cfg.MaxSessions, plannedAtMost) && (p.Tasks == nil || p.Tasks.Completed < p.Tasks.Total); i++ {
		s := planSession(std, j, p, i)
		p.Iterations = append(p.Iterations, s)
		if s.Decision != "run" {
			break
		}
	}
	return p
}

// planGoals says how the goals would be followed.
func (j Job) planGoals(std outside.Stdio, p *Plan) {
	for i, g := range j.Pursued()[:len(j.Goals)] {
		planned := PlannedGoal{Analysis: j.Goals[i], Checks: []string{}}
		for _, c := range g.Checks {
			planned.Checks = append(planned.Checks, string(c.Kind)+" "+c.Name())
		}
		p.Goals = append(p.Goals, planned)
	}
	if i, found := j.Ambiguous(); found {
		a, would := j.Goals[i], "a run would not start: it is refused"
		if j.Cfg.AutoRefineGoals {
			would = "a run would replace it"
		}
		p.Notes = append(p.Notes, fmt.Sprintf("the goal %q is ambiguous; %s; suggestion: %s", a.Goal, would, a.Suggestion))
	}
	if p.Every = j.Cfg.ReflectEvery; p.Every > 0 {
		p.Reflector = j.WhoReflects(std)
	}
	if !j.Foresees() {
		return
	}
	f, words, err := j.Forecast()
	if err != nil {
		p.Notes = append(p.Notes, "there is no forecast: "+err.Error())
		return
	}
	p.Forecast, p.Expected = &f, words
}

func planSession(std outside.Stdio, j Job, p Plan, i int) PlannedSession {
	a := j.Source.Next(source.Request{Objective: j.objective(i), Now: time.Now()})
	cap := tier.Judge(p.Machine.Signals, j.Cfg.AgentsFor(a.Mode))
	s := PlannedSession{Iteration: i, Projected: i > 1, Assignment: a, Decision: "run", Tier: string(cap.Tier), Cap: cap.Cap, Signal: cap.Signal}
	if h := killswitch.CheckConfidence(j.Limits(), a.Mode, a.Confidence); h != nil {
		s.Decision, s.Detail = "manual-fallback", h.Detail
	} else if p.KillSwitch != nil {
		s.Decision, s.Detail = string(p.KillSwitch.Reason), p.KillSwitch.Detail
	}
	if len(a.Steps) > 0 {
		args, _ := launch.Args(launch.Options{
			SessionID: "<uuid>", Prompt: a.Steps[0].Prompt, AsArgument: a.Steps[0].AsArgument, SystemPrompt: prompt.System(cap.Cap),
			Settings: "<session folder>/settings.json", Schema: a.Schema, Model: j.Cfg.Model, Permission: j.Cfg.PermissionMode,
			AllowedTools: j.Cfg.AllowedTools, MaxBudgetUSD: j.Cfg.MaxCostUSD, Extra: j.Extra, Server: j.Server(std, "<session folder>/desk"),
		})
		s.Arguments = args
	}
	return s
}

// Text is the plan for a person.
func (p Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan (nothing is started or written)\n\nrepository  %s\nsource      %s\n", p.Repository, p.Source)
	if p.Goal != "" {
		fmt.Fprintf(&b, "goal        %s\n", p.Goal)
	}
	fmt.Fprintf(&b, "mode        %s\n", p.Mode)
	if p.Tasks != nil {
		fmt.Fprintf(&b, "tasks       %d of %d complete (%d%%)\n", p.Tasks.Completed, p.Tasks.Total, p.Tasks.Percent)
	}
	for _, g := range p.Goals {
		for _, c := range g.Criteria {
			fmt.Fprintf(&b, "criterion   %s\n", c.Text)
		}
		for _, c := range g.Checks {
			fmt.Fprintf(&b, "check       %s\n", c)
		}
	}
	if p.Every > 0 {
		fmt.Fprintf(&b, "looks back  %s, every %d sessions at first\n", p.Reflector, p.Every)
	}
	if p.Expected != "" {
		fmt.Fprintf(&b, "forecast    %s\n", p.Expected)
	}
	fmt.Fprintf(&b, "claude      %s\n", OrNone(p.Claude))
	fmt.Fprintf(&b, "machine     %s: %s\n", p.Tier.Tier, p.Tier.Reason)
	if p.KillSwitch != nil {
		fmt.Fprintf(&b, "stops at    %s: %s\n", p.KillSwitch.Reason, p.KillSwitch.Detail)
	}
	for _, s := range p.Iterations {
		s.write(&b)
	}
	b.WriteString("\nlimits and settings\n")
	for _, s := range p.Settings {
		note := ""
		if s.Note != "" {
			note = "  (" + s.Note + ")"
		}
		fmt.Fprintf(&b, "  %-22s %-28s %s%s\n", s.Key, OrNone(s.Value), s.Origin, note)
	}
	b.WriteString("\nset for every session\n")
	for _, v := range p.Environment {
		fmt.Fprintf(&b, "  %s=%s  %s\n", v.Name, v.Value, v.Why)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", n)
	}
	return b.String()
}

func (s PlannedSession) write(b *strings.Builder) {
	projected := ""
	if s.Projected {
		projected = " (projected: with the signals of now)"
	}
	fmt.Fprintf(b, "\niteration %d%s\n", s.Iteration, projected)
	fmt.Fprintf(b, "  mode        %s, confidence %.2f: %s\n", OrNone(s.Mode), s.Confidence, s.Rationale)
	for _, a := range s.Alternatives {
		fmt.Fprintf(b, "  or          %s, confidence %.2f\n", a.Mode, a.Confidence)
	}
	if len(s.Missing) > 0 {
		fmt.Fprintf(b, "  missing     %s\n", strings.Join(s.Missing, ", "))
	}
	fmt.Fprintf(b, "  sub-agents  %d at once (tier %s, decided by %s)\n", s.Cap, s.Tier, s.Signal)
	for i, st := range s.Steps {
		if s.Projected {
			break // the same prompts, with what the sessions before report
		}
		fmt.Fprintf(b, "  prompt %d    %s\n", i+1, strings.ReplaceAll(strings.TrimSpace(st.Prompt), "\n", "\n              "))
	}
	fmt.Fprintf(b, "  decision    %s", s.Decision)
	if s.Detail != "" {
		fmt.Fprintf(b, ": %s", s.Detail)
	}
	b.WriteByte('\n')
}

// OrNone is a dash for an empty text.
func OrNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// plannedAtMost bounds the iterations of a plan: from the second on they are
// alike.
const plannedAtMost = 50

// objective is what the i-th session would be told if none before it reached a
// goal or reported anything.
func (j Job) objective(i int) prompt.Objective {
	o := prompt.Objective{Iteration: i, MaxSessions: j.Cfg.MaxSessions}
	g := j.Pursued()[0]
	o.Goal, o.Criteria = g.Text, g.Criteria
	for _, m := range g.Milestones {
		o.Milestones = append(o.Milestones, m.Text)
	}
	return o
}
