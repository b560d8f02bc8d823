package worktree

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"autopilot/supervisor/story/worktree/internal/gitcmd"
)

const (
	maxEqual   = 2000 // commits whose files are compared with the branch's
	maxMerges  = 50   // commits into which the branch is merged for a try
	maxChanged = 5000 // paths by which those are chosen; of more, the newest are taken
)

// merged reports whether all of a branch is in a default head.
func (s site) merged(ctx context.Context, tip, branch, usual string) (bool, error) {
	remote, err := s.remote(ctx)
	if err != nil {
		return false, err
	}
	var ats []string
	for _, ref := range refsOf(usual, remote) {
		at, err := s.head(ctx, ref)
		if err != nil {
			return false, err
		}
		if at != "" && ref != heads+branch && !slices.Contains(ats, at) {
			ats = append(ats, at)
		}
	}
	for _, at := range ats {
		if ok, err := s.contains(ctx, at, tip); ok || err != nil {
			return ok, err
		}
	}
	for _, at := range ats {
		if ok, err := s.absorbed(ctx, at, tip); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// contains reports whether a commit is among the ancestors of another, or that itself.
func (s site) contains(ctx context.Context, at, commit string) (bool, error) {
	_, err := s.ask(ctx, s.Repo, "merge-base", "--is-ancestor", commit, at)
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && f.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// absorbed reports whether what a branch changed has come into a head as another commit.
func (s site) absorbed(ctx context.Context, at, tip string) (bool, error) {
	base, err := s.ask(ctx, s.Repo, "merge-base", at, tip)
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && f.Code == 1 {
		return false, nil // nothing in common
	}
	if err != nil {
		return false, err
	}
	paths, err := s.list(ctx, s.Repo, "diff-tree", "-r", "--name-only", "--no-renames", "-z", base, tip, "--")
	if err != nil || len(paths) == 0 {
		return false, err // commits that undo each other are nowhere else
	}
	tree, err := s.ask(ctx, s.Repo, "rev-parse", "--verify", tip+"^{tree}")
	if err != nil {
		return false, err
	}
	all, err := s.commits(ctx, maxEqual, at, tip, nil)
	if err != nil {
		return false, err
	}
	for _, c := range all {
		if c.tree == tree {
			return true, nil
		}
	}
	drivers, ok := s.noDrivers(ctx)
	if !ok || len(all) == 0 {
		return false, nil
	}
	touching, err := s.commits(ctx, maxMerges, at, tip, paths)
	if err != nil {
		return false, err
	}
	for _, c := range append(all[:1:1], touching...) { // the head itself first
		out, err := s.ask(ctx, s.Repo, append(slices.Clone(drivers), "merge-tree", "--write-tree", "--no-messages", c.id, tip)...)
		f, failed := errors.AsType[*gitcmd.Failure](err)
		switch {
		case failed && f.Code == 1: // a conflict
		case failed && f.Code > 128: // this git cannot
			return false, nil
		case err != nil:
			return false, err
		case out == c.tree:
			return true, nil
		}
	}
	return false, nil
}

type commitTree struct{ id, tree string }

// commits returns the newest commits that a head has and a branch has not, which is also
// the head itself, and of them those that changed one of the paths, if there are any.
func (s site) commits(ctx context.Context, most int, at, tip string, paths []string) ([]commitTree, error) {
	var in strings.Builder
	in.WriteString(at + "\n^" + tip + "\n--\n")
	if len(paths) <= maxChanged {
		for _, p := range paths {
			if strings.ContainsRune(p, '\n') { // cannot be said; all commits then
				return s.commits(ctx, most, at, tip, nil)
			}
			in.WriteString(p + "\n")
		}
	}
	c := gitcmd.Call{Dir: s.Repo, Stdin: in.String(), Env: []string{"GIT_LITERAL_PATHSPECS=1"}}
	out, err := s.git(ctx, c, "rev-list", "--max-count="+strconv.Itoa(most), "--format=%T", "--stdin")
	if err != nil {
		return nil, err
	}
	var all []commitTree
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, "commit "); ok {
			all = append(all, commitTree{id: id})
		} else if len(all) > 0 {
			all[len(all)-1].tree = line
		}
	}
	return all, nil
}

// noDrivers returns the settings with which each driver for merges that could drop a side
// fails, which is a conflict: those that are configured, and git's own that takes both. It
// reports false where one cannot be named in a setting.
func (s site) noDrivers(ctx context.Context) ([]string, bool) {
	names, err := s.list(ctx, s.Repo, "config", "--name-only", "-z", "--get-regexp", `^merge\..*\.driver$`)
	if f, ok := errors.AsType[*gitcmd.Failure](err); err != nil && (!ok || f.Code != 1) {
		return nil, false
	}
	set := []string{"-c", "merge.renormalize=false"}
	for _, n := range append(names, "merge.union.driver") {
		if strings.ContainsAny(n, "=\n") {
			return nil, false
		}
		set = append(set, "-c", n+"=false")
	}
	return set, true
}
