package keep

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"autopilot/metrics/statedir"
)

// errChanged is the fact that a file which nobody should write any more was written.
var errChanged = errors.New("it was written to meanwhile")

// compress puts a compressed file in the place of one below a folder, and returns by how
// many bytes that is smaller. What would not get smaller stays as it is.
func compress(folder, name string) (saved int64, err error) {
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return 0, err
	}
	defer func() { _ = dir.Close() }()
	before, src, err := openIn(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // it was done before
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = src.Close() }()
	tmp := path.Join(path.Dir(name), goneMark+path.Base(name)+packed)
	if err := remove(dir, tmp); err != nil {
		return 0, err
	}
	size, err := pack(dir, tmp, src, before)
	if err == nil {
		err = unchanged(dir, name, before)
	}
	if err != nil {
		return 0, statedir.Full(folder, errors.Join(err, remove(dir, tmp)))
	}
	if size >= before.Size() { // one that was made before is of no use either
		return 0, errors.Join(remove(dir, tmp), remove(dir, name+packed))
	}
	if err := dir.Rename(tmp, name+packed); err != nil {
		return 0, errors.Join(err, remove(dir, tmp))
	}
	place := filepath.Join(folder, filepath.FromSlash(path.Dir(name)))
	if err := statedir.SyncDir(place); err != nil {
		return 0, err
	}
	if err := unchanged(dir, name, before); err != nil {
		return 0, errors.Join(err, remove(dir, name+packed))
	}
	if err := dir.Remove(name); err != nil {
		return 0, err
	}
	return before.Size() - size, statedir.SyncDir(place)
}

// pack writes src compressed into tmp, reads that back, and returns its size.
func pack(dir *os.Root, tmp string, src io.Reader, info fs.FileInfo) (int64, error) {
	out, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	sum, z := sha256.New(), gzip.NewWriter(out)
	z.ModTime = info.ModTime()
	n, err := io.Copy(z, io.TeeReader(src, sum))
	if err := errors.Join(err, z.Close(), out.Sync(), out.Close()); err != nil {
		return 0, err
	}
	packedInfo, f, err := openIn(dir, tmp)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	back, err := gzip.NewReader(f)
	if err != nil {
		return 0, fmt.Errorf("read back %s: %w", tmp, err)
	}
	again := sha256.New()
	if m, err := io.Copy(again, back); err != nil || m != n || !bytes.Equal(sum.Sum(nil), again.Sum(nil)) {
		return 0, errors.Join(fmt.Errorf("read back %s: it is not what was written", tmp), err)
	}
	return packedInfo.Size(), dir.Chtimes(tmp, info.ModTime(), info.ModTime())
}

// openIn opens a regular file, and no symlink.
func openIn(dir *os.Root, name string) (fs.FileInfo, *os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s: %w", name, errChanged)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return opened, f, nil
}

func unchanged(dir *os.Root, name string, before fs.FileInfo) error {
	now, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(before, now) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) {
		return fmt.Errorf("%s: %w", name, errChanged)
	}
	return nil
}

// remove removes a file that need not be there.
func remove(dir *os.Root, name string) error {
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
