package commit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"autopilot/sessions/repo"
)

// maxHashed is the size in bytes up to which a file is told by its content. Above it,
// size and time stand for it.
const maxHashed = 1 << 20

// Changes are the files of a work tree that differ from the last commit. A file may be
// counted as staged and as something else.
type Changes struct {
	Staged    int
	Modified  int // not staged; an addition that is only intended is one
	Deleted   int // not staged
	Untracked int
	Unmerged  int
	Files     []string // sorted paths, relative to the top; of a rename both
	New       []string // those of Files that the last commit does not have, sorted
	// Inner are those of Files that cannot be committed from here, sorted: a submodule in
	// which something has changed but not the commit that is checked out there, a
	// repository that is no submodule, and what lies within one.
	Inner []string
	// Prints tell for each of Files what stands in the work tree now: mode and content,
	// or "gone". It stays the same when a file is staged, or written again with the same
	// content, and changes with content and mode.
	Prints map[string]string
}

// Words are the counts in words: "2 staged, 1 untracked".
func (c Changes) Words() string {
	var out []string
	for _, n := range []struct {
		count int
		words string
	}{{c.Staged, "staged"}, {c.Modified, "modified"}, {c.Deleted, "deleted"}, {c.Untracked, "untracked"}, {c.Unmerged, "unmerged"}} {
		if n.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.count, n.words))
		}
	}
	if len(out) == 0 {
		return "no changes"
	}
	return strings.Join(out, ", ")
}

// Digest is one short word for all files and what they look like.
func (c Changes) Digest() string {
	h := sha256.New()
	for _, f := range c.Files {
		fmt.Fprintf(h, "%s\x00%s\x00", f, c.Prints[f])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Changes reads what differs from the last commit, without the files below the ignored
// paths, which are relative to the top. What .gitignore names does not count. A
// submodule is one file, and counts also when something within it has changed that
// cannot be committed from here, see Inner. So does a folder that is a repository of its
// own.
func (t Tree) Changes(ctx context.Context, ignored ...string) (Changes, error) {
	c := Changes{Prints: map[string]string{}}
	each := func(line string) {
		path, ok := pathOf(line)
		if ok && !below(path, ignored) {
			c.count(line)
			_, known := c.Prints[path] // a file that was there before the repository can go
			if line[0] == '?' && line[len(line)-1] == '/' && !known || inside(line) {
				c.Inner = append(c.Inner, path)
			}
			c.Prints[path] = ""
			if line[0] == '?' || line[0] == '1' && line[2] == 'A' {
				c.New = append(c.New, path)
			}
		}
	}
	err := t.ask(ctx, query{out: &repo.Pieces{Each: each}}, "status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind")
	if err != nil {
		return Changes{}, fmt.Errorf("read changes: %w", err)
	}
	within := sorter{top: t.Top, folders: map[string]string{}}
	buf := make([]byte, maxHashed)
	for path := range c.Prints {
		if ctx.Err() != nil {
			return Changes{}, fmt.Errorf("read changes: %w", context.Cause(ctx))
		}
		c.Files = append(c.Files, path)
		if kind, _ := within.above(path); kind == foreign {
			c.Inner = append(c.Inner, path)
		}
		c.Prints[path] = t.print(ctx, path, buf)
	}
	slices.Sort(c.Files)
	slices.Sort(c.New)
	slices.Sort(c.Inner)
	c.Inner = slices.Compact(c.Inner)
	return c, nil
}

// pathOf returns the path in a line of the status: of a changed file behind eight other
// fields, of an unmerged one behind ten.
func pathOf(line string) (string, bool) {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2}
	if line == "" || fields[line[0]] == 0 {
		return "", false
	}
	n := fields[line[0]]
	parts := strings.SplitN(line, " ", n)
	if len(parts) < n {
		return "", false
	}
	return strings.TrimSuffix(parts[n-1], "/"), true
}

// inside reports whether a line of the status is about a submodule that has changed only
// inside: "1 .M S.M. ...", or with U for untracked files. A C in the fourth field would
// say that another commit is checked out.
func inside(line string) bool {
	f := strings.SplitN(line, " ", 4)
	return f[0] == "1" && len(f) == 4 && f[1] == ".M" && strings.HasPrefix(f[2], "S.")
}

func (c *Changes) count(line string) {
	switch line[0] {
	case '?':
		c.Untracked++
	case 'u':
		c.Unmerged++
	default: // "1 XY ..."
		if line[2] != '.' {
			c.Staged++
		}
		switch line[3] {
		case '.':
		case 'D':
			c.Deleted++
		default:
			c.Modified++
		}
	}
}

func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		f = strings.TrimSuffix(f, "/")
		return f != "" && (path == f || strings.HasPrefix(path, f+"/"))
	})
}

// print tells what a path is in the work tree. buf is room for the content of a file.
func (t Tree) print(ctx context.Context, path string, buf []byte) string {
	name := filepath.Join(t.Top, path)
	fi, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "gone"
	case err != nil:
		return "unreadable"
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		if err != nil {
			return "unreadable"
		}
		return "link " + to
	case fi.IsDir():
		head, _ := t.with(ctx, query{dir: name}, "rev-parse", "--verify", "--quiet", "HEAD")
		return "repository " + head
	}
	kind := "file"
	if fi.Mode()&0o111 != 0 {
		kind = "program"
	}
	if fi.Mode().IsRegular() && fi.Size() <= maxHashed {
		if sum, err := hash(name, buf[:fi.Size()]); err == nil {
			return kind + " " + sum
		}
	}
	return fmt.Sprintf("%s %v %d %d", kind, fi.Mode().Type(), fi.Size(), fi.ModTime().UnixNano())
}

// hash tells the content of a file that is as long as buf.
func hash(name string, buf []byte) (string, error) {
	f, err := open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if _, err := io.ReadFull(f, buf); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:16]), nil
}

// open opens a file that may have become something else since it was looked at.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	return f, nil
}
