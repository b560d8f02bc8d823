package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/mode"
)

const (
	lockName     = ".orchestrator/session.lock"
	worktreeWait = 2 * time.Second
	maxEntries   = 20_000 // of the registry
	maxWorktrees = 1_000
	maxWarning   = 400 // runes
)

// Finder looks for the sessions of others in one repository.
type Finder struct {
	// Repo is the top of the worktree that we stand in, an absolute path.
	Repo string
	// GitDir is its git folder. When it is empty, Repo is taken for a folder without git and
	// no other worktrees are looked for.
	GitDir string
	// Registry is the folder of the registry's entries, see RegistryDir; it is not read when
	// empty, and a missing one has no entries.
	Registry string
	// Self are the ids of sessions that are ours, as they stand in locks, entries and
	// STATE.md. The attribution that session-orchestrator keeps beside an id is not
	// compared, because two sessions may share it.
	Self []string
	// Worktrees returns the top folders of all worktrees of the repository. When nil, git is
	// asked, for two seconds at most.
	Worktrees func(ctx context.Context) ([]string, error)
	// ClaimsSelf reports that a peer is ours in a way that its id does not tell. Nil claims
	// nobody.
	ClaimsSelf func(Peer) bool
}

// Find returns who else is at work: first those with a live lock in a worktree of the repository,
// in the order of the worktrees; then those with a fresh entry in the registry for one of the
// worktrees and no lock, by their ids; last the one that STATE.md of Repo names as active, which
// may be one of the others under another name.
//
// A lock is live while its heartbeat is younger than what it says itself in ttl_hours, an entry
// is fresh for 15 minutes, and STATE.md counts for 4 hours from its started_at. A time ahead of
// now counts as fresh by as much as it may lie back; a heartbeat further ahead than that is not
// believed, and the file's time of change decides instead. The process id decides nothing: it is
// mostly that of a hook which has ended.
//
// It never fails. What is there but could not be read is told in warnings, each one line.
// Files are read when they are regular, or links to regular ones, of at most 1 MiB. When ctx
// ends, what was found so far is returned with a warning.
func (f Finder) Find(ctx context.Context, now time.Time) (found []Peer, warnings []string) {
	s := search{Finder: f, now: now, byHash: map[string]string{}, seen: map[string]bool{}, ours: map[string]bool{}}
	for _, tree := range s.worktrees(ctx) {
		if s.ended(ctx) {
			return s.found, s.warnings
		}
		s.note(tree)
		s.lock(tree)
	}
	if f.Registry != "" {
		s.registry(ctx)
	}
	s.state()
	return s.found, s.warnings
}

// search is one run of Find.
type search struct {
	Finder
	now      time.Time
	byHash   map[string]string // worktrees by the hash of their path
	seen     map[string]bool   // ids of the sessions that were found
	ours     map[string]bool   // ids of those that ClaimsSelf claimed
	found    []Peer
	warnings []string
}

func (s *search) warn(format string, args ...any) {
	s.warnings = append(s.warnings, prompt.Cut(line(fmt.Sprintf(format, args...)), maxWarning))
}

func (s *search) ended(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	s.warn("the search for other sessions was cut short: %v", context.Cause(ctx))
	return true
}

// worktrees returns all of them, the one we stand in first.
func (s *search) worktrees(ctx context.Context) []string {
	list := s.Worktrees
	if list == nil {
		list = s.gitWorktrees
	}
	trees, err := list(ctx)
	if err != nil {
		s.warn("sessions in other worktrees were not looked for: %v", err)
	}
	out := []string{filepath.Clean(s.Repo)}
	for _, tree := range trees {
		if tree = filepath.Clean(tree); filepath.IsAbs(tree) && !sameDir(tree, s.Repo) && !slices.Contains(out, tree) {
			out = append(out, tree)
		}
	}
	if len(out) > maxWorktrees {
		s.warn("%d worktrees: only the first %d were looked at", len(out), maxWorktrees)
		out = out[:maxWorktrees]
	}
	return out
}

func (s *search) gitWorktrees(ctx context.Context) ([]string, error) {
	if s.GitDir == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, worktreeWait, fmt.Errorf("git did not answer within %v", worktreeWait))
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--git-dir="+s.GitDir, "worktree", "list", "--porcelain")
	cmd.Dir = s.Repo
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	cmd.WaitDelay = worktreeWait
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		words, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("list worktrees: %v: %s", err, words)
	}
	var trees []string
	for l := range strings.Lines(string(out)) {
		if tree, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "worktree "); ok {
			trees = append(trees, tree)
		}
	}
	return trees, nil
}

// note remembers under which hashes the registry may know a worktree: its writers hash the
// path as they were called with, and that may lead through a link.
func (s *search) note(tree string) {
	for _, name := range []string{resolved(tree), tree} {
		s.byHash[pathHash(name)] = tree
	}
}

func (s *search) lock(tree string) {
	name := filepath.Join(tree, filepath.FromSlash(lockName))
	c, err := readSmall(name)
	if absent(err) {
		return
	}
	if err == nil {
		var r record
		if r, err = parseLock(c.data); err == nil {
			if r.alive(c.changed, s.now) {
				s.add(r, Peer{Origin: Lock, Worktree: tree, LastHeartbeat: r.sign(c.changed, s.now, r.ttl)})
			}
			return
		}
		err = fmt.Errorf("%s: %w", name, err)
	}
	s.warn("read session lock: %v", err)
}

// registry reads the entries of this machine. Names in the order of the alphabet make that of
// the result.
func (s *search) registry(ctx context.Context) {
	names, err := entryNames(s.Registry)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.warn("read session registry: %v", err)
		return
	}
	if len(names) > maxEntries {
		s.warn("read session registry: of more than %d entries only the first were read", maxEntries)
		names = names[:maxEntries]
	}
	host, _ := os.Hostname() // only shown to people
	var broken int
	var first error
	for _, name := range names {
		if s.ended(ctx) {
			return
		}
		c, err := readSmall(filepath.Join(s.Registry, name))
		if absent(err) { // its session has just ended
			continue
		}
		var r record
		if err == nil {
			if r, err = parseEntry(c.data); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		if err != nil {
			if broken++; first == nil {
				first = err
			}
			continue
		}
		tree, here := s.byHash[r.pathHash]
		t := r.sign(c.changed, s.now, registryFresh)
		if here && within(t, s.now, registryFresh) {
			s.add(r, Peer{Origin: Registry, Worktree: tree, Host: host, LastHeartbeat: t})
		}
	}
	if broken > 0 {
		s.warn("read session registry: files that are no entries: %d, the first of them: %v", broken, first)
	}
}

// entryNames returns the names of what may be entries. A pipe in the place of the folder must
// not make us wait.
func entryNames(dir string) ([]string, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	var names []string
	for len(names) <= maxEntries {
		batch, err := d.Readdirnames(1_000)
		names = append(names, batch...)
		if len(batch) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".json") })
	slices.Sort(names)
	return names, nil
}

func (s *search) state() {
	st, there, err := mode.LoadState(s.Repo)
	if err != nil && there {
		s.warn("%v", err)
	}
	if err != nil || !there || st.Session == "" || !strings.EqualFold(strings.TrimSpace(string(st.Status)), string(mode.StatusActive)) {
		return
	}
	started := parseTime(st.StartedAt)
	if within(started, s.now, stateFresh) {
		r := record{sessionID: st.Session, mode: string(st.SessionType), started: started}
		s.add(r, Peer{Origin: StateMD, Worktree: filepath.Clean(s.Repo)})
	}
}

// add completes and keeps a peer, unless it is ours or has a lock or an entry already. The id is
// compared as it was written, and only then made fit to be shown.
func (s *search) add(r record, p Peer) {
	id := r.sessionID
	if slices.Contains(s.Self, id) || s.ours[id] || p.Origin != StateMD && s.seen[id] {
		return
	}
	p.SessionID, p.Mode, p.Class = shown(id, maxName), shown(r.mode, maxMode), ClassOf(r.mode)
	p.PID, p.StartedAt = r.pid, r.started
	if r.host != "" {
		p.Host = shown(r.host, maxName)
	}
	if s.ClaimsSelf != nil && s.ClaimsSelf(p) {
		s.ours[id] = true
		return
	}
	s.seen[id] = true
	s.found = append(s.found, p)
}

// RegistryDir returns the folder in which the sessions of this machine are registered. It is
// empty when the environment names neither a registry nor a home.
func RegistryDir(getenv func(string) string) string {
	if dir := getenv("SO_SESSION_REGISTRY_DIR"); dir != "" {
		return filepath.Join(dir, "active")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "session-orchestrator", "sessions", "active")
	}
	return ""
}

// absent reports that a file is not there: also because what should be a folder on the way to
// it is none.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func resolved(dir string) string {
	if r, err := filepath.EvalSymlinks(dir); err == nil {
		return r
	}
	return dir
}

func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}
