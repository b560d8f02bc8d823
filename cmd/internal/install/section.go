package install

import (
	"bytes"
	"fmt"
	"strings"
)

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

func sectionPart() part {
	return part{path: instructionsFile, marked: true, put: putSection, cut: cutSection}
}

// putSection replaces the section, or appends it behind an empty line. A file
// without a line end at its end has none afterwards either; that is how
// cutSection tells what it has to take away.
func putSection(now state) (state, []string, error) {
	mark, text := splitMark(now.data)
	eol := eolOf(text)
	want := strings.ReplaceAll(section, "\n", eol)
	start, end, found, err := findSection(text)
	switch {
	case err != nil:
		return state{}, nil, err
	case found && string(text[start:end]) == want:
		return now, nil, nil
	case found:
		return state{exists: true, data: join(mark, spliced(text, splice{start, end, want}))}, nil, nil
	case len(text) == 0:
		want += eol
	case bytes.HasSuffix(text, []byte("\n")):
		want = eol + want + eol
	default:
		want = eol + eol + want
	}
	return state{exists: true, data: join(mark, append(bytes.Clone(text), want...))}, nil, nil
}

// cutSection takes the section out, with the empty line in front of it.
func cutSection(now state, before *state) (state, []string, error) {
	mark, text := splitMark(now.data)
	start, end, found, err := findSection(text)
	if err != nil {
		return state{}, nil, err
	}
	if !found {
		return now, nil, nil
	}
	eol := eolOf(text)
	above := cutLine(text[:start], eol)
	if rest := bytes.TrimPrefix(text[end:], []byte(eol)); len(rest) < len(text)-end {
		end = len(text) - len(rest)
	} else {
		above = cutLine(above, eol)
	}
	left := spliced(text, splice{len(above), end, ""})
	if len(left) == 0 && (before == nil || !before.exists) {
		return state{}, nil, nil
	}
	return state{exists: true, data: join(mark, left)}, nil, nil
}

// cutLine takes the line end off the end of a text.
func cutLine(text []byte, eol string) []byte {
	if rest, ok := bytes.CutSuffix(text, []byte(eol)); ok {
		return rest
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}

// findSection returns where the section is, without the line end behind it. A
// marker without its partner is refused, and so is a second section.
func findSection(text []byte) (start, end int, found bool, err error) {
	start, end = -1, -1
	number, offset, first := 0, 0, 0
	for line := range bytes.Lines(text) {
		number++
		switch string(bytes.TrimSpace(line)) {
		case sectionBegin:
			if start >= 0 {
				return 0, 0, false, fmt.Errorf("line %d: %s stands there twice, also in line %d", number, sectionBegin, first)
			}
			start, first = offset, number
		case sectionEnd:
			if start < 0 || end >= 0 {
				return 0, 0, false, fmt.Errorf("line %d: %s has no beginning", number, sectionEnd)
			}
			end = offset + len(bytes.TrimRight(line, "\r\n"))
		}
		offset += len(line)
	}
	if start >= 0 && end < 0 {
		return 0, 0, false, fmt.Errorf("line %d: %s has no end", first, sectionBegin)
	}
	return start, end, start >= 0, nil
}
