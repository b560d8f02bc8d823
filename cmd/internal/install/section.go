package install

import "strings"

const (
	instructionsFile = "CLAUDE.md"
	agentsFile       = "AGENTS.md"

	sectionBegin = "<!-- autopilot:begin -->"
	sectionEnd   = "<!-- autopilot:end -->"
)

// section is what CLAUDE.md says about autopilot, without a line end at its end.
const section = sectionBegin + `
## Autopilot: work goes on until the tasks are done

Persistent task completion can be switched on for this project. While it is on, a session that stops with open tasks is
sent on.

- **Do not stop early.** The work is over when every task has come to its end, not when a part of it looks good.
- **Keep task statuses true.** Mark a task as in progress when you take it up, and as completed only when it is. Look
  through the whole list before you finish.
- **Go on while tasks remain**, with one that nothing blocks. When only a person can help, say what is needed and take
  up another task.
- **Say how far you are** now and then: so many tasks of so many, and what comes next.

Commands:

- ` + "`autopilot status`" + `: how far the work is and what remains
- ` + "`autopilot enable`" + `: switch persistent completion on
- ` + "`autopilot disable`" + `: switch it off, so that the session may stop
- ` + "`autopilot predict`" + `: which task to take up next

Where the tool ` + "`autopilot_report`" + ` is offered, call it before you finish: what is done, what is carried over, what comes
next, and what needs a person.
` + sectionEnd

// taskSection is what it says where there are tasks of Task Master: the same, and how
// to do one of them test first.
func taskSection() string { return strings.TrimSuffix(section, sectionEnd) + testFirst + sectionEnd }

const testFirst = `
## Autopilot: a task of Task Master, test first

Autopilot says what the next step is, checks it, and makes the commits.

1. ` + "`autopilot tdd start <taskId>`" + ` begins a task, on a branch of its own.
2. Again and again: ` + "`autopilot tdd next --json`" + `. Do what its ` + "`action`" + ` says for the subtask that it names:
   - ` + "`red`" + `: write tests that fail, run them, then ` + "`autopilot tdd complete red <id> --results failed:3,passed:0`" + `
   - ` + "`green`" + `: write the code that makes them pass, run them, then
     ` + "`autopilot tdd complete green <id> --results passed:3,failed:0 --coverage 92`" + ` (coverage if known)
   - ` + "`commit`" + `: ` + "`autopilot tdd commit <id>`" + `; never commit yourself
   - ` + "`finalize`" + `: ` + "`autopilot tdd finalize`" + `
   - ` + "`complete`" + `: the task is done
   - ` + "`paused`" + `: stop and say what is wrong; a person is needed

Report true numbers: autopilot runs the tests again, and what it sees counts. When a step is refused, the answer says
why; put that right and report again. What was done is kept: after an interruption ` + "`autopilot tdd resume`" + ` goes on, and
` + "`autopilot tdd status`" + ` says where it stands.

The same as tools, where they are offered: ` + "`autopilot_start`, `autopilot_next`, `autopilot_complete_phase`,\n`autopilot_commit`, `autopilot_finalize`, `autopilot_status`, `autopilot_resume`, `autopilot_abort`" + `.
`

func sectionMarks() marks { return marks{sectionBegin, sectionEnd} }

func sectionPart(tasks bool) part {
	part := part{path: instructionsFile, marked: true, put: putSection, cut: sectionMarks().cut}
	if tasks {
		part.put = func(now state) (state, []string, error) { return sectionMarks().put(now, taskSection()) }
	}
	return part
}

func putSection(now state) (state, []string, error) { return sectionMarks().put(now, section) }
