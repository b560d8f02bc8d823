package commit

import (
	"errors"
	"fmt"
	"strings"

	"autopilot/sessions/commit/internal/printed"
)

// ErrNothing is returned when none of the files differs from the last commit.
var ErrNothing = errors.New("no changes to commit")

// HookError is returned when a hook of the repository refuses a commit or a push. The
// index of the person is as it was. What the hook itself has changed in the work tree
// stays.
type HookError struct {
	Hook   string // its name; where two may have been it: "prepare-commit-msg or commit-msg"
	Output string // the end of what it and git printed, at most 4 KiB
}

// Error names the hook and its last words.
func (e *HookError) Error() string {
	s := "the hook " + e.Hook + " refused"
	if last := printed.Useful(e.Output); last != "" {
		s += ": " + last
	}
	return s
}

// Hint is the way out.
func (e *HookError) Hint() string {
	return "mend what it says and try again; files that the hook has changed stay changed"
}

// ProtectedError is returned for a branch on which nothing may be done.
type ProtectedError struct{ Branch string }

// Error names the branch.
func (e *ProtectedError) Error() string {
	return e.Branch + " is a default branch; nothing is ever committed, made, deleted or pushed there"
}

// Hint is the way out.
func (e *ProtectedError) Hint() string { return "use a branch of its own: git switch -c NAME" }

// BranchError is returned when another branch is checked out than has to be. Where that
// was changed while git committed, the commit may have got onto that branch, from where
// it is taken back.
type BranchError struct {
	Want   string
	Have   string   // empty when none is: HEAD is detached
	Commit string   // that was made elsewhere than on Want; empty for none
	Back   []string // branches from which it was taken back; HEAD for none
	Left   []string // branches that still have it, or ids where several may be it
	Why    string   // it is left; empty where it is not
}

// Error names both branches, and says what has become of a commit.
func (e *BranchError) Error() string {
	if e.Commit != "" {
		s := fmt.Sprintf("the branch was switched while git committed: %s was not made on %s", e.Commit, e.Want)
		if len(e.Back) > 0 {
			s += fmt.Sprintf("; it was taken back from %s, and the files are in the work tree as they were", strings.Join(e.Back, ", "))
		}
		if len(e.Left) > 0 {
			s += fmt.Sprintf("; it could not be taken back from %s: %s", strings.Join(e.Left, ", "), e.Why)
		}
		return s
	}
	have := "branch " + e.Have
	if e.Have == "" {
		have = "no branch (detached HEAD)"
	}
	return fmt.Sprintf("the work tree is on %s, not on %s", have, e.Want)
}

// Hint is the way out.
func (e *BranchError) Hint() string {
	switch {
	case len(e.Left) > 0:
		return fmt.Sprintf("take %s out by hand ('git revert' or 'git rebase', see 'git show %s'), then git switch %s", e.Commit, e.Commit, e.Want)
	case e.Commit != "":
		return fmt.Sprintf("nothing is lost: git switch %s and commit again; 'git show %s' has the commit that was taken back", e.Want, e.Commit)
	}
	return "git switch " + e.Want
}

// problem is an error that knows its way out.
type problem struct {
	words, way string
	err        error
}

func (p *problem) Error() string {
	if p.err == nil {
		return p.words
	}
	return p.words + ": " + p.err.Error()
}

func (p *problem) Hint() string  { return p.way }
func (p *problem) Unwrap() error { return p.err }

// failure is a git that ended badly.
type failure struct {
	name  string // of the command: commit
	code  int    // of the exit; -1 when it was ended by a signal or could not be started
	out   string // the end of what it printed, fit to be shown
	cause error  // why it was ended, or could not be started
}

func (f *failure) Error() string {
	if f.cause != nil {
		return fmt.Sprintf("git %s: %v", f.name, f.cause)
	}
	if words := printed.Useful(f.out); words != "" {
		return fmt.Sprintf("git %s: %s", f.name, words)
	}
	return fmt.Sprintf("git %s: exit status %d", f.name, f.code)
}

func (f *failure) Unwrap() error { return f.cause }

// exit is the exit code of a git that ended by itself, -1 for all else.
func exit(err error) int {
	if f, ok := errors.AsType[*failure](err); ok && f.cause == nil {
		return f.code
	}
	return -1
}
