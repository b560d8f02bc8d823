package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", "j.jsonl")
	w := mustOpen(t, path, Options{})
	mustAppend(t, w, `{"a":1}`, ` [2] `, `3`, `"vier"`, `null`)
	want := "{\"a\":1}\n [2] \n3\n\"vier\"\nnull\n"
	if got := read(t, path); got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): os.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	tests := []struct{ name, record, err string }{
		{"newline inside", "{\"a\":\n1}", "newline"},
		{"newline at the end", "{}\n", "newline"},
		{"nothing", "", "not one JSON value"},
		{"blanks", "  ", "not one JSON value"},
		{"cut", `{"a":`, "not one JSON value"},
		{"two values", `{}{}`, "not one JSON value"},
		{"NUL", "{}\x00", "not one JSON value"},
		{"not UTF-8", "\"\xff\"", "not UTF-8"},
		{"too long", `"` + strings.Repeat("x", MaxLine) + `"`, "16777216 are allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := w.Append([]byte(tt.record))
			if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %q and the path", err, tt.err)
			}
		})
	}
	if got := Size(path); got != 0 {
		t.Errorf("%d bytes were written", got)
	}
	mustAppend(t, w, `{}`)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "README")
	write(t, text, "Some text\nthat is no journal\n")
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, err string }{
		{dir, "is a directory"},
		{fifo, "not a regular file"},
		{text, "no line of it is JSON"},
		{filepath.Join(text, "j"), "not a directory"},
	}
	for _, tt := range tests {
		_, err := Open(tt.path, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("Open(%s) = %v, want %q", tt.path, err, tt.err)
		}
	}
	if got := read(t, text); got != "Some text\nthat is no journal\n" {
		t.Errorf("the text is now %q", got)
	}
	if got := torn(t, text); got != nil {
		t.Errorf("set aside: %q", got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	w := mustOpen(t, filepath.Join(t.TempDir(), "j"), Options{})
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := w.Append([]byte("1")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Append after Close = %v", err)
	}
}

func TestSymlinkAndModeAreKept(t *testing.T) {
	t.Parallel()
	for _, existing := range []bool{true, false} {
		dir := t.TempDir()
		resolved, path := filepath.Join(dir, "sub", "real"), filepath.Join(dir, "j")
		if err := os.Mkdir(filepath.Dir(resolved), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("sub/real", path); err != nil {
			t.Fatal(err)
		}
		wantMode := os.FileMode(0o640)
		if existing {
			wantMode = 0o604
			write(t, resolved, "{}\n{\"a")
			if err := os.Chmod(resolved, wantMode); err != nil {
				t.Fatal(err)
			}
		}
		w := mustOpen(t, path, Options{Mode: 0o640})
		mustAppend(t, w, `{"b":1}`)
		if got, err := os.Readlink(path); err != nil || got != "sub/real" {
			t.Errorf("link = %q, %v", got, err)
		}
		if info, err := os.Stat(resolved); err != nil || info.Mode() != wantMode {
			t.Errorf("mode = %v, %v, want %v", info.Mode(), err, wantMode)
		}
		if got := lines(t, resolved); got[len(got)-1] != `{"b":1}` {
			t.Errorf("lines = %q", got)
		}
		if existing {
			if diff := cmp.Diff([]string{`{"a`}, torn(t, resolved)); diff != "" {
				t.Errorf("beside the file itself: %s", diff)
			}
		}
	}
}

func TestFileSwappedUnderUs(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{true, false} {
		dir := t.TempDir()
		path, away, next := filepath.Join(dir, "j"), filepath.Join(dir, "away"), filepath.Join(dir, "next")
		w := mustOpen(t, path, Options{Foreign: foreign})
		mustAppend(t, w, `1`)

		// Renamed away, as a rotation does.
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, w, `2`)
		if diff := cmp.Diff([]string{`2`}, lines(t, path)); diff != "" {
			t.Error(diff)
		}

		// Another file renamed over it, as a rewriter does; its end is torn.
		write(t, next, "[1]\n[2")
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, w, `3`)
		want := "[1]\n3\n"
		if foreign {
			want = "[1]\n[2\n3\n"
		}
		if got := read(t, path); got != want {
			t.Errorf("foreign %v: file = %q, want %q", foreign, got, want)
		}
		if got := read(t, away); got != "1\n" {
			t.Errorf("the old file = %q", got)
		}
	}
}

func TestTwoWritersInOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	shared := mustOpen(t, path, Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		w := shared
		if i < 2 {
			w = mustOpen(t, path, Options{})
		}
		wg.Go(func() {
			for n := range 50 {
				if err := w.Append(record(fmt.Sprint(i), n, 700)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := count(t, path)
	for i := range 4 {
		for n := range 50 {
			if k := key(fmt.Sprint(i), n); got[k] != 1 {
				t.Errorf("record %s is there %d times", k, got[k])
			}
		}
	}
}

func TestLockHeldByStoppedProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{LockTimeout: 100 * time.Millisecond})
	p := start(t, "hold", path)
	p.line(t)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	err := w.Append([]byte(`1`))
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.Path != path {
		t.Fatalf("Append = %v, want LockedError", err)
	}
	if locked.PID != 0 { // told on linux
		if locked.PID != p.cmd.Process.Pid {
			t.Errorf("PID = %d, want %d", locked.PID, p.cmd.Process.Pid)
		}
	} else if _, err := os.Stat("/proc/locks"); err == nil {
		t.Error("PID = 0, want the holder's")
	}
	if !strings.Contains(err.Error(), "holds the lock on "+path) {
		t.Errorf("error = %v", err)
	}
	if _, err := Open(path, Options{LockTimeout: time.Millisecond}); err == nil {
		t.Error("Open did not look at the end under the lock")
	}
	p.kill(t)
	mustAppend(t, w, `2`)
	if diff := cmp.Diff([]string{`2`}, lines(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestAppendUnless(t *testing.T) {
	t.Parallel()
	is := func(want string) func([]byte) bool {
		return func(line []byte) bool { return string(line) == want }
	}
	many := strings.Repeat("{\"other\":1}\n", 999)
	big := `"` + strings.Repeat("x", 3<<20) + `"` + "\n"
	tests := []struct {
		name    string
		before  string
		foreign bool
		want    bool // appended
		after   string
	}{
		{"empty", "", false, true, "[1]\n"},
		{"there", "[1]\n", false, false, "[1]\n"},
		{"there with padding", "[1]     \n[2]\n", false, false, "[1]     \n[2]\n"},
		{"not there", "[2]\n", false, true, "[2]\n[1]\n"},
		{"the last of 1,000", "[1]\n" + many, false, false, "[1]\n" + many},
		{"one more than 1,000", "[1]\n[2]\n" + many, false, true, "[1]\n[2]\n" + many + "[1]\n"},
		{"blank lines do not count", "[1]\n\n  \n" + many, false, false, "[1]\n\n  \n" + many},
		{"within 4 MiB", "[1]\n" + big, true, false, "[1]\n" + big},
		{"behind 4 MiB", "[1]\n" + big + big, true, true, "[1]\n" + big + big + "[1]\n"},
		{"torn before its newline", "[2]\n[1]", false, false, "[2]\n[1]\n"},
		{"torn before its newline, foreign", "[2]\n[1]", true, false, "[2]\n[1]\n"},
		{"another torn before its newline", "[2]", true, true, "[2]\n[1]\n"},
		{"torn, foreign", "[2]\n[1", true, true, "[2]\n[1\n[1]\n"},
		{"torn", "[2]\n[1", false, true, "[2]\n[1]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j")
			write(t, path, tt.before)
			w := mustOpen(t, path, Options{Foreign: tt.foreign})
			got, err := w.AppendUnless([]byte(`[1]`), is(`[1]`))
			if err != nil || got != tt.want {
				t.Errorf("AppendUnless = %v, %v, want %v", got, err, tt.want)
			}
			squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if got := squeeze(read(t, path)); got != squeeze(tt.after) {
				t.Errorf("file ends %.50q, want %.50q", got[max(0, len(got)-50):], tt.after[max(0, len(tt.after)-50):])
			}
		})
	}
}

// What AppendUnless finds may have been written by a process that was killed
// before its sync.
func TestAppendUnlessSyncsWhatItFinds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, "[1]\n")
	w := mustOpen(t, path, Options{})
	syncs := 0
	w.ops.sync = func(*os.File) error { syncs++; return nil }
	if _, err := w.AppendUnless([]byte("[1]"), func([]byte) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if syncs != 1 {
		t.Errorf("%d syncs, want 1", syncs)
	}
}

// A broken end is nobody's record, whatever same thinks of it.
func TestAppendUnlessBrokenEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, "[1")
	w := mustOpen(t, path, Options{Foreign: true})
	if ok, err := w.AppendUnless([]byte("[1]"), func([]byte) bool { return true }); err != nil || !ok {
		t.Errorf("AppendUnless = %v, %v, want appended", ok, err)
	}
}

func TestAppendUnlessPanicReleasesTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	mustAppend(t, w, `1`)
	func() {
		defer func() { _ = recover() }()
		_, _ = w.AppendUnless([]byte(`2`), func([]byte) bool { panic("no") })
	}()
	mustAppend(t, mustOpen(t, path, Options{LockTimeout: time.Second}), `3`)
	mustAppend(t, w, `4`)
}

// Whatever the records, no line of up to 2,048 bytes crosses a page.
func TestPageFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(
			rapid.IntRange(2, 2047), rapid.IntRange(2040, 2055), rapid.IntRange(4090, 4100), rapid.IntRange(2048, 20000),
		), 1, 40).Draw(t, "sizes")
		var file []byte
		for i, n := range sizes {
			rec := []byte(`"` + strings.Repeat("x", n-2) + `"`)
			line := fit(nil, rec, int64(len(file)), false)
			if !bytes.HasPrefix(line, rec) || bytes.Count(line, []byte("\n")) != 1 || len(bytes.TrimRight(line, " \n")) != n {
				t.Fatalf("line %d is not the record with blanks: %.80q", i, line)
			}
			if pad := len(line) - n - 1; pad >= smallBytes {
				t.Fatalf("line %d has %d blanks", i, pad)
			}
			first, last := len(file)/pageBytes, (len(file)+len(line)-1)/pageBytes
			if n+1 <= smallBytes && first != last {
				t.Fatalf("line %d of %d bytes at %d crosses a page", i, n, len(file))
			}
			file = append(file, line...)
		}
	})
}

func TestFitCost(t *testing.T) {
	t.Parallel()
	var file []byte
	for range 300 {
		file = append(file, fit(nil, make([]byte, 799), int64(len(file)), false)...)
	}
	if want := 100 * pageBytes; len(file) != want {
		t.Errorf("300 lines of 800 bytes take %d bytes, want %d", len(file), want)
	}
}
