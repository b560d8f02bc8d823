package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/story/worktree/internal/gitcmd"
)

const (
	fetchLimit = time.Minute
	origin     = "origin"
	heads      = "refs/heads/"
	remotes    = "refs/remotes/"
)

// DefaultBranch returns the name of the branch that everything else goes into, without
// refs/heads/: what the remote says, else the one of init.defaultBranch, main, master, or
// the only one, whichever exists first. The branch may be known of the remote alone. The
// remote is origin, or the only one. A repository without a commit and one in which none
// of this holds are a *RefusedError.
func (m Manager) DefaultBranch(ctx context.Context) (string, error) {
	s, err := m.open(ctx, false)
	if err != nil {
		return "", err
	}
	return s.defaultBranch(ctx)
}

func (s site) defaultBranch(ctx context.Context) (string, error) {
	remote, err := s.remote(ctx)
	if err != nil {
		return "", err
	}
	if remote != "" {
		ref, err := s.ask(ctx, s.Repo, "symbolic-ref", "--quiet", remotes+remote+"/HEAD")
		if name, ok := strings.CutPrefix(ref, remotes+remote+"/"); err == nil && ok {
			if at, err := s.head(ctx, ref); err != nil || at != "" {
				return name, err
			}
		}
	}
	for _, name := range s.usual(ctx) {
		for _, ref := range refsOf(name, remote) {
			if at, err := s.head(ctx, ref); err != nil || at != "" {
				return name, err
			}
		}
	}
	return s.only(ctx, remote)
}

// usual are names that a default branch has.
func (s site) usual(ctx context.Context) []string {
	names := []string{"main", "master"}
	if set, err := s.ask(ctx, s.Repo, "config", "--get", "init.defaultBranch"); err == nil && set != "" {
		names = slices.Insert(names, 0, set)
	}
	return names
}

// refsOf are the places of a branch of which one is enough.
func refsOf(branch, remote string) []string {
	refs := []string{heads + branch}
	if remote != "" {
		refs = append(refs, remotes+remote+"/"+branch)
	}
	return refs
}

// only returns the only branch, apart from those that we made.
func (s site) only(ctx context.Context, remote string) (string, error) {
	out, err := s.ask(ctx, s.Repo, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil {
		return "", err
	}
	ours, err := s.records()
	if err != nil {
		return "", err
	}
	names := slices.DeleteFunc(strings.Fields(out), func(name string) bool {
		return slices.ContainsFunc(ours, func(r record) bool { return r.Branch == name })
	})
	if len(names) == 1 {
		return names[0], nil
	}
	if len(names) == 0 {
		return "", &RefusedError{What: "the repository has no branch with a commit", Way: "make a first commit"}
	}
	way := "git config init.defaultBranch NAME"
	if remote != "" {
		way = fmt.Sprintf("git remote set-head %s --auto, or %s", remote, way)
	}
	return "", &RefusedError{
		What: fmt.Sprintf("which of %s is the default branch cannot be told", many(len(names), "branch")),
		Way:  way,
	}
}

// remote returns origin, or the only remote, or nothing.
func (s site) remote(ctx context.Context) (string, error) {
	out, err := s.ask(ctx, s.Repo, "remote")
	if err != nil {
		return "", err
	}
	names := strings.Fields(out)
	switch {
	case slices.Contains(names, origin):
		return origin, nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", nil
}

// head returns the commit that a ref is at, or nothing.
func (s site) head(ctx context.Context, ref string) (string, error) {
	out, err := s.ask(ctx, s.Repo, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && f.Code == 1 {
		return "", nil
	}
	return out, err
}

// Base returns the head of the default branch at which stories begin. With Remote that
// one branch is fetched, for a minute at most. Where it could not be and its last known
// head is taken, where there is no remote, and where local and remote head differ, the
// Note says so. The error is for a repository without a default branch, see
// DefaultBranch, and for a branch of which neither is known.
func (m Manager) Base(ctx context.Context, from From) (Base, error) {
	if from != Remote && from != Local {
		return Base{}, fmt.Errorf("unknown beginning %s: it is %s or %s", shown(string(from)), Remote, Local)
	}
	s, err := m.open(ctx, false)
	if err != nil {
		return Base{}, err
	}
	b := Base{}
	if b.Branch, err = s.defaultBranch(ctx); err != nil {
		return b, err
	}
	remote, err := s.remote(ctx)
	if err != nil {
		return b, err
	}
	var notes []string
	var failed error
	switch {
	case remote == "" && from == Remote:
		notes = append(notes, "there is no remote named origin and not just one of another name; the local head is taken")
		from = Local
	case from == Remote:
		failed = s.fetch(ctx, remote, b.Branch)
		if ctx.Err() != nil {
			return b, failed
		}
	}
	refs := [2]string{heads + b.Branch}
	commits := [2]string{}
	if remote != "" {
		refs[1] = remotes + remote + "/" + b.Branch
	}
	for i, ref := range refs {
		if ref != "" {
			if commits[i], err = s.head(ctx, ref); err != nil {
				return b, err
			}
		}
	}
	if failed != nil {
		if commits[1] == "" {
			return b, &RefusedError{
				What: fmt.Sprintf("%s of %s could not be fetched, and no head of it is known: %v", b.Branch, remote, failed),
				Way:  "push the branch, mend the remote, or begin at the local head",
			}
		}
		notes = append(notes, fmt.Sprintf("%s could not be fetched (%v); the last known head of %s is taken", remote, failed, b.Branch))
	}
	take, other := 0, 1
	if from == Remote {
		take, other = 1, 0
	}
	if commits[take] == "" {
		notes = append(notes, fmt.Sprintf("there is no %s; %s is taken", short(refs[take]), short(refs[other])))
		take, other = other, take
	}
	b.Ref, b.Commit = refs[take], commits[take]
	if b.Commit == "" {
		return b, fmt.Errorf("internal error: default branch %s has no head", b.Branch)
	}
	differ, err := s.differ(ctx, refs, commits)
	if err != nil {
		return b, err
	}
	if differ != "" {
		notes = append(notes, differ)
	}
	b.Note = strings.Join(notes, "; ")
	return b, nil
}

// differ says how the local head and the remote's stand to each other.
func (s site) differ(ctx context.Context, refs, commits [2]string) (string, error) {
	if commits[0] == "" || commits[1] == "" || commits[0] == commits[1] {
		return "", nil
	}
	out, err := s.ask(ctx, s.Repo, "rev-list", "--left-right", "--count", commits[0]+"..."+commits[1], "--")
	if err != nil {
		return "", err
	}
	ahead, behind := 0, 0
	if _, err := fmt.Sscan(out, &ahead, &behind); err != nil {
		return "", fmt.Errorf("git rev-list: %q is not two numbers", out)
	}
	var parts []string
	if ahead > 0 {
		parts = append(parts, many(ahead, "commit")+" ahead of")
	}
	if behind > 0 {
		parts = append(parts, many(behind, "commit")+" behind")
	}
	return fmt.Sprintf("local %s is %s %s", short(refs[0]), strings.Join(parts, " and "), short(refs[1])), nil
}

func short(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, heads), remotes)
}

// fetch brings what is known of one branch of the remote up to date, and nothing else.
func (s site) fetch(ctx context.Context, remote, branch string) error {
	to, err := s.symbolic(ctx, s.common, remotes+remote+"/"+branch)
	if err != nil {
		return err
	}
	if to != "" { // which a fetch would move
		return fmt.Errorf("%s is only another name of %s", remotes+remote+"/"+branch, shown(to))
	}
	_, err = s.git(ctx, gitcmd.Call{Dir: s.Repo, Changes: true, Limit: fetchLimit}, "fetch", "--quiet", "--no-tags", "--no-prune",
		"--no-recurse-submodules", "--no-write-fetch-head", "--", remote, "+"+heads+branch+":"+remotes+remote+"/"+branch)
	return err
}
