package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/config"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/sessions/launch"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// plan is what a run would do, as far as that can be known now.
type plan struct {
	Repository  string            `json:"repository"`
	Source      string            `json:"source"`
	Goal        string            `json:"goal,omitempty"`
	DryRun      bool              `json:"dry_run"`
	Claude      string            `json:"claude"`
	Machine     probe.Snapshot    `json:"machine"`
	Tier        tier.Judgement    `json:"tier"`
	KillSwitch  *killswitch.Hit   `json:"kill_switch"` // what would stop the run before it starts, or null
	Iterations  []plannedSession  `json:"iterations"`
	Settings    []config.Setting  `json:"settings"`
	Environment []launch.Variable `json:"environment"`
	Notes       []string          `json:"notes"`
}

// plannedSession is one iteration of a plan. Projected means that it depends on
// what the sessions before it do, and is shown for the signals as they are now.
type plannedSession struct {
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

func planCommand(std Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: `plan ["GOAL"] [flags] [-- CLAUDE-ARG...]`, Short: "Print what a run would do; start and write nothing",
		Long: "Print, for each planned iteration, the mode with its confidence and the reason, the tier of the\nmachine with the signal that decided it, the prompts, and every limit with its origin. The same as\n'autopilot run --dry-run'.",
	}
	collect := addOptions(c)
	addSnapshotFlag(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		j, err := newJob(c, std, collect(), args)
		if err != nil {
			return err
		}
		return printPlan(c.Context(), std, j, asJSON)
	}
	return c
}

func printPlan(ctx context.Context, std Stdio, j job, asJSON bool) error {
	p := makePlan(ctx, std, j)
	if asJSON {
		enc := json.NewEncoder(std.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(p)
	}
	return std.say("%s", p.text())
}

func makePlan(ctx context.Context, std Stdio, j job) plan {
	p := plan{
		Repository: j.repo.Top, Source: j.source.Name(), Goal: j.goal, DryRun: true,
		Machine:  j.probe(ctx),
		Settings: j.cfg.Settings, Environment: launch.Unattended(), Notes: append([]string{}, j.cfg.Notes...),
	}
	claude, err := findClaude(j.cfg.Claude)
	if err != nil {
		p.Notes = append(p.Notes, "a run would not start: "+err.Error())
	}
	p.Claude = claude
	if err := checkNested(std); err != nil {
		p.Notes = append(p.Notes, "a run would not start: "+err.Error())
	}
	if !j.cfg.Persistence {
		p.Notes = append(p.Notes, "persistence is off for this repository: a run would end at once")
	}
	_, notes := launch.Env(std.Environ, launch.Identity{UseAPIKey: j.cfg.UseAPIKey})
	p.Notes = append(p.Notes, notes...)
	p.Tier = tier.Judge(p.Machine.Signals, j.cfg.AgentsPerWave)
	p.KillSwitch = killswitch.CheckBefore(j.limits(), killswitch.Before{Verdict: string(p.Tier.Tier), Peers: p.Machine.Peers})
	for i := 1; i <= j.cfg.MaxSessions; i++ {
		s := planSession(j, p, i)
		p.Iterations = append(p.Iterations, s)
		if s.Decision != "run" {
			break
		}
	}
	return p
}

func planSession(j job, p plan, i int) plannedSession {
	var past []prompt.Past
	a := j.source.Next(source.Request{Iteration: i, MaxSessions: j.cfg.MaxSessions, Past: past, Now: time.Now()})
	cap := tier.Judge(p.Machine.Signals, j.cfg.AgentsFor(a.Mode))
	s := plannedSession{Iteration: i, Projected: i > 1, Assignment: a, Decision: "run", Tier: string(cap.Tier), Cap: cap.Cap, Signal: cap.Signal}
	if h := killswitch.CheckConfidence(j.limits(), a.Mode, a.Confidence); h != nil {
		s.Decision, s.Detail = "manual-fallback", h.Detail
	} else if p.KillSwitch != nil {
		s.Decision, s.Detail = string(p.KillSwitch.Reason), p.KillSwitch.Detail
	}
	if len(a.Steps) > 0 {
		args, _ := launch.Args(launch.Options{
			SessionID: "<uuid>", Prompt: a.Steps[0].Prompt, AsArgument: a.Steps[0].AsArgument, SystemPrompt: prompt.System(cap.Cap),
			Settings: "<session folder>/settings.json", Schema: a.Schema, Model: j.cfg.Model, Permission: j.cfg.PermissionMode,
			AllowedTools: j.cfg.AllowedTools, MaxBudgetUSD: j.cfg.MaxCostUSD, Extra: j.extra,
		})
		s.Arguments = args
	}
	return s
}

// text is the plan for a person.
func (p plan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan (nothing is started or written)\n\nrepository  %s\nsource      %s\n", p.Repository, p.Source)
	if p.Goal != "" {
		fmt.Fprintf(&b, "goal        %s\n", p.Goal)
	}
	fmt.Fprintf(&b, "claude      %s\n", orNone(p.Claude))
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
		fmt.Fprintf(&b, "  %-22s %-28s %s%s\n", s.Key, orNone(s.Value), s.Origin, note)
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

func (s plannedSession) write(b *strings.Builder) {
	projected := ""
	if s.Projected {
		projected = " (projected: with the signals of now)"
	}
	fmt.Fprintf(b, "\niteration %d%s\n", s.Iteration, projected)
	fmt.Fprintf(b, "  mode        %s, confidence %.2f: %s\n", orNone(s.Mode), s.Confidence, s.Rationale)
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

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
