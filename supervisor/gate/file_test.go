package gate_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"autopilot/supervisor/gate"
)

// tree is a repository with something of everything, and a folder beside it.
func tree(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "gate") // short enough for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, "re[p]o")
	write(t, base, "outside/secret.md", "x")
	for name, text := range map[string]string{
		"a.md": "hello\n", "empty.md": "", "docs/one.md": "1", "docs/two.md": "22", "docs/three.txt": "3",
		"app/[id]/page.tsx": "p", "app/i/page.tsx": "", "halves/full.md": "f", "halves/none.md": "", "nothing/.gitkeep": "",
		".git/HEAD": "ref", "nested/.git/HEAD": "ref", "nested2/deep/er/x": "x", "odd*name": "o",
	} {
		write(t, dir, name, text)
	}
	for _, name := range []string{"void", "layers/of/void"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"inside.md": "a.md", "absolute.md": filepath.Join(dir, "a.md"), "outside.md": "../outside/secret.md", "elsewhere": filepath.Join(base, "outside"),
		"dangling.md": "nowhere", "loop.md": "loop.md", "self": ".", "git": ".git", "roundabout.md": "../re[p]o/a.md", "out/link.md": "../../outside/secret.md",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	sparse, err := os.Create(filepath.Join(dir, "huge.bin"))
	if err == nil {
		err = sparse.Truncate(1 << 40)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = sparse.Close()
	return dir
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	tests := []struct {
		file   string
		ok     bool
		detail string // a regular expression for the whole
	}{
		{"a.md", true, "exists, 6 bytes, sha256 5891b5b5…"},
		{"huge.bin", true, "exists, 1099511627776 bytes"},
		{"missing.md", false, "does not exist"},
		{"a.md/b", false, "cannot be read: not a directory"},
		{"empty.md", false, "is empty"},
		{"docs", true, "is a folder with 3 entries"},
		{"nested2", true, "is a folder with 1 entries"},
		{"void", false, "is an empty folder"},
		{"layers", false, "is a folder without a file with content"},
		{"nothing", false, "is a folder without a file with content"},
		{"nested", false, "is a folder without a file with content"},
		{"out", false, "is a folder without a file with content"},
		{"docs/*.md", true, "2 of 2 matches hold: docs/one.md exists, 1 bytes, sha256 6b86b273…"},
		{"halves/*.md", true, "1 of 2 matches hold: halves/full.md exists, .*"},
		{"empty*", false, "none of 1 matches holds: empty.md is empty"},
		{"docs/*.rst", false, "nothing matches"},
		{"out/*.md", false, "none of 1 matches holds: out/link.md leads out of the repository"},
		{"elsewhere/*.md", false, "none of 1 matches holds: elsewhere/secret.md leads out of the repository"},
		{".gi*", false, "nothing matches"},
		{"app/[id]/page.tsx", true, "exists, 1 bytes, .*"},
		{"app/[x]/page.tsx", false, "nothing matches"},
		{"odd*name", true, "exists, 1 bytes, .*"},
		{`odd\*name`, true, "1 of 1 matches hold: .*"},
		{"a[", false, "does not exist, and is no valid pattern"},
		{"inside.md", true, "exists, 6 bytes, .*"},
		{"absolute.md", true, "exists, 6 bytes, .*"},
		{"roundabout.md", true, "exists, 6 bytes, .*"},
		{"outside.md", false, "leads out of the repository"},
		{"elsewhere", false, "leads out of the repository"},
		{"elsewhere/secret.md", false, "leads out of the repository"},
		{"dangling.md", false, "is a symbolic link to nothing"},
		{"loop.md", false, "cannot be read: .*too many links.*"},
		{"self", false, "leads to the repository itself"},
		{"git/HEAD", false, "leads into git's own folder"},
		{"pipe", false, "is no ordinary file"},
		{"socket", false, "cannot be read: .*"},
		{strings.Repeat("n", 300), false, "cannot be read: file name too long"},
		// What no parser lets through.
		{"/etc/passwd", false, `not looked at: path "/etc/passwd" is absolute.*`},
		{"../outside/secret.md", false, `not looked at: .*`},
		{"", false, `not looked at: path is empty`},
	}
	var checks []gate.Check
	for _, tt := range tests {
		checks = append(checks, gate.Check{Kind: gate.File, File: tt.file, Given: true})
	}
	results := gate.Runner{Dir: dir}.Run(t.Context(), checks)
	for i, tt := range tests {
		r := results[i]
		if r.Check != checks[i] || r.OK != tt.ok || !regexp.MustCompile("^(?:"+tt.detail+")$").MatchString(r.Detail) {
			t.Errorf("%s: got %v, %q (%+v); want %v, %q", tt.file, r.OK, r.Detail, r.Check, tt.ok, tt.detail)
		}
	}
}

// TestFolderOfMany: looking into a folder has an end.
func TestFolderOfMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "many/empty", "")
	for i := range 10_000 {
		if err := os.Link(filepath.Join(dir, "many/empty"), filepath.Join(dir, fmt.Sprintf("many/%06d", i))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "many/x/last", "x")
	r := gate.Runner{Dir: dir}.Run(t.Context(), []gate.Check{{Kind: gate.File, File: "many"}})[0]
	if want := "is a folder without a file with content among the first 10000 entries"; r.OK || r.Detail != want {
		t.Errorf("got %v, %q; want %q", r.OK, r.Detail, want)
	}
}

func TestDirOfFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for d, want := range map[string]string{
		link: "exists, 6 bytes, sha256 5891b5b5…", filepath.Join(dir, "missing"): "the repository cannot be read: no such file or directory",
	} {
		if r := (gate.Runner{Dir: d}).Run(t.Context(), []gate.Check{{Kind: gate.File, File: "a.md"}})[0]; r.Detail != want {
			t.Errorf("in %s: got %q, want %q", d, r.Detail, want)
		}
	}
}
