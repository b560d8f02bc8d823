package peers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const maxFile = 1 << 20 // bytes of any file that is read here

var (
	errNotRegular = errors.New("it is not a regular file")
	errTooLarge   = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
)

// content is a file as it was at one moment.
type content struct {
	data    []byte
	info    fs.FileInfo
	changed time.Time
}

// openSmall opens a regular file, or a link to one, of at most maxFile bytes. It looks before it
// opens, and does not wait for the other end of a pipe that took the file's place meanwhile.
func openSmall(name string, flag int) (*os.File, fs.FileInfo, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	f, err := os.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: %w", name, errNotRegular)
	case info.Size() > maxFile:
		err = fmt.Errorf("%s: %w", name, errTooLarge)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func readSmall(name string) (content, error) {
	f, info, err := openSmall(name, os.O_RDONLY)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = f.Close() }()
	return readOpen(f, info)
}

func readOpen(f *os.File, info fs.FileInfo) (content, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return content{}, err
	}
	if len(data) > maxFile {
		return content{}, fmt.Errorf("%s: %w", f.Name(), errTooLarge)
	}
	return content{data: data, info: info, changed: info.ModTime()}, nil
}
