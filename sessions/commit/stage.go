package commit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"autopilot/sessions/commit/internal/printed"
	"autopilot/sessions/repo"
)

const gitlink = "160000" // mode of a submodule

// stage fills the desk's index with the last commit and, over it, the files as they are
// in the work tree. It returns ErrNothing where that makes no difference.
func (d *desk) stage(ctx context.Context, files []string) error {
	files = slices.Compact(slices.Sorted(slices.Values(files)))
	if err := d.fresh(ctx); err != nil {
		return err
	}
	wanted := set(files)
	for _, f := range files { // a submodule in the way is found by its entry
		for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
			wanted[dir] = true
		}
	}
	committed, err := d.entries(ctx, d.index(), wanted)
	if err != nil {
		return err
	}
	staged, err := d.entries(ctx, "", wanted)
	if err != nil {
		return err
	}
	s := sorter{top: d.Top, committed: committed, staged: staged, folders: map[string]string{}}
	for _, f := range files {
		if err := s.take(f); err != nil {
			return err
		}
	}
	if err := d.refuseHidden(ctx, s.unknown); err != nil {
		return err
	}
	if err := d.refuseSparse(ctx, s.gone); err != nil {
		return err
	}
	own := query{index: d.index(), long: true}
	own.stdin = list(s.gone)
	if err := d.ask(ctx, own, "update-index", "--force-remove", "-z", "--stdin"); err != nil {
		return err
	}
	own.stdin = list(s.there)
	if err := d.ask(ctx, own, "update-index", "--add", "-z", "--stdin"); err != nil {
		return err
	}
	d.Had = map[string]string{}
	for _, f := range files {
		d.Had[f] = staged[f]
	}
	return d.verify(ctx, s)
}

// fresh makes the desk's index. It is a copy of the person's, for what that knows of the
// files on disk, with every entry as in the last commit.
func (d *desk) fresh(ctx context.Context) error {
	if err := copyIndex(filepath.Join(d.GitDir, "index"), d.index()); err != nil {
		return fmt.Errorf("copy index: %w", err)
	}
	args := []string{"read-tree", "-m", "-i", d.Parent}
	if d.Parent == "" {
		args = []string{"read-tree", "--empty"}
	}
	return d.ask(ctx, query{index: d.index(), long: true}, args...)
}

// copyIndex copies with the time: git takes an entry for unchanged only when the index
// is younger than the file, which a copy would always be.
func copyIndex(from, to string) error {
	src, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // before the first file
	}
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	fi, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close(), os.Chtimes(to, fi.ModTime(), fi.ModTime()))
}

// verify makes sure that git has taken every file, and that there is something to
// commit.
func (d *desk) verify(ctx context.Context, s sorter) error {
	wanted := set(append(slices.Clone(s.there), s.gone...))
	now, err := d.entries(ctx, d.index(), wanted)
	if err != nil {
		return err
	}
	for _, f := range s.there {
		if now[f] == "" && !strings.HasPrefix(s.staged[f], gitlink) {
			return fmt.Errorf("git does not take %q", f)
		}
	}
	for _, f := range s.gone {
		if now[f] != "" {
			return fmt.Errorf("git does not give up %q", f)
		}
	}
	tree, err := d.tree(ctx)
	if err != nil {
		return err
	}
	last, err := d.base(ctx, d.Parent)
	if err != nil {
		return err
	}
	if last, err = d.git(ctx, "rev-parse", "--verify", last+"^{tree}"); err != nil {
		return err
	}
	if tree == last {
		return ErrNothing
	}
	return nil
}

// refuseHidden refuses files that git ignores.
func (d *desk) refuseHidden(ctx context.Context, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	hidden, err := d.hidden(ctx, unknown)
	if err != nil || len(hidden) == 0 {
		return err
	}
	return &problem{words: "ignored by git: " + printed.Names(hidden), way: "leave them out, or 'git add --force' them by hand"}
}

// sorter divides files into those that are there and those that are gone.
type sorter struct {
	top               string
	committed, staged map[string]string // entries of files and of the folders above them
	folders           map[string]string // what a folder is, of those that were looked at

	there, gone []string
	unknown     []string // of there: those that git does not have
}

// What a folder above a file is.
const (
	folder   = "folder"
	link     = "link"
	foreign  = "repository"
	noFolder = "no folder"
)

// take puts a file where it belongs. What is to be committed as a file and is none is
// refused by name.
func (s *sorter) take(f string) error {
	kind, at := s.above(f)
	if kind == foreign {
		return fmt.Errorf("%q lies in %q, a repository of its own", f, at)
	}
	known := s.committed[f] != "" || s.staged[f] != ""
	var fi fs.FileInfo
	err := error(fs.ErrNotExist)
	if kind == folder {
		fi, err = os.Lstat(filepath.Join(s.top, f))
	}
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case missing && !known && kind == link:
		return fmt.Errorf("%q lies behind the link %q", f, at)
	case missing && !known:
		return fmt.Errorf("there is no file %q", f)
	case missing:
		s.gone = append(s.gone, f)
		return nil
	case err != nil:
		return fmt.Errorf("look at %q: %w", f, err)
	case fi.IsDir():
		return s.takeFolder(f)
	case !fi.Mode().IsRegular() && fi.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("%q is neither a file nor a link", f)
	}
	s.there = append(s.there, f)
	if !known {
		s.unknown = append(s.unknown, f)
	}
	return nil
}

// takeFolder takes a submodule, and a file that has become a folder as one that is gone.
func (s *sorter) takeFolder(f string) error {
	switch {
	case strings.HasPrefix(s.staged[f], gitlink), strings.HasPrefix(s.committed[f], gitlink) && s.repository(f):
		s.there = append(s.there, f)
	case s.committed[f] != "":
		s.gone = append(s.gone, f)
	default:
		return fmt.Errorf("%q is a folder", f)
	}
	return nil
}

// above tells what stands above a file: a folder, or the first that is something else.
func (s *sorter) above(f string) (kind, at string) {
	dir := path.Dir(f)
	if dir == "." {
		return folder, dir
	}
	if kind, at := s.above(dir); kind != folder {
		return kind, at
	}
	if kind, ok := s.folders[dir]; ok {
		return kind, dir
	}
	kind = folder
	fi, err := os.Lstat(filepath.Join(s.top, dir))
	switch {
	case strings.HasPrefix(s.staged[dir], gitlink):
		kind = foreign
	case err != nil:
		kind = noFolder
	case fi.Mode()&fs.ModeSymlink != 0:
		kind = link
	case !fi.IsDir():
		kind = noFolder
	case s.repository(dir):
		kind = foreign
	}
	s.folders[dir] = kind
	return kind, dir
}

func (s *sorter) repository(dir string) bool {
	_, err := os.Lstat(filepath.Join(s.top, dir, ".git"))
	return err == nil
}

// refuseSparse refuses files that are not in the work tree because they were not
// checked out.
func (d *desk) refuseSparse(ctx context.Context, gone []string) error {
	if len(gone) == 0 {
		return nil
	}
	wanted := set(gone)
	var sparse []string
	each := func(line string) {
		if name, ok := strings.CutPrefix(line, "S "); ok && wanted[name] {
			sparse = append(sparse, name)
		}
	}
	err := d.ask(ctx, query{out: &repo.Pieces{Each: each}}, "ls-files", "-t", "-z")
	if err == nil && len(sparse) > 0 {
		err = fmt.Errorf("left out of the work tree by a sparse checkout: %s", printed.Names(sparse))
	}
	return err
}

// entries returns the wanted entries of an index, empty for the person's: "mode id".
func (t Tree) entries(ctx context.Context, index string, wanted map[string]bool) (map[string]string, error) {
	out := map[string]string{}
	each := func(line string) { // "mode id stage\tpath"
		about, name, ok := strings.Cut(line, "\t")
		if f := strings.Fields(about); ok && len(f) == 3 && wanted[name] {
			out[name] = f[0] + " " + f[1]
		}
	}
	err := t.ask(ctx, query{index: index, out: &repo.Pieces{Each: each}}, "ls-files", "--stage", "-z")
	return out, err
}

// treeOf returns the wanted entries of a commit, as entries does.
func (t Tree) treeOf(ctx context.Context, sha string, wanted map[string]bool) (map[string]string, error) {
	out := map[string]string{}
	each := func(line string) { // "mode type id\tpath"
		about, name, ok := strings.Cut(line, "\t")
		if f := strings.Fields(about); ok && len(f) == 3 && wanted[name] {
			out[name] = f[0] + " " + f[2]
		}
	}
	err := t.ask(ctx, query{out: &repo.Pieces{Each: each}}, "ls-tree", "-r", "-z", "--full-tree", sha)
	return out, err
}

// differ returns the entries of the files in which two commits differ, before and
// after: "mode id", or empty.
func (t Tree) differ(ctx context.Context, from, to string) (map[string][2]string, error) {
	first, err := t.base(ctx, from)
	if err != nil {
		return nil, err
	}
	last, err := t.base(ctx, to)
	if err != nil {
		return nil, err
	}
	out := map[string][2]string{}
	var e [2]string
	each := func(piece string) { // ":mode mode id id letter", then the path
		f := strings.Fields(piece)
		if strings.HasPrefix(piece, ":") && len(f) == 5 && len(f[0]) == 7 {
			e = [2]string{entry(f[0][1:], f[2]), entry(f[1], f[3])}
			return
		}
		out[piece] = e
	}
	err = t.ask(ctx, query{out: &repo.Pieces{Each: each}}, "diff-tree", "-r", "-z", "--raw", "--no-renames", first, last)
	return out, err
}

func entry(mode, id string) string {
	if mode == "000000" {
		return ""
	}
	return mode + " " + id
}
