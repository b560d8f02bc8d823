package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"autopilot/metrics/journal"
	"autopilot/supervisor/tdd"
)

const pollEvery = 200 * time.Millisecond

// Follow calls fn for the events of a run: for the last ones that are there, as many as
// from says, all when it is negative, and then for each that comes, until the run is
// over. Then it returns nil, after the last event; it does so, too, when the run is
// removed or put aside. When ctx ends it returns the cause, an error of fn is returned
// as it is. A run that is not there is ErrNoRun.
//
// It looks five times a second whether the files have changed, and reads only then.
// Each event comes once and in order; lines that are no events of the run are skipped.
func (s Store) Follow(ctx context.Context, id string, from int, fn func(tdd.Activity) error) error {
	if _, ok := began(id); !ok {
		return fmt.Errorf("follow run %q: %w", id, ErrNoRun)
	}
	if _, err := os.Stat(s.Folder(id)); err != nil {
		return fmt.Errorf("follow run %s: %w: %w", id, ErrNoRun, err)
	}
	f := &follower{store: s, id: id, file: s.file(id, activityName), fn: fn}
	if err := f.begin(from); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if over, err := f.look(); over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

type follower struct {
	store  Store
	id     string
	file   string // the log
	fn     func(tdd.Activity) error
	offset int64 // in the log, up to which it was read
	last   int64 // number of the last event that was handed out
	log    os.FileInfo
	state  os.FileInfo // nil before it was seen
}

// begin hands out the last events that are there.
func (f *follower) begin(from int) error {
	if from < 0 {
		from = math.MaxInt
	}
	f.offset = journal.Size(f.file) // what comes meanwhile is read twice, and told by its number
	lines, err := journal.Tail(f.file, max(from, spareLines))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("follow run %s: %w", f.id, err)
	}
	skip := max(0, len(lines)-from)
	for _, line := range lines[:skip] {
		f.last = max(f.last, number(line, f.id))
	}
	return f.hand(lines[skip:])
}

func (f *follower) hand(lines [][]byte) error {
	for _, line := range lines {
		var a tdd.Activity
		if json.Unmarshal(line, &a) != nil || a.RunID != f.id || a.Seq <= f.last {
			continue
		}
		f.last = a.Seq
		if err := f.fn(a); err != nil {
			return err
		}
	}
	return nil
}

// look hands out what is new. The state is read before the log: when it says that the
// run is over, no event comes that one of the two does not have.
func (f *follower) look() (over bool, err error) {
	st, over := f.over()
	info, err := os.Stat(f.file)
	if err == nil && changed(f.log, info) {
		f.log = info
		lines, next, err := journal.ReadFrom(f.file, f.offset)
		if err != nil {
			return false, fmt.Errorf("follow run %s: %w", f.id, err)
		}
		f.offset = next
		if err := f.hand(lines); err != nil {
			return false, err
		}
	}
	if !over {
		return false, nil
	}
	for _, a := range st.Outbox {
		if a.Seq <= f.last {
			continue
		}
		f.last = a.Seq
		if err := f.fn(a); err != nil {
			return false, err
		}
	}
	return true, nil
}

// over reads the state when it has changed.
func (f *follower) over() (tdd.State, bool) {
	info, err := os.Stat(f.store.file(f.id, stateName))
	if err != nil {
		return tdd.State{}, errors.Is(err, fs.ErrNotExist) && f.state != nil
	}
	if !changed(f.state, info) {
		return tdd.State{}, false
	}
	f.state = info
	st, err := f.store.PeekRun(f.id)
	return st, err == nil && st.Status.Over()
}

func changed(before, now os.FileInfo) bool {
	return before == nil || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime()) || !os.SameFile(before, now)
}
