package stories

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/reflector/goal"
	"autopilot/supervisor"
	"autopilot/supervisor/forge"
	"autopilot/supervisor/queue/increment"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/worktree"
)

// Beginning is what a cohort begins with.
type Beginning struct {
	List  []story.Story // of a run that continues none
	Base  worktree.Base // of stories with work trees
	Notes []string      // for a person
	forge *forge.Forge  // that drafts are opened at
	push  forge.Pinned  // where branches go, before any session could change that
}

// Ready checks all that can be known before anything is begun, and finds out where stories
// begin. Rehearse does without the network where it can. A run that continues another has
// its stories already.
func Ready(ctx context.Context, std outside.Stdio, j job.Job, continues, rehearse bool) (Beginning, error) {
	var b Beginning
	var err error
	if !continues {
		if b.List, b.Notes, err = List(ctx, std, j); err != nil {
			return b, err
		}
		if err := concrete(j, b.List); err != nil {
			return b, err
		}
	}
	if err := b.drafts(ctx, std, j); err != nil {
		return b, err
	}
	if j.Cfg.Stories.Isolation != string(story.Worktree) {
		return b, nil
	}
	if st, err := j.Repo.State(ctx); err == nil {
		if n := st.Dirty(".orchestrator"); n > 0 {
			b.Notes = append(b.Notes, fmt.Sprintf("stories do not see what is not committed: %s", count(n, "file")))
		}
	}
	m := Trees(j.Place, std)
	if rel, err := filepath.Rel(j.Repo.Top, m.Root); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return b, outside.UsageHint("name a folder outside of it", "worktree-dir %s lies in the repository", m.Root)
	}
	from := worktree.Local
	if j.Cfg.Stories.Base == config.BaseRemote && !rehearse {
		from = worktree.Remote
	}
	if b.Base, err = m.Base(ctx, from); err != nil {
		return b, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	if b.Base.Note != "" {
		b.Notes = append(b.Notes, b.Base.Note)
	}
	return b, b.places(ctx, j, m)
}

// places refuses stories whose branch or increment is not as it has to be.
func (b Beginning) places(ctx context.Context, j job.Job, m worktree.Manager) error {
	trees, err := m.List(ctx)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	branches, err := j.Repo.Branches(ctx)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	var bad []error
	for _, s := range b.List {
		branch := branchPrefix + s.ID
		ours := slices.ContainsFunc(trees, func(t worktree.Tree) bool { return t.Branch == branch })
		switch {
		case slices.Contains(branches, branch) && !ours:
			bad = append(bad, fmt.Errorf("story %s: branch %s is there and was not made by autopilot; rename it, or give the story another id", s.ID, branch))
		case slices.Contains(branches, strings.TrimSuffix(branchPrefix, "/")):
			bad = append(bad, fmt.Errorf("story %s: branch %s cannot be made beside one that is called %s; rename that", s.ID, branch, strings.TrimSuffix(branchPrefix, "/")))
		}
		if s.Kind == story.Increment {
			if _, err := increment.Load(j.Repo.Top, s.Folder()); err != nil {
				bad = append(bad, fmt.Errorf("story %s: %w", s.ID, err))
			}
		}
	}
	if len(bad) > 0 {
		return &outside.Error{Code: outside.ExitUsage, Err: errors.Join(bad...), Way: "nothing was started"}
	}
	return nil
}

// drafts finds the forge where drafts are wanted.
func (b *Beginning) drafts(ctx context.Context, std outside.Stdio, j job.Job) error {
	if j.Cfg.Stories.Draft == config.DraftOff {
		return nil
	}
	f, err := forge.Detect(ctx, j.Repo.Top, std.Environ)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: fmt.Errorf("draft-pr %s: %w", j.Cfg.Stories.Draft, err), Way: outside.HintOf(err)}
	}
	b.forge = &f
	if b.push, err = forge.Pin(ctx, j.Repo.Top, f.Remote, std.Environ); err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: fmt.Errorf("draft-pr %s: %w", j.Cfg.Stories.Draft, err), Way: outside.HintOf(err)}
	}
	return nil
}

// concrete refuses goals of a file whose end cannot be told, as those of a run are.
func concrete(j job.Job, list []story.Story) error {
	if j.Cfg.Stories.File == "" || !j.Cfg.RequireConcreteGoals || j.Cfg.ProceedWithTimeLimit || len(j.Cfg.Verify)+len(j.Cfg.ExpectFiles) > 0 {
		return nil
	}
	for _, s := range list {
		if a := goal.Analyse(s.Goal); s.Kind == story.Goal && len(s.Verify) == 0 && a.Ambiguous {
			return &outside.Error{
				Code: supervisor.ExitPerson, Err: fmt.Errorf("story %s: the end of the goal %q cannot be told: %s", s.ID, s.Title, a.Issue),
				Way: "say what is to be there in the end, or add 'verify' with a command",
			}
		}
	}
	return nil
}
