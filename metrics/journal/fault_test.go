package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFaults(t *testing.T) {
	t.Parallel()
	short := func(n int, err error) func(*os.File, []byte) (int, error) {
		return func(f *os.File, b []byte) (int, error) {
			if _, werr := f.Write(b[:n]); werr != nil {
				return 0, werr
			}
			return n, err
		}
	}
	tests := []struct {
		name  string
		write func(*os.File, []byte) (int, error)
		is    error
		full  bool
		after string
	}{
		{"full", short(0, syscall.ENOSPC), syscall.ENOSPC, true, "1\n"},
		{"full after a part", short(2, syscall.ENOSPC), syscall.ENOSPC, true, "1\n"},
		{"quota", short(0, syscall.EDQUOT), syscall.EDQUOT, true, "1\n"},
		{"short without a reason", short(3, nil), io.ErrShortWrite, false, "1\n"},
		{"input/output error", short(1, syscall.EIO), syscall.EIO, false, "1\n"},
		{"file too large", short(1, syscall.EFBIG), syscall.EFBIG, false, "1\n"},
		{"short, and another program writes", func(f *os.File, b []byte) (int, error) {
			_, err := f.WriteString(string(b[:3]) + "[7]\n")
			return 3, errors.Join(err, syscall.ENOSPC)
		}, syscall.ENOSPC, true, "1\n{\"a[7]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j")
			w := mustOpen(t, path, Options{Foreign: true})
			mustAppend(t, w, `1`)
			w.ops.write = tt.write
			err := w.Append([]byte(`{"a":2}`))
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %v and the path", err, tt.is)
			}
			full, ok := errors.AsType[*FullError](err)
			if ok != tt.full {
				t.Errorf("%v is a FullError: %v, want %v", err, ok, tt.full)
			}
			if ok && (full.Path != path || full.FreeBytes == 0 || !strings.Contains(err.Error(), "iB free at "+path)) {
				t.Errorf("FullError = %+v, says %v", full, err)
			}
			if got := read(t, path); got != tt.after {
				t.Errorf("file = %q, want %q", got, tt.after)
			}
			// The fault is over: the same writer goes on.
			w.ops = realOps()
			mustAppend(t, w, `3`)
			if got, want := read(t, path), tt.after+"3\n"; got != want {
				t.Errorf("file = %q, want %q", got, want)
			}
		})
	}
}

func TestPartThatCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{})
	mustAppend(t, w, `1`)
	w.ops.write = func(f *os.File, b []byte) (int, error) {
		_, err := f.Write(b[:2])
		return 2, errors.Join(err, syscall.ENOSPC)
	}
	w.ops.truncate = func(*os.File, int64) error { return syscall.EIO }
	err := w.Append([]byte(`[2]`))
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, syscall.EIO) {
		t.Errorf("error = %v, want both reasons", err)
	}
	w.ops = realOps()
	mustAppend(t, w, `3`)
	if got := read(t, path); got != "1\n3\n" {
		t.Errorf("file = %q", got)
	}
	if got := torn(t, path); len(got) != 1 || got[0] != "[2" {
		t.Errorf("set aside: %q", got)
	}
}

func TestFailedSyncEndsTheWriter(t *testing.T) {
	t.Parallel()
	for _, reason := range []error{syscall.EIO, syscall.ENOSPC} {
		path := filepath.Join(t.TempDir(), "j")
		w := mustOpen(t, path, Options{})
		w.ops.sync = func(*os.File) error { return reason }
		err := w.Append([]byte(`1`))
		if !errors.Is(err, ErrNotDurable) || !errors.Is(err, reason) || !strings.Contains(err.Error(), path) {
			t.Errorf("error = %v, want ErrNotDurable, %v and the path", err, reason)
		}
		w.ops = realOps() // a sync that succeeds now proves nothing
		if again := w.Append([]byte(`2`)); !errors.Is(again, ErrNotDurable) {
			t.Errorf("second Append = %v", again)
		}
		if _, again := w.AppendUnless([]byte(`2`), func([]byte) bool { return true }); !errors.Is(again, ErrNotDurable) {
			t.Errorf("AppendUnless = %v", again)
		}
		if got := read(t, path); got != "1\n" {
			t.Errorf("file = %q", got)
		}
	}
}

func TestRepairFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*fileOps)
		is    error
	}{
		{"sync of the folder fails", func(ops *fileOps) { ops.syncDir = func(string) error { return syscall.EIO } }, syscall.EIO},
		{"cut fails", func(ops *fileOps) { ops.truncate = func(*os.File, int64) error { return syscall.EIO } }, syscall.EIO},
		{"sync of the copy fails", func(ops *fileOps) { ops.sync = func(*os.File) error { return syscall.EIO } }, syscall.EIO},
		{"sync of the cut fails", func(ops *fileOps) {
			ops.sync = func(f *os.File) error {
				if strings.Contains(f.Name(), ".torn-") {
					return nil
				}
				return syscall.EIO
			}
		}, ErrNotDurable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j")
			write(t, path, "1\n[2")
			ops := realOps()
			tt.spoil(&ops)
			_, err := openWith(ops, path, Options{})
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v, want %v", err, tt.is)
			}
			// Nothing is gone: it is still here, or also there.
			if got := read(t, path) + strings.Join(torn(t, path), ""); !strings.HasPrefix(got, "1\n[2") {
				t.Errorf("file and what was set aside: %q", got)
			}
		})
	}
}

// What is set aside is on the disk, with its name, before it is cut off.
func TestOrderOfRepair(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, "1\n[2")
	var got []string
	ops := realOps()
	ops.sync = func(f *os.File) error {
		name := strings.TrimPrefix(f.Name(), path)
		got = append(got, "sync j"+name[:min(len(name), len(".torn"))])
		return syncData(f)
	}
	ops.syncDir = func(dir string) error {
		got = append(got, "sync folder")
		return nil
	}
	ops.truncate = func(f *os.File, n int64) error {
		got = append(got, fmt.Sprintf("cut at %d", n))
		return f.Truncate(n)
	}
	w, err := openWith(ops, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := []string{"sync folder", "sync j.torn", "sync folder", "cut at 2", "sync j"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What cannot be copied aside is not cut off.
func TestTornEndStaysWhenItCannotBeCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "j")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	w := mustOpen(t, path, Options{})
	mustAppend(t, w, `1`)
	if _, err := appender(t, path).WriteString("[2"); err != nil {
		t.Fatal(err)
	}
	truncated := false
	w.ops.truncate = func(f *os.File, n int64) error { truncated = true; return f.Truncate(n) }
	if err := os.Remove(path); err != nil { // the open file lives on
		t.Fatal(err)
	}
	if err := w.setAside(2, 4); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("setAside = %v", err)
	}
	if truncated {
		t.Error("the torn end was cut off without a copy")
	}
}
