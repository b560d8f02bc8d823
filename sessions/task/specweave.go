package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"autopilot/sessions/task/internal/record"
)

const incrementFolder = ".specweave/increments"

func (f *finding) readIncrements(ctx context.Context, repo folder) {
	entries, err := repo.entries(incrementFolder)
	f.Places = append(f.Places, repo.path(incrementFolder))
	if err != nil {
		f.missing(repo.path(incrementFolder), err)
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	all, active := 0, []string{}
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		if !digits(number) {
			continue
		}
		if ctx.Err() != nil {
			f.fault(repo.path(incrementFolder), fmt.Errorf("not read to the end: %w", context.Cause(ctx)))
			return
		}
		all++
		if f.isActive(repo, e.Name()) {
			active = append(active, word(e.Name()))
			f.readIncrement(repo, e.Name())
		}
	}
	f.why = fmt.Sprintf("the active increments have no tasks: %s", strings.Join(active, ", "))
	if len(active) == 0 {
		f.why = fmt.Sprintf("none of %d increments in %s is active", all, repo.path(incrementFolder))
	}
}

func (f *finding) isActive(repo folder, increment string) bool {
	name := path.Join(incrementFolder, increment, "metadata.json")
	data, err := repo.read(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("is not there, so the state of the increment is not known")
		}
		f.fault(repo.path(name), err)
		return false
	}
	state, err := parseMetadata(data)
	f.fault(repo.path(name), err)
	return Task{Status: state}.word() == "active"
}

func (f *finding) readIncrement(repo folder, increment string) {
	name := path.Join(incrementFolder, increment, "tasks.md")
	data, err := repo.read(name)
	f.Places = append(f.Places, repo.path(name))
	if err != nil {
		f.missing(repo.path(name), err)
		return
	}
	tasks, err := ParseIncrement(data)
	f.fault(repo.path(name), err)
	f.add(list{tasks: tasks}, word(increment), repo.path(name))
}

// parseMetadata reads the state of an increment.
func parseMetadata(data []byte) (string, error) {
	var m struct {
		Status record.Text `json:"status"`
	}
	if err := record.Decode(data, &m); err != nil {
		return "", err
	}
	if s := firstOf(m.Status); s != "" {
		return s, nil
	}
	return "", errors.New("has no status")
}

// ParseIncrement reads the tasks of an increment, which come in two forms: a heading
// "### T-001: title" with fields in bold below it, and an item of a list
// "- [ ] [T001] title". Check boxes without such a number are criteria and no tasks.
func ParseIncrement(data []byte) ([]Task, error) {
	var tasks []Task
	var bad record.Flaws
	zero(data, &bad)
	at, level := -1, 0 // the task whose heading we are under
	for _, line := range prose(data, &bad) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			depth := len(line) - len(heading)
			if depth <= level {
				at = -1
			}
			if id, title := numbered(heading); id != "" {
				at, level = len(tasks), depth
				tasks = append(tasks, titled(Task{Status: "pending"}, id, title))
			}
			continue
		}
		if _, item, ok := marked(line); ok {
			if state, text, ok := checkBox(item); ok {
				if id, title := numbered(text); id != "" {
					at = -1
					tasks = append(tasks, titled(Task{Status: state}, id, undecorated(title)))
					continue
				}
			}
		}
		if at >= 0 {
			fields(&tasks[at], line)
		}
	}
	return tasks, bad.Err()
}

// numbered takes "T-001: title" or "[T001] title" apart. A number has three digits or
// more and may end in E.
func numbered(s string) (id, title string) {
	s = strings.TrimSpace(s)
	s, bracket := strings.CutPrefix(s, "[")
	rest, ok := strings.CutPrefix(s, "T")
	if !ok {
		return "", ""
	}
	rest = strings.TrimPrefix(rest, "-")
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	if n < 3 {
		return "", ""
	}
	if n < len(rest) && rest[n] == 'E' {
		n++
	}
	id, rest = s[:len(s)-len(rest)+n], rest[n:]
	if bracket {
		if rest, ok = strings.CutPrefix(rest, "]"); !ok {
			return "", ""
		}
	}
	if rest != "" && !strings.ContainsAny(rest[:1], ": \t-") {
		return "", ""
	}
	return id, strings.TrimLeft(rest, ": \t-–—")
}

// undecorated takes away what a template puts before a title: whether the task may
// run beside others, and which model it is for.
func undecorated(title string) string {
	title = strings.TrimSpace(strings.TrimPrefix(title, "[P]"))
	for _, model := range []string{"haiku", "sonnet", "opus"} {
		if rest, ok := strings.CutPrefix(title, model+" - "); ok {
			return rest
		}
	}
	return title
}

// fields reads "**Name**: value", several of them on one line divided by '|'.
func fields(t *Task, line string) {
	if !strings.Contains(line, "**") {
		return
	}
	for part := range strings.SplitSeq(line, "|") {
		if _, rest, ok := marked(part); ok {
			part = rest
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(part), "**"), "**")
		if !ok {
			continue
		}
		value = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(value), ":"))
		switch strings.TrimSuffix(strings.TrimSpace(name), ":") {
		case "Status":
			t.Status = cmp.Or(incrementStatus(value), t.Status)
		case "Dependencies":
			t.BlockedBy = append(t.BlockedBy, numbers(value)...)
		}
	}
}

// incrementStatus reads "[x] completed". The box decides whether a task is done, the
// word says more: one that was cancelled or transferred is not this increment's.
func incrementStatus(value string) string {
	state, text, boxed := checkBox(value)
	if !boxed {
		return word(value)
	}
	said := Task{Status: text}
	switch w := said.word(); {
	case w == "transferred":
		return "skipped"
	case said.Terminal() && w != "completed" && w != "done", state == "pending" && said.InProgress():
		return word(text)
	}
	return state
}

// numbers finds the ids of tasks in a line of text.
func numbers(s string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' || r == '`' }) {
		if id, _ := numbered(w); id != "" {
			out = append(out, id)
		}
	}
	return out
}
