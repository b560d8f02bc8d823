package taskmaster

import (
	"os"
	"path/filepath"
	"testing"
)

// repo is a repository with files.
type repo struct {
	testing.TB
	dir string
}

func newRepo(tb testing.TB, files ...string) repo {
	tb.Helper()
	r := repo{tb, tb.TempDir()}
	for i := 0; i < len(files); i += 2 {
		r.write(files[i], files[i+1])
	}
	return r
}

func (r repo) path(name string) string { return filepath.Join(r.dir, name) }

func (r repo) write(name, content string) {
	r.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(content), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r repo) read(name string) string {
	r.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

func (r repo) load(tag string) *File {
	r.Helper()
	f, err := Load(r.dir, tag)
	if err != nil {
		r.Fatal(err)
	}
	return f
}

// of is a file with these tasks under the tag master.
func of(tb testing.TB, tasks string) *File {
	tb.Helper()
	f, err := parse(tasksFile, []byte(`{"master":{"tasks":`+tasks+`}}`), masterTag, true)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}
