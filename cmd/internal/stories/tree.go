package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/logs"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/worktree"
)

// tree makes the work tree of a story. One that waited for others begins at what they have
// done, which nobody may have merged yet.
func (s *stage) tree(ctx context.Context, m *story.Member, after []story.Member) error {
	branch, start := branchPrefix+m.ID, cmp.Or(m.Base, s.base.Commit)
	var merge []string
	if m.Base == "" {
		for _, a := range after {
			n, err := s.commits(ctx, a)
			if err != nil {
				return fmt.Errorf("what %s has done cannot be told: %w", a.ID, err)
			}
			if n > 0 {
				merge = append(merge, a.Branch)
			}
		}
		if len(merge) > 0 {
			start, merge = merge[0], merge[1:]
		}
	}
	t, err := s.trees.Add(ctx, m.ID, branch, start)
	// A supervisor that is ending has the tree for a moment still.
	for deadline := time.Now().Add(leftover); err != nil && m.Base != "" && s.heldTree(ctx, *m) && time.Now().Before(deadline); {
		time.Sleep(rescueLook)
		t, err = s.trees.Add(ctx, m.ID, branch, start)
	}
	if err != nil {
		return err
	}
	for _, b := range merge {
		if err := s.trees.Merge(ctx, t, b); err != nil {
			return err
		}
	}
	if m.Base == "" && !t.Made {
		s.log.Warn("the story goes on in the work tree that an earlier run has left", "story", m.ID, "worktree", t.Path, "branch", t.Branch)
	}
	if t.Made { // what was set up went with the one before
		if err := os.Remove(filepath.Join(m.Folder, setupMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	m.Worktree, m.Branch, m.Base = t.Path, t.Branch, t.Base
	return nil
}

// heldTree reports whether a supervisor works in the tree of a story.
func (s *stage) heldTree(ctx context.Context, m story.Member) bool {
	st, err := s.trees.Look(ctx, treeOf(m))
	return err == nil && st.Held != "" && ctx.Err() == nil
}

// setUp runs the person's command in a new work tree, once.
func (s *stage) setUp(ctx context.Context, m story.Member) error {
	mark := filepath.Join(m.Folder, setupMark)
	command := s.job.Cfg.Stories.Setup
	if _, err := os.Stat(mark); command == "" || s.shared() || err == nil {
		return nil
	}
	runner := gate.Runner{Dir: m.Worktree, Environ: s.environ(), RunID: s.run, Token: s.token, APIKey: s.job.Cfg.UseAPIKey, Timeout: setupTime}
	for _, r := range runner.Run(ctx, []gate.Check{{Kind: gate.Command, Command: command, Given: true}}) {
		if !r.OK {
			return fmt.Errorf("story-setup %q: %s", command, r.Detail)
		}
	}
	return os.WriteFile(mark, nil, 0o600)
}

// Leave removes the work tree of a story that holds no work, and says why another is kept.
func (s *stage) Leave(ctx context.Context, m *story.Member) {
	if s.shared() {
		s.strays.Do(func() { s.stray(ctx) })
		return
	}
	if n, err := s.commits(ctx, *m); err == nil {
		m.Commits = n
	}
	if !m.Status.Over() || m.Status == story.Stopped || m.Status == story.Person {
		m.Kept = "the story is not over: " + string(m.Status)
		return
	}
	removed, kept, err := s.trees.Remove(ctx, treeOf(*m))
	switch {
	case err != nil:
		m.Kept = logs.Redact(err.Error())
	case !removed:
		m.Kept = kept
	default:
		m.Kept, m.Worktree = "", ""
	}
}

// stray names what was changed in a shared tree outside of the paths that any story had.
func (s *stage) stray(ctx context.Context) {
	if s.head == "" || len(s.lanes) == 0 {
		return
	}
	changed, err := s.trees.Changed(ctx, s.job.Repo.Top, s.head)
	if err != nil {
		s.log.Warn("what was changed cannot be told", "err", logs.Redact(err.Error()))
		return
	}
	var out []string
	for _, f := range changed {
		if !story.Inside(s.lanes, f) && !strings.HasPrefix(f, ".orchestrator/") {
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		s.log.Warn("files were changed that no story was to change", "count", len(out), "first", logs.Redact(gate.Plain(out[0])))
	}
}

// commits counts the commits of a story's branch since it began.
func (s *stage) commits(ctx context.Context, m story.Member) (int, error) {
	st, err := s.trees.Look(ctx, treeOf(m))
	return st.Ahead, err
}

// treeOf is the work tree of a story.
func treeOf(m story.Member) worktree.Tree {
	return worktree.Tree{Path: m.Worktree, Branch: m.Branch, Base: m.Base}
}
