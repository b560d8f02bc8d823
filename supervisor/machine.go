package supervisor

import "fmt"

// state is where the loop stands. The zero value is invalid.
type state string

const (
	checking  state = "checking"  // may another session start?
	selecting state = "selecting" // what is it to do?
	running   state = "running"   // a session runs
	waiting   state = "waiting"   // for a limit of the API to end
	recording state = "recording" // the session is written down
	judging   state = "judging"   // did it go well enough to go on?
	looking   state = "looking"   // back: is the goal reached, is there progress?
	finishing state = "finishing" // the run is written down
	finished  state = "finished"
)

// event is what moves the loop on.
type event string

const (
	clear    event = "clear"    // nothing stands against going on
	hit      event = "hit"      // a reason to stop
	assigned event = "assigned" // the session is known
	ended    event = "ended"    // the session is over
	limited  event = "limited"  // the session waits for a limit
	resume   event = "resume"   // the limit is over
	recorded event = "recorded"
	written  event = "written"
)

// transitions is the whole machine.
func transitions() map[state]map[event]state {
	return map[state]map[event]state{
		checking:  {clear: selecting, hit: finishing},
		selecting: {assigned: running, hit: finishing},
		running:   {ended: recording, limited: waiting},
		waiting:   {resume: running, hit: recording},
		recording: {recorded: judging},
		judging:   {clear: looking, hit: finishing},
		looking:   {clear: checking, hit: finishing},
		finishing: {written: finished},
	}
}

// next is the only way from one state to another.
func next(s state, e event) (state, error) {
	to, ok := transitions()[s][e]
	if !ok {
		return "", fmt.Errorf("internal error: event %q in state %q", e, s)
	}
	return to, nil
}
