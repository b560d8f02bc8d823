package increment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	home     = ".specweave/increments"
	metadata = "metadata.json"
	spec     = "spec.md"
	tasks    = "tasks.md"

	largest      = 16 << 20 // bytes of a file
	longestWord  = 200      // runes
	longestTitle = 300
	longestWhy   = 500
	mostWarnings = 32
)

// folder is a repository that nothing is read outside of.
type folder struct {
	root *os.Root
	dir  string
}

func open(repo string) (folder, error) {
	root, err := os.OpenRoot(repo)
	if err != nil {
		return folder{}, fmt.Errorf("open repository: %w", err)
	}
	return folder{root: root, dir: repo}, nil
}

func (f folder) close() { _ = f.root.Close() }

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// read returns a regular file and what is known of it. The error says what is wrong
// behind the name of the file.
func (f folder) read(name string) ([]byte, fs.FileInfo, error) {
	// A pipe must not make us wait for a writer.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, f.refusal(name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("is no regular file")
	}
	if info.Size() > largest {
		return nil, nil, tooLarge()
	}
	data, err := io.ReadAll(io.LimitReader(file, largest+1))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be read: %w", bare(err))
	}
	if len(data) > largest {
		return nil, nil, tooLarge()
	}
	return data, info, nil
}

func tooLarge() error { return fmt.Errorf("is larger than %d MiB", largest>>20) }

// refusal tells what is not there from what cannot be opened.
func (f folder) refusal(name string, err error) error {
	info, lerr := f.root.Lstat(name)
	link := lerr == nil && info.Mode()&fs.ModeSymlink != 0
	switch {
	case link && errors.Is(err, fs.ErrNotExist):
		return errors.New("is a symbolic link to nothing")
	case link:
		return fmt.Errorf("is a symbolic link that is not followed: %w", bare(err))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("is not there: %w", fs.ErrNotExist)
	}
	return fmt.Errorf("cannot be read: %w", bare(err))
}

// ids are the increments in a folder, sorted. Where there is no such folder there are
// none.
func (f folder) ids(dir string) ([]string, error) {
	d, err := f.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if err = f.refusal(dir, err); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("cannot be listed: %w", bare(err))
	}
	var out []string
	for _, e := range entries {
		if isID(e.Name()) && !e.Type().IsRegular() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// isID reports whether a name is one of an increment: a number, or a number, a dash
// and more.
func isID(name string) bool {
	number, _, _ := strings.Cut(name, "-")
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	return number != "" && strings.TrimFunc(number, digit) == "" && tidy(name)
}

// tidy reports whether a name can be shown and compared as it is.
func tidy(name string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`/\`, r) }
	return word(name) == name && !strings.ContainsFunc(name, odd)
}

// resolve finds the increment that is meant by an id or by its beginning. The number of
// an increment is enough, also when another number begins like it.
func resolve(ids []string, beginning string) (string, error) {
	if slices.Contains(ids, beginning) {
		return beginning, nil
	}
	for _, rest := range []string{"-", ""} {
		var found []string
		for _, id := range ids {
			if beginning != "" && strings.HasPrefix(id, beginning+rest) {
				found = append(found, id)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%q may be any of %s: write more of it", word(beginning), some(found))
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%w: %q; there are none in %s", ErrNotFound, word(beginning), home)
	}
	return "", fmt.Errorf("%w: %q; there are %s", ErrNotFound, word(beginning), some(ids))
}

// find opens the repository and finds an increment in it. The folder has to be closed
// when there is no error.
func find(repo, id string) (folder, string, error) {
	f, err := open(repo)
	if err != nil {
		return f, "", err
	}
	ids, err := f.ids(home)
	if err != nil {
		f.close()
		return f, "", fmt.Errorf("%s %w", f.path(home), err)
	}
	id, err = resolve(ids, id)
	if err != nil {
		f.close()
	}
	return f, id, err
}

func in(id, file string) string { return path.Join(home, id, file) }

// bare takes the operation and the path away from an error: the message names the file
// already.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// line makes one line of bounded length of a foreign text.
func line(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(s)), " ")), n)
}

func word(s string) string { return line(s, longestWord) }

// some names the first of many ids.
func some(ids []string) string {
	const most = 8
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}
