package telemetry

import (
	"time"

	"autopilot/metrics/ledger"
)

// Facts are what is on, and what was, at a moment. What is zero or nil is not known and
// not told, but for counts.
type Facts struct {
	At    time.Time // when they were gathered
	Build Build

	Runs         []Run        // that are on; of more than 200 the first ones are told one by one
	Needs        []Need       // what waits for a person, each kind once
	Problems     int          // states that could not be read
	Repositories []Repository // what the ledgers say, as a Tally has counted it
	Since        time.Time    // from which the counters count
	Machine      Machine
	Schedules    []Schedule // of more than 100 the first ones are told
}

// Build says which program this is.
type Build struct {
	Version string
	Go      string // version of Go that it was built with
}

// State is how a run stands.
type State string

// States of runs that are on.
const (
	Starting   State = "starting"     // there is a process, and no session yet
	Running    State = "running"      // a session runs, or the next one is about to
	Waiting    State = "waiting"      // for a limit of the API
	Person     State = "needs_person" //
	Looking    State = "looking_back" // between two sessions
	Stopping   State = "stopping"     // it ends after its session
	Orphaned   State = "orphaned"     // its supervisor is gone and its records are not written
	Unreadable State = "unreadable"   // its state cannot be read
)

// States are all states, in the order in which they are told.
func States() []State {
	return []State{Starting, Running, Waiting, Person, Looking, Stopping, Orphaned, Unreadable}
}

// Kind says what a run is.
type Kind string

// Kinds of runs.
const (
	Single Kind = "run"
	Cohort Kind = "cohort" // coordinates stories
	Story  Kind = "story"  // of a cohort
)

// Tiers are the tiers of a machine, from the one with most room.
func Tiers() []string { return []string{"green", "warn", "degraded", "critical"} }

// NeedKinds are the kinds of what waits for a person.
func NeedKinds() []string { return []string{"answer", "gate", "retry", "resume"} }

// Run is a run that is on.
type Run struct {
	Repository string // short name, as in Repository.Name
	ID         string // unique in its repository, but for stories that share a work tree
	Story      string // id of the story that it is for
	Kind       Kind
	State      State
	Started    time.Time

	Sessions    int           // that were begun, those of the runs that it continues included
	MaxSessions int           // 0 when there is no such limit
	Percent     *float64      // of its goals, 0..100
	Tier        string        // one of Tiers; empty when not known
	Agents      *int          // sub-agents at once
	Tokens      ledger.Tokens // of the sessions that have ended
	InFlight    int64         // tokens of the session that runs, without cache reads, as far as they are known
	CostUSD     float64
	WaitUntil   time.Time // zero when it waits for no limit
}

// Need is how much of one kind waits for a person.
type Need struct {
	Kind  string // one of NeedKinds
	Count int
}

// Machine is how the machine is.
type Machine struct {
	AvailableBytes *float64
	SwapBytes      *float64 // in use
	Peers          *int     // other Claude Code sessions
	Tier           string   // one of Tiers; empty when not known
}

// Schedule is one schedule of the machine.
type Schedule struct {
	Name      string
	LastStart time.Time
	NextStart time.Time
	Missed    *bool // nothing started when it should have; nil when not known
}

// Repository is what the ledgers of a repository say. All numbers but the times are
// counters: they never go down as long as the ledgers are only appended to.
type Repository struct {
	Name     string
	Ended    map[Ending]int64 // runs by what they were and why they ended
	Sessions map[string]int64 // by ending
	Switches map[string]int64 // kill-switches by reason
	Tokens   ledger.Tokens
	Unsorted int64   // tokens of records that do not tell their kinds
	CostUSD  float64 //
	Waited   int64   // seconds in which runs waited for a limit
	Slept    int64   // seconds in which the machine slept during runs
	Seconds  int64   // wall clock of runs, waiting included

	First       time.Time // beginning of the first run
	LastRun     time.Time // end of the last one
	LastSuccess time.Time // end of the last one that ended as wanted
}

// Ending is the end of a run.
type Ending struct {
	Kind  Kind
	Cause string
}
