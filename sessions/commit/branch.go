package commit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const heads = "refs/heads/"

// Protected returns the names of branches on which nothing is ever done, sorted: main,
// master, develop and trunk, the branch that the remote has as its default as far as
// that is known here, and init.defaultBranch. An empty remote stands for all of them.
// No network is used.
func (t Tree) Protected(ctx context.Context, remote string) ([]string, error) {
	names := []string{"main", "master", "develop", "trunk"}
	refs, err := t.git(ctx, "for-each-ref", "--format=%(refname) %(symref)", "refs/remotes/")
	if err != nil {
		return nil, fmt.Errorf("list default branches: %w", err)
	}
	for line := range strings.Lines(refs) {
		ref, to, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		of, isHead := strings.CutSuffix(ref, "/HEAD")
		name, within := strings.CutPrefix(to, of+"/")
		if isHead && within && (remote == "" || of == "refs/remotes/"+remote) {
			names = append(names, name)
		}
	}
	name, err := t.git(ctx, "config", "--get", "init.defaultBranch")
	switch {
	case err == nil && name != "":
		names = append(names, name)
	case err != nil && exit(err) != 1: // 1 says that it is not set
		return nil, fmt.Errorf("list default branches: %w", err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// IsProtected reports whether a branch is among those that Protected has returned. Case
// does not count, because there are file systems on which it does not.
func IsProtected(names []string, branch string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, branch) })
}

// allowed returns a *ProtectedError for a protected branch.
func (t Tree) allowed(ctx context.Context, branch, remote string) error {
	names, err := t.Protected(ctx, remote)
	if err != nil {
		return err
	}
	if IsProtected(names, branch) {
		return &ProtectedError{Branch: branch}
	}
	return nil
}

// Current returns the branch that is checked out and its commit. The branch is empty
// when HEAD is detached, head before the first commit.
func (t Tree) Current(ctx context.Context) (branch, head string, err error) {
	ref, err := t.git(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil && exit(err) != 1 {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, ok := strings.CutPrefix(ref, heads)
	if !ok {
		branch = ""
	}
	if head, err = t.commit(ctx, "HEAD"); err != nil && exit(err) != 1 {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	return branch, head, nil
}

// commit returns the id of a commit; an error with exit code 1 when there is none.
func (t Tree) commit(ctx context.Context, rev string) (string, error) {
	if rev == "" || rev[0] == '-' || rev[0] == '^' { // an option, or a commit to leave out
		return "", &failure{name: "rev-parse", code: 1, out: "bad revision"}
	}
	return t.git(ctx, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
}

// Tip returns the last commit of a branch, and nothing when there is no such branch.
func (t Tree) Tip(ctx context.Context, branch string) (sha string, err error) {
	sha, err = t.git(ctx, "show-ref", "--verify", "--hash", heads+branch)
	if err == nil {
		return sha, nil
	}
	if exists, again := t.Exists(ctx, branch); again == nil && !exists {
		return "", nil
	}
	return "", fmt.Errorf("look for branch %s: %w", branch, err)
}

// Exists reports whether there is a branch of that name.
func (t Tree) Exists(ctx context.Context, branch string) (bool, error) {
	err := t.ask(ctx, query{}, "show-ref", "--verify", "--quiet", heads+branch)
	if err != nil && exit(err) != 1 {
		return false, fmt.Errorf("look for branch %s: %w", branch, err)
	}
	return err == nil, nil
}

// Conflict returns an existing branch that stands in the way of one named name, because
// one of the two is a folder of the other: beside master there can be no master/fix.
// It is empty where none does. A branch of the very name is none.
func (t Tree) Conflict(ctx context.Context, name string) (other string, err error) {
	for i, c := range name {
		if c != '/' || i == 0 {
			continue
		}
		exists, err := t.Exists(ctx, name[:i])
		if err != nil {
			return "", err
		}
		if exists {
			return name[:i], nil
		}
	}
	ref, err := t.git(ctx, "for-each-ref", "--count=1", "--format=%(refname)", heads+name+"/")
	if err != nil {
		return "", fmt.Errorf("look for branches below %s: %w", name, err)
	}
	return strings.TrimPrefix(ref, heads), nil
}

// Make makes a branch at a commit, HEAD when from is empty, and checks it out. Changes
// in the work tree stay; where from has other content for one of them it is refused. So
// are a name that is none for git, one that is taken, and a protected one.
func (t Tree) Make(ctx context.Context, name, from string) error {
	if err := t.fitting(ctx, name); err != nil {
		return fmt.Errorf("make branch: %w", err)
	}
	if err := t.allowed(ctx, name, ""); err != nil {
		return fmt.Errorf("make branch: %w", err)
	}
	exists, err := t.Exists(ctx, name)
	if err != nil {
		return fmt.Errorf("make branch: %w", err)
	}
	if exists {
		return &problem{words: fmt.Sprintf("make branch: %s exists already", name), way: "git switch " + name + ", or choose another name"}
	}
	other, err := t.Conflict(ctx, name)
	if err != nil {
		return fmt.Errorf("make branch: %w", err)
	}
	if other != "" {
		return &problem{
			words: fmt.Sprintf("make branch: %s cannot be, because there is a branch %s", name, other),
			way:   "choose a name in which neither is a folder of the other",
		}
	}
	args := []string{"--no-track", "--create", name}
	if from != "" {
		sha, err := t.commit(ctx, from)
		if err != nil {
			return &problem{words: fmt.Sprintf("make branch: there is no commit %q", from), err: err}
		}
		args = append(args, sha)
	}
	return t.checkout(ctx, name, args...)
}

// fitting refuses what is no name of a branch, and what git reads as something else.
func (t Tree) fitting(ctx context.Context, name string) error {
	full, err := t.git(ctx, "check-ref-format", "--branch", name)
	if err == nil && full == name && !strings.HasPrefix(name, "refs/") && name != "@" && !strings.EqualFold(name, "HEAD") {
		return nil
	}
	if err != nil && exit(err) < 0 {
		return err
	}
	return &problem{words: fmt.Sprintf("%q is no name for a branch", name), way: "see 'git check-ref-format --help'"}
}

// Switch checks out an existing branch. Changes in the work tree stay; where one of them,
// or an ignored file, would be overwritten it is refused.
func (t Tree) Switch(ctx context.Context, name string) error {
	if err := t.fitting(ctx, name); err != nil {
		return fmt.Errorf("switch branch: %w", err)
	}
	exists, err := t.Exists(ctx, name)
	if err != nil {
		return fmt.Errorf("switch branch: %w", err)
	}
	if !exists {
		return &problem{words: fmt.Sprintf("switch branch: there is no branch %s", name), way: "see 'git branch'"}
	}
	return t.checkout(ctx, name, "--no-guess", name)
}

// Detach checks out a commit without a branch, under the conditions of Switch.
func (t Tree) Detach(ctx context.Context, commit string) error {
	sha, err := t.commit(ctx, commit)
	if err != nil {
		return &problem{words: fmt.Sprintf("check out: there is no commit %q", commit), err: err}
	}
	return t.checkout(ctx, "", "--detach", sha)
}

// checkout runs git switch. A hook that runs afterwards cannot undo what was done, so
// that what is checked out counts and not how git ended.
func (t Tree) checkout(ctx context.Context, want string, args ...string) error {
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errLimit(limit))
	defer cancel()
	_, failed := t.act(bounded, action{}, append([]string{"switch", "--quiet", "--no-overwrite-ignore"}, args...)...)
	branch, head, err := t.Current(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return err
	case branch == want && (want != "" || head == args[len(args)-1]):
		return nil
	case failed != nil:
		return &problem{words: "switch branch", err: failed, way: "commit, stash or move away what is in the way; git says which files"}
	}
	return fmt.Errorf("switch branch: %w", &BranchError{Want: want, Have: branch})
}

// Delete deletes a branch, merged or not. A protected one is refused, and one that is
// checked out here or in another work tree.
func (t Tree) Delete(ctx context.Context, name string) error {
	if err := t.fitting(ctx, name); err != nil {
		return fmt.Errorf("delete branch: %w", err)
	}
	if err := t.allowed(ctx, name, ""); err != nil {
		return fmt.Errorf("delete branch: %w", err)
	}
	branch, _, err := t.Current(ctx)
	if err != nil {
		return fmt.Errorf("delete branch: %w", err)
	}
	if branch == name {
		return &problem{words: fmt.Sprintf("delete branch: %s is checked out", name), way: "switch to another branch first"}
	}
	if err := t.ask(ctx, query{}, "branch", "--quiet", "-D", name); err != nil {
		return fmt.Errorf("delete branch: %w", err)
	}
	return nil
}

// Busy names what git is in the middle of in this work tree: a merge, a rebase, am, a
// cherry-pick, a revert, a bisect, or unmerged files. It is empty when nothing is. Where
// git does not answer it says so, because that too is no time to change anything.
func (t Tree) Busy() string {
	for _, at := range []struct{ file, words string }{
		{"MERGE_HEAD", "a merge"},
		{"rebase-merge", "a rebase"},
		{"rebase-apply/applying", "am"},
		{"rebase-apply", "a rebase"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"sequencer", "a cherry-pick or a revert of several commits"},
		{"BISECT_LOG", "a bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(t.GitDir, at.file)); err == nil {
			return at.words
		}
	}
	ctx := context.Background()
	// Where refs are not files these are none either.
	for _, at := range []struct{ ref, words string }{{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}} {
		if _, err := t.commit(ctx, at.ref); err == nil {
			return at.words
		}
	}
	unmerged, err := t.git(ctx, "ls-files", "--unmerged")
	switch {
	case err != nil:
		return fmt.Sprintf("something that git does not tell (%v)", err)
	case unmerged != "":
		return "a resolution of unmerged files"
	}
	return ""
}
