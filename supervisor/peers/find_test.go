package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindInWorktrees(t *testing.T) {
	t.Parallel()
	repo, now := newRepo(t), noon()
	base := filepath.Dir(repo)
	for _, name := range []string{"quiet", "stale", "gone"} {
		git(t, repo, "worktree", "add", "-q", "-b", name, filepath.Join(base, name))
	}
	git(t, repo, "worktree", "add", "-q", "--detach", filepath.Join(base, "loose"))
	if err := os.RemoveAll(filepath.Join(base, "gone")); err != nil {
		t.Fatal(err)
	}
	write(t, lockPath(repo), lockText("here", "deep", now.Add(-239*time.Minute)))
	write(t, lockPath(filepath.Join(base, "loose")), lockText("there", "housekeeping", now))
	write(t, lockPath(filepath.Join(base, "stale")), lockText("dead", "deep", now.Add(-241*time.Minute)))

	f := Finder{Repo: repo, GitDir: filepath.Join(repo, ".git")}
	found, warnings := findWithGit(t, f, now)
	if got, want := brief(found), "lock:here:parallel-ok:my shop lock:there:exclusive:loose"; got != want || warnings != nil {
		t.Errorf("found %q, warnings %v, want %q", got, warnings, want)
	}
	want := Peer{
		SessionID: "there", Mode: "housekeeping", Class: Exclusive, Origin: Lock, Worktree: filepath.Join(base, "loose"),
		PID: 4242, Host: "builder", StartedAt: now.Add(-time.Hour), LastHeartbeat: now,
	}
	if diff := cmp.Diff(want, found[1]); diff != "" {
		t.Errorf("peer (-want +got):\n%s", diff)
	}

	// From within another worktree that one comes first, and all the same are found.
	f = Finder{Repo: filepath.Join(base, "loose"), GitDir: filepath.Join(repo, ".git", "worktrees", "loose"), Self: []string{"there"}}
	found, warnings = findWithGit(t, f, now)
	if got, want := brief(found), "lock:here:parallel-ok:my shop"; got != want || warnings != nil {
		t.Errorf("from another worktree: %q, warnings %v, want %q", got, warnings, want)
	}
}

// findWithGit gives git more than the two seconds that it has, should the machine be that busy.
func findWithGit(t *testing.T, f Finder, now time.Time) (found []Peer, warnings []string) {
	t.Helper()
	for end := time.Now().Add(deadline); ; {
		found, warnings = f.Find(t.Context(), now)
		if len(warnings) == 0 || !strings.Contains(warnings[0], "git did not answer") || time.Now().After(end) {
			return found, warnings
		}
	}
}

func TestFindWithoutGit(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	write(t, lockPath(repo), lockText("here", "deep", now))
	found, warnings := Finder{Repo: repo}.Find(t.Context(), now)
	if len(found) != 1 || warnings != nil {
		t.Errorf("no git folder: %v, %v", found, warnings)
	}
	found, warnings = findWithGit(t, Finder{Repo: repo, GitDir: filepath.Join(repo, "none")}, now)
	if len(found) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "not a git repository") {
		t.Errorf("a git folder that is none: %v, %v", found, warnings)
	}
	fails := func(context.Context) ([]string, error) {
		return []string{repo + "/x", "relative"}, errors.New("no\nluck")
	}
	found, warnings = Finder{Repo: repo, Worktrees: fails}.Find(t.Context(), now)
	if len(found) != 1 || !cmp.Equal(warnings, []string{"sessions in other worktrees were not looked for: no luck"}) {
		t.Errorf("a list that fails: %v, %v", found, warnings)
	}
}

func TestFindDoesNotWaitForGit(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "git"), "#!/bin/sh\nexec sleep 600\n")
	if err := os.Chmod(filepath.Join(bin, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	repo, now := t.TempDir(), noon()
	write(t, lockPath(repo), lockText("here", "deep", now))
	found, warnings := Finder{Repo: repo, GitDir: repo}.Find(t.Context(), now)
	if len(found) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "git did not answer within 2s") {
		t.Errorf("found %v, warnings %v", found, warnings)
	}
}

func TestFindInRegistry(t *testing.T) {
	t.Parallel()
	base, now := t.TempDir(), noon()
	real, repo, other := filepath.Join(base, "real"), filepath.Join(base, "repo"), filepath.Join(base, "other")
	for _, dir := range []string{real, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(real, repo); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "active")
	put := func(name, text string) { write(t, filepath.Join(dir, name), text) }
	write(t, lockPath(repo), lockText("locked", "deep", now.Add(-time.Hour)))
	put("locked.json", entryText("locked", repo, "deep", now))
	put("a.json", entryText("a", repo, "plan", now.Add(-15*time.Minute)))
	put("b.json", entryText("b", repo, nil, now.Add(14*time.Minute)))
	put("c.json", entryText("c", other, "housekeeping", now))
	put("d.json", entryText("d", real, "feature", now.Add(-time.Minute)))
	put("late.json", entryText("late", repo, "deep", now.Add(-15*time.Minute-time.Second)))
	put("far.json", entryText("far", repo, "deep", now.AddDate(80, 0, 0)))
	changed(t, filepath.Join(dir, "far.json"), now.Add(-time.Hour))
	put("far2.json", entryText("far2", repo, "deep", now.AddDate(80, 0, 0)))
	changed(t, filepath.Join(dir, "far2.json"), now.Add(-time.Minute))
	put("elsewhere.json", entryText("elsewhere", filepath.Join(base, "third"), "deep", now))
	put("self.json", entryText("self", repo, "deep", now))
	put("claimed.json", entryText("claimed", repo, "deep", now))
	put("half.json.tmp-12-ab", entryText("half", repo, "deep", now))
	put("torn.json", `{"session_id":"to`)
	put("wrong.json", `{"session_id":"w","started_at":"x","last_heartbeat":"y","mode":5}`)
	if err := os.Symlink(filepath.Join(base, "nowhere"), filepath.Join(dir, "dangling.json")); err != nil {
		t.Fatal(err)
	}
	pipe(t, filepath.Join(dir, "pipe.json"))
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}

	f := Finder{
		Repo: repo, Registry: dir, Self: []string{"x", "self"},
		Worktrees:  func(context.Context) ([]string, error) { return []string{real, other, repo}, nil },
		ClaimsSelf: func(p Peer) bool { return p.SessionID == "claimed" },
	}
	found, warnings := f.Find(t.Context(), now)
	want := "lock:locked:parallel-ok:repo registry:a:always-ok:repo registry:b:parallel-ok:repo registry:c:exclusive:other registry:d:parallel-ok:repo registry:far2:parallel-ok:repo"
	if diff := cmp.Diff(want, brief(found)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "files that are no entries: 4") {
		t.Errorf("warnings = %q, want one for 4 files", warnings)
	}
	host, err := os.Hostname()
	if err != nil || found[1].Host != host || found[1].PID != 4243 || found[1].StartedAt.IsZero() {
		t.Errorf("peer of the registry = %+v", found[1])
	}
}

func TestFindClaimsEverywhere(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	dir := filepath.Join(t.TempDir(), "active")
	write(t, lockPath(repo), lockText("child", "deep", now))
	write(t, filepath.Join(dir, "child.json"), entryText("child", repo, "deep", now))
	f := Finder{Repo: repo, Registry: dir, ClaimsSelf: func(p Peer) bool { return p.Origin == Lock }}
	if found, _ := f.Find(t.Context(), now); found != nil {
		t.Errorf("a session whose lock is ours was found by its entry: %v", found)
	}
}

func TestFindManyEntries(t *testing.T) {
	t.Parallel()
	repo, dir, now := t.TempDir(), filepath.Join(t.TempDir(), "active"), noon()
	for i := range 2_000 {
		where := repo
		if i%2 == 1 {
			where = "/srv/elsewhere"
		}
		write(t, filepath.Join(dir, fmt.Sprintf("%04d.json", i)), entryText(fmt.Sprintf("%04d", i), where, "deep", now))
	}
	found, warnings := Finder{Repo: repo, Registry: dir}.Find(t.Context(), now)
	if len(found) != 1_000 || found[0].SessionID != "0000" || found[999].SessionID != "1998" || warnings != nil {
		t.Errorf("found %d, warnings %v, want the 1000 of this repository in order", len(found), warnings)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("asked to stop"))
	_, warnings = Finder{Repo: repo, Registry: dir}.Find(ctx, now)
	if len(warnings) == 0 || !strings.Contains(warnings[0], "asked to stop") {
		t.Errorf("warnings of a search that was cut short = %q", warnings)
	}
}

func TestFindOddRegistry(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	file, fifo := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "fifo")
	write(t, file, "")
	pipe(t, fifo)
	for name, warned := range map[string]bool{"": false, filepath.Join(repo, "missing"): false, file: true, fifo: true} {
		if found, warnings := (Finder{Repo: repo, Registry: name}).Find(t.Context(), now); found != nil || (len(warnings) == 1) != warned {
			t.Errorf("registry %q: %v, %q", name, found, warnings)
		}
	}
}

func TestFindOddLocks(t *testing.T) {
	t.Parallel()
	now := noon()
	elsewhere := filepath.Join(t.TempDir(), "lock")
	write(t, elsewhere, lockText("linked", "deep", now))
	tests := []struct {
		name   string
		put    func(t *testing.T, name string)
		found  bool
		warned string
	}{
		{"missing", func(*testing.T, string) {}, false, ""},
		{"folder", func(t *testing.T, name string) { mkdir(t, name) }, false, "not a regular file"},
		{"pipe", pipe, false, "not a regular file"},
		{"torn", func(t *testing.T, name string) { write(t, name, theirs[:80]) }, false, "not a record of a session"},
		{"empty", func(t *testing.T, name string) { write(t, name, "") }, false, "not a record of a session"},
		{"10 MB", func(t *testing.T, name string) { write(t, name, theirs+strings.Repeat(" ", 10<<20)) }, false, "larger than 1 MiB"},
		{"unreadable", func(t *testing.T, name string) {
			write(t, name, lockText("x", "deep", now))
			if err := os.Chmod(name, 0); err != nil {
				t.Fatal(err)
			}
		}, os.Geteuid() == 0, "permission denied"},
		{"link", func(t *testing.T, name string) { symlink(t, elsewhere, name) }, true, ""},
		{"link to a device", func(t *testing.T, name string) { symlink(t, "/dev/zero", name) }, false, "not a regular file"},
		{"link to nothing", func(t *testing.T, name string) { symlink(t, "nothing", name) }, false, ""},
		{"ring of links", func(t *testing.T, name string) { symlink(t, "session.lock", name) }, false, "too many levels"},
		{"folder is a file", func(t *testing.T, name string) { write(t, filepath.Dir(name), "") }, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			tt.put(t, lockPath(repo))
			found, warnings := Finder{Repo: repo}.Find(t.Context(), now)
			if (len(found) == 1) != tt.found {
				t.Errorf("found %v, want one: %v", found, tt.found)
			}
			if tt.found || tt.warned == "" {
				if warnings != nil {
					t.Errorf("warnings = %q, want none", warnings)
				}
			} else if len(warnings) != 1 || !strings.Contains(warnings[0], tt.warned) {
				t.Errorf("warnings = %q, want one with %q", warnings, tt.warned)
			}
		})
	}
}

func TestFindInStateMD(t *testing.T) {
	t.Parallel()
	now := noon()
	state := func(status, session, started string) string {
		return "---\nstatus: " + status + "\nsession: " + session + "\nsession-type: housekeeping\nstarted_at: " + started + "\n---\n\n# State\n"
	}
	recent := stamp(now.Add(-3 * time.Hour))
	tests := []struct{ name, text, want string }{
		{"active", state("active", "main-1", recent), "state-md:main-1:exclusive:R"},
		{"written with care", state("Active ", "main-1", `"`+recent+`"`), "state-md:main-1:exclusive:R"},
		{"ours", state("active", "mine", recent), ""},
		{"done", state("completed", "main-1", recent), ""},
		{"paused", state("paused", "main-1", recent), ""},
		{"4 hours", state("active", "main-1", stamp(now.Add(-4*time.Hour))), "state-md:main-1:exclusive:R"},
		{"too old", state("active", "main-1", stamp(now.Add(-4*time.Hour-time.Millisecond))), ""},
		{"local time as if it were UTC", state("active", "main-1", stamp(now.Add(2*time.Hour))), "state-md:main-1:exclusive:R"},
		{"far ahead", state("active", "main-1", stamp(now.Add(5*time.Hour))), ""},
		{"no start", state("active", "main-1", "null"), ""},
		{"no session", state("active", "null", recent), ""},
		{"also locked", state("active", "locked", recent), "state-md:locked:exclusive:R"},
	}
	for _, tt := range tests {
		repo := filepath.Join(t.TempDir(), "R")
		write(t, lockPath(repo), lockText("locked", "deep", now))
		write(t, filepath.Join(repo, ".claude", "STATE.md"), tt.text)
		found, warnings := Finder{Repo: repo, Self: []string{"mine"}}.Find(t.Context(), now)
		want := strings.TrimSpace("lock:locked:parallel-ok:R " + tt.want)
		if got := brief(found); got != want || warnings != nil {
			t.Errorf("%s: %q, %q, want %q", tt.name, got, warnings, want)
		}
	}
	repo := t.TempDir()
	write(t, filepath.Join(repo, ".claude", "STATE.md"), "no frontmatter\n")
	if found, warnings := (Finder{Repo: repo}).Find(t.Context(), now); found != nil || len(warnings) != 1 {
		t.Errorf("STATE.md without a frontmatter: %v, %q, want a warning", found, warnings)
	}
}

func TestFindCleansTexts(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	nasty := "a\x1b[31m\nb\u202e" + " ghp_" + strings.Repeat("x", 30) + strings.Repeat("é", 500)
	write(t, lockPath(repo), lockText(nasty, "deep\x00\r\nmode", now))
	found, _ := Finder{Repo: repo}.Find(t.Context(), now)
	if len(found) != 1 {
		t.Fatalf("found %v", found)
	}
	p := found[0]
	if !strings.HasPrefix(p.SessionID, "a b [redacted]é") || len([]rune(p.SessionID)) != maxName || p.Mode != "deep mode" {
		t.Errorf("session id %q, mode %q", p.SessionID, p.Mode)
	}
	// Ours are known by what they are really called.
	if found, _ := (Finder{Repo: repo, Self: []string{nasty}}).Find(t.Context(), now); found != nil {
		t.Errorf("our own session was found: %v", found)
	}
}

func TestRegistryDir(t *testing.T) {
	t.Parallel()
	tests := []struct{ override, home, want string }{
		{"", "/home/someone", "/home/someone/.config/session-orchestrator/sessions/active"},
		{"/srv/sessions", "/home/someone", "/srv/sessions/active"},
		{"", "", ""},
	}
	for _, tt := range tests {
		env := map[string]string{"SO_SESSION_REGISTRY_DIR": tt.override, "HOME": tt.home}
		if got := RegistryDir(func(k string) string { return env[k] }); got != tt.want {
			t.Errorf("RegistryDir(%v) = %q, want %q", env, got, tt.want)
		}
	}
}

func mkdir(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o700); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, name string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}
