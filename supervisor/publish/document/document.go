package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/publish"
)

const maxFile = 8 << 20

// Sender keeps the sections of one file.
type Sender struct {
	repo string
	path string // relative to the repository
}

// New returns a sender for a target of the service file in the repository, an absolute
// path.
func New(repo string, t publish.Target) *Sender { return &Sender{repo: repo, path: t.Ref} }

// Send brings the section of the update's subject up to date, or adds it. The receipt
// names the file, relative to the repository.
func (s *Sender) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	if ctx.Err() != nil {
		return publish.Receipt{}, context.Cause(ctx)
	}
	receipt := publish.Receipt{ID: s.path}
	path, err := s.place()
	if err != nil {
		return receipt, permanent(err)
	}
	old, err := read(path)
	if err != nil {
		return receipt, err
	}
	text, again, err := edit(old, key, u)
	if err != nil {
		return receipt, permanent(fmt.Errorf("%s: %w", s.path, err))
	}
	if again {
		receipt.Again = true
		return receipt, nil
	}
	if err := write(path, text); err != nil {
		return receipt, &publish.SendError{Service: publish.File, Err: err}
	}
	return receipt, nil
}

// Preview shows the file and the section.
func (s *Sender) Preview(key string, u publish.Update) string {
	return fmt.Sprintf("write to %s\n\n%s\n", s.path, section(key, u))
}

// place is where the file really is. It makes no folder.
func (s *Sender) place() (string, error) {
	repo, err := filepath.EvalSymlinks(s.repo)
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	if !filepath.IsLocal(s.path) {
		return "", fmt.Errorf("%s is not in the repository", s.path)
	}
	// The nearest folder that exists decides: what is missing below it will be made there.
	rest, dir := "", filepath.Join(repo, s.path)
	for {
		if _, err := os.Lstat(dir); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look at %s: %w", s.path, err)
		}
		rest, dir = filepath.Join(filepath.Base(dir), rest), filepath.Dir(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("follow %s: %w", s.path, err)
	}
	rel, err := filepath.Rel(repo, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the repository", s.path)
	}
	if kept := publish.KeptFolder(filepath.ToSlash(filepath.Join(rel, rest))); kept != "" {
		return "", fmt.Errorf("%s leads into %s", s.path, kept)
	}
	return filepath.Join(real, rest), nil
}

func read(path string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", permanent(err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return "", permanent(fmt.Errorf("%s: not a file of at most %d MiB", path, maxFile>>20))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", permanent(err)
	}
	return string(data), nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	// A file of the repository is for everybody; replacing keeps the mode it finds.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return statedir.Replace(path, []byte(text))
}

func permanent(err error) error {
	return &publish.SendError{Service: publish.File, Permanent: true, Err: err}
}
