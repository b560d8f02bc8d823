package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func announce(t *testing.T, self Self, registry string, now time.Time) *Presence {
	t.Helper()
	p, err := Announce(self, registry, now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnnounceWritesTheirFormat(t *testing.T) {
	t.Parallel()
	repo, now := filepath.Join(t.TempDir(), "shop"), noon()
	dir := filepath.Join(t.TempDir(), "active")
	mkdir(t, repo)
	mkdir(t, dir)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	p := announce(t, Self{
		SessionID: "run-7<a>", SemanticID: "main-2026-03-04-deep-1", Mode: "deep", Repo: repo, Branch: "main", HostClass: "laptop",
		PID: 4711, StartedAt: now.Add(-time.Second), LockWanted: true, RegistryWanted: true,
	}, dir, now)
	lock := fmt.Sprintf(`{
  "session_id": "run-7<a>",
  "started_at": "2026-03-04T11:59:59.000Z",
  "last_heartbeat": "2026-03-04T12:00:00.000Z",
  "mode": "deep",
  "pid": 4711,
  "host": %q,
  "ttl_hours": 4,
  "semantic_session_id": "main-2026-03-04-deep-1"
}
`, host)
	entry := fmt.Sprintf(`{
  "session_id": "run-7<a>",
  "semantic_session_id": "main-2026-03-04-deep-1",
  "pid": 4711,
  "platform": "claude",
  "repo_path_hash": %q,
  "repo_name": "shop",
  "branch": "main",
  "started_at": "2026-03-04T11:59:59.000Z",
  "last_heartbeat": "2026-03-04T12:00:00.000Z",
  "status": "active",
  "current_wave": 0,
  "host_class": "laptop",
  "mode": "deep"
}
`, pathHash(repo))
	entryName := filepath.Join(dir, "run-7<a>.json")
	if diff := cmp.Diff(lock, read(t, lockPath(repo))); diff != "" {
		t.Errorf("lock (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(entry, read(t, entryName)); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	for _, name := range []string{lockPath(repo), entryName} {
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v, want 0600", name, info.Mode(), err)
		}
	}
	if got, want := names(t, filepath.Dir(lockPath(repo)))+" "+names(t, dir), "session.lock run-7<a>.json"; got != want {
		t.Errorf("files = %q, want %q", got, want)
	}

	if err := p.Beat(now.Add(90 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	later := func(s string) string { return strings.Replace(s, "T12:00:00.000Z", "T13:30:00.000Z", 1) }
	if diff := cmp.Diff(later(lock)+later(entry), read(t, lockPath(repo))+read(t, entryName)); diff != "" {
		t.Errorf("after a heartbeat (-want +got):\n%s", diff)
	}
	if err := errors.Join(p.Withdraw(), p.Withdraw()); err != nil {
		t.Error(err)
	}
	if got := names(t, filepath.Dir(lockPath(repo))) + names(t, dir); got != "" {
		t.Errorf("left after Withdraw: %q", got)
	}
	if err := p.Beat(now); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Beat after Withdraw = %v", err)
	}
}

func TestAnnounceLittle(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	dir := filepath.Join(t.TempDir(), "active")
	p := announce(t, Self{SessionID: "a", Repo: repo, RegistryWanted: true}, dir, now)
	if got := names(t, repo) + names(t, filepath.Dir(dir)); got != "" {
		t.Errorf("made %q, want nothing where there is no registry and no lock is wanted", got)
	}
	if err := errors.Join(p.Beat(now), p.Withdraw()); err != nil {
		t.Error(err)
	}
	mkdir(t, dir)
	p = announce(t, Self{SessionID: "a", Repo: repo, TTL: 90 * time.Minute, LockWanted: true, RegistryWanted: true}, dir, now)
	for _, want := range []string{`"semantic_session_id": null`, `"branch": null`, `"host_class": null`, `"mode": null`, fmt.Sprintf(`"pid": %d`, os.Getpid())} {
		if got := read(t, filepath.Join(dir, "a.json")); !strings.Contains(got, want) {
			t.Errorf("entry has no %s:\n%s", want, got)
		}
	}
	if got := read(t, lockPath(repo)); !strings.Contains(got, `"ttl_hours": 1.5`) || strings.Contains(got, "semantic") {
		t.Errorf("lock = %s", got)
	}
	if err := p.Withdraw(); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "a\x00", "a\nb", "a\xff", strings.Repeat("a", 201)} {
		if _, err := Announce(Self{SessionID: id, Repo: repo, LockWanted: true}, dir, now); err == nil {
			t.Errorf("session id %q was taken", id)
		}
	}
	if got := names(t, filepath.Join(repo, ".orchestrator")) + names(t, dir); got != "" {
		t.Errorf("left: %q", got)
	}
}

func TestAnnounceBesideLocks(t *testing.T) {
	t.Parallel()
	now := noon()
	dangling := func(t *testing.T, name string) { symlink(t, "nothing", name) }
	text := func(s string, at time.Time) func(*testing.T, string) {
		return func(t *testing.T, name string) {
			write(t, name, s)
			changed(t, name, at)
		}
	}
	const (
		taken = "taken"
		held  = "held"
		fails = "fails"
	)
	tests := []struct {
		name string
		put  func(t *testing.T, name string)
		want string
		says string
	}{
		{"live", text(lockText("other", "deep", now.Add(-239*time.Minute)), now), held, "is held by session other in mode deep, begun 4 hours ago, last seen 3 hours ago"},
		{"live by a clock ahead of ours", text(lockText("other", "deep", now.Add(time.Hour)), now), held, "session other"},
		{"dead", text(lockText("other", "deep", now.Add(-4*time.Hour)), now), taken, ""},
		{"our own from before", text(lockText("me", "deep", now), now), taken, ""},
		{"far ahead, changed lately", text(lockText("other", "deep", now.AddDate(9, 0, 0)), now.Add(-time.Hour)), held, "session other"},
		{"far ahead, changed long ago", text(lockText("other", "deep", now.AddDate(9, 0, 0)), now.Add(-5*time.Hour)), taken, ""},
		{"torn, changed lately", text(theirs[:60], now.Add(-time.Hour)), held, "is held by somebody who cannot be made out, last changed 1 hour ago"},
		{"torn, changed long ago", text(theirs[:60], now.Add(-5*time.Hour)), taken, ""},
		{"empty, changed long ago", text("", now.Add(-5*time.Hour)), taken, ""},
		{"10 MB", text(strings.Repeat("x", 10<<20), now.Add(-5*time.Hour)), fails, "larger than 1 MiB"},
		{"folder", mkdir, fails, "not a regular file"},
		{"pipe", pipe, fails, "not a regular file"},
		{"link to nothing", dangling, fails, "leads to nothing"},
		{"link to a dead one", func(t *testing.T, name string) {
			target := filepath.Join(t.TempDir(), "target")
			write(t, target, lockText("other", "deep", now.Add(-9*time.Hour)))
			symlink(t, target, name)
		}, taken, ""},
		{"folder is a file", func(t *testing.T, name string) { write(t, filepath.Dir(name), "") }, fails, "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			tt.put(t, lockPath(repo))
			was, _ := os.Lstat(lockPath(repo))
			p, err := Announce(Self{SessionID: "me", Mode: "deep", Repo: repo, LockWanted: true}, "", now)
			h, isHeld := errors.AsType[*HeldError](err)
			got := fails
			switch {
			case err == nil:
				got = taken
			case isHeld:
				got = held
			}
			if got != tt.want || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%s: %v, want %s with %q", got, err, tt.want, tt.says)
			}
			if isHeld && (h.Path != lockPath(repo) || h.Hint() == "" || h.Peer.Origin != Lock || h.Peer.Worktree != repo) {
				t.Errorf("HeldError = %+v", h)
			}
			if got == taken {
				if !strings.Contains(read(t, lockPath(repo)), `"me"`) {
					t.Errorf("lock = %s", read(t, lockPath(repo)))
				}
				if err := p.Withdraw(); err != nil {
					t.Error(err)
				}
				if left := names(t, filepath.Join(repo, ".orchestrator")); left != "" {
					t.Errorf("left: %q", left)
				}
				return
			}
			if now, _ := os.Lstat(lockPath(repo)); was != nil && !os.SameFile(was, now) {
				t.Error("what was there has been replaced")
			}
			if was != nil && names(t, filepath.Dir(lockPath(repo))) != "session.lock" {
				t.Errorf("files = %q, want the lock alone", names(t, filepath.Dir(lockPath(repo))))
			}
		})
	}
}

func TestAnnounceIsBothOrNone(t *testing.T) {
	t.Parallel()
	repo, dir := t.TempDir(), t.TempDir()
	pipe(t, filepath.Join(dir, "me.json"))
	if _, err := Announce(Self{SessionID: "me", Repo: repo, LockWanted: true, RegistryWanted: true}, dir, noon()); err == nil {
		t.Fatal("no error for an entry that cannot be written")
	}
	if got := names(t, filepath.Join(repo, ".orchestrator")); got != "" {
		t.Errorf("left: %q", got)
	}
}

func TestBeatOfWhatHasChanged(t *testing.T) {
	t.Parallel()
	now, later := noon(), noon().Add(time.Hour)
	ours := lockText("me", "deep", now)
	tests := []struct {
		name  string
		lock  string // what has become of it; "-" for gone
		taken bool
		want  string // in the lock afterwards
	}{
		{"as it was", "", false, stamp(later)},
		{"gone", "-", false, stamp(later)},
		{"written anew by a child that has our id", strings.Replace(ours, `"pid": 4242`, `"pid": 7, "more": [1, 2]`, 1), false, `"pid": 7, "more": [1, 2]`},
		{"without a heartbeat", strings.Replace(ours, "last_heartbeat", "last", 1), false, stamp(later)},
		{"with an unusual heartbeat", strings.Replace(ours, "12:00:00.000Z", "12:00Z", 1), false, stamp(later)},
		{"of another", lockText("thief", "plan", now), true, lockText("thief", "plan", now)},
		{"dead and of another", lockText("thief", "plan", now.Add(-9*time.Hour)), true, lockText("thief", "plan", now.Add(-9*time.Hour))},
		{"torn", "{", true, "{"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo, dir := t.TempDir(), t.TempDir()
			p := announce(t, Self{SessionID: "me", Mode: "deep", Repo: repo, LockWanted: true, RegistryWanted: true}, dir, now)
			switch tt.lock {
			case "":
			case "-":
				if err := os.Remove(lockPath(repo)); err != nil {
					t.Fatal(err)
				}
			default:
				write(t, lockPath(repo)+".new", tt.lock)
				if err := os.Rename(lockPath(repo)+".new", lockPath(repo)); err != nil {
					t.Fatal(err)
				}
			}
			err := p.Beat(later)
			h, taken := errors.AsType[*HeldError](err)
			if taken != tt.taken || (err == nil) == tt.taken {
				t.Errorf("Beat = %v, want taken %v", err, tt.taken)
			}
			if taken && !strings.Contains(tt.lock, h.Peer.SessionID) {
				t.Errorf("HeldError = %+v", h)
			}
			got := read(t, lockPath(repo))
			if !strings.Contains(got, tt.want) || !tt.taken && !strings.Contains(got, stamp(later)) {
				t.Errorf("lock = %s\nwant it with %s", got, tt.want)
			}
			if entry := read(t, filepath.Join(dir, "me.json")); !strings.Contains(entry, stamp(later)) {
				t.Errorf("entry = %s", entry)
			}
			if err := p.Withdraw(); err != nil {
				t.Error(err)
			}
			if tt.taken != (names(t, filepath.Dir(lockPath(repo))) == "session.lock") || tt.taken && read(t, lockPath(repo)) != tt.lock {
				t.Errorf("after Withdraw: %q", names(t, filepath.Dir(lockPath(repo))))
			}
		})
	}
}

func TestEntryThatHasChanged(t *testing.T) {
	t.Parallel()
	now, later := noon(), noon().Add(time.Minute)
	dir := filepath.Join(t.TempDir(), "active")
	mkdir(t, dir)
	name := filepath.Join(dir, "me.json")
	p := announce(t, Self{SessionID: "me", Repo: "/srv/shop", RegistryWanted: true}, dir, now)
	for _, text := range []string{"", "{}", strings.Repeat("x", 2<<20), entryText("another", "/srv/shop", "deep", now)} {
		write(t, name, text)
		if err := p.Beat(later); err != nil || !strings.Contains(read(t, name), `"me"`) || !strings.Contains(read(t, name), stamp(later)) {
			t.Errorf("after %.20q: %v, %.300s", text, err, read(t, name))
		}
	}
	// What a hook of a child with our id has added stays.
	write(t, name, strings.Replace(entryText("me", "/srv/shop", "deep", now), `"current_wave": 0`, `"current_wave": 3`, 1))
	if err := p.Beat(later); err != nil || !strings.Contains(read(t, name), `"current_wave": 3`) || !strings.Contains(read(t, name), stamp(later)) {
		t.Errorf("after a hook: %v, %s", err, read(t, name))
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := p.Beat(later); err != nil || !strings.Contains(read(t, name), stamp(later)) {
		t.Errorf("after it was swept: %v", err)
	}
	write(t, name, entryText("another", "/srv/shop", "deep", now))
	if err := p.Withdraw(); err != nil || !strings.Contains(read(t, name), "another") {
		t.Errorf("Withdraw removed what is not ours: %v", err)
	}

	p = announce(t, Self{SessionID: "me", Repo: "/srv/shop", RegistryWanted: true}, dir, now)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Beat(later), p.Withdraw()); err != nil || isDir(dir) {
		t.Errorf("without a registry: %v, made again: %v", err, isDir(dir))
	}
}

func TestTakeAwayPutsBack(t *testing.T) {
	t.Parallel()
	l := lockFile{lockPath(t.TempDir())}
	write(t, l.path, "theirs")
	if away, err := l.takeAway(func(c content) bool { return string(c.data) != "theirs" }); away || err != nil {
		t.Errorf("takeAway = %v, %v", away, err)
	}
	if got := names(t, filepath.Dir(l.path)); got != "session.lock" || read(t, l.path) != "theirs" {
		t.Errorf("files = %q", got)
	}
	// Whoever took the place meanwhile keeps it.
	away, err := l.takeAway(func(content) bool {
		write(t, l.path, "newer")
		return false
	})
	if away || err != nil || read(t, l.path) != "newer" || names(t, filepath.Dir(l.path)) != "session.lock" {
		t.Errorf("takeAway = %v, %v, lock %q", away, err, read(t, l.path))
	}
	if away, err := (lockFile{filepath.Join(t.TempDir(), "none")}).takeAway(func(content) bool { return false }); !away || err != nil {
		t.Errorf("of what is not there = %v, %v", away, err)
	}
}

func TestRefreshLeavesANewFileAlone(t *testing.T) {
	t.Parallel()
	name, now := lockPath(t.TempDir()), noon()
	write(t, name, lockText("me", "deep", now))
	looked := 0
	done, err := refresh(name, now.Add(time.Hour), func(c content) bool {
		if looked++; looked == 1 { // it is replaced after we have read it
			write(t, name+".new", lockText("thief", "deep", now))
			if err := os.Rename(name+".new", name); err != nil {
				t.Error(err)
			}
		}
		return strings.Contains(string(c.data), `"me"`)
	})
	if done || !errors.Is(err, errNotOurs) || read(t, name) != lockText("thief", "deep", now) {
		t.Errorf("refresh = %v, %v, lock %s", done, err, read(t, name))
	}
}

func TestTidy(t *testing.T) {
	t.Parallel()
	repo, now := t.TempDir(), noon()
	dir := filepath.Dir(lockPath(repo))
	for name, at := range map[string]time.Time{
		".session.lock.autopilot.00ff": now.Add(-11 * time.Minute),
		".session.lock.autopilot.11ff": now.Add(-9 * time.Minute),
		".session.lock.tmp.22ff":       now.Add(-11 * time.Hour),
		".state.lock.autopilot.33ff":   now.Add(-11 * time.Hour),
		"kept.json":                    now.Add(-11 * time.Hour),
	} {
		write(t, filepath.Join(dir, name), "x")
		changed(t, filepath.Join(dir, name), at)
	}
	announce(t, Self{SessionID: "me", Repo: repo, LockWanted: true}, "", now)
	if got, want := names(t, dir), ".session.lock.autopilot.11ff .session.lock.tmp.22ff .state.lock.autopilot.33ff kept.json session.lock"; got != want {
		t.Errorf("files = %q, want %q", got, want)
	}
}
