package peers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/statedir"
)

const (
	platform = "claude" // which the registry calls the program that sessions run in
	active   = "active" // and a session that is at work
	maxID    = 200      // bytes
)

// Self is what others are told of us.
type Self struct {
	SessionID  string // unique; it becomes a file name
	SemanticID string // a name for people; may be empty
	Mode       string // others class us by it, see ClassOf
	Repo       string // top of the worktree
	Branch     string // empty when detached
	HostClass  string // may be empty

	PID       int           // 0 for the calling process
	StartedAt time.Time     // zero for the time of Announce
	TTL       time.Duration // how long the lock holds without a Beat; 0 for 4 hours

	LockWanted     bool // take .orchestrator/session.lock of Repo
	RegistryWanted bool // add an entry to the registry, when its folder exists
}

// HeldError is returned when the session lock of a repository is another's. Peer has no session
// id when the lock cannot be understood; such a lock holds for 4 hours from its last change.
type HeldError struct {
	Path string
	Peer Peer
	At   time.Time // when it was looked at
}

// Error names the lock, its holder, the mode and the age.
func (e *HeldError) Error() string {
	if e.Peer.SessionID == "" {
		return fmt.Sprintf("%s is held by somebody who cannot be made out, last changed %s", e.Path, ago(e.At.Sub(e.Peer.LastHeartbeat)))
	}
	return fmt.Sprintf("%s is held by %s", e.Path, e.Peer.Told(e.At))
}

// Hint says what a person can do about it.
func (e *HeldError) Hint() string {
	return "wait for that session to end; when it is known to be gone, remove " + e.Path
}

// Presence is what others can see of us. Its methods may be called by several goroutines.
type Presence struct {
	self  Self
	host  string
	lock  lockFile // empty path when not wanted
	entry string   // of the registry; empty when not wanted, or there is none

	mu   sync.Mutex
	gone bool // withdrawn
}

// Announce makes us seen by others: with the session lock of the repository and an entry in
// registry, the folder that RegistryDir returns, as far as self wants them. Both or none are
// made.
//
// The lock is created or refused, never shared: of any number of processes that try at once, one
// gets it and the others a *HeldError. A lock is taken over when its heartbeat is older than it
// says itself in ttl_hours, judged as Find does, or when it has the same session id. One that
// cannot be understood counts from the time of its last change. Anything but a regular file in
// its place is an error, and stays.
//
// The caller calls Beat much more often than the lock holds and than every 15 minutes, and at
// the end Withdraw. After a crash others see us until our heartbeats are old.
func Announce(self Self, registry string, now time.Time) (*Presence, error) {
	if err := checkID(self.SessionID); err != nil {
		return nil, fmt.Errorf("announce session: %w", err)
	}
	repo, err := filepath.Abs(self.Repo)
	if err != nil {
		return nil, fmt.Errorf("announce session: %w", err)
	}
	self.Repo = repo
	if self.PID == 0 {
		self.PID = os.Getpid()
	}
	if self.StartedAt.IsZero() {
		self.StartedAt = now
	}
	if self.TTL <= 0 {
		self.TTL = defaultTTL
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("announce session: %w", err)
	}
	p := &Presence{self: self, host: host}
	if self.LockWanted {
		p.lock = lockFile{filepath.Join(repo, filepath.FromSlash(lockName))}
		if err := p.take(now, func(c content) bool { return p.free(c, now) }); err != nil {
			return nil, fmt.Errorf("announce session: take session lock: %w", err)
		}
	}
	if self.RegistryWanted && isDir(registry) {
		p.entry = filepath.Join(registry, self.SessionID+".json")
		if err := p.writeEntry(now); err != nil {
			return nil, fmt.Errorf("announce session: %w", errors.Join(err, p.dropLock()))
		}
	}
	return p, nil
}

// Beat refreshes the time of the last heartbeat in lock and entry. An entry, or a lock that
// nobody holds, is made again when it is gone. When the lock was taken by another, it is left
// alone and the error is a *HeldError; the entry is refreshed all the same. After Withdraw it
// returns os.ErrClosed.
func (p *Presence) Beat(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return fmt.Errorf("refresh presence: %w", os.ErrClosed)
	}
	if err := errors.Join(p.beatLock(now), p.beatEntry(now)); err != nil {
		return fmt.Errorf("refresh presence: %w", err)
	}
	return nil
}

// Withdraw removes the lock and the entry when they have our session id, and nothing else. What is
// gone already is fine, and so is a second call. On error it may be called again.
func (p *Presence) Withdraw() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil
	}
	if err := errors.Join(p.dropLock(), p.dropEntry()); err != nil {
		return fmt.Errorf("withdraw presence: %w", err)
	}
	p.gone = true
	return nil
}

// take creates the lock, in the place of one that may be replaced.
func (p *Presence) take(now time.Time, may func(content) bool) error {
	if err := statedir.MakeDir(filepath.Dir(p.lock.path)); err != nil {
		return err
	}
	data, err := encoded(p.lockBody(now))
	if err != nil {
		return err
	}
	c, err := p.lock.take(data, now, may)
	if errors.Is(err, errTaken) {
		return held(p.lock.path, c, now)
	}
	return err
}

// free reports whether a lock may be replaced by ours.
func (p *Presence) free(c content, now time.Time) bool {
	return p.ours(c) || !lockOf(c).alive(c.changed, now)
}

func (p *Presence) ours(c content) bool { return lockOf(c).sessionID == p.self.SessionID }

// lockOf is the lock in a file. One that cannot be understood has no heartbeat of its own.
func lockOf(c content) record {
	r, err := parseLock(c.data)
	if err != nil {
		return record{ttl: defaultTTL}
	}
	return r
}

func held(path string, c content, now time.Time) *HeldError {
	r := lockOf(c)
	return &HeldError{Path: path, At: now, Peer: Peer{
		SessionID: shown(r.sessionID, maxName), Mode: shown(r.mode, maxMode), Class: ClassOf(r.mode), Origin: Lock,
		Worktree: filepath.Dir(filepath.Dir(path)), PID: r.pid, Host: shown(r.host, maxName),
		StartedAt: r.started, LastHeartbeat: r.sign(c.changed, now, r.ttl),
	}}
}

func (p *Presence) lockBody(now time.Time) lockBody {
	return lockBody{
		SessionID: p.self.SessionID, StartedAt: stamp(p.self.StartedAt), LastHeartbeat: stamp(now), Mode: p.self.Mode,
		PID: p.self.PID, Host: p.host, TTLHours: p.self.TTL.Hours(), SemanticID: p.self.SemanticID,
	}
}

// beatLock makes a lock again that is gone, or that has our id but not the usual form. It takes
// nothing over: another may have found ours too old while this machine slept.
func (p *Presence) beatLock(now time.Time) error {
	if p.lock.path == "" {
		return nil
	}
	done, err := refresh(p.lock.path, now, p.ours)
	if done {
		return nil
	}
	if err == nil || errors.Is(err, errNotOurs) || errors.Is(err, fs.ErrNotExist) {
		err = p.take(now, p.ours)
	}
	if err != nil {
		return fmt.Errorf("refresh session lock: %w", err)
	}
	return nil
}

func (p *Presence) dropLock() error {
	if p.lock.path == "" {
		return nil
	}
	return p.lock.release(p.ours)
}

func (p *Presence) entryBody(now time.Time) entryBody {
	return entryBody{
		SessionID: p.self.SessionID, SemanticID: orNull(p.self.SemanticID), PID: p.self.PID, Platform: orNull(platform),
		RepoPathHash: pathHash(p.self.Repo), RepoName: filepath.Base(p.self.Repo), Branch: orNull(p.self.Branch),
		StartedAt: stamp(p.self.StartedAt), LastHeartbeat: stamp(now), Status: active,
		HostClass: orNull(p.self.HostClass), Mode: orNull(p.self.Mode),
	}
}

func (p *Presence) writeEntry(now time.Time) error {
	data, err := encoded(p.entryBody(now))
	if err != nil {
		return err
	}
	return statedir.Replace(p.entry, data)
}

func (p *Presence) ourEntry(c content) bool {
	r, err := parseEntry(c.data)
	return err == nil && r.sessionID == p.self.SessionID
}

// beatEntry writes an entry anew that is gone or is none: its name says that it is ours.
func (p *Presence) beatEntry(now time.Time) error {
	if p.entry == "" {
		return nil
	}
	done, err := refresh(p.entry, now, p.ourEntry)
	switch {
	case done:
		return nil
	case err == nil, errors.Is(err, errNotOurs), errors.Is(err, errTooLarge):
		return p.writeEntry(now)
	case errors.Is(err, fs.ErrNotExist):
		if !isDir(filepath.Dir(p.entry)) { // the whole registry is gone: nobody reads it
			return nil
		}
		return p.writeEntry(now)
	}
	return fmt.Errorf("refresh registry entry: %w", err)
}

func (p *Presence) dropEntry() error {
	if p.entry == "" {
		return nil
	}
	c, err := readSmall(p.entry)
	if absent(err) || err == nil && !p.ourEntry(c) {
		return nil
	}
	if err != nil {
		return err
	}
	return ignore(os.Remove(p.entry), fs.ErrNotExist)
}

// checkID refuses what session-orchestrator would not take for the name of an entry, and what no
// line of text can show.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("session id is empty")
	case !utf8.ValidString(id):
		return fmt.Errorf("session id %q is not UTF-8", id)
	case len(id) > maxID:
		return fmt.Errorf("session id is longer than %d bytes", maxID)
	case id[0] == '.' || strings.ContainsAny(id, `/\`) || strings.ContainsFunc(id, unicode.IsControl):
		return fmt.Errorf("session id %q cannot be a file name", id)
	}
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
