package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// largest is the size up to which a file is read, in bytes.
const largest = 16 << 20

// folder is a folder that nothing is read outside of.
type folder struct {
	root *os.Root
	dir  string
}

func openFolder(dir string) (folder, error) {
	root, err := os.OpenRoot(dir)
	return folder{root: root, dir: dir}, err
}

func (f folder) close() { _ = f.root.Close() }

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

// read returns a regular file. The error wraps [fs.ErrNotExist] only when nothing
// of that name is there.
func (f folder) read(name string) ([]byte, error) {
	// A pipe must not make us wait for a writer.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, f.refusal(name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fact(err)
	}
	if err := readable(info.Mode().IsRegular(), info.Size()); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err != nil {
		return nil, fact(err)
	}
	return data, readable(true, int64(len(data)))
}

// refusal tells a link that must not or cannot be followed from other failures.
func (f folder) refusal(name string, err error) error {
	info, lerr := f.root.Lstat(name)
	if lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("is a symbolic link to nothing")
		}
		return fmt.Errorf("is a symbolic link that is not followed: %w", fact(err))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("cannot be read: %w", fact(err))
}

// open opens a folder in it, and nothing else; see read for the error.
func (f folder) open(name string) (*os.File, error) {
	dir, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, f.refusal(name, err)
	}
	return dir, nil
}

// entries lists a folder; see read for the error.
func (f folder) entries(name string) ([]fs.DirEntry, error) {
	dir, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	list, err := dir.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot be listed: %w", fact(err))
	}
	return list, nil
}

func readable(regular bool, size int64) error {
	switch {
	case !regular:
		return errors.New("is no regular file")
	case size > largest:
		return fmt.Errorf("is larger than %d MiB", largest>>20)
	}
	return nil
}

// fact takes the operation and the path away from an error: the fault names the
// path already.
func fact(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
