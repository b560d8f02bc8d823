package statedir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"autopilot/metrics/plainfile"

	"github.com/google/renameio/v2"
)

const (
	newFileMode os.FileMode = 0o600
	newDirMode  os.FileMode = 0o700
	tempAge                 = time.Minute
	tempDigits              = 12 // a random 63-bit number has fewer once in ten million
	linkLimit               = 40
)

// Replace writes data to path so that a reader, and a crash at any instant, finds
// the old content or the new one and never a part. The file keeps its mode (a new
// one gets 0600); when path is a symlink its target is replaced. The folder must
// exist. On error the old content is still there, except that an error while
// syncing the folder leaves it open which of the two a power cut would show. A
// full disk or quota is a *FullError.
func Replace(path string, data []byte) error {
	return replaceWith(realSteps(), path, data)
}

// ReplaceJSON is Replace with v as JSON, indented by two spaces, with a final
// newline. Nothing is written when v has no JSON form.
func ReplaceJSON(path string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return Replace(path, buf.Bytes())
}

// maxJSON is the size above which a file is none of ours.
const maxJSON = 64 << 20

// LoadJSON reads the one JSON value in the file path into v. Unknown fields are
// ignored, and what is no regular file or has more than 64 MiB is refused. The error names the path, and for broken JSON the byte offset;
// os.ErrNotExist can be told with errors.Is.
func LoadJSON(path string, v any) error {
	data, err := plainfile.Read(path, maxJSON)
	if err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("load %s: file is empty: %w", path, io.ErrUnexpectedEOF)
	}
	err = json.Unmarshal(data, v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("load %s: broken JSON at byte %d: %w", path, syntax.Offset, err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("load %s: wrong type at byte %d: %w", path, kind.Offset, err)
	}
	if err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	return nil
}

// CleanTemp removes from the folder dir the temporary files that killed Replace
// calls left behind, when they were last written more than a minute before now. It
// knows them by their name: a dot, the target's name and a long number, which no
// other file in a state folder has. It does not look into subfolders; a missing
// folder is fine.
func CleanTemp(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clean temporary files: %w", err)
	}
	var bad []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !isTemp(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err == nil && now.Sub(info.ModTime()) > tempAge {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			bad = append(bad, fmt.Errorf("clean temporary files: %w", err))
		}
	}
	return errors.Join(bad...)
}

// MakeDir creates the folder path with mode 0700 and what is missing above it,
// and syncs the folders in which it created an entry. An existing folder is left
// as it is.
func MakeDir(path string) error {
	path = filepath.Clean(path)
	var touched []string
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		touched = append(touched, filepath.Dir(dir))
	}
	if err := os.MkdirAll(path, newDirMode); err != nil {
		return Full(path, fmt.Errorf("create folder: %w", err))
	}
	for _, dir := range touched {
		if err := SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes the entries of the folder dir durable: created, renamed and
// removed files. File systems that cannot sync a folder are taken as having
// done so.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	err = d.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return Full(dir, fmt.Errorf("sync folder: %w", err))
}

// steps are the file operations of Replace, so that tests can make each fail or
// stop in front of it.
type steps struct {
	write   func(f *os.File, data []byte) (int, error)
	commit  func(p *renameio.PendingFile) error
	syncDir func(dir string) error
}

func realSteps() steps {
	return steps{
		write:   func(f *os.File, data []byte) (int, error) { return f.Write(data) },
		commit:  (*renameio.PendingFile).CloseAtomicallyReplace,
		syncDir: SyncDir,
	}
}

func replaceWith(do steps, path string, data []byte) (err error) {
	resolved, err := target(path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	mode := newFileMode
	switch info, err := os.Stat(resolved); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("replace %s: not a regular file", path)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("replace %s: %w", path, err)
	}
	dir := filepath.Dir(resolved)
	// Without a folder of its own renameio would take one from TMPDIR.
	p, err := renameio.NewPendingFile(resolved, renameio.WithTempDir(dir), renameio.WithStaticPermissions(mode))
	if err != nil {
		return Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	if err := fill(do, p, data); err != nil {
		_ = p.Cleanup() // the first error is the one to tell; CleanTemp finds what stays
		return Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	if err := do.syncDir(dir); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

func fill(do steps, p *renameio.PendingFile, data []byte) error {
	n, err := do.write(p.File, data)
	if err != nil {
		return err
	}
	if n < len(data) {
		return fmt.Errorf("wrote %d of %d bytes: %w", n, len(data), io.ErrShortWrite)
	}
	return do.commit(p)
}

// target follows path to the name that has to be renamed over. Unlike
// filepath.EvalSymlinks it accepts that the last link leads to nothing yet.
func target(path string) (string, error) {
	for range linkLimit {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			return path, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) {
			// The folder may itself be a symlink, and link may begin with "..".
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			link = filepath.Join(dir, link)
		}
		path = link
	}
	return "", syscall.ELOOP
}

func isTemp(name string) bool {
	base := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(base, ".") && len(base) > 1 && len(name)-len(base) >= tempDigits
}
