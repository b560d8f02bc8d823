package taskmaster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"autopilot/metrics/statedir"
)

// largest is the size up to which a file is read, in bytes.
const largest = 64 << 20

// read returns a regular file of a repository and its mode. The error says what is
// wrong behind the name of the file, and is [fs.ErrNotExist] when nothing is there.
func read(repo, name string) ([]byte, fs.FileMode, error) {
	root, err := os.OpenRoot(repo)
	if err != nil {
		return nil, 0, fmt.Errorf("open the repository: %w", err)
	}
	defer func() { _ = root.Close() }()
	data, mode, err := readIn(root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, lerr := root.Lstat(name); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, 0, fmt.Errorf("%s is a symbolic link to nothing", name)
		}
		return nil, 0, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	case err != nil:
		return nil, 0, fmt.Errorf("%s %w", name, err)
	}
	return data, mode, nil
}

func readIn(root *os.Root, name string) ([]byte, fs.FileMode, error) {
	// A pipe must not make us wait for a writer.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot be read: %w", bare(err))
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("cannot be read: %w", bare(err))
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("is no regular file")
	case info.Size() > largest:
		return nil, 0, fmt.Errorf("is larger than %d MiB", largest>>20)
	}
	// One more than is expected, or the end would be found only by making room.
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, largest+1)); err != nil {
		return nil, 0, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if data.Len() > largest {
		return nil, 0, fmt.Errorf("is larger than %d MiB", largest>>20)
	}
	return data.Bytes(), info.Mode(), nil
}

// bare takes the operation and the path away from an error: the message names the
// file already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// replace writes next where before is read still.
func replace(repo, name string, before, next []byte) error {
	now, mode, err := read(repo, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(now, before) {
		return problem(ErrChanged, "read it again", "%s is not what it was when it was read: somebody else has changed it", name)
	}
	if mode.Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only", name)
	}
	// It was just read through links that stay inside the repository.
	return statedir.Replace(filepath.Join(repo, filepath.FromSlash(name)), next)
}
