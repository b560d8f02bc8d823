package completion

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/task"
)

// bind names the session that is to be enabled; empty when that is the next one.
func (d Desk) bind() (string, error) {
	if d.Session != "" {
		return d.Session, CheckSession(d.Session)
	}
	var ids []string
	for _, l := range task.Living(d.Place.Config) {
		if CheckSession(l.ID) == nil && inside(d.Place.Repo, l.CWD) {
			ids = append(ids, l.ID)
		}
	}
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	return "", refused{fmt.Errorf("%d sessions of Claude Code live in this project: %s", len(ids), strings.Join(ids, ", ")), "name one with --session ID"}
}

// inside reports whether a folder is the repository or below it.
func inside(repo, dir string) bool {
	if rel, err := filepath.Rel(repo, dir); err == nil && filepath.IsLocal(rel) {
		return true
	}
	repo, err := filepath.EvalSymlinks(repo)
	if err != nil {
		return false
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(repo, dir)
	return err == nil && filepath.IsLocal(rel)
}

// Turn is the end of a turn, as Claude Code's Stop hook tells it.
type Turn struct {
	Now      time.Time
	GoesOn   bool // it has been refused its end before
	BlockCap int  // refusals in a row that Claude Code takes; 0 for any number
	// Work reads what the agent did from an offset in its transcript on, and since a
	// time; nil when that is not known.
	Work func(from int64, since time.Time) Work
}

// Work is what an agent did, by its transcript.
type Work struct {
	ToolsUsed bool
	Tokens    int64 // estimated
	Offset    int64 // up to which the transcript was read
}

// Stop decides whether the turn of the desk's session may end. A session that is not
// enabled becomes so when the next one in the project is waited for; of several that
// stop at the same time exactly one does. It asks no network.
//
// The decision is good also beside an error: the turn may end when the state could
// not be read or kept, because a refusal that is not counted might have no end.
func (d Desk) Stop(ctx context.Context, t Turn) (Decision, error) {
	d.Place.GH = nil
	unknown := Decision{AllowStop: true, Reason: "The state of persistent completion is not known"}
	if err := CheckSession(d.Session); err != nil {
		return unknown, err
	}
	s, _, err := d.load(d.Session)
	if err == nil && !s.Enabled {
		s, err = d.claim(s, t.Now)
	}
	if err != nil {
		return unknown, err
	}
	if !s.Enabled {
		return Check(&s, Facts{}), nil
	}
	f, err := d.settled(ctx, s)
	if err != nil {
		return unknown, err
	}
	var w Work
	if t.Work != nil {
		w = t.Work(s.Offset, time.UnixMilli(s.StartTime))
	}
	dec := unknown
	err = d.change(d.Session, func(cur *State, _ bool) (bool, error) {
		f.Now, f.InHook, f.BlockCap, f.TurnGoesOn, f.ToolsUsed = t.Now, true, t.BlockCap, t.GoesOn, w.ToolsUsed
		if cur.Offset == s.Offset { // else another hook has counted the same
			f.Tokens, cur.Offset = w.Tokens, w.Offset
		}
		was := cur.Enabled
		dec = Check(cur, f)
		return was, nil
	})
	if err != nil {
		return unknown, err
	}
	err = d.remember(s, dec)
	if dec.AllowStop && f.Fault != nil {
		err = errors.Join(err, fmt.Errorf("%s cannot be read: %s", f.Fault.Path, f.Fault.Why))
	}
	return dec, err
}

// claim makes the desk's session, which has the state s, the one that was waited
// for. Nothing changes when none is.
func (d Desk) claim(s State, now time.Time) (State, error) {
	p, _, err := d.load("")
	if err != nil || !p.waits(now) {
		return s, err // without the lock, which most sessions need not wait for
	}
	return d.take(s, now)
}

// take is claim by who has seen that a session is waited for. It may have come since.
func (d Desk) take(s State, now time.Time) (State, error) {
	err := statedir.Exclusive(d.path(""), func() error {
		p, _, err := d.load("")
		if err != nil || !p.waits(now) {
			return err
		}
		// Whoever dies in between has claimed nothing, and nobody is held twice.
		if err := replace(d.path(""), State{Chosen: p.Chosen}); err != nil {
			return err
		}
		err = d.change(d.Session, func(cur *State, _ bool) (bool, error) {
			offset := cur.Offset
			*cur = p
			cur.SessionID, cur.Chosen, cur.Offset = d.Session, nil, offset
			s = *cur
			return true, nil
		})
		if err != nil {
			return errors.Join(err, replace(d.path(""), p))
		}
		return nil
	})
	if err != nil {
		s.Enabled = false
	}
	return s, err
}

// waits reports whether the state without session waits for one.
func (s *State) waits(now time.Time) bool { return s.Enabled && !s.expired(now) }
