package beside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/judge"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/stories"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions/guard"
	"autopilot/supervisor/peers"
	"autopilot/supervisor/source"
	"autopilot/supervisor/story"
)

const (
	lockWait     = time.Second // a status command may hold the lock for a moment
	endingWait   = 15 * time.Second
	conflictLook = 5 * time.Second
	seenEvery    = time.Minute // between two signs of life for session-orchestrator's sessions
)

// modeOf is the mode by which others class a run: that of its next session where
// session-orchestrator's lifecycle is driven, else one that may work beside others in trees
// of their own.
func modeOf(j job.Job) string {
	if judge.IsLifecycle(j.Source) {
		if a := j.Source.Next(source.Request{Now: time.Now()}); a.Mode != "" {
			return a.Mode
		}
	}
	return "feature"
}

// others looks for sessions of session-orchestrator that are at work here.
func others(ctx context.Context, std outside.Stdio, j job.Job) (peers.Decision, []string) {
	f := peers.Finder{Repo: j.Repo.Top, GitDir: j.Repo.GitDir, Registry: peers.RegistryDir(std.Getenv)}
	now := time.Now()
	found, notes := f.Find(ctx, now)
	// Work beside ours is no conflict in another tree, and stories have trees of their own.
	apart := j.Cfg.Stories.Multi && j.Cfg.Stories.Isolation == string(story.Worktree)
	found = slices.DeleteFunc(found, func(p peers.Peer) bool {
		return p.Class != peers.Exclusive && (apart || p.Worktree != "" && p.Worktree != j.Repo.Top)
	})
	return peers.Decide(modeOf(j), found, now), notes
}

// conflict is that somebody else works in the tree.
type conflict struct {
	why     string
	blocked bool  // a tree of our own would be in the way of it as well
	held    error // by another run
}

// besides finds out whether somebody else works in the tree, and takes its lock when
// nobody does.
func besides(ctx context.Context, std outside.Stdio, j job.Job) (*statedir.Lock, *conflict, error) {
	d, _ := others(ctx, std, j)
	if d.Outcome != peers.PassThrough {
		return nil, &conflict{why: d.Why, blocked: d.Outcome == peers.Blocked}, nil
	}
	lock, err := acquire(ctx, j)
	if held, ok := errors.AsType[*statedir.HeldError](err); ok {
		return nil, &conflict{why: "another run works in this tree: " + held.Error(), held: err}, nil
	}
	return lock, nil, err
}

// Alone makes sure that nobody else works in the tree, as the person has said: it refuses,
// waits, or goes to a work tree of its own. It returns the lock of the tree and the job for
// it, and what is to be noted about it.
func Alone(ctx context.Context, std outside.Stdio, j job.Job) (*statedir.Lock, job.Job, string, error) {
	if j.Story != nil {
		lock, err := acquire(ctx, j)
		return lock, j, "", lockError(err)
	}
	lock, c, err := besides(ctx, std, j)
	if err != nil {
		return nil, j, "", lockError(err)
	}
	if c == nil {
		return lock, j, "", nil
	}
	switch on := j.Cfg.Stories.Conflict; {
	case on == config.ConflictWait:
		lock, err := await(ctx, std, j, c)
		return lock, j, "waited for another session to end: " + c.why, err
	case on == config.ConflictWorktree && !c.blocked:
		return elsewhere(ctx, std, j, c)
	}
	return nil, j, "", c.refusal()
}

func (c *conflict) refusal() error {
	if c.held != nil {
		return lockError(c.held)
	}
	way := "--on-conflict wait waits for it, --on-conflict worktree works in a tree beside it"
	if c.blocked {
		way = "--on-conflict wait waits for it; it has to be alone in the repository, so that a work tree does not help"
	}
	return &outside.Error{Code: outside.ExitHeld, Err: errors.New(c.why), Way: way}
}

// await waits until nobody else works in the tree, at most as long as the run may take.
func await(ctx context.Context, std outside.Stdio, j job.Job, c *conflict) (*statedir.Lock, error) {
	fmt.Fprintf(std.Err, "autopilot: waiting: %s\n", logs.Redact(c.why))
	deadline := time.Now().Round(0).Add(time.Duration(j.Cfg.MaxHours * float64(time.Hour)))
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(conflictLook):
		}
		lock, still, err := besides(ctx, std, j)
		if err != nil {
			return nil, lockError(err)
		}
		if still == nil {
			return lock, nil
		}
		if time.Now().Round(0).After(deadline) {
			return nil, &outside.Error{Code: outside.ExitHeld, Err: fmt.Errorf("waited %.1f hours: %s", j.Cfg.MaxHours, still.why), Way: "a higher --max-hours waits longer"}
		}
	}
}

// elsewhere makes a work tree beside the one that another works in and goes there. It
// begins at the commit that this one is at.
func elsewhere(ctx context.Context, std outside.Stdio, j job.Job, c *conflict) (*statedir.Lock, job.Job, string, error) {
	st, err := j.Repo.State(ctx)
	if err != nil {
		return nil, j, "", err
	}
	id := "run-" + time.Now().UTC().Format("20060102-150405.000")
	t, err := stories.Trees(j.Place, std).Add(ctx, id, "autopilot/"+id, st.Head)
	if err != nil {
		return nil, j, "", &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	fmt.Fprintf(std.Err, "autopilot: %s; this run works in %s on branch %s\n", logs.Redact(c.why), t.Path, t.Branch)
	if err := os.Chdir(t.Path); err != nil {
		return nil, j, "", err
	}
	moved, err := j.Again(ctx, std)
	if err != nil {
		return nil, j, "", err
	}
	judge.Complete(ctx, std, &moved)
	lock, err := acquire(ctx, moved)
	return lock, moved, "worked in a tree of its own, " + filepath.Base(t.Path) + ": " + c.why, lockError(err)
}

// Deviate notes in session-orchestrator's STATE.md that a run did not begin as usual.
func Deviate(log *slog.Logger, j job.Job, run, what string) {
	if what == "" {
		return
	}
	log.Warn("the run did not begin as usual", "detail", what)
	if _, err := peers.AppendDeviation(j.Repo.Top, time.Now(), "autopilot run "+run+" "+what); err != nil {
		log.Warn("that could not be noted in STATE.md", "err", logs.Redact(err.Error()))
	}
}

// BeSeen makes a run visible to session-orchestrator's sessions, where that program is in
// use. Sessions of its own lifecycle make themselves visible, and would take the run that
// drives them for somebody else.
func BeSeen(std outside.Stdio, j job.Job, run, branch string, log *slog.Logger) (stop func()) {
	nothing := func() {}
	registry := peers.RegistryDir(std.Getenv)
	uses := source.HasLifecycle(j.Repo.Top)
	if info, err := os.Stat(registry); err != nil || !info.IsDir() {
		registry = ""
	}
	if judge.IsLifecycle(j.Source) || j.Story != nil || registry == "" && !uses {
		return nothing
	}
	p, err := peers.Announce(peers.Self{
		SessionID: strings.ReplaceAll(run, "/", "-"), SemanticID: run, Mode: modeOf(j), Repo: j.Repo.Top, Branch: branch, LockWanted: uses, RegistryWanted: registry != "",
	}, registry, time.Now())
	if err != nil {
		log.Warn("other sessions cannot see this run", "err", logs.Redact(err.Error()))
		return nothing
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(seenEvery)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				if err := p.Beat(time.Now()); err != nil {
					log.Warn("other sessions may not see this run any more", "err", logs.Redact(err.Error()))
				}
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
		if err := p.Withdraw(); err != nil {
			log.Warn("the run could not be taken off the list of sessions", "err", logs.Redact(err.Error()))
		}
	}
}

// acquire takes the project's lock. A supervisor that has lost its guard is ending,
// and is waited for.
func acquire(ctx context.Context, j job.Job) (*statedir.Lock, error) {
	for deadline := time.Now().Add(endingWait); ; {
		short, cancel := context.WithTimeout(ctx, lockWait)
		lock, err := statedir.Acquire(short, j.LockPath(), statedir.Holder{})
		cancel()
		held, isHeld := errors.AsType[*statedir.HeldError](err)
		if !isHeld || !guard.Lost(held.Holder.PID) || time.Now().After(deadline) {
			return lock, err
		}
	}
}

func lockError(err error) error {
	if err == nil {
		return nil
	}
	if _, held := errors.AsType[*statedir.HeldError](err); held {
		return &outside.Error{
			Code: outside.ExitHeld, Err: fmt.Errorf("another run works in this repository: %w", err),
			Way: "'autopilot status' shows it, 'autopilot stop' ends it",
		}
	}
	return &outside.Error{Code: outside.ExitUsage, Err: err}
}
