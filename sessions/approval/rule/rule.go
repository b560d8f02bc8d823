package rule

import "encoding/json"

// Call is one tool call that a session is about to make.
type Call struct {
	Tool  string          // name of the tool, as Claude Code has it
	Input json.RawMessage // its arguments
	Dir   string          // the working directory of the session, absolute
}

// Finding is one reason to hold a call for a person.
type Finding struct {
	Rule string `json:"rule"` // name of the rule
	Why  string `json:"why"`  // what it holds, for a person; one line
	// Part is the piece of the command, or the path, that the rule is about: one line of
	// at most 160 bytes, with the secrets that it may hold.
	Part string `json:"part"`
	// Never is set where the call may not be approved in advance.
	Never bool `json:"never,omitempty"`
}

// Rule describes one rule of a set for a person.
type Rule struct {
	Name  string // what Off and advance approvals name
	Holds string // what it holds, in words
	// Never is set where every finding of the rule is one that may not be approved in
	// advance; such a rule cannot be switched off.
	Never   bool
	BuiltIn bool
}

// Files reads the text of a file that a command would run, given its absolute path.
// It reports false for what is missing or no regular file. Of what is too large to be
// looked at the beginning is enough, as long as it is over 1 MiB: a script like that is
// held. What it was asked for is all that the findings depend on beside the call.
type Files func(path string) (text []byte, ok bool)
