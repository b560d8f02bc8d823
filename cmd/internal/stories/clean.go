package stories

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"autopilot/cmd/internal/cli/fleetcmd"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/worktree"
)

// CleanAll removes the work trees that cohorts which are over have left in any repository,
// where nothing in them would be lost.
func CleanAll(std outside.Stdio) fleetcmd.Clean {
	return func(ctx context.Context, dryRun bool) ([]fleetcmd.Cleaned, error) {
		root, err := statedir.Root(std.Getenv, runtime.GOOS)
		if err != nil {
			return nil, err
		}
		projects, err := statedir.Projects(root)
		bad := []error{err}
		var done []fleetcmd.Cleaned
		for _, p := range projects {
			roots, busy := treesOf(root, p)
			for _, dir := range roots {
				m := worktree.Manager{Repo: p.Path, Root: dir, Environ: std.Environ}
				list, err := m.List(ctx)
				bad = append(bad, err)
				for _, t := range list {
					if busy(t.Path) {
						done = append(done, fleetcmd.Cleaned{Path: t.Path, Branch: t.Branch, Why: "its story is not over"})
						continue
					}
					done = append(done, clean(ctx, m, t, dryRun))
				}
			}
		}
		return done, errors.Join(bad...)
	}
}

// treesOf are the folders with work trees of a project, and whether a run is on that works
// in one of them.
func treesOf(root string, p statedir.Project) (roots []string, busy func(path string) bool) {
	inUse := map[string]bool{} // by story
	add := func(dir string) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(roots, dir) {
			roots = append(roots, dir)
		}
	}
	add(filepath.Join(root, "worktrees", statedir.Slug(p.Path)))
	runs, _ := os.ReadDir(p.RunsDir()) // none have no cohort
	for _, r := range runs {
		c, err := Load(p.RunDir(r.Name()))
		if err != nil || strings.HasPrefix(r.Name(), ".") { // the latter is on its way out
			continue
		}
		st, err := supervisor.LoadState(p.RunDir(r.Name()))
		for _, m := range c.Members {
			if m.Worktree != "" && m.Worktree != p.Path {
				add(filepath.Dir(m.Worktree))
			}
			// One that is being prepared has no tree on record yet.
			going := err != nil || st.Alive() && m.Status != story.Done
			goesOn := st.ResumedBy == "" && (m.Status == story.Person || m.Status == story.Stopped) && len(m.Runs) > 0
			if going || goesOn {
				inUse[m.ID] = true
			}
		}
	}
	return roots, func(path string) bool { return inUse[filepath.Base(path)] || working(root, path) }
}

// working reports whether a supervisor works in a tree, as far as its state folder says.
func working(root, path string) bool {
	p, found, err := statedir.FindProject(root, path)
	if err != nil || !found {
		return err != nil
	}
	ids, err := supervisor.OpenRuns(p)
	for _, id := range ids {
		if st, err := supervisor.LoadState(p.RunDir(id)); err == nil && st.Alive() {
			return true
		}
	}
	return err != nil
}

func clean(ctx context.Context, m worktree.Manager, t worktree.Tree, dryRun bool) fleetcmd.Cleaned {
	out := fleetcmd.Cleaned{Path: t.Path, Branch: t.Branch}
	if dryRun {
		st, err := m.Look(ctx, t)
		switch {
		case err != nil:
			out.Why = logs.Redact(err.Error())
		case st.Missing:
			out.Removed, out.Why = true, "its folder is gone"
		case st.Held != "":
			out.Why = st.Held
		case !st.Clean || st.Unfinished != "" || st.HeadElsewhere:
			out.Why = "it holds work that is not committed, or something under way"
		case st.Ahead > 0 && !st.Merged:
			out.Why = "its branch has commits that are not merged"
		default:
			out.Removed, out.Why = true, "nothing in it would be lost"
		}
		return out
	}
	removed, kept, err := m.Remove(ctx, t)
	switch {
	case err != nil:
		out.Why = logs.Redact(err.Error())
	case removed:
		out.Removed, out.Why = true, "nothing in it would be lost"
	default:
		out.Why = kept
	}
	return out
}
