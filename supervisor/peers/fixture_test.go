package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline is how long tests wait for a fact, however busy the machine is.
const deadline = 60 * time.Second

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// changed sets the time of the last change of a file.
func changed(t *testing.T, name string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func pipe(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}

func lockPath(repo string) string { return filepath.Join(repo, ".orchestrator", "session.lock") }

func asJSON(v any) string {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// lockText is a lock of another with a heartbeat of the given age.
func lockText(id, mode string, beat time.Time) string {
	return asJSON(map[string]any{
		"session_id": id, "mode": mode, "pid": 4242, "host": "builder", "ttl_hours": 4,
		"started_at": stamp(beat.Add(-time.Hour)), "last_heartbeat": stamp(beat),
	})
}

func entryText(id, repo string, mode any, beat time.Time) string {
	return asJSON(map[string]any{
		"session_id": id, "repo_path_hash": pathHash(repo), "repo_name": filepath.Base(repo), "pid": 4243, "mode": mode,
		"started_at": stamp(beat.Add(-time.Hour)), "last_heartbeat": stamp(beat), "status": "active", "current_wave": 0,
	})
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// newRepo is a git repository with one commit, by the path that git knows it by.
func newRepo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "my shop")
	if err := os.Mkdir(repo, 0o700); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "init", "-q", "-b", "main")
	git(t, repo, "config", "user.name", "Someone")
	git(t, repo, "config", "user.email", "someone@example.org")
	git(t, repo, "commit", "-q", "--allow-empty", "-m", "begin")
	return repo
}

// brief is what most tests want to know of peers.
func brief(list []Peer) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s:%s:%s:%s", p.Origin, p.SessionID, p.Class, filepath.Base(p.Worktree)))
	}
	return strings.Join(out, " ")
}
