package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
)

// Rule is one of the rules that a commit of a run keeps.
type Rule string

// The rules.
const (
	RuleMessage Rule = "message" // it can be read, and its parts agree
	RuleTask    Rule = "task"    // it exists under the tag
	RuleTitle   Rule = "title"   // is that of the task
	RuleStatus  Rule = "status"  // what the commit completes is done
	RuleRun     Rule = "run"     // is one of the task
	RuleWork    Rule = "work"    // something beside the task file was changed
	RuleTests   Rule = "tests"   // are named, none fails, and the numbers are those of the run
)

// Finding is what is found about a rule.
type Finding struct {
	Rule Rule `json:"rule"`
	OK   bool `json:"ok"`
	// Detail says what is wrong. Where nothing is, it says what could not be looked at,
	// and is empty when all was.
	Detail string `json:"detail,omitempty"`
}

// Versioned says whether the task file is in a commit.
type Versioned string

// Values of Versioned.
const (
	InCommit Versioned = "in-commit"
	Nowhere  Versioned = "nowhere" // neither here nor in the commit before: git has nothing to do with it
	Removed  Versioned = "removed" // by this commit
)

// Run is what is kept here of the run that a commit names.
type Run struct {
	TaskID string       // of the task, not of a subtask
	Tag    string       //
	Counts *tdd.Results // accepted for the subtask; nil where they are not known
}

// Facts are what there is to hold a claim against.
type Facts struct {
	Template string // of subjects, as the settings have it now

	TaskFile Versioned
	TaskPath string // of the task file, relative to the top
	Problem  string // why the task is not found in it; empty when it is
	Title    string // of the task or subtask
	Status   string

	Files   []string // that the commit changes
	Earlier []string // that others have changed since the commit of the run before it
	Tests   []string // those of both that are recognised as files of tests

	Run *Run // nil when the run is not known here
}

const (
	phaseCommit   = "COMMIT"
	phaseFinalize = "FINALIZE"
	statusDone    = "done"
)

// closes reports whether the commit is the one that completes the whole task. It has no
// numbers; what was mended before it has.
func (c Claim) closes() bool { return c.Phase == phaseFinalize && c.Tests == nil }

// completes reports whether the commit sets a status to done.
func (c Claim) completes() bool { return c.Phase == phaseCommit || c.closes() }

// Judge holds a claim against the facts, a finding for each rule that applies.
func Judge(c Claim, f Facts) []Finding {
	out := []Finding{c.judgeMessage(f.Template)}
	out = append(out, c.judgeTask(f)...)
	out = append(out, c.judgeRun(f.Run), c.judgeWork(f))
	if !c.closes() {
		out = append(out, c.judgeTests(f))
	}
	return out
}

// holds is a rule that is kept.
func holds(r Rule) Finding { return Finding{Rule: r, OK: true} }

// unseen is a rule that cannot be judged.
func unseen(r Rule, format string, args ...any) Finding {
	return Finding{Rule: r, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func broken(r Rule, format string, args ...any) Finding {
	return Finding{Rule: r, Detail: fmt.Sprintf(format, args...)}
}

// usualTemplate is the form of subjects where nothing else is set.
const usualTemplate = "{type}({scope}): {msg} (task {taskId})"

func (c Claim) judgeMessage(template string) Finding {
	named, formed := "", slices.Contains(message.Types(), c.Type) && c.Summary != ""
	for _, t := range []string{template, usualTemplate} {
		id, ok := subjectID(c.Subject, t, c.TaskID)
		if ok && id != c.TaskID {
			named = id
		}
		formed = formed || ok && t == template
		if ok {
			break
		}
	}
	subtask := strings.Contains(c.TaskID, ".")
	switch {
	case !formed:
		return broken(RuleMessage, "the subject %q is neither conventional nor of the form %s", c.Subject, template)
	case named != "":
		return broken(RuleMessage, "the subject names task %s, the line Task names %s", named, c.TaskID)
	case c.Phase != phaseCommit && c.Phase != phaseFinalize:
		return broken(RuleMessage, "there is no phase %q", c.Phase)
	case subtask != (c.Phase == phaseCommit):
		return broken(RuleMessage, "%s is not what a commit in the phase %s is about", c.TaskID, c.Phase)
	case c.Phase == phaseCommit && c.Step != c.TaskID:
		return broken(RuleMessage, "the line Autopilot-Run names %s, the line Task %s", c.Step, c.TaskID)
	case c.Phase == phaseFinalize && !strings.HasPrefix(c.Step, "finalize-"):
		return broken(RuleMessage, "the line Autopilot-Run names %s in the phase %s", c.Step, c.Phase)
	}
	return holds(RuleMessage)
}

// subjectID reports whether a subject is of the form of a template, and returns the id
// in it: the one that is expected where that fits, and where the template has none.
func subjectID(subject, template, want string) (id string, ok bool) {
	if template == "" {
		return "", false
	}
	form := strings.NewReplacer(
		`\(\{scope\}\)`, `(?:\([^()]*\))?`, `\{scope\}`, `[^()\s]*`, `\{type\}`, `(?:`+strings.Join(message.Types(), "|")+`)`, `\{msg\}`, `.+`,
	).Replace(regexp.QuoteMeta(template))
	match := func(id string) []string {
		whole := strings.TrimSpace(strings.ReplaceAll(form, `\{taskId\}`, id))
		return regexp.MustCompile(`^` + whole + `$`).FindStringSubmatch(subject)
	}
	if match(regexp.QuoteMeta(want)) != nil {
		return want, true
	}
	if m := match(`(\S+)`); len(m) > 1 {
		return m[1], true
	}
	return "", false
}

// judgeTask looks at the task in the file.
func (c Claim) judgeTask(f Facts) []Finding {
	switch {
	case f.TaskFile == Removed:
		return []Finding{broken(RuleTask, "the commit removes %s", f.TaskPath)}
	case f.TaskFile == Nowhere:
		return []Finding{unseen(RuleTask, "the task file is not versioned: task, title and status are not checked")}
	case f.Problem != "":
		return []Finding{broken(RuleTask, "%s", f.Problem)}
	}
	out := []Finding{holds(RuleTask), holds(RuleTitle)}
	if want := written(f.Title); c.Title != want {
		out[1] = broken(RuleTitle, "the message says %q, the task is %q", c.Title, want)
	}
	switch {
	case !c.completes():
	case f.Status == statusDone:
		out = append(out, holds(RuleStatus))
	default:
		out = append(out, broken(RuleStatus, "%s is %s, not done", c.TaskID, orNone(f.Status)))
	}
	return out
}

// written is a title, or a tag, as a message has it: in one line and bounded.
func written(title string) string {
	c, _ := Parse(message.Commit{Summary: "x", TaskID: "1", TaskTitle: title}.Text("{msg}"))
	return c.Title
}

func orNone(s string) string {
	if s == "" {
		return "without a status"
	}
	return fmt.Sprintf("%q", s)
}

func (c Claim) judgeRun(run *Run) Finding {
	task, _, _ := strings.Cut(c.TaskID, ".")
	switch {
	case run == nil:
		return unseen(RuleRun, "the run is not known here: its task and its numbers are not compared")
	case run.TaskID != task || written(run.Tag) != c.Tag:
		return broken(RuleRun, "the run is one of task %s under the tag %s", run.TaskID, run.Tag)
	}
	return holds(RuleRun)
}

// judgeWork looks for what was done. A subtask may have nothing in its commit but its
// status: when it was implemented before, or when others have committed the work.
func (c Claim) judgeWork(f Facts) Finding {
	ours := func(file string) bool { return file == f.TaskPath }
	here := slices.DeleteFunc(slices.Clone(f.Files), ours)
	before := slices.DeleteFunc(slices.Clone(f.Earlier), ours)
	switch {
	case c.Phase == phaseCommit && !c.Implemented && len(here)+len(before) == 0:
		return broken(RuleWork, "nothing beside the task file was changed")
	case c.closes() && len(here) > 0: // a hook may have added them
		return unseen(RuleWork, "it changes %d files beside the task file", len(here))
	case c.Phase == phaseCommit && !c.Implemented && len(f.Tests) == 0 && !slices.Contains([]string{message.Docs, message.Chore}, c.Type):
		return unseen(RuleWork, "no changed file is recognised as one of tests")
	}
	return holds(RuleWork)
}

func (c Claim) judgeTests(f Facts) Finding {
	switch {
	case c.Tests == nil:
		return broken(RuleTests, "the message names no numbers of tests")
	case c.Tests.Failed > 0:
		return broken(RuleTests, "%d tests fail", c.Tests.Failed)
	case c.Phase != phaseCommit || f.Run == nil:
		return holds(RuleTests)
	case f.Run.Counts == nil:
		return unseen(RuleTests, "the numbers of the run are not known here and not compared")
	}
	kept := Tests{f.Run.Counts.Passed, f.Run.Counts.Failed, f.Run.Counts.Skipped}
	if kept != *c.Tests {
		return broken(RuleTests, "the message says %s, the run has kept %s", *c.Tests, kept)
	}
	return holds(RuleTests)
}
