package task

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"autopilot/sessions/launch"
)

// Sessions as Claude Code names them.
const (
	sessionA = "0a9f8c1e-5d2b-4c3a-9e8f-112233445566"
	sessionB = "1b9f8c1e-5d2b-4c3a-9e8f-112233445566"
	sessionC = "2c9f8c1e-5d2b-4c3a-9e8f-112233445566"
)

// home is a repository and a folder of Claude Code.
type home struct {
	tb    testing.TB
	place Place
}

func newHome(tb testing.TB) *home {
	tb.Helper()
	top, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	h := &home{tb: tb, place: Place{Repo: filepath.Join(top, "my.repo"), Config: filepath.Join(top, "claude")}}
	for _, dir := range []string{h.place.Repo, h.place.Config} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	return h
}

func (h *home) repo(name, content string) {
	h.tb.Helper()
	write(h.tb, filepath.Join(h.place.Repo, name), content)
}

func (h *home) config(name, content string) {
	h.tb.Helper()
	write(h.tb, filepath.Join(h.place.Config, name), content)
}

// transcript makes id a session of the repository that was last active then.
func (h *home) transcript(id string, last time.Time) {
	h.tb.Helper()
	name := filepath.Join("projects", launch.FileName(h.place.Repo, ""), id+".jsonl")
	h.config(name, "{}\n")
	if err := os.Chtimes(filepath.Join(h.place.Config, name), last, last); err != nil {
		h.tb.Fatal(err)
	}
}

func (h *home) discover(sources ...string) Found {
	h.tb.Helper()
	return Discover(h.tb.Context(), h.place, sources)
}

func write(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}
