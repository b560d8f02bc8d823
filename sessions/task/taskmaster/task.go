package taskmaster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Task is a task or, in Subtasks, one of its parts. What stands in the file as
// something else than text, a number or null is its JSON here. Texts are those of
// strangers: they may have several lines and any length.
type Task struct {
	ID           string // 1 or HAM-1; of a subtask with the task's: 1.2
	Title        string
	Description  string
	Details      string
	TestStrategy string
	Status       string // as the file has it; empty when it has none
	Priority     string
	Dependencies []string // ids of tasks, and of subtasks with their task's
	Subtasks     []Task   // in the order of the file; a subtask has none
}

// Met reports whether a status lets go on what waits for the task: done, completed or
// cancelled.
func Met(status string) bool {
	switch strings.ToLower(status) {
	case "done", "completed", "cancelled":
		return true
	}
	return false
}

// ToDo reports whether a status leaves something to do. A task that is deferred has
// nothing to do, although what waits for it goes on waiting. One that is blocked or in
// review has, and so has one whose status is missing or unknown.
func ToDo(status string) bool { return !Met(status) && !strings.EqualFold(status, "deferred") }

// Task reads one task with all its parts. The error is a [Problem]: ErrNotFound,
// ErrIsSubtask, ErrBadID, or ErrAmbiguous where the id, or a name within the task,
// stands there twice.
func (f *File) Task(id string) (Task, error) {
	e, err := f.find(id)
	if err != nil {
		return Task{}, err
	}
	fields, err := f.fields(e.object)
	if err != nil {
		return Task{}, err
	}
	t := f.read(f.data.idOf(e), fields)
	subs, err := f.subtasks(id, fields)
	if err != nil {
		return Task{}, err
	}
	siblings := make(map[string]bool, len(subs))
	for _, s := range subs {
		fields, err := f.fields(s.object)
		if err != nil {
			return Task{}, err
		}
		siblings[s.id] = true
		t.Subtasks = append(t.Subtasks, f.read(s.id, fields))
	}
	// Subtasks name one another by their number alone.
	for _, sub := range t.Subtasks {
		for i, on := range sub.Dependencies {
			if siblings[id+"."+on] {
				sub.Dependencies[i] = id + "." + on
			}
		}
	}
	return t, nil
}

func (f *File) read(id string, fields []field) Task {
	t := Task{ID: id}
	for _, m := range fields {
		switch m.name {
		case "title":
			t.Title = f.data.word(m.value)
		case "description":
			t.Description = f.data.word(m.value)
		case "details":
			t.Details = f.data.word(m.value)
		case "testStrategy":
			t.TestStrategy = f.data.word(m.value)
		case "status":
			t.Status = f.data.word(m.value)
		case "priority":
			t.Priority = f.data.word(m.value)
		case "dependencies":
			t.Dependencies = f.data.ids(m.value)
		}
	}
	t.Status = strings.TrimSpace(t.Status)
	return t
}

// ids are a list of ids, or one alone.
func (t text) ids(s span) []string {
	var out []string
	add := func(s span) {
		if id := strings.TrimSpace(t.word(s)); id != "" {
			out = append(out, id)
		}
	}
	if t[s.from] != '[' {
		add(s)
		return out
	}
	t.array(s.from, func(_, at int) int {
		end := t.skip(at)
		if end > 0 {
			add(span{at, end})
		}
		return end
	})
	return out
}

// fields are the members of an object, without those of what is in it. A name that
// stands there twice is refused: readers differ in which of the two they take.
func (f *File) fields(object span) ([]field, error) { return fields(f.data, f.Path, object.from) }

func fields(t text, path string, at int) ([]field, error) {
	var out []field
	end := t.object(at, func(m field) int {
		m.value.to = t.skip(m.value.from)
		m.name = t.word(m.key)
		out = append(out, m)
		return m.value.to
	})
	if end < 0 {
		return nil, fmt.Errorf("%s is not JSON behind line %d", path, t.line(at))
	}
	first := make(map[string]int, len(out))
	for i, m := range out {
		if k, ok := first[m.name]; ok {
			return nil, problem(ErrAmbiguous, "take one of the two out", "%s has %q twice in one object, in line %d and in line %d",
				path, short(m.name), t.line(out[k].key.from), t.line(m.key.from))
		}
		first[m.name] = i
	}
	return out, nil
}

// find returns the entry of a task.
func (f *File) find(id string) (entry, error) {
	if err := checkID(id); err != nil {
		return entry{}, err
	}
	var found []entry
	for _, e := range f.list {
		if f.data.has(e, id) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return entry{}, problem(ErrNotFound, "", "%s has no task %s under the tag %s%s", f.Path, id, short(f.Tag), f.near(id))
	case 1:
		return found[0], nil
	}
	return entry{}, f.twice("task "+id, found[0].object, found[1].object)
}

func (f *File) twice(what string, one, two span) error {
	return problem(ErrAmbiguous, "give one of the two another id", "%s has %s twice, in line %d and in line %d",
		f.Path, what, f.data.line(one.from), f.data.line(two.from))
}

// checkID refuses what cannot be the id of a task: those are a number, or letters, a
// dash and a number.
func checkID(id string) error {
	main, sub, dotted := strings.Cut(id, ".")
	prefix, number := splitID(main)
	switch {
	case number == "" || prefix != "" && !isPrefix(prefix) || len(id) > longestName, dotted && !isWord(sub):
		return problem(ErrBadID, "an id is a number, or letters with a dash and a number: 1 or HAM-1", "%q is not the id of a task", short(id))
	case dotted:
		return problem(ErrIsSubtask, "say "+main, "%s is a subtask of task %s, and it takes the whole task", id, main)
	}
	return nil
}

// splitID divides an id into what is in front of its number and the number.
func splitID(id string) (prefix, number string) {
	prefix = strings.TrimRight(id, "0123456789")
	return prefix, id[len(prefix):]
}

func isPrefix(s string) bool {
	letters, ok := strings.CutSuffix(s, "-")
	return ok && isWord(letters) && !strings.Contains(letters, "-") && (letters[0] < '0' || letters[0] > '9')
}

// isWord reports whether s can stand in names of branches and in commit messages.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// near names the ids that come closest to one that is not there.
func (f *File) near(id string) string {
	const most = 5
	if len(f.list) == 0 {
		return "; there are no tasks"
	}
	type candidate struct {
		id       string
		distance uint64
	}
	prefix, number := splitID(id)
	n, _ := strconv.ParseUint(number, 10, 63)
	list := make([]candidate, len(f.list))
	for i, e := range f.list {
		c := candidate{f.data.idOf(e), 1 << 63}
		if p, number := splitID(c.id); p == prefix {
			if k, err := strconv.ParseUint(number, 10, 63); err == nil {
				c.distance = max(k, n) - min(k, n)
			}
		}
		list[i] = c
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	rest := len(list) - most
	list = list[:min(len(list), most)]
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	var names []string
	for _, c := range list {
		names = append(names, short(c.id))
	}
	if rest > 0 {
		return "; the nearest are " + strings.Join(names, ", ")
	}
	return "; it has " + strings.Join(names, ", ")
}

// part is an object in an array of subtasks.
type part struct {
	id     string // with the task's
	object span
}

// subtasks finds the subtasks of a task among its fields.
func (f *File) subtasks(id string, fields []field) ([]part, error) {
	i := slices.IndexFunc(fields, func(m field) bool { return m.name == "subtasks" })
	if i < 0 || f.data[fields[i].value.from] != '[' {
		return nil, nil
	}
	list, end := f.data.entries(fields[i].value.from)
	if end < 0 {
		return nil, fmt.Errorf("%s is not JSON behind line %d", f.Path, f.data.line(fields[i].value.from))
	}
	at := make(map[string]span, len(list))
	var out []part
	for _, e := range list {
		given := f.data.idOf(e)
		// An id with another task in front would be taken for a subtask of that one.
		own := strings.TrimPrefix(given, id+".")
		if !isWord(own) || len(given) > longestName {
			return nil, problem(ErrBadID, "give it a number", "%s has %q for the id of a subtask of task %s, in line %d", f.Path, short(given), id, f.data.line(e.object.from))
		}
		p := part{id + "." + own, e.object}
		if before, ok := at[p.id]; ok {
			return nil, f.twice("subtask "+p.id, before, p.object)
		}
		at[p.id] = p.object
		out = append(out, p)
	}
	return out, nil
}
