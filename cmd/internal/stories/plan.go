package stories

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/probe/tier"
	"autopilot/supervisor/story"
)

// Plan is what a run with several stories would do, as far as that can be known now.
type Plan struct {
	Repository string           `json:"repository"`
	Source     string           `json:"source"`
	DryRun     bool             `json:"dry_run"`
	Isolation  story.Isolation  `json:"isolation"`
	MaxStories int              `json:"max_stories"`
	Base       string           `json:"base,omitempty"` // branch that the stories would begin at
	Tier       tier.Judgement   `json:"tier"`
	Stories    []Planned        `json:"stories"`
	Settings   []config.Setting `json:"settings"`
	Notes      []string         `json:"notes"`
}

// Planned is a story and when it would be begun.
type Planned struct {
	story.Story
	Worktree string `json:"worktree,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Begins   string `json:"begins"`          // "at once", or what it would wait for
	Agents   int    `json:"agents_per_wave"` // of one that would be begun at once
}

// MakePlan works out what a run with several stories would do.
func MakePlan(ctx context.Context, std outside.Stdio, j job.Job) (Plan, error) {
	cfg := j.Cfg.Stories
	b, err := Ready(ctx, std, j, false, true)
	if err != nil {
		return Plan{}, err
	}
	list := b.List
	p := Plan{
		Repository: j.Repo.Top, Source: j.Source.Name(), DryRun: true, Isolation: story.Isolation(cfg.Isolation), MaxStories: cfg.Max,
		Settings: j.Cfg.Settings, Notes: append(append([]string{}, j.Cfg.Notes...), b.Notes...), Base: b.Base.Branch,
	}
	agents := max(j.Cfg.AgentsFor(""), cfg.Max)
	p.Tier = tier.Judge(j.Probe(ctx).Signals, agents)
	if _, err := job.FindClaude(j.Cfg.Claude); err != nil {
		p.Notes = append(p.Notes, "a run would not start: "+err.Error())
	}
	c := story.Cohort{Version: story.Version, StartedAt: time.Now(), Isolation: p.Isolation, Max: cfg.Max, Agents: agents}
	for _, s := range list {
		c.Members = append(c.Members, story.Member{Story: s, Status: story.Waiting})
	}
	p.Stories = foresee(c, story.Facts{Now: time.Now(), Tier: string(p.Tier.Tier), Cap: p.Tier.Cap, Lanes: lanes(cfg), BudgetLeft: true, MinFree: true})
	if p.Isolation == story.Worktree {
		root := Trees(j.Place, std).Root
		for i := range p.Stories {
			p.Stories[i].Worktree, p.Stories[i].Branch = filepath.Join(root, p.Stories[i].ID), branchPrefix+p.Stories[i].ID
		}
	}
	return p, nil
}

func lanes(cfg config.Stories) [][]string {
	var out [][]string
	for _, p := range cfg.Lanes {
		out = append(out, []string{p})
	}
	return out
}

// foresee says what a cohort would do first.
func foresee(c story.Cohort, f story.Facts) []Planned {
	shut := map[string]string{}
	for _, a := range story.Decide(c, f) {
		switch {
		case a.Begin != "":
			c.Find(a.Begin).Status = story.Running
		case a.Shut != "":
			shut[a.Shut] = a.Why
		}
	}
	share := map[string]int{}
	for _, s := range story.Shares(c, f.Cap, f.Tier == string(tier.Critical)) {
		share[s.ID] = s.Cap
	}
	var out []Planned
	for _, m := range c.Members {
		p := Planned{Story: m.Story, Begins: "when there is room"}
		switch {
		case m.Status == story.Running:
			p.Begins, p.Agents = "at once", share[m.ID]
		case shut[m.ID] != "":
			p.Begins = "never: " + shut[m.ID]
		case len(m.After) > 0:
			p.Begins = "after " + strings.Join(m.After, ", ")
		}
		out = append(out, p)
	}
	return out
}

// Text is the plan for a person.
func (p Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "repository  %s\nstories     %d, at most %d at once, isolation %s%s\nmachine     %s, %d agents for all (%s)\n\n",
		p.Repository, len(p.Stories), p.MaxStories, p.Isolation, map[bool]string{true: ", from " + p.Base}[p.Base != ""], p.Tier.Tier, p.Tier.Cap, p.Tier.Reason)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range p.Stories {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ID, s.Begins, cmp.Or(s.Branch, strings.Join(s.Paths, " "), "-"), s.Title)
	}
	_ = w.Flush() // a strings.Builder takes everything
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}
