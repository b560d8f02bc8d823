package board

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Look is what is on, and what was. What cannot be read is a problem in words and hides
// nothing else.
func Look(ctx context.Context, o Options) Overview {
	c := o.cache()
	c.lockFor(o.Root)
	defer c.mu.Unlock()
	out := Overview{At: o.Now, Active: []Row{}, Past: []Row{}, Questions: []Need{}, Problems: []string{}}
	out.Problems = append(out.Problems, c.refresh(ctx, o)...)
	active, problems := c.active(ctx, o)
	out.Active = append(out.Active, active...)
	for _, p := range problems {
		if !slices.Contains(out.Problems, p) {
			out.Problems = append(out.Problems, p)
		}
	}
	past, problems := c.ended(ctx, o)
	out.Past, out.Problems = append(out.Past, past...), append(out.Problems, problems...)
	needs, problems := c.needs(o.Now)
	out.Questions, out.Problems = append(out.Questions, needs...), append(out.Problems, problems...)
	return out
}

// pastMemo are the ended runs with what they were made from.
type pastMemo struct {
	version int
	rows    []*Row // nil for none
}

// ended are the ended runs, the latest first.
func (c *Cache) ended(ctx context.Context, o Options) (rows []Row, problems []string) {
	if o.Past <= 0 {
		return nil, nil
	}
	version := c.version
	for _, p := range c.projects {
		for _, dir := range p.ledgers {
			l, err := c.runLedger(dir)
			problems = append(problems, words(err)...)
			version += l.version
		}
		if ctx.Err() != nil {
			return rows, problems
		}
	}
	if c.past.rows == nil || c.past.version != version {
		c.past = pastMemo{version: version, rows: c.gather()}
	}
	read := map[*project]bool{}
	for _, r := range c.past.rows[:min(len(c.past.rows), o.Past)] {
		row := *r
		row.AgeSeconds = age(row.Started, o.Now)
		if p := c.bySlug[row.Ref.Project]; p != nil {
			if !read[p] {
				read[p] = true
				p.rewards.read(p)
			}
			row.Reward = p.rewards.of(row.RunID)
		}
		rows = append(rows, row)
	}
	return rows, problems
}

// gather are all runs that have ended, the latest first, without the runs of stories whose
// cohort is known. A run that is in several places is in the list once.
func (c *Cache) gather() []*Row {
	type identity struct {
		id      string
		started int64
	}
	known, ids := map[identity]bool{}, map[string]bool{}
	all := []*Row{}
	add := func(r *Row) {
		id := identity{r.RunID, r.Started.UnixMilli()}
		if !known[id] {
			known[id], ids[r.RunID] = true, true
			all = append(all, r)
		}
	}
	for _, p := range c.projects {
		for id, d := range p.runs {
			switch {
			case d.finished:
				add(&d.row)
			case !d.none: // its record may be in the ledger, and it is on all the same
				known[identity{id, d.row.Started.UnixMilli()}], ids[id] = true, true
			}
		}
	}
	for _, p := range c.projects {
		for _, dir := range p.ledgers {
			for _, r := range c.ledgers[dir].last {
				r.Ref.Project, r.Repo = p.slug, p.Path
				add(&r)
			}
		}
	}
	all = slices.DeleteFunc(all, func(r *Row) bool { return r.Parent != "" && ids[r.Parent] })
	slices.SortFunc(all, byEnd)
	return all
}

// command is what a person would type.
func command(words ...string) string {
	var b strings.Builder
	b.WriteString("autopilot")
	for _, w := range words {
		fmt.Fprintf(&b, " %s", w)
	}
	return b.String()
}
