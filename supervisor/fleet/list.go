package fleet

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"autopilot/probe/proctree"
	"autopilot/supervisor/story"
)

// List is what is on: runs and cohorts by repository and start, the stories of a cohort
// right behind it in the order of the cohort, and peers by pid at the end. What cannot be
// read is named in problems, with its path; a run whose state is among that has a row.
func List(ctx context.Context, o Options) (rows []Row, problems []error) {
	p := take(ctx, o)
	for _, e := range arrange(p.runs, o) {
		rows = append(rows, e.row)
	}
	problems = slices.Concat(p.lost, p.problems)
	if o.Peers == nil {
		return rows, problems
	}
	found, err := o.Peers(ctx)
	if err != nil {
		problems = append(problems, fmt.Errorf("look for peers: %w", err))
	}
	return append(rows, strangers(found, p.runs)...), problems
}

// entry is a row with what it was made from.
type entry struct {
	row    Row
	run    *run          // its own; nil for a story without one that is known
	member *story.Member // of a story
	above  *run          // of its cohort; nil for none
}

// arrange makes the rows of all runs. Each run is in one of them.
func arrange(runs []*run, o Options) []*entry {
	used := map[*run]bool{}
	below := map[*run][]*entry{}
	for _, c := range cohorts(runs) {
		own := owners(c, runs, used)
		for i := range c.cohort.Members {
			m := &c.cohort.Members[i]
			e := &entry{member: m, above: c}
			for _, r := range own[i] { // the last one is the one that counts
				used[r], e.run = true, r
			}
			e.row = storyRow(e, o)
			below[c] = append(below[c], e)
		}
	}
	// What says that it belongs to a cohort whose file does not tell is shown below it too.
	for _, r := range runs {
		if c := cohortOf(r, runs); c != nil && !used[r] && !r.isCohort {
			used[r] = true
			below[c] = append(below[c], &entry{row: runRow(r, o), run: r, above: c})
		}
	}
	var top []*entry
	for _, r := range runs {
		if !used[r] {
			top = append(top, &entry{row: runRow(r, o), run: r})
		}
	}
	slices.SortStableFunc(top, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.row.Repo, b.row.Repo), a.row.Started.Compare(b.row.Started), cmp.Compare(a.row.RunID, b.row.RunID))
	})
	var all []*entry
	for _, e := range top {
		if e.run.isCohort {
			cohortRow(e, below[e.run])
		}
		all = append(append(all, e), below[e.run]...)
	}
	return all
}

// cohorts are the runs that coordinate stories, those first that live, then those that began
// last: a cohort that continues another has taken over its stories with their runs.
func cohorts(runs []*run) []*run {
	found := slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return !r.isCohort })
	slices.SortStableFunc(found, func(a, b *run) int {
		if a.alive != b.alive {
			if a.alive {
				return -1
			}
			return 1
		}
		return b.cohort.StartedAt.Compare(a.cohort.StartedAt)
	})
	return found
}

// cohortOf is the run that another says it belongs to, or nil. Ids are unique in a
// repository only; of several the one that lives is meant.
func cohortOf(r *run, runs []*run) *run {
	var found *run
	id := r.parent()
	if id == "" {
		return nil
	}
	for _, c := range runs {
		if c.id == id && c != r && c.parent() == "" && (found == nil || c.alive && !found.alive) {
			found = c
		}
	}
	return found
}

// owners are the runs of each member of a cohort that no other has, those that the cohort
// does not know yet last.
func owners(c *run, runs []*run, used map[*run]bool) [][]*run {
	own := make([][]*run, len(c.cohort.Members))
	var fresh []*run
	for _, r := range runs {
		if r == c || r.isCohort || used[r] {
			continue
		}
		i := slices.IndexFunc(c.cohort.Members, func(m story.Member) bool {
			return slices.Contains(m.Runs, r.id) && isOf(m, r)
		})
		switch {
		case i >= 0:
			own[i] = append(own[i], r)
		case r.parent() == c.id && r.alive:
			fresh = append(fresh, r)
		}
	}
	for i, m := range c.cohort.Members {
		slices.SortStableFunc(own[i], func(a, b *run) int {
			return cmp.Compare(slices.Index(m.Runs, a.id), slices.Index(m.Runs, b.id))
		})
	}
	for _, r := range fresh {
		if i := guardedBy(c.cohort.Members, r); i >= 0 {
			own[i] = append(own[i], r)
		}
	}
	return own
}

// isOf reports whether a run is in the project of a story: that of its work tree, or of its
// folder when all stories share a tree.
func isOf(m story.Member, r *run) bool {
	return samePath(m.Worktree, r.project.Path) || samePath(m.Folder, r.project.Path)
}

// guardedBy finds the member whose guard is the parent of a run's supervisor, which lives: a
// run says where it is a moment before the cohort's file says what its id is.
func guardedBy(members []story.Member, r *run) int {
	p, err := proctree.Read(proctree.Root, r.state.PID)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(members, func(m story.Member) bool { return m.PID > 1 && m.PID == p.PPID })
}

// samePath compares a path as a cohort wrote it with one of a project, which has no
// symlinks in it.
func samePath(written, resolved string) bool {
	if written == "" {
		return false
	}
	if filepath.Clean(written) == resolved {
		return true
	}
	real, err := filepath.EvalSymlinks(written)
	return err == nil && real == resolved
}
