package plainfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpenAndRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(in("file"), []byte("four"), 0o600), os.WriteFile(in("empty"), nil, 0o600), os.Symlink("file", in("link")),
		os.Symlink("nothing", in("dangling")), os.Mkdir(in("folder"), 0o700), syscall.Mkfifo(in("pipe"), 0o600), os.Symlink("pipe", in("to-pipe")),
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name                 string
		text                 string
		opened, same, wanted error // of Open, OpenNoFollow and Read
	}{
		{name: "file", text: "four"},
		{name: "empty"},
		{name: "link", text: "four", same: syscall.ELOOP},
		{name: "dangling", opened: fs.ErrNotExist, same: syscall.ELOOP, wanted: fs.ErrNotExist},
		{name: "nothing", opened: fs.ErrNotExist, same: fs.ErrNotExist, wanted: fs.ErrNotExist},
		{name: "folder", opened: ErrNotRegular, same: ErrNotRegular, wanted: ErrNotRegular},
		{name: "pipe", opened: ErrNotRegular, same: ErrNotRegular, wanted: ErrNotRegular},
		{name: "to-pipe", opened: ErrNotRegular, same: syscall.ELOOP, wanted: ErrNotRegular},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(f *os.File, info fs.FileInfo, err, want error) {
				t.Helper()
				if !errors.Is(err, want) || want == nil && err != nil {
					t.Fatalf("err = %v, want %v", err, want)
				}
				if err != nil {
					if f != nil || !strings.Contains(err.Error(), in(tt.name)) {
						t.Errorf("file %v with an error that has to name the path: %v", f, err)
					}
					return
				}
				defer f.Close()
				if data, err := io.ReadAll(f); err != nil || string(data) != tt.text || info.Size() != int64(len(tt.text)) {
					t.Errorf("read %q of %d bytes, %v", data, info.Size(), err)
				}
			}
			f, info, err := Open(in(tt.name))
			check(f, info, err, tt.opened)
			f, info, err = OpenNoFollow(in(tt.name))
			check(f, info, err, tt.same)
			data, err := Read(in(tt.name), 4)
			if string(data) != tt.text && tt.wanted == nil || !errors.Is(err, tt.wanted) || tt.wanted == nil && err != nil {
				t.Errorf("Read: %q, %v, want %v", data, err, tt.wanted)
			}
		})
	}
}

func TestReadRefusesMore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("five."), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(path, 4); !errors.Is(err, ErrTooLarge) || data != nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%q, %v", data, err)
	}
	// The kernel says of such a file that it has no bytes.
	if data, err := Read("/proc/self/environ", 1); err == nil && len(data) > 1 {
		t.Errorf("%d bytes of a file that may have one", len(data))
	}
}
