package tdd

// Results are the numbers of one run of tests.
type Results struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Total   int `json:"total"`
}

// Coverage is how much of the code the tests run, in percent; nil where that is not
// known.
type Coverage struct {
	Lines      *float64 `json:"lines,omitempty"`
	Branches   *float64 `json:"branches,omitempty"`
	Functions  *float64 `json:"functions,omitempty"`
	Statements *float64 `json:"statements,omitempty"`
}

// Measured is what a run of the project's own test command has shown.
type Measured struct {
	Results
	// Broken counts packages or files of tests that did not build or load: how many
	// tests are in them is not known.
	Broken int `json:"broken"`
	// Counted is set when the numbers could be read from the output. Else only OK
	// means something.
	Counted bool `json:"counted"`
	OK      bool `json:"ok"`   // the command says that all is well
	Exit    int  `json:"exit"` // its exit status; -1 when it did not end by itself
	// Failing are the names of failing tests and of what is broken, at most 1,000.
	Failing  []string        `json:"failing,omitempty"`
	Coverage Coverage        `json:"coverage"`
	Command  string          `json:"command"`
	Detail   string          `json:"detail"`           // one line: exit status, time limit
	Output   string          `json:"output,omitempty"` // its end, without secrets
	TookMS   int64           `json:"tookMs"`
	Passing  map[string]bool `json:"-"` // names of tests that ran and passed; nil when they are not known
}

// Bad reports whether something in the run failed.
func (m Measured) Bad() bool { return !m.OK || m.Failed > 0 || m.Broken > 0 }
