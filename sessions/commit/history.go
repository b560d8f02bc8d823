package commit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"autopilot/sessions/repo"
)

const binaryProbe = 8000 // bytes in which a zero byte makes a file binary; git looks at as many

// base returns the id of a commit, for an empty one that of the empty tree.
func (t Tree) base(ctx context.Context, rev string) (string, error) {
	if rev == "" {
		return t.with(ctx, query{stdin: strings.NewReader("")}, "hash-object", "-t", "tree", "--stdin")
	}
	sha, err := t.commit(ctx, rev)
	if err != nil {
		return "", &problem{words: fmt.Sprintf("there is no commit %q", rev), err: err}
	}
	return sha, nil
}

// Lines counts the lines that were added and removed in files, relative to the top,
// from a commit to the work tree as it is now, committed meanwhile or not, untracked
// files included. An empty since stands for the time before the first commit. Binary
// files have no lines.
func (t Tree) Lines(ctx context.Context, since string, files []string) (added, removed int, err error) {
	from, err := t.base(ctx, since)
	if err != nil {
		return 0, 0, fmt.Errorf("count lines: %w", err)
	}
	wanted := set(files)
	numbers := func(line string) {
		f := strings.SplitN(line, "\t", 3)
		if len(f) == 3 && wanted[f[2]] {
			more, _ := strconv.Atoi(f[0]) // "-" for a binary file
			less, _ := strconv.Atoi(f[1])
			added, removed = added+more, removed+less
		}
	}
	err = t.ask(ctx, query{out: &repo.Pieces{Each: numbers}}, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", from, "--")
	if err != nil {
		return 0, 0, fmt.Errorf("count lines: %w", err)
	}
	var untracked []string
	others := func(path string) {
		if wanted[path] {
			untracked = append(untracked, path)
		}
	}
	if err := t.ask(ctx, query{out: &repo.Pieces{Each: others}}, "ls-files", "--others", "--exclude-standard", "-z"); err != nil {
		return 0, 0, fmt.Errorf("count lines: %w", err)
	}
	for _, path := range untracked {
		n, err := lines(ctx, filepath.Join(t.Top, path))
		if err != nil {
			return 0, 0, fmt.Errorf("count lines of %s: %w", path, err)
		}
		added += n
	}
	return added, removed, nil
}

// lines counts the lines of an untracked file as git does for one that is added.
func lines(ctx context.Context, name string) (int, error) {
	fi, err := os.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, nil // deleted since it was listed
	case err != nil:
		return 0, fmt.Errorf("look: %w", err)
	case fi.Mode()&os.ModeSymlink != 0:
		return 1, nil
	case !fi.Mode().IsRegular():
		return 0, nil
	}
	f, err := open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, 64<<10)
	if probe, _ := r.Peek(binaryProbe); bytes.IndexByte(probe, 0) >= 0 {
		return 0, nil
	}
	n, last, buf := 0, byte('\n'), make([]byte, 64<<10)
	for {
		k, err := r.Read(buf)
		if k > 0 {
			n, last = n+bytes.Count(buf[:k], []byte{'\n'}), buf[k-1]
		}
		switch {
		case errors.Is(err, io.EOF):
			if last != '\n' {
				n++
			}
			return n, nil
		case err != nil:
			return 0, fmt.Errorf("read: %w", err)
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		}
	}
}

// Find looks for a commit on a branch, and not already at parent, whose message has a
// line that is mark. An empty parent stands for the time before the first commit. Of
// several it returns the last one.
//
// It is what to call when it is not known whether a Commit was made: it waits for a git
// that a killed Commit has left, so that what it says holds, and brings the index in
// line as that Commit would have done. Where that was on another branch, the commit is
// taken back and the error is a *BranchError, once.
func (t Tree) Find(ctx context.Context, branch, parent, mark string) (sha string, found bool, err error) {
	if err := t.finish(ctx); err != nil {
		return "", false, fmt.Errorf("find commit: %w", err)
	}
	mark = strings.TrimSpace(mark)
	if mark == "" {
		return "", false, errors.New("find commit: no mark to look for")
	}
	args := []string{"-c", "log.showSignature=false", "log", "-z", "--format=%H%n%B", "--encoding=UTF-8", heads + branch}
	if parent != "" {
		not, err := t.base(ctx, parent)
		if err != nil {
			return "", false, fmt.Errorf("find commit: %w", err)
		}
		args = append(args, "^"+not)
	}
	exists, err := t.Exists(ctx, branch)
	if err != nil {
		return "", false, fmt.Errorf("find commit: %w", err)
	}
	if !exists { // or it has no commit yet
		return "", false, nil
	}
	see := func(one string) {
		id, message, _ := strings.Cut(one, "\n")
		for line := range strings.Lines(message) {
			if !found && strings.TrimSpace(line) == mark {
				sha, found = id, true
			}
		}
	}
	out := &repo.Pieces{Each: see}
	if err := t.ask(ctx, query{out: out}, append(args, "--")...); err != nil {
		return "", false, fmt.Errorf("find commit: %w", err)
	}
	see(out.Rest())
	return sha, found, nil
}

// Between returns the ids of the commits that to has and from has not, oldest first. An
// empty from stands for the time before the first commit.
func (t Tree) Between(ctx context.Context, from, to string) ([]string, error) {
	last, err := t.base(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	args := []string{"rev-list", "--reverse", "--topo-order", last}
	if from != "" {
		first, err := t.base(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		args = append(args, "^"+first)
	}
	out, err := t.git(ctx, append(args, "--")...)
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	return strings.Fields(out), nil
}

// maxMessages bounds how many commits Messages reads.
const maxMessages = 5000

// Messages returns the whole messages, in UTF-8, of the commits that to has and from has
// not, by their ids: of the 5,000 newest where there are more. An empty from stands for
// the time before the first commit.
func (t Tree) Messages(ctx context.Context, from, to string) (map[string]string, error) {
	revs := []string{"--max-count=" + strconv.Itoa(maxMessages), "--end-of-options", to + "^{commit}"}
	if from != "" {
		revs = append(revs, "^"+from+"^{commit}")
	}
	all, err := t.candidates(ctx, revs...)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	out := make(map[string]string, len(all))
	for _, c := range all {
		out[c.id] = c.message
	}
	return out, nil
}

// Contains reports whether a commit is part of the history of another one, or is it.
func (t Tree) Contains(ctx context.Context, commit, part string) (bool, error) {
	_, err := t.git(ctx, "merge-base", "--is-ancestor", part, commit)
	if err == nil || exit(err) == 1 {
		return err == nil, nil
	}
	return false, fmt.Errorf("look for commit %s: %w", part, err)
}

// Touched returns the files, relative to the top and sorted, in which two commits
// differ; of a rename both. An empty from stands for the time before the first commit.
func (t Tree) Touched(ctx context.Context, from, to string) ([]string, error) {
	changed, err := t.differ(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("list files of commits: %w", err)
	}
	var out []string
	for path := range changed {
		out = append(out, path)
	}
	slices.Sort(out)
	return out, nil
}

// Files returns the files that git has in its index or would add, relative to the top
// and sorted. One that was deleted without git is among them.
func (t Tree) Files(ctx context.Context) ([]string, error) {
	var out []string
	each := func(path string) { out = append(out, path) }
	if err := t.ask(ctx, query{out: &repo.Pieces{Each: each}}, "ls-files", "-z", "--cached", "--others", "--exclude-standard"); err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Hidden reports whether git ignores a file, relative to the top, because a pattern says
// so and it is in no index. It need not exist.
func (t Tree) Hidden(ctx context.Context, path string) (bool, error) {
	hidden, err := t.hidden(ctx, []string{path})
	return len(hidden) > 0, err
}

// hidden returns those of the paths that git ignores.
func (t Tree) hidden(ctx context.Context, paths []string) ([]string, error) {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = "./" + p // a colon at the beginning means something else
	}
	var out []string
	each := func(path string) { out = append(out, strings.TrimPrefix(path, "./")) }
	err := t.ask(ctx, query{stdin: list(names), out: &repo.Pieces{Each: each}, long: true}, "check-ignore", "-z", "--stdin")
	if err != nil && exit(err) != 1 { // 1 says that there is none
		return nil, fmt.Errorf("look for ignored files: %w", err)
	}
	return out, nil
}

func set(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
