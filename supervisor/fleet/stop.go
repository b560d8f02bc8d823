package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"autopilot/probe/proctree"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

// How says what was done about a run that is to stop.
type How string

// What can be done about a run.
const (
	Asked     How = "asked"     // it stops after its current session
	Signalled How = "signalled" // it ends its session and then itself, in order
	NotOn     How = "not-on"    // there is nothing to stop
	Refused   How = "refused"   // the id is not good; nothing was stopped
)

// Stopped is what was done about one run.
type Stopped struct {
	Kind  Kind
	RunID string // the id as it was given, when it was refused
	Story string
	Repo  string
	How   How   // empty when it could not be told, or not be looked at
	Err   error // why it could not be stopped; an *IDError when it was refused
}

// IDError is returned for an id that means none or several of the runs and stories.
type IDError struct {
	ID         string
	Several    bool     // it means all of the candidates
	Candidates []string // else what there is; each says where it is
}

const maxNamed = 8 // candidates in a message

// Error names the id and the candidates.
func (e *IDError) Error() string {
	named, more := e.Candidates, ""
	if n := len(named); n > maxNamed {
		named, more = named[:maxNamed], fmt.Sprintf("; and %d more", n-maxNamed)
	}
	switch {
	case len(named) == 0:
		return fmt.Sprintf("%q is not on, and neither is anything else", e.ID)
	case e.Several:
		return fmt.Sprintf("%q can mean %s", e.ID, strings.Join(named, "; ")+more)
	}
	return fmt.Sprintf("%q is not on; what is on: %s", e.ID, strings.Join(named, "; ")+more)
}

// Stop asks runs to stop after their session or, with now, tells them to end at once. An
// id is that of a run or a story, COHORT/STORY, a unique beginning of the first two, or the
// pid of a supervisor. When one of them is unknown or could mean several, nothing is
// stopped and what is returned names only those, with an *IDError each. With all, every
// run and cohort is stopped, and what could not be looked at is an error without a run.
//
// A cohort is stopped through its coordinator, its stories follow; a story that is named
// is stopped alone. Stop returns without waiting for the end.
func Stop(ctx context.Context, o Options, ids []string, all, now bool) []Stopped {
	o.All = false
	p := take(ctx, o)
	entries := arrange(p.runs, o)
	var out []Stopped
	var wanted []*entry
	if all {
		wanted = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return !e.led() })
		for _, err := range p.lost {
			out = append(out, Stopped{Err: err})
		}
	}
	for _, id := range ids {
		e, err := resolve(entries, id)
		if err != nil {
			out = append(out, Stopped{RunID: id, How: Refused, Err: err})
		} else if !slices.Contains(wanted, e) {
			wanted = append(wanted, e)
		}
	}
	if slices.ContainsFunc(out, func(s Stopped) bool { return s.How == Refused }) {
		return slices.DeleteFunc(out, func(s Stopped) bool { return s.How != Refused })
	}
	for _, e := range wanted {
		s := Stopped{Kind: e.row.Kind, RunID: e.row.RunID, Story: e.row.Story, Repo: e.row.Repo}
		s.How, s.Err = e.stop(o.Now, now)
		out = append(out, s)
	}
	return out
}

// led reports whether an entry is stopped when everything is: what may be on, and has no
// coordinator that stops it.
func (e *entry) led() bool {
	switch {
	case e.above != nil && e.above.alive:
		return false
	case e.run == nil:
		return proctree.Alive(e.member.PID, e.member.Start)
	case e.run.read():
		return e.run.alive
	}
	return e.row.State != StateOpen
}

// resolve finds the one entry that an id means.
func resolve(entries []*entry, id string) (*entry, error) {
	exact := func(e *entry) bool {
		return e.row.RunID == id || e.member != nil && (e.row.Story == id || e.row.Parent+"/"+e.row.Story == id)
	}
	near := func(e *entry) bool {
		return strings.HasPrefix(e.row.RunID, id) || strings.HasPrefix(e.row.Story, id) ||
			e.row.PID > 0 && strconv.Itoa(e.row.PID) == id
	}
	for _, means := range []func(*entry) bool{exact, near} {
		var found []*entry
		for _, e := range entries {
			if id != "" && means(e) && !e.passedOn(entries) {
				found = append(found, e)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return nil, &IDError{ID: id, Several: true, Candidates: names(found)}
		}
	}
	return nil, &IDError{ID: id, Candidates: names(entries)}
}

// passedOn reports whether a story is one whose run is that of a cohort which continues its
// own.
func (e *entry) passedOn(others []*entry) bool {
	return e.member != nil && e.run == nil && slices.ContainsFunc(others, func(o *entry) bool {
		return o.run != nil && o.row.Story == e.row.Story && o.row.RunID == e.row.RunID
	})
}

// names tells entries apart for a person: the same id can be in two repositories.
func names(entries []*entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		name := e.row.RunID
		if e.member != nil {
			name = e.row.Parent + "/" + e.row.Story
		}
		if out[i] = name + " in " + e.row.Repo; e.row.PID > 0 {
			out[i] += ", pid " + strconv.Itoa(e.row.PID)
		}
	}
	return out
}

// stop asks or tells what is behind one entry.
func (e *entry) stop(at time.Time, now bool) (How, error) {
	r := e.run
	switch {
	case r == nil:
		return e.stopMember(now)
	case !r.read() && !errors.Is(r.err, fs.ErrNotExist):
		return "", r.err
	case !r.read() && fresh(r, at):
		return "", errors.New("it is just starting and has not written its pid; try again in a moment")
	case !r.alive:
		return NotOn, nil
	}
	return tell(r, at, now)
}

// stopMember stops a story whose run is not known: it has none yet, or none any more.
func (e *entry) stopMember(now bool) (How, error) {
	m := e.member
	switch {
	case m.Status == story.Waiting:
		return NotOn, fmt.Errorf("it has not been begun, and would be later; stop its cohort %s", e.row.Parent)
	case e.prepared():
		return "", fmt.Errorf("its work tree is being made and there is no process yet; try again in a moment, or stop its cohort %s", e.row.Parent)
	case e.trusted():
		return "", fmt.Errorf("its process cannot be told from another that had the pid %d; try again in a moment, or stop its cohort %s", m.PID, e.row.Parent)
	case !proctree.Alive(m.PID, m.Start):
		return NotOn, nil
	case !now:
		return "", errors.New("it is just starting or ending and has no run to be asked; try again in a moment, or end it now")
	}
	return Signalled, signal(m.PID, m.Start, syscall.SIGTERM) // its guard hands that on
}

// tell leaves the request and wakes the supervisor. One that is told to end does so
// without the request too.
func tell(r *run, at time.Time, now bool) (How, error) {
	how, sig := Asked, syscall.SIGUSR1
	if now {
		how, sig = Signalled, syscall.SIGTERM
	}
	by := fmt.Sprintf("'autopilot fleet stop' (pid %d)", os.Getpid())
	if err := supervisor.RequestStop(r.folder, by, at); err != nil && !now {
		return "", err
	}
	switch err := signal(r.state.PID, r.state.Start, sig); {
	case errors.Is(err, os.ErrProcessDone):
		return NotOn, nil
	case err != nil:
		return "", err
	}
	return how, nil
}

// signal reaches the process with this pid and start stamp, or nobody. It returns an error
// that is os.ErrProcessDone when there is no such process.
func signal(pid int, start uint64, sig syscall.Signal) error {
	p, err := os.FindProcess(pid) // from here on a handle, where there are such
	if err != nil {
		return fmt.Errorf("signal pid %d: %w", pid, err)
	}
	defer func() { _ = p.Release() }()
	if !proctree.Alive(pid, start) {
		return fmt.Errorf("signal pid %d: %w", pid, os.ErrProcessDone)
	}
	if err := p.Signal(sig); err != nil {
		return fmt.Errorf("signal pid %d: %w", pid, err)
	}
	return nil
}
