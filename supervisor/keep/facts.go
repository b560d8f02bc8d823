package keep

import "time"

// Policy says what of ended runs is kept.
type Policy struct {
	Days          int           // runs that ended within so many days are kept
	Runs          int           // and so are the latest so many of a project
	CompressAfter time.Duration // after the end of a run; less than zero for never
	Resumable     bool          // runs that could be continued go like others
	Orphans       bool          // projects go whose work tree is gone
}

// Project is what is known of a project. It is data: nothing in it is looked up later.
type Project struct {
	Path string // of the work tree
	Dir  string // its state folder
	// Missing says how the work tree is missing.
	Missing Missing
	Runs    []Run
	// Doubt is why it cannot be told which runs are needed, in words; empty for none.
	Doubt string
	// Holds is what the project is needed for beside its runs, in words.
	Holds []string
	// Strange are entries of the folder that no part of this program writes.
	Strange []string
	Bytes   int64     // of the whole folder, when Missing is Gone
	Touched time.Time // when something in it was written last, when Missing is Gone
	Temp    []string  // temporary files that killed processes left, absolute
	TempLen int64     // bytes of those
	Left    []string  // what killed removals left, absolute
}

// Missing says how a work tree is missing.
type Missing string

// How a work tree can be missing. The zero value is one that is there.
const (
	Gone   Missing = "gone"   // the folder above it is there
	Unseen Missing = "unseen" // so is that missing: a disk may not be mounted
)

// Run is what is known of a run.
type Run struct {
	ID     string
	Ended  time.Time // last sign of life; zero when that is not known
	Broken string    // why its state cannot be read; empty when it can
	Begun  bool      // it has a state
	Alive  bool      // its supervisor lives
	Open   bool      // it bears the mark of a run that is not finished
	// Settled is set when its records are written.
	Settled bool
	// Resumable is set when it could be continued.
	Resumable bool
	Last      bool   // it was started last, or stands in for that one
	Asks      bool   // it has asked a question and nobody goes on with it
	Before    string // run that it continues
	After     string // run that continues it
	Parent    string // run of the cohort that it belongs to
	Cohort    bool
	Children  []string // runs of its stories
	Places    []string // where its stories work or worked: paths of projects
	Trees     []string // those of them that are work trees and still there
	Wanted    []string // what refers to it, in words
	Strange   []string // files that nobody knows, and symlinks, relative to its folder
	Bytes     int64
	Loose     []File // that may be compressed
}

// File is a file of a run that may be compressed.
type File struct {
	Name  string // relative to the run's folder
	Bytes int64
}

// Action is what is done about something.
type Action string

// Actions.
const (
	Remove   Action = "remove"
	Compress Action = "compress"
	Retain   Action = "keep"
)

// Kind says what a decision is about.
type Kind string

// Kinds.
const (
	KindRun     Kind = "run"
	KindProject Kind = "project"
	KindTemp    Kind = "temporary files"
	KindLeft    Kind = "leftover" // of a removal that was killed
)

// Why is the reason of a decision.
type Why string

// Reasons. The first that holds is told.
const (
	On         Why = "on"             // its supervisor lives
	NotClosed  Why = "not closed"     // its supervisor is gone and its records are not written
	Unreadable Why = "unreadable"     // its state cannot be read, or something that may refer to it
	LastRun    Why = "last"           // it was started last in its project
	Question   Why = "question"       // a person has not answered it
	Referred   Why = "referred to"    // by a gate, an item, a workflow or an update
	Continues  Why = "resumable"      // it can be continued
	Tree       Why = "work tree"      // a story's work tree is still there
	Story      Why = "story"          // a story of the cohort is on, open or can be continued
	Chain      Why = "chain"          // a run that is kept continues it
	OfCohort   Why = "cohort"         // its cohort is kept
	Foreign    Why = "foreign files"  // its folder holds what this program does not write
	Undated    Why = "undated"        // when it ended is not known
	Recent     Why = "recent"         // it ended within Policy.Days
	Latest     Why = "latest"         // it is among the latest Policy.Runs
	Expired    Why = "expired"        // neither of the two
	Orphan     Why = "orphan"         // the work tree of the project is gone
	NoOrphans  Why = "orphan allowed" // the work tree is gone, and that was not asked for
	Mount      Why = "not mounted"    // the work tree cannot be seen, nor the folder above it
	Killed     Why = "killed"         // what a killed process left
	Busy       Why = "busy"           // a run starts or is on in the work tree at this moment
)

// Item is a decision about one thing.
type Item struct {
	Kind    Kind   `json:"kind"`
	Action  Action `json:"action"`
	Project string `json:"project"` // path of the work tree
	Dir     string `json:"dir"`     // state folder of the project
	RunID   string `json:"run_id,omitempty"`
	Why     Why    `json:"why"`
	Detail  string `json:"detail"` // in words
	// Bytes are those of the folder for what is removed or kept, and those of the files
	// before for what is compressed.
	Bytes int64    `json:"bytes"`
	Files []string `json:"files,omitempty"` // to be compressed, relative to the run's folder; else absolute
}

// same reports whether two items are the decision about one thing.
func (i Item) same(o Item) bool {
	return i.Kind == o.Kind && i.Dir == o.Dir && i.RunID == o.RunID && i.Action == o.Action
}
