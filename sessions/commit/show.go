package commit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"autopilot/sessions/commit/internal/printed"
)

// ErrNoCommit is returned for a revision that names no commit.
var ErrNoCommit = errors.New("no such commit")

// About is what a commit says of itself.
type About struct {
	SHA     string
	Parents []string  // ids; none for the first commit
	Time    time.Time // of the committer, in whole seconds
	Message string    // in UTF-8
}

// History returns a commit and those before it along first parents, newest first, at
// most so many. The error wraps ErrNoCommit when the revision names none.
func (t Tree) History(ctx context.Context, rev string, most int) ([]About, error) {
	sha, err := t.commit(ctx, rev)
	if err != nil {
		if exit(err) > 0 {
			err = ErrNoCommit
		}
		return nil, fmt.Errorf("read commit %q: %w", rev, err)
	}
	text, err := t.git(ctx, "log", "-z", "--no-show-signature", "--first-parent", "--max-count="+strconv.Itoa(most),
		"--format=%H%n%P%n%ct%n%B", "--encoding=UTF-8", "--no-color", sha, "--")
	if err != nil {
		return nil, fmt.Errorf("read commit %q: %w", rev, err)
	}
	var out []About
	for one := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		a, err := parseAbout(one)
		if err != nil {
			return nil, fmt.Errorf("read commit %q: %w", rev, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAbout(text string) (About, error) {
	parts := strings.SplitN(text, "\n", 4)
	if len(parts) < 4 {
		return About{}, fmt.Errorf("internal error: git log says %q", text)
	}
	seconds, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return About{}, fmt.Errorf("internal error: git log gives the time %q", parts[2])
	}
	return About{SHA: parts[0], Parents: strings.Fields(parts[1]), Time: time.Unix(seconds, 0), Message: parts[3]}, nil
}

// Content returns a file as a commit has it, without any filter of the repository. It is
// not found where the commit has no regular file of that name; one of more than most
// bytes is an error.
func (t Tree) Content(ctx context.Context, sha, path string, most int) (data []byte, found bool, err error) {
	out, err := t.git(ctx, "ls-tree", "-z", "--full-tree", "-l", sha, "--", path)
	if err != nil {
		return nil, false, fmt.Errorf("read %s of commit %s: %w", path, sha, err)
	}
	// mode, kind, id, size
	about, name, _ := strings.Cut(strings.TrimSuffix(out, "\x00"), "\t")
	f := strings.Fields(about)
	if len(f) != 4 || name != path || f[0] != "100644" && f[0] != "100755" {
		return nil, false, nil
	}
	if size, err := strconv.Atoi(f[3]); err != nil || size > most {
		return nil, false, fmt.Errorf("read %s of commit %s: it has %s bytes, at most %d are read", path, sha, f[3], most)
	}
	var b strings.Builder
	if err := t.ask(ctx, query{out: &b}, "cat-file", "blob", f[2]); err != nil {
		return nil, false, fmt.Errorf("read %s of commit %s: %w", path, sha, err)
	}
	return []byte(b.String()), true, nil
}

// Patch returns the first bytes, at most so many, of the difference of two commits as a
// patch, without some files, and how many bytes the whole has. Neither external
// programs nor text conversions of the configuration are run. An empty from stands for
// the time before the first commit.
func (t Tree) Patch(ctx context.Context, from, to string, most int, without ...string) (text string, whole int, err error) {
	base, err := t.base(ctx, from)
	if err != nil {
		return "", 0, fmt.Errorf("read the changes of commit %s: %w", to, err)
	}
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative", base, to, "--", ":(top)"}
	for _, path := range without {
		args = append(args, ":(top,exclude,literal)"+path)
	}
	h := &printed.Head{Size: most}
	if err := t.ask(ctx, query{out: h}, args...); err != nil {
		return "", 0, fmt.Errorf("read the changes of commit %s: %w", to, err)
	}
	return string(h.Kept), h.Seen, nil
}
