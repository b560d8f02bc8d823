package procfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// File is an open file, to be closed by the caller. It is an [io.ReadCloser].
type File struct {
	fd   int
	name string
}

// Open opens the named file for reading.
func Open(name string) (File, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			return File{fd: fd, name: name}, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return File{}, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// Read is one read of the kernel's, with io.EOF at the end.
func (f File) Read(buf []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
		case n == 0 && len(buf) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close closes the file.
func (f File) Close() error {
	return unix.Close(f.fd)
}

// Read opens the named file, reads once into buf and closes it. The returned
// slice is the part of buf that was filled, empty for an empty file. What does
// not fit in buf is left unread.
func Read(name string, buf []byte) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := f.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

// Pids lists the entries of folder dir that are written as a number, in no
// particular order: the processes under /proc, the threads of one under its
// task folder.
func Pids(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
