package procfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	tests := []struct {
		content string
		size    int
		want    string
	}{
		{"", 8, ""},
		{"claude\n", 8, "claude\n"},
		{"longer than that", 8, "longer t"},
	}
	for _, tt := range tests {
		if err := os.WriteFile(name, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(name, make([]byte, tt.size))
		if err != nil || string(got) != tt.want {
			t.Errorf("read %q into %d bytes: got %q, %v, want %q", tt.content, tt.size, got, err, tt.want)
		}
	}
}

func TestFileIsAReader(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	want := strings.Repeat("0123456789", 10_000)
	if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err != nil || string(got) != want {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	if _, err := Read(missing, make([]byte, 8)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("read a missing file: got %v, want one that names it", err)
	}
	if _, err := Read(dir, make([]byte, 8)); err == nil || !strings.Contains(err.Error(), "read "+dir) {
		t.Errorf("read a folder: got %v, want one that names it", err)
	}
	if _, err := Pids(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("list a missing folder: got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestNothingStaysOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip("this system does not list descriptors")
		}
		return len(entries)
	}
	before := open()
	for range 50 {
		if _, err := Read(name, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(filepath.Dir(name), make([]byte, 8)); err == nil {
			t.Fatal("read of a folder: got no error")
		}
	}
	if after := open(); after > before {
		t.Errorf("open descriptors: got %d, want at most %d", after, before)
	}
}

func TestPids(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"1", "20", "3x", "self", "-4", "+5", "99999999999999999999"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Pids(dir)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got); !slices.Equal(got, []int{1, 20}) {
		t.Errorf("got %v, want [1 20]", got)
	}
}
