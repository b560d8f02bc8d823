package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxCounted  = 1 << 20 // bytes of an untracked file whose lines are counted
	binaryProbe = 8000    // bytes in which a zero byte makes a file binary; git looks at as many
	maxShown    = 200     // bytes of a path that are shown
	submodule   = "160000"
)

// Summary says what changed from a commit to the work tree as it is now, whether it
// is committed, staged, neither, or untracked: one line for each file, ordered by
// path, with the lines added and removed. It takes at most maxBytes bytes; when
// that is not enough its last line is "... and N more files". It is empty when
// nothing changed. Files below the ignored folders do not count. An empty from
// stands for the time before the first commit. A path that holds anything but
// visible characters is quoted as in Go, and a long one loses its middle.
//
// The error is for a commit that is not there, for a git that fails or takes more
// than a minute in all, and for the end of ctx. Nothing is written, and no
// external diff, text conversion or hook of the configuration is run; filters
// that git needs to compare a file are.
func (r Repo) Summary(ctx context.Context, from string, maxBytes int, ignored ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	base, err := r.base(ctx, from)
	if err != nil {
		return "", fmt.Errorf("changes since %q: %w", from, err)
	}
	d := diffstat{top: r.Top, ignored: ignored, at: map[string]*entry{}, submodules: map[string]bool{}}
	// A commit is compared with the work tree, so that only what is left of several
	// changes to a file counts.
	err = r.ask(ctx, d.changed, "diff", "--raw", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--ignore-submodules=none", base, "--")
	if err == nil {
		err = r.ask(ctx, d.untracked, "ls-files", "--others", "--exclude-standard", "-z")
	}
	if err != nil {
		return "", fmt.Errorf("changes since %q: %w", from, err)
	}
	return d.text(ctx, maxBytes)
}

// base returns the id of a commit, or of the empty tree, which depends on the kind
// of ids that the repository has.
func (r Repo) base(ctx context.Context, from string) (string, error) {
	args := []string{"rev-parse", "--verify", from + "^{commit}"}
	switch {
	case from == "":
		args = []string{"hash-object", "-t", "tree", "--stdin"}
	case from[0] == '-' || from[0] == '^': // an option, or a commit to leave out
		return "", errors.New("bad revision")
	}
	out, err := git(ctx, r.Top, args...)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

// ask runs git and hands over its answer in the pieces that zero bytes divide.
func (r Repo) ask(ctx context.Context, each func(string), name string, args ...string) error {
	// A refresh of the index by diff is not among the locks that git calls optional.
	args = append([]string{
		"--no-optional-locks", "-c", "diff.autoRefreshIndex=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", name,
	}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Top
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &Pieces{Each: each}, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		words := strings.TrimSpace(stderr.String()) // warnings come first
		return fmt.Errorf("git %s: %w: %s", name, err, words[strings.LastIndexByte(words, '\n')+1:])
	}
	return nil
}

// Pieces divides what is written to it at zero bytes, as git does its answers with -z.
// What has none behind it is not handed over.
type Pieces struct {
	Each func(string)
	rest []byte
}

// Write never fails.
func (p *Pieces) Write(data []byte) (int, error) {
	n := len(data)
	for {
		piece, rest, ok := bytes.Cut(data, []byte{0})
		p.rest = append(p.rest, piece...)
		if !ok {
			return n, nil
		}
		p.Each(string(p.rest))
		p.rest, data = p.rest[:0], rest
	}
}

// Rest is what has no zero byte behind it so far.
func (p *Pieces) Rest() string { return string(p.rest) }

// entry is one changed file.
type entry struct {
	path           string
	added, removed int
	mark           string // instead of numbers: binary, submodule
	untracked      bool
}

// diffstat collects what git says.
type diffstat struct {
	top        string
	ignored    []string
	at         map[string]*entry
	more       int // files that are counted only
	submodules map[string]bool
	modes      []string // of the file whose path is the next piece
}

// changed takes a piece of "diff --raw --numstat": first two for each file that
// may have changed, its modes and its path, then one for each that has, with its
// numbers and its path.
func (d *diffstat) changed(piece string) {
	if d.modes != nil {
		if slices.Contains(d.modes, submodule) {
			d.submodules[piece] = true
		}
		d.modes = nil
		return
	}
	if modes, ok := strings.CutPrefix(piece, ":"); ok {
		d.modes = strings.SplitN(modes, " ", 3)
		return
	}
	f := strings.SplitN(piece, "\t", 3)
	if len(f) != 3 {
		return
	}
	e := d.entry(f[2])
	switch {
	case e == nil:
	case d.submodules[f[2]]:
		e.mark = "submodule"
	case f[0] == "-":
		e.mark = "binary"
	default:
		e.added, _ = strconv.Atoi(f[0])
		e.removed, _ = strconv.Atoi(f[1])
	}
}

func (d *diffstat) untracked(path string) {
	if e := d.entry(path); e != nil {
		e.untracked = true
	}
}

// entry returns the entry of a path, or nil when it does not count or is one too
// many.
func (d *diffstat) entry(path string) *entry {
	if e := d.at[path]; e != nil {
		return e
	}
	if below(path, d.ignored) {
		return nil
	}
	if len(d.at) >= maxEntries {
		d.more++
		return nil
	}
	e := &entry{path: path}
	d.at[path] = e
	return e
}

// text writes as many lines as there is room for. Untracked files are looked into
// only when they are shown.
func (d *diffstat) text(ctx context.Context, maxBytes int) (string, error) {
	entries := make([]*entry, 0, len(d.at))
	for _, e := range d.at {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b *entry) int { return cmp.Compare(a.path, b.path) })
	var out strings.Builder
	left := len(entries) + d.more
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("read changes: %w", context.Cause(ctx))
		}
		line, last := d.line(e), ""
		if left > 1 {
			last = others(left - 1)
		}
		if out.Len()+len(line)+len(last) > maxBytes {
			break
		}
		out.WriteString(line)
		left--
	}
	if left > 0 {
		last := others(left)
		out.WriteString(last[:max(0, min(len(last), maxBytes-out.Len()))])
	}
	return out.String(), nil
}

func others(n int) string {
	if n == 1 {
		return "... and 1 more file\n"
	}
	return fmt.Sprintf("... and %d more files\n", n)
}

func (d *diffstat) line(e *entry) string {
	words := e.mark
	if e.untracked {
		words = d.look(e)
	}
	if words == "" {
		words = fmt.Sprintf("+%d -%d", e.added, e.removed)
	}
	if e.untracked {
		words += " untracked"
	}
	return visible(e.path) + " " + words + "\n"
}

// look counts the lines of an untracked file. What cannot be counted is said in
// words instead.
func (d *diffstat) look(e *entry) string {
	name := filepath.Join(d.top, e.path)
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return "unreadable"
	case info.IsDir():
		return "repository"
	case info.Mode()&fs.ModeSymlink != 0:
		e.added++ // as git counts a link
		return ""
	case !info.Mode().IsRegular():
		return "no ordinary file"
	case info.Size() > maxCounted:
		return fmt.Sprintf("%d bytes", info.Size())
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "unreadable"
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxCounted))
	if err != nil {
		return "unreadable"
	}
	if bytes.IndexByte(data[:min(len(data), binaryProbe)], 0) >= 0 {
		return "binary"
	}
	e.added += bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		e.added++
	}
	return ""
}

// visible makes a path one short word: without its middle when it is long, and
// quoted when it holds anything that would not be seen or could be taken for
// something else.
func visible(path string) string {
	if len(path) > maxShown {
		head, end := maxShown/2, len(path)-maxShown/2
		for head > 0 && !utf8.RuneStart(path[head]) {
			head--
		}
		for end < len(path) && !utf8.RuneStart(path[end]) {
			end++
		}
		path = path[:head] + "…" + path[end:]
	}
	odd := func(c rune) bool { return c == ' ' || c == '"' || c == '\\' || !unicode.IsPrint(c) }
	if !utf8.ValidString(path) || strings.ContainsFunc(path, odd) || strings.HasPrefix(path, "...") {
		return strconv.Quote(path)
	}
	return path
}
