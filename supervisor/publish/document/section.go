package document

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry"
)

const (
	opening = "<!-- autopilot: progress of "
	closing = "<!-- autopilot: end of "
	dash    = " -->"
)

// section is what stands for an update in the file, with its two comments and without a
// last line end.
func section(key string, u publish.Update) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s, %s%s\n", opening, u.Subject, key, dash)
	title := u.Title
	if title == "" {
		title = u.Subject
	}
	fmt.Fprintf(&b, "### %s\n\n", noComment(entry.Harmless(strings.Join(strings.Fields(title), " "))))
	fmt.Fprintf(&b, "**%s**, %d %%, %s\n", u.State, u.Percent, u.At.UTC().Format(time.RFC3339))
	if text := harmless(u.Body); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	fmt.Fprintf(&b, "\n%s%s%s", closing, u.Subject, dash)
	return b.String()
}

// harmless is a text of others as it may stand in the file. What is left of "<!--" in a
// block of code could count as one of our comments; a box to check, even there, as a task
// for those who look for them in files.
func harmless(s string) string {
	return noComment(entry.Markdown(entry.NoBoxes(s)))
}

func noComment(s string) string {
	return strings.NewReplacer(`\<!--`, `\<\!--`, "<!--", "&lt;!--").Replace(s)
}

// edit returns the file with the section of the update. Again is set when it is there
// already, with this key.
func edit(file, key string, u publish.Update) (text string, again bool, err error) {
	end := "\n"
	if strings.Contains(file, "\r\n") {
		end = "\r\n"
	}
	fresh := strings.ReplaceAll(section(key, u), "\n", end)
	from, to, err := find(file, u.Subject)
	if err != nil {
		return "", false, err
	}
	if from < 0 {
		switch {
		case file == "":
			return fresh + end, false, nil
		case !strings.HasSuffix(file, "\n"):
			file += end
		}
		return file + end + fresh + end, false, nil
	}
	if first, _, _ := strings.Cut(file[from:to], "\n"); strings.Contains(first, ", "+key+dash) {
		return file, true, nil
	}
	return file[:from] + fresh + file[to:], false, nil
}

// find returns where the section of a subject begins and ends, its comments included and
// without the last line end; -1 when there is none. A comment counts as ours only on a
// line of its own.
func find(file, subject string) (from, to int, err error) {
	from, to = -1, -1
	pos, count := 0, 0
	for line := range strings.Lines(file) {
		bare := strings.TrimRight(line, "\r\n \t")
		switch {
		case strings.HasPrefix(bare, opening+subject+", ") && strings.HasSuffix(bare, dash):
			if count++; from < 0 {
				from = pos
			}
		case bare == closing+subject+dash:
			if from < 0 || to >= 0 {
				return -1, -1, fmt.Errorf("the section of %s ends without a begin; mend its comments", subject)
			}
			to = pos + len(bare)
		}
		pos += len(line)
	}
	switch {
	case count > 1:
		return -1, -1, fmt.Errorf("the section of %s is there %d times; leave one", subject, count)
	case count == 1 && to < 0:
		return -1, -1, errors.New("the section of " + subject + " has no end; mend its comments")
	}
	return from, to, nil
}
