package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/mode"
)

// Assignment is what one session is to do and how sure the source is.
type Assignment struct {
	Mode         string             `json:"mode"`         // empty when no session may be started
	SessionType  string             `json:"session_type"` // as the session ledger knows it
	Confidence   float64            `json:"confidence"`   // 0..1
	Rationale    string             `json:"rationale"`
	Alternatives []mode.Alternative `json:"alternatives"`
	Missing      []string           `json:"missing"` // signals that were absent and would have counted
	Warnings     []string           `json:"warnings,omitempty"`
	Steps        []sessions.Step    `json:"steps"`
	Schema       string             `json:"-"`      // of the report; empty when none is asked for
	Notice       string             `json:"-"`      // added to the system prompt
	Manual       string             `json:"manual"` // what a person would type instead
	// Work names what the session is for, where a run works on several things one after the
	// other; a conversation about one of them is not gone on with for another.
	Work string `json:"work,omitempty"`
	// Records is set when the session writes its own record in the ledger.
	Records bool `json:"records"`
}

// Request is what a source may take into account.
type Request struct {
	Objective prompt.Objective
	Now       time.Time
	Stalled   int // sessions in a row after which no further task was completed
}

// Goal works towards goals in words, each as it comes in the request.
type Goal struct {
	Promise string // what a session has to say before its goal counts as reached; empty for nothing
}

// Name is the name of the source.
func (Goal) Name() string { return "goal" }

// Next asks for another session towards the goal. A goal that was given is
// certain: the person chose it.
func (g Goal) Next(r Request) Assignment {
	a := Assignment{
		Mode: "goal", SessionType: "feature", Confidence: 1, Rationale: "the goal was given",
		Alternatives: []mode.Alternative{}, Missing: []string{},
		Steps: []sessions.Step{{Prompt: prompt.Goal(r.Objective) + prompt.Promise(g.Promise)}}, Schema: prompt.ReportSchema,
		Manual: "claude " + quote(r.Objective.Goal),
	}
	if g.Promise != "" { // a form for the answer would leave no place for it; the report comes through a tool
		a.Schema = ""
	}
	return a
}

// Lifecycle runs the sessions of session-orchestrator, with the mode that its
// signals recommend.
type Lifecycle struct {
	Repo  string
	Steps []string // prompts, one turn each; {mode} is replaced
	Load  mode.Options
}

// Name is the name of the source.
func (l Lifecycle) Name() string { return "lifecycle" }

// Next recommends a mode from the signals in the repository as they are now.
func (l Lifecycle) Next(r Request) Assignment {
	signals, warnings := mode.LoadWith(l.Repo, r.Now, l.Load)
	rec := mode.Select(signals)
	a := Assignment{
		Mode: string(rec.Mode), Confidence: rec.Confidence, Rationale: rec.Rationale,
		Alternatives: rec.Alternatives, Missing: rec.Missing, Records: true,
		Steps: []sessions.Step{}, Notice: prompt.Notice(r.Objective),
	}
	for _, w := range warnings {
		a.Warnings = append(a.Warnings, w.Source+": "+w.Text)
	}
	if st, found, err := mode.LoadState(l.Repo); found && (err != nil || st.AsksToResume()) {
		return a.refused(unfinished(st, err), "claude "+quote("/close"))
	}
	if _, ok, why := mode.Executable(rec); !ok {
		return a.refused(why, "claude")
	}
	a.SessionType = a.Mode
	for _, s := range l.Steps {
		text := strings.ReplaceAll(s, "{mode}", a.Mode)
		a.Steps = append(a.Steps, sessions.Step{Prompt: text, AsArgument: strings.HasPrefix(text, "/")})
	}
	if len(a.Steps) > 0 {
		a.Manual = "claude " + quote(a.Steps[0].Prompt)
	}
	return a
}

// refused takes away what a session could be started with. No threshold lets an
// assignment without a mode pass.
func (a Assignment) refused(why, manual string) Assignment {
	a.Mode, a.Confidence, a.Rationale, a.Manual = "", 0, why, manual
	return a
}

func unfinished(st mode.State, err error) string {
	if err != nil {
		return fmt.Sprintf(".claude/STATE.md cannot be understood, an unfinished session cannot be ruled out: %v", err)
	}
	return fmt.Sprintf("session %s is %s in .claude/STATE.md and would ask whether to resume; end it with /close first", st.Session, st.Status)
}

// HasLifecycle reports whether the repository is set up for session-orchestrator.
func HasLifecycle(repo string) bool {
	for _, name := range []string{".orchestrator/bootstrap.lock", ".claude/STATE.md"} {
		if _, err := os.Stat(filepath.Join(repo, filepath.FromSlash(name))); err == nil {
			return true
		}
	}
	return false
}

// quote makes one word of a shell command line, in the quotes a person would use.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`).Replace(s) + `"`
}
