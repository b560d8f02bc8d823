package keep

import (
	"path/filepath"
	"slices"
	"strings"

	"autopilot/metrics/statedir"
)

// Of picks the items of a work tree: of its own project, and of those of the stories that
// were worked on from there.
func Of(items []Item, projects []Project, root, tree string) []Item {
	trees := []string{filepath.Join(root, "worktrees", statedir.Slug(tree))}
	for _, p := range projects {
		if p.Path == tree {
			trees = append(trees, filepath.Join(p.Dir, "runs"))
			for _, r := range p.Runs {
				trees = append(trees, r.Places...)
			}
		}
	}
	ours := func(p Project) bool {
		return p.Path == tree || slices.ContainsFunc(trees, func(t string) bool {
			return p.Path == t || strings.HasPrefix(p.Path, t+string(filepath.Separator))
		})
	}
	dirs := map[string]bool{}
	for _, p := range projects {
		dirs[p.Dir] = p.Path == "" || ours(p)
	}
	return slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return !dirs[it.Dir] })
}
