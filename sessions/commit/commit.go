package commit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
)

const (
	// maxMessage is how many bytes of a message are in the pipe to git at once: it is
	// there whole or not at all when we die.
	maxMessage = 16 << 10
	afterLimit = time.Minute     // for what has to be done when git has ended
	lockWait   = 5 * time.Second // for a lock of git, or of another Commit
	lockLook   = 50 * time.Millisecond
)

// Commit is a commit to make.
type Commit struct {
	Branch  string // must be checked out
	Parent  string // commit at which the branch must be; empty is not looked at
	Remote  string // whose default branch is protected; empty for all remotes
	Message string // taken as it is, lines that begin with # included; at most 16 KiB
	// Files are what is committed, relative to the top. Each exists or was deleted; one
	// that does not differ from the last commit is fine.
	Files []string
	Limit time.Duration // for all of it, hooks included; 0 is ten minutes
}

// Commit makes a commit of exactly these files and of what hooks add to it. The branch,
// that it is not protected, and that git is not busy are looked at before anything is
// done and again right before git commits.
//
// The id is not empty when the commit was made. An error beside it says what is not in
// order afterwards, such as an index that could not be brought in line because it was
// locked; the next Commit or Find sees to that. Without an id nothing was committed and
// the index is as it was, except for an error that names a commit: then a hook has moved
// the branch, or, with a *BranchError, somebody has switched it while git worked. In that
// case the commit is taken back from where it is, unless somebody has built on it.
//
// Errors to decide on are ErrNothing, *HookError, *ProtectedError and *BranchError.
func (t Tree) Commit(ctx context.Context, c Commit) (sha string, err error) {
	c.Limit = cmp.Or(c.Limit, limit)
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, errLimit(c.Limit))
	defer cancel()
	if err := c.check(); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	d, err := t.enter(ctx)
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	sha, err = d.commit(ctx, c)
	if err = errors.Join(err, d.leave()); err != nil {
		return sha, fmt.Errorf("commit: %w", err)
	}
	return sha, nil
}

func errLimit(d time.Duration) error {
	return &problem{words: fmt.Sprintf("it took longer than %v", d), way: "a hook or the program that signs commits may wait for something; run git by hand to see"}
}

// check refuses what cannot be meant.
func (c *Commit) check() error {
	switch {
	case c.Branch == "":
		return errors.New("no branch is named")
	case strings.TrimSpace(c.Message) == "":
		return errors.New("the message is empty")
	case len(c.Message) >= maxMessage:
		return fmt.Errorf("the message has %d bytes, at most %d are possible", len(c.Message), maxMessage-1)
	case strings.Contains(c.Message, "\x00"):
		return errors.New("the message has a zero byte in it")
	}
	for _, f := range c.Files {
		if !filepath.IsLocal(f) || path.Clean(f) != f || f == "." || strings.Contains(f, "\x00") {
			return fmt.Errorf("%q is no path of a file relative to the top of the repository", f)
		}
		if slices.ContainsFunc(strings.Split(f, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
			return fmt.Errorf("%q belongs to git itself", f)
		}
	}
	c.Message = strings.TrimRight(c.Message, "\n") + "\n"
	return nil
}

// ready looks whether a commit may be made right now, and returns HEAD.
func (t Tree) ready(ctx context.Context, c Commit) (head string, err error) {
	branch, head, err := t.Current(ctx)
	switch {
	case err != nil:
		return "", err
	case branch != c.Branch:
		return "", &BranchError{Want: c.Branch, Have: branch}
	case c.Parent != "" && head != c.Parent:
		return "", &problem{words: fmt.Sprintf("branch %s has moved: it is at %s, not at %s", branch, head, c.Parent), way: "see 'git log'"}
	}
	if err := t.allowed(ctx, branch, c.Remote); err != nil {
		return "", err
	}
	if busy := t.Busy(); busy != "" {
		return "", &problem{words: busy + " is in progress in this work tree", way: "finish it, or abort it; see 'git status'"}
	}
	return head, nil
}

// identity makes sure that git knows who commits.
func (t Tree) identity(ctx context.Context) error {
	for _, of := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if _, err := t.git(ctx, "var", of); err != nil {
			return &problem{
				words: "git does not know who commits", err: err,
				way: `git config user.name "Your Name" && git config user.email you@example.com`,
			}
		}
	}
	return nil
}

func (d *desk) commit(ctx context.Context, c Commit) (string, error) {
	head, err := d.ready(ctx, c)
	if err != nil {
		return "", err
	}
	if len(c.Files) == 0 {
		return "", ErrNothing
	}
	if err := d.identity(ctx); err != nil {
		return "", err
	}
	if err := d.unlocked(ctx); err != nil {
		return "", err
	}
	d.Parent, d.Branch, d.Message = head, c.Branch, []byte(c.Message)
	if err := d.stage(ctx, c.Files); err != nil {
		return "", err
	}
	again, err := d.ready(ctx, c)
	if err != nil {
		return "", err
	}
	if again != head {
		return "", fmt.Errorf("branch %s has moved from %s to %s meanwhile", c.Branch, head, again)
	}
	before := d.written()
	out, failed := d.act(ctx, action{
		index: d.index(), stdin: strings.NewReader(c.Message), started: func(pid int) error { return d.start(ctx, pid) },
	}, "-c", "i18n.commitEncoding=UTF-8", "commit", "--quiet", "--cleanup=verbatim", "--file=-")

	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterLimit)
	defer cancel()
	sha, have, err := d.made(after, failed)
	switch {
	case err != nil:
		if _, ok := errors.AsType[*BranchError](err); !ok {
			d.keep = true // whoever comes next looks again
		}
		return "", err
	case sha == "":
		return "", d.refused(ctx, failed, out, d.written() != before)
	case have != c.Branch: // and so is the index
		return sha, fmt.Errorf("%s was made, but then the branch was switched: %w", sha, &BranchError{Want: c.Branch, Have: have})
	}
	if err := d.settle(after, sha); err != nil {
		d.keep = true
		return sha, fmt.Errorf("%s was made, but the index still has the files as they were before: %w", sha, err)
	}
	if failed != nil {
		return sha, fmt.Errorf("%s was made, but git did not end well: %w", sha, failed)
	}
	return sha, nil
}

// made reads back what git has done: the id of the commit, empty when there is none,
// and what is checked out now.
func (d *desk) made(ctx context.Context, failed error) (sha, have string, err error) {
	have, head, err := d.Current(ctx)
	if err != nil {
		return "", "", err
	}
	idle := have == d.Branch && head == d.Parent
	if idle && exit(failed) == 1 { // how git ends when a hook refuses, before it commits
		return "", have, nil
	}
	sha, err = d.landed(ctx, have, head, failed == nil)
	switch {
	case err != nil || sha != "":
		return sha, have, err
	case have != d.Branch:
		err := error(&BranchError{Want: d.Branch, Have: have})
		if failed == nil {
			err = fmt.Errorf("the branch was switched while git committed; look for the commit on both: %w", err)
		}
		return "", have, err
	case idle && failed == nil:
		return "", have, errors.New("git reports success, but there is no new commit")
	case idle:
		return "", have, nil
	}
	return "", have, &problem{words: fmt.Sprintf("branch %s was moved by something else: it is at %s, and not at a commit of ours after %q", have, head, d.Parent), way: "see 'git log'"}
}

// refused says why git has made no commit. Git writes the message to its file when
// the first hook has let it pass.
func (d *desk) refused(ctx context.Context, failed error, out string, written bool) error {
	f, ok := errors.AsType[*failure](failed)
	switch {
	case !ok:
		return failed
	case ctx.Err() != nil: // it may have taken the end of a hook for an answer
		return fmt.Errorf("git was ended: %w", context.Cause(ctx))
	case f.cause != nil:
		return failed
	case f.code == 1 && !written:
		return &HookError{Hook: "pre-commit", Output: out}
	case f.code == 1:
		return &HookError{Hook: "prepare-commit-msg or commit-msg", Output: out}
	case strings.Contains(out, "aborted by") && strings.Contains(out, "hook"):
		return &HookError{Hook: "reference-transaction", Output: out}
	case strings.Contains(out, "failed to sign") || strings.Contains(out, "failed to write commit object"):
		return &problem{
			words: "the commit could not be signed", err: failed,
			way: "the program that signs has no terminal here: unlock the key beforehand, see 'git config gpg.program' and 'commit.gpgSign'",
		}
	case strings.Contains(out, ".lock'"):
		return &problem{words: "git is locked", err: failed, way: "another git works here; delete the lock file only when none does"}
	}
	return failed
}

// written tells when git has last written the message of a commit.
func (d *desk) written() string {
	fi, err := os.Stat(filepath.Join(d.GitDir, "COMMIT_EDITMSG"))
	if err != nil {
		return ""
	}
	var inode uint64
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return fmt.Sprint(fi.ModTime().UnixNano(), fi.Size(), inode)
}

// lock is the file that a git has while it writes the index.
func (t Tree) lock() string { return filepath.Join(t.GitDir, "index.lock") }

// unlocked waits until nobody writes the index.
func (t Tree) unlocked(ctx context.Context) error {
	tick := time.NewTicker(lockLook)
	defer tick.Stop()
	for end := time.Now().Add(lockWait); ; {
		_, err := os.Lstat(t.lock())
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("look for a lock: %w", err)
		case time.Now().After(end):
			return t.locked()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (t Tree) locked() error {
	return &problem{
		words: t.lock() + " is there: another git works on this index, or one was killed",
		way:   "wait for it; when no git runs in this work tree, delete " + t.lock(),
	}
}

// enter takes the work tree for a commit, and finishes one that was cut short.
func (t Tree) enter(ctx context.Context) (*desk, error) {
	d := &desk{Tree: t, dir: filepath.Join(t.GitDir, "autopilot-commit")}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := statedir.Acquire(wait, filepath.Join(d.dir, "lock"), statedir.Holder{})
	if held, ok := errors.AsType[*statedir.HeldError](err); ok {
		return nil, &problem{words: fmt.Sprintf("a commit is being made in this work tree by %v", held.Holder), way: "wait for it"}
	}
	if err != nil {
		return nil, err
	}
	d.held = lock
	if err := d.recover(ctx); err != nil {
		d.keep = true
		return nil, errors.Join(err, d.leave())
	}
	return d, nil
}

// finish does what a killed Commit has left to do. It does nothing where none was
// killed.
func (t Tree) finish(ctx context.Context) error {
	d := desk{Tree: t, dir: filepath.Join(t.GitDir, "autopilot-commit")}
	if _, err := os.Lstat(d.recordFile()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	in, err := t.enter(ctx)
	if err != nil {
		return err
	}
	return in.leave()
}
