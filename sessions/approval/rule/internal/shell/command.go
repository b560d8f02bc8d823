package shell

import "autopilot/sessions/approval/rule/internal/flow"

// Trouble is a kind of text that cannot be judged.
type Trouble string

// Troubles.
const (
	Unreadable Trouble = "unreadable" // not a shell text, too long or nested too deep
	Hidden     Trouble = "hidden"     // a shell runs what cannot be seen
	Foreign    Trouble = "foreign"    // a shell runs what was fetched or decoded
)

// Options say what is told to whom.
type Options struct {
	Dir string // where the text runs
	// Files reads a file by its absolute path; nil reads none. A path may begin with "~/".
	Files   func(path string) ([]byte, bool)
	Visit   func(*flow.Command)
	Trouble func(kind Trouble, part string, file bool)
}
