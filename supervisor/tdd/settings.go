package tdd

import "time"

// Values of Settings.TestCommand beside a command.
const (
	TestsAuto = "auto" // told from the files of the project
	TestsNone = "none" // nothing is run, reports are believed
)

// Settings are what a person can choose about runs.
type Settings struct {
	Enabled        bool
	RequireClean   bool          // start refuses a work tree with changes
	CommitTemplate string        // of the subject: {type} {scope} {msg} {taskId}
	CommitType     string        // used where the changed files do not say another
	MaxAttempts    int           // refusals of one step after which the run is paused, 1 or more
	TestCommand    string        // TestsAuto, TestsNone, or a command for the shell
	TestRunner     string        // form of the output of the command; "auto" tells it from the command
	TestTimeout    time.Duration // of one run of the tests
	TestPattern    string        // glob of the project's test files; empty when that is not known
	Thresholds     Coverage      // percent; nil is no threshold
	BranchPattern  string        // {tag} {id} {slug}
	Remote         string
	// AlreadyImplemented allows a red step in which no test fails: the subtask is then
	// recorded as already implemented.
	AlreadyImplemented bool
	// Storage is the folder below which runs are kept; empty for the state folder.
	Storage string
}
