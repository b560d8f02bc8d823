package tool

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"autopilot/sessions/mcpserver"
	"autopilot/supervisor/tdd"
)

// Bounds of what goes in.
const (
	longestID   = 200 // characters of an id or a name
	longestPath = 4096
	longestText = 2000
	mostFiles   = 1000
	mostTests   = 10_000_000
	mostTries   = 100
)

type placeArguments struct {
	ProjectRoot string `json:"projectRoot,omitempty" jsonschema:"folder of the project; left out it is the one of this server"`
}

func (p placeArguments) root() string { return p.ProjectRoot }

type statusArguments struct {
	placeArguments
	JSON bool `json:"json,omitempty" jsonschema:"give the text as JSON instead of words"`
}

type startArguments struct {
	placeArguments
	TaskID      string        `json:"taskId" jsonschema:"id of the task, such as 1"`
	Options     *startOptions `json:"options,omitempty" jsonschema:"the same as the arguments of these names"`
	Branch      string        `json:"branch,omitempty" jsonschema:"name of the branch; left out it is made from tag, id and title"`
	MaxAttempts *int          `json:"maxAttempts,omitempty" jsonschema:"tries at one step after which the run is paused"`
	Tag         string        `json:"tag,omitempty" jsonschema:"tag of the task list; left out it is the current one"`
}

type startOptions struct {
	Branch      string `json:"branch,omitempty" jsonschema:"name of the branch"`
	MaxAttempts *int   `json:"maxAttempts,omitempty" jsonschema:"tries at one step after which the run is paused"`
}

type completeArguments struct {
	placeArguments
	Phase       string      `json:"phase" jsonschema:"the step that is complete: red or green"`
	SubtaskID   string      `json:"subtaskId" jsonschema:"id of the current subtask, such as 1.2"`
	TestResults testResults `json:"testResults" jsonschema:"what the run of the tests said"`
	Coverage    *float64    `json:"coverage,omitempty" jsonschema:"percent of lines, where it is known"`
	Files       []string    `json:"files,omitempty" jsonschema:"files that were changed; left out they are found"`
}

type testResults struct {
	Passed  int  `json:"passed" jsonschema:"number of tests that passed"`
	Failed  int  `json:"failed" jsonschema:"number of tests that failed"`
	Skipped int  `json:"skipped,omitempty" jsonschema:"number of tests that were skipped"`
	Total   *int `json:"total,omitempty" jsonschema:"the sum; left out it is calculated"`
}

type commitArguments struct {
	placeArguments
	SubtaskID string   `json:"subtaskId" jsonschema:"id of the current subtask, such as 1.2"`
	Files     []string `json:"files,omitempty" jsonschema:"files to commit; left out it is what the subtask changed"`
	Message   string   `json:"message,omitempty" jsonschema:"summary in the first line of the message; left out it is made from the subtask"`
}

type resumeArguments struct {
	placeArguments
	RunID string `json:"runId,omitempty" jsonschema:"id of the run; left out it is the current one"`
}

type finalizeArguments struct {
	placeArguments
	Push bool `json:"push,omitempty" jsonschema:"push the branch to the remote, never by force"`
}

type abortArguments struct {
	placeArguments
	Cleanup bool `json:"cleanup,omitempty" jsonschema:"delete the branch and the state of the run"`
	Confirm bool `json:"confirm,omitempty" jsonschema:"a person wants cleanup to delete them"`
}

func longest(p map[string]*jsonschema.Schema, most int, names ...string) {
	for _, n := range names {
		p[n].MaxLength = &most
	}
}

func needed(p map[string]*jsonschema.Schema, name string) {
	longest(p, longestID, name)
	p[name].Pattern = mcpserver.NotBlank
}

func between(s *jsonschema.Schema, low, high float64) { s.Minimum, s.Maximum = &low, &high }

func paths(s *jsonschema.Schema) {
	s.MaxItems, s.Items.MaxLength = jsonschema.Ptr(mostFiles), jsonschema.Ptr(longestPath)
}

func limitRoot(p map[string]*jsonschema.Schema) { longest(p, longestPath, "projectRoot") }

func limitResume(p map[string]*jsonschema.Schema) {
	limitRoot(p)
	longest(p, longestID, "runId")
}

func limitStart(p map[string]*jsonschema.Schema) {
	limitRoot(p)
	needed(p, "taskId")
	longest(p, longestID, "branch", "tag")
	longest(p["options"].Properties, longestID, "branch")
	between(p["maxAttempts"], 1, mostTries)
	between(p["options"].Properties["maxAttempts"], 1, mostTries)
}

func limitComplete(p map[string]*jsonschema.Schema) {
	limitRoot(p)
	needed(p, "subtaskId")
	p["phase"].Enum = []any{string(tdd.Red), string(tdd.Green)}
	for _, n := range p["testResults"].Properties {
		between(n, 0, mostTests)
	}
	between(p["coverage"], 0, 100)
	paths(p["files"])
}

func limitCommit(p map[string]*jsonschema.Schema) {
	limitRoot(p)
	needed(p, "subtaskId")
	longest(p, longestText, "message")
	paths(p["files"])
}

// request is what is asked for. The same option in both places has to be the same.
func (a startArguments) request() (tdd.StartRequest, error) {
	o := startOptions{}
	if a.Options != nil {
		o = *a.Options
	}
	r := tdd.StartRequest{TaskID: strings.TrimSpace(a.TaskID), Tag: a.Tag, Branch: cmp.Or(a.Branch, o.Branch)}
	switch {
	case a.Branch != "" && o.Branch != "" && a.Branch != o.Branch:
		return r, errors.New("branch and options.branch differ")
	case a.MaxAttempts != nil && o.MaxAttempts != nil && *a.MaxAttempts != *o.MaxAttempts:
		return r, errors.New("maxAttempts and options.maxAttempts differ")
	}
	if n := cmp.Or(a.MaxAttempts, o.MaxAttempts); n != nil {
		r.MaxAttempts = *n
	}
	return r, nil
}

func (a completeArguments) request() tdd.CompleteRequest {
	results := tdd.Results{Passed: a.TestResults.Passed, Failed: a.TestResults.Failed, Skipped: a.TestResults.Skipped}
	results.Total = results.Sum()
	if a.TestResults.Total != nil {
		results.Total = *a.TestResults.Total
	}
	return tdd.CompleteRequest{
		Phase: tdd.At(a.Phase), SubtaskID: strings.TrimSpace(a.SubtaskID), Results: &results, Coverage: tdd.Coverage{Lines: a.Coverage}, Files: named(a.Files),
	}
}

// named takes an empty list for one that was left out: agents give one when they have
// nothing to say.
func named(files []string) []string {
	if len(files) == 0 {
		return nil
	}
	return files
}

// inside refuses a folder that is not in the project. A relative one is taken from its
// root.
func (o Options) inside(folder string) error {
	if folder == "" {
		return nil
	}
	path := folder
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.Root, path)
	}
	if rel, err := filepath.Rel(real(o.Root), real(path)); err == nil && filepath.IsLocal(rel) {
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Invalid, Message: fmt.Sprintf("projectRoot is %s, which is not in %s, the project of this server", line(folder), o.Root),
		Way: "leave projectRoot out",
	}
}

// real is a path without symbolic links, as far as it is there.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}
