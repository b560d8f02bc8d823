package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

// occupy takes the lock of whoever works in a tree, without waiting. It refuses a tree that
// somebody works in; who is what that one is called.
func occupy(ctx context.Context, entry, who string) (release func(), err error) {
	if entry == "" {
		return func() {}, nil
	}
	past, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
	defer cancel()
	l, err := statedir.Acquire(past, filepath.Join(entry, statedir.RunLock), statedir.Holder{})
	if held, ok := errors.AsType[*statedir.HeldError](err); ok {
		return nil, &RefusedError{What: who + worksIn(held.Holder), Way: "wait for its end, or stop it"}
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = l.Release() }, nil
}

func worksIn(h statedir.Holder) string { return " works in it: " + shown(h.String()) }

// symbolic returns the ref that another one stands for, or nothing. What is of one work
// tree alone, such as HEAD, is that of the git folder.
func (s site) symbolic(ctx context.Context, gitDir, ref string) (string, error) {
	out, err := s.git(ctx, gitcmd.Call{Dir: s.Repo, Env: []string{"GIT_DIR=" + gitDir}}, "symbolic-ref", "--quiet", ref)
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && f.Code == 1 {
		return "", nil
	}
	return strings.TrimSuffix(out, "\n"), err
}

// real refuses a branch that is a symbolic ref: what is done to it would be done to another.
func (s site) real(ctx context.Context, branch string) error {
	to, err := s.symbolic(ctx, s.common, heads+branch)
	if err != nil || to == "" {
		return err
	}
	return &RefusedError{
		What: fmt.Sprintf("branch %s is only another name of %s, a symbolic ref", shown(branch), shown(to)),
		Way:  fmt.Sprintf("git symbolic-ref --delete %s takes that name away, and nothing else", heads+branch),
	}
}

// mark is what the log of a branch begins with.
func mark(id string) string { return "autopilot: begin story " + id }

// began returns the commit at which a branch was made for a story, by the log of the
// branch, or nothing for one that was not. Whoever can write a record can name any branch.
func (s site) began(ctx context.Context, id, branch string) (string, error) {
	out, err := s.ask(ctx, s.Repo, "log", "--walk-reflogs", "--no-show-signature", "--format=%H %gs", heads+branch, "--")
	commit, words, _ := strings.Cut(out[strings.LastIndexByte(out, '\n')+1:], " ")
	if err != nil || words != mark(id) {
		return "", err
	}
	return commit, nil
}

// bar refuses to have git's folder of a tree taken off the list which a person has locked,
// or which holds repositories of submodules.
func (s site) bar(r record, entry string) error {
	if entry == "" {
		return nil
	}
	modules, err := gitfiles.Modules(entry)
	if err != nil {
		return err
	}
	if modules {
		return &RefusedError{
			What: fmt.Sprintf("the repositories of its submodules are in %s, and may have commits that nothing else has", shown(filepath.Join(entry, "modules"))),
			Way:  "push from them what is not to be lost, then delete that folder",
		}
	}
	why, locked, err := gitfiles.Locked(entry)
	if err != nil || !locked || why == reason(r.ID) || why == "" && r.begun() { // ours, which may have been broken off
		return err
	}
	what := "somebody has locked the work tree"
	if why != "" {
		what += ": " + shown(why)
	}
	return &RefusedError{What: what, Way: "git worktree unlock " + s.path(r.ID)}
}

// privy refuses to have commits lost that only refs have which are of one tree alone. Those
// of a branch that is there are the branch's.
func (s site) privy(ctx context.Context, entry string) error {
	if ok, err := gitfiles.There(filepath.Join(entry, "commondir")); entry == "" || !ok {
		return err
	}
	env := []string{"GIT_DIR=" + entry}
	out, err := s.git(ctx, gitcmd.Call{Dir: s.Repo, Env: env}, "for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/bisect", "refs/rewritten")
	if err != nil || out == "" {
		return err
	}
	out, err = s.git(ctx, gitcmd.Call{Dir: s.Repo, Env: env, Stdin: out}, "rev-list", "--count", "--stdin", "--not", "--branches", "--tags", "--remotes")
	if err != nil || out == "0\n" {
		return err
	}
	return &RefusedError{
		What: fmt.Sprintf("refs of the work tree alone, below refs/worktree, have commits that nothing else has (%s)", strings.TrimSpace(out)),
		Way:  "give them a branch, in the work tree: git branch NAME refs/worktree/...",
	}
}

// hold finds what keeps a tree, and what its branch, apart from work that is nowhere else.
func (s site) hold(ctx context.Context, t Tree, v *view) error {
	r := record{ID: filepath.Base(t.Path)}
	err := s.bar(r, v.entry)
	if err == nil {
		err = s.privy(ctx, v.entry)
	}
	if err == nil {
		err = s.agree(ctx, r.ID, t.Branch, v.on)
	}
	if v.heldTree, err = words(err); err != nil {
		return err
	}
	if err = s.real(ctx, t.Branch); err == nil && v.tip != "" {
		err = s.ours(ctx, r.ID, t.Branch)
	}
	v.heldBranch, err = words(err)
	v.Held = v.heldTree
	if v.Held == "" {
		v.Held = v.heldBranch
	}
	return err
}

// words takes a refusal for its fact.
func words(err error) (string, error) {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.What, nil
	}
	return "", err
}

// agree refuses a tree that was made with another branch than it is said to have.
func (s site) agree(ctx context.Context, id, branch, on string) error {
	other, ok := strings.CutPrefix(on, heads)
	if !ok || other == branch {
		return nil
	}
	if at, err := s.head(ctx, on); err != nil || at == "" {
		return err
	}
	at, err := s.began(ctx, id, other)
	if err != nil || at == "" {
		return err
	}
	return &RefusedError{
		What: fmt.Sprintf("it was made with branch %s, and not with %s", shown(other), shown(branch)),
		Way:  "look after both by hand",
	}
}

// ours refuses a branch that was not made for a story, and one that another ref is only
// another name of: that one would seem to have all of its commits.
func (s site) ours(ctx context.Context, id, branch string) error {
	at, err := s.began(ctx, id, branch)
	if err != nil {
		return err
	}
	if at == "" {
		return &RefusedError{
			What: fmt.Sprintf("branch %s was not made for it, or the beginning of the branch's log is gone", shown(branch)),
			Way:  "look after the branch by hand",
		}
	}
	out, err := s.ask(ctx, s.Repo, "for-each-ref", "--format=%(symref) %(refname)")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), heads+branch+" "); ok {
			return &RefusedError{
				What: fmt.Sprintf("%s is only another name of its branch %s, a symbolic ref", shown(name), shown(branch)),
				Way:  fmt.Sprintf("git symbolic-ref --delete %s takes that name away, and nothing else", name),
			}
		}
	}
	return nil
}
