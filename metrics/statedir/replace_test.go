package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/renameio/v2"
)

func TestReplaceKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		prep func(t *testing.T, dir string)
		file string // that has the content afterwards
		link string // what path still points to
		mode os.FileMode
	}{
		{"new", func(*testing.T, string) {}, "path", "", 0o600},
		{"existing", func(t *testing.T, d string) { write(t, d+"/path", "old", 0o640) }, "path", "", 0o640},
		{"read-only", func(t *testing.T, d string) { write(t, d+"/path", "old", 0o444) }, "path", "", 0o444},
		{"relative link", func(t *testing.T, d string) {
			write(t, d+"/sub/real", "old", 0o644)
			link(t, "sub/real", d+"/path")
		}, "sub/real", "sub/real", 0o644},
		{"dangling link", func(t *testing.T, d string) { link(t, "sub/real", d+"/path") }, "sub/real", "sub/real", 0o600},
		{"chain", func(t *testing.T, d string) {
			link(t, "../real", d+"/sub/hop")
			link(t, "sub/hop", d+"/path")
		}, "real", "sub/hop", 0o600},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			tt.prep(t, dir)
			path := filepath.Join(dir, "path")
			if err := Replace(path, []byte("new")); err != nil {
				t.Fatal(err)
			}
			resolved := filepath.Join(dir, tt.file)
			if got := read(t, resolved); got != "new" {
				t.Errorf("content = %q", got)
			}
			if got := mode(t, resolved); got != tt.mode {
				t.Errorf("mode = %v, want %v", got, tt.mode)
			}
			if got, _ := os.Readlink(path); got != tt.link {
				t.Errorf("link = %q, want %q", got, tt.link)
			}
			for _, d := range []string{dir, filepath.Join(dir, "sub")} {
				for _, name := range names(t, d) {
					if isTemp(name) {
						t.Errorf("%s was left in %s", name, d)
					}
				}
			}
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link(t, "b", filepath.Join(dir, "a"))
	link(t, "a", filepath.Join(dir, "b"))
	tests := []struct {
		path string
		err  string
	}{
		{filepath.Join(dir, "no", "file"), "no such file"},
		{dir, "not a regular file"},
		{filepath.Join(dir, "a"), "too many levels of symbolic links"},
	}
	for _, tt := range tests {
		err := Replace(tt.path, nil)
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("Replace(%s) = %v, want %q", tt.path, err, tt.err)
		}
	}
}

// renameio would probe and use TMPDIR when it is on the same file system.
func TestReplaceStaysInItsFolder(t *testing.T) {
	tmp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	path := filepath.Join(dir, "f")
	do := realSteps()
	do.commit = func(p *renameio.PendingFile) error {
		if got := filepath.Dir(p.Name()); got != dir {
			t.Errorf("temporary file in %s, want %s", got, dir)
		}
		return p.CloseAtomicallyReplace()
	}
	if err := replaceWith(do, path, []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func TestReplaceFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*steps)
		is    error
		full  bool
		want  string // content afterwards
	}{
		{"full while writing", func(s *steps) {
			s.write = func(f *os.File, b []byte) (int, error) {
				n, _ := f.Write(b[:1])
				return n, syscall.ENOSPC
			}
		}, syscall.ENOSPC, true, "old"},
		{"short write", func(s *steps) {
			s.write = func(f *os.File, b []byte) (int, error) { return f.Write(b[:1]) }
		}, io.ErrShortWrite, false, "old"},
		{"quota at sync", func(s *steps) {
			s.commit = func(*renameio.PendingFile) error { return syscall.EDQUOT }
		}, syscall.EDQUOT, true, "old"},
		{"sync fails", func(s *steps) {
			s.commit = func(*renameio.PendingFile) error { return syscall.EIO }
		}, syscall.EIO, false, "old"},
		{"folder sync fails", func(s *steps) {
			s.syncDir = func(string) error { return syscall.EIO }
		}, syscall.EIO, false, "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			write(t, path, "old", 0o600)
			do := realSteps()
			tt.spoil(&do)
			err := replaceWith(do, path, []byte("new"))
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %v with the path", err, tt.is)
			}
			full, ok := errors.AsType[*FullError](err)
			if ok != tt.full {
				t.Errorf("error %v is a FullError: %v, want %v", err, ok, tt.full)
			}
			if ok && (full.FreeBytes == 0 || full.Path != path || !strings.Contains(err.Error(), "iB free at")) {
				t.Errorf("FullError = %+v, says %v", full, err)
			}
			if got := read(t, path); got != tt.want {
				t.Errorf("content = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff([]string{"f"}, names(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A writer that is killed at any moment leaves the last acknowledged state or the
// one after it, and temporary files that CleanTemp finds.
func TestReplaceSurvivesKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	for range 40 {
		p := start(t, "replace", path)
		acked, err := strconv.Atoi(p.line(t))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond)
		if rest := p.kill(t); len(rest) > 0 {
			if acked, err = strconv.Atoi(rest[len(rest)-1]); err != nil {
				t.Fatal(err)
			}
		}
		var got counter
		if err := LoadJSON(path, &got); err != nil {
			t.Fatal(err)
		}
		if got.N != acked && got.N != acked+1 {
			t.Fatalf("state %d, acknowledged %d", got.N, acked)
		}
		if got.Filler != strings.Repeat("x", got.N%9000) {
			t.Fatalf("state %d is not whole", got.N)
		}
	}
	left := len(names(t, dir)) - 1
	if err := CleanTemp(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := len(names(t, dir)) - 1; got != left {
		t.Errorf("CleanTemp removed %d files that are younger than a minute", left-got)
	}
	if err := CleanTemp(dir, time.Now().Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"state.json"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	t.Logf("%d temporary files were left by 40 kills", left)
}

func TestReplaceIsWholeForReaders(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := ReplaceJSON(path, counter{}); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	looks := make(chan int)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			var c counter
			if err := LoadJSON(path, &c); err != nil || len(c.Filler) != c.N {
				t.Errorf("look %d: %v, %d of %d bytes", n, err, len(c.Filler), c.N)
				break
			}
		}
		looks <- n
	}()
	for i := range 300 {
		n := i * 97 % 20000
		if err := ReplaceJSON(path, counter{N: n, Filler: strings.Repeat("x", n)}); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	t.Logf("%d looks", <-looks)
}

func TestReplaceJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := ReplaceJSON(path, map[string]any{"a": []int{1}, "b": "<&>"}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"a\": [\n    1\n  ],\n  \"b\": \"<&>\"\n}\n"
	if got := read(t, path); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := ReplaceJSON(path, func() {}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error = %v, want one with the path", err)
	}
	if got := read(t, path); got != want {
		t.Errorf("after a value without a JSON form: %q", got)
	}
}

func TestLoadJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var c counter
	if err := LoadJSON(path, &c); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: %v", err)
	}
	tests := []struct{ name, content, err string }{
		{"good", `{"N": 7, "unknown": true}`, ""},
		{"syntax", `{"N": 7,, }`, "broken JSON at byte 9"},
		{"cut", `{"N": 7`, "broken JSON at byte 7"},
		{"two values", `{} {}`, "broken JSON at byte 4"},
		{"type", `{"N": "x"}`, "wrong type at byte 9"},
		{"empty", " \n", "file is empty"},
		{"zeros", "\x00\x00", "broken JSON at byte 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, tt.name)
			write(t, path, tt.content, 0o600)
			var c counter
			err := LoadJSON(path, &c)
			if tt.err == "" {
				if err != nil || c.N != 7 {
					t.Errorf("got %v, %v", c, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %q and the path", err, tt.err)
			}
		})
	}
	write(t, path, `{"N": 7,, }`, 0o600)
	if _, ok := errors.AsType[*json.SyntaxError](LoadJSON(path, &c)); !ok {
		t.Error("the syntax error is hidden")
	}
}

func TestCleanTemp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	tests := []struct {
		name string
		age  time.Duration
		gone bool
	}{
		{".state.json8234567890123456789", 2 * time.Minute, true},
		{".f123456789012", 61 * time.Second, true},
		{".f1234567890123", 59 * time.Second, false},
		{".f12345678901", time.Hour, false},
		{"f1234567890123", time.Hour, false},
		{".1234567890123", time.Hour, false},
		{".lock", time.Hour, false},
		{"state.json", time.Hour, false},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		write(t, path, "", 0o600)
		if err := os.Chtimes(path, now, now.Add(-tt.age)); err != nil {
			t.Fatal(err)
		}
	}
	sub := filepath.Join(dir, ".sub1234567890123")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(sub, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := CleanTemp(dir, now); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		if _, err := os.Stat(filepath.Join(dir, tt.name)); errors.Is(err, os.ErrNotExist) != tt.gone {
			t.Errorf("%s: gone = %v, want %v", tt.name, !tt.gone, tt.gone)
		}
	}
	if _, err := os.Stat(sub); err != nil {
		t.Error(err)
	}
	if err := CleanTemp(filepath.Join(dir, "no"), now); err != nil {
		t.Errorf("missing folder: %v", err)
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := MakeDir(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{path, filepath.Dir(path)} {
		if got := mode(t, d); got != 0o700 {
			t.Errorf("mode of %s = %v", d, got)
		}
	}
	write(t, filepath.Join(dir, "file"), "", 0o600)
	if err := MakeDir(filepath.Join(dir, "file", "x")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("below a file: %v", err)
	}
}

func TestFreeBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "such", "file")} {
		if got, err := FreeBytes(path); err != nil || got == 0 {
			t.Errorf("FreeBytes(%s) = %d, %v", path, got, err)
		}
	}
}

func TestInWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		n    uint64
		want string
	}{
		{0, "0 bytes"},
		{1023, "1023 bytes"},
		{1024, "1.0 KiB"},
		{1536, "1.5 KiB"},
		{5 << 20, "5.0 MiB"},
		{3 << 40, "3.0 TiB"},
		{1 << 63, "8.0 EiB"},
	}
	for _, tt := range tests {
		if got := InWords(tt.n); got != tt.want {
			t.Errorf("InWords(%d) = %q, want %q", tt.n, got, tt.want)
		}
	}
}

func TestFullLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	other := fmt.Errorf("x: %w", syscall.EIO)
	if got := Full("/", other); !errors.Is(got, other) || got != other {
		t.Errorf("Full = %v", got)
	}
	once := Full("/", syscall.ENOSPC)
	if twice := Full("/tmp", once); twice != once {
		t.Errorf("wrapped twice: %v", twice)
	}
	if got := Full("/", nil); got != nil {
		t.Errorf("Full of nil = %v", got)
	}
}

func BenchmarkReplace(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.json")
	data := []byte(strings.Repeat("x", 2000))
	b.Run("durable", func(b *testing.B) {
		for b.Loop() {
			if err := Replace(path, data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("without-folder-sync", func(b *testing.B) {
		do := realSteps()
		do.syncDir = func(string) error { return nil }
		for b.Loop() {
			if err := replaceWith(do, path, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
