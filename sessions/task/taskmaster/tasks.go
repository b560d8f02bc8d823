package taskmaster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"autopilot/sessions/prompt"
	"autopilot/sessions/task/internal/record"
)

// Folder is where Task Master keeps its files in a repository.
const Folder = ".taskmaster"

const (
	tasksFile  = ".taskmaster/tasks/tasks.json"
	legacyFile = "tasks/tasks.json"
	masterTag  = "master"

	longestName = 100 // runes; of what a message quotes from a file
	mostNames   = 20  // of tags in a message
)

// File is a file of tasks as it was when it was loaded, and one tag in it. It is not
// for several goroutines at once.
type File struct {
	Path string // relative to the repository, with slashes
	Tag  string // whose tasks these are; master in the older form without tags

	data text
	list []entry
}

// entry is one of the objects in the array of tasks.
type entry struct {
	number int // in the array, from 1
	object span
	id     span // nothing when it has none
}

// Load reads the tasks of a repository under a tag; empty is the current one, as
// [CurrentTag] has it. It returns an error that wraps [fs.ErrNotExist] where there is
// no file of tasks, and ErrNoTag where there is one without the tag. A file that is
// not JSON is refused only where that is noticed on the way to the tasks.
func Load(repo, tag string) (*File, error) {
	asked := tag != ""
	if !asked {
		current, err := CurrentTag(repo)
		if err != nil {
			return nil, err
		}
		tag = current
	}
	name := tasksFile
	data, _, err := read(repo, name)
	if errors.Is(err, fs.ErrNotExist) {
		name = legacyFile
		data, _, err = read(repo, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem(fs.ErrNotExist, "make the tasks first: task-master init, then task-master parse-prd FILE", "there is no %s", tasksFile)
	}
	if err != nil {
		return nil, fmt.Errorf("load tasks: %w", err)
	}
	return parse(name, data, tag, asked)
}

// parse finds the tasks of a tag. In the older form a tag that nobody has asked for
// does not matter: there is only one.
func parse(name string, data []byte, tag string, asked bool) (*File, error) {
	f := &File{Path: name, Tag: tag, data: data}
	var top header
	i := f.data.begin()
	if i >= len(data) || data[i] != '{' {
		return nil, f.broken("is not an object")
	}
	i = f.data.object(i, func(m field) int { return f.data.meet(m, tag, &top) })
	if i < 0 || f.data.space(i) != len(data) {
		return nil, f.broken("is not JSON")
	}
	switch {
	case top.same > 1:
		return nil, problem(ErrAmbiguous, "take one of the two out", "%s has the tag %q more than once", name, short(tag))
	case top.tagged == nil && top.legacies > 1:
		return nil, problem(ErrAmbiguous, "take one of the two out", "%s has tasks without a tag more than once", name)
	case top.tagged != nil && !top.tasks:
		return nil, fmt.Errorf("load tasks: %s has no array of tasks under the tag %q", name, short(tag))
	case top.tagged != nil && top.arrays > 1:
		return nil, problem(ErrAmbiguous, "take one of the two out", "%s has tasks more than once under the tag %q", name, short(tag))
	case top.tagged != nil:
		f.list = top.tagged
	case top.legacy != nil && (!asked || tag == masterTag):
		f.Tag, f.list = masterTag, top.legacy
	default:
		return nil, f.noTag(tag, top)
	}
	return f, nil
}

// header is what stands at the top of a file.
type header struct {
	names    []string // of tags
	same     int      // how often the tag stands there
	tagged   []entry  // under the tag; not nil when there is an object
	tasks    bool     // the object has an array of tasks
	arrays   int      // and so many members of that name
	legacy   []entry  // of an array outside of any tag; not nil when there is one
	legacies int
}

// meet takes one member at the top of a file, and returns where it is over.
func (t text) meet(m field, tag string, top *header) int {
	at := m.value.from
	name := t.word(m.key)
	object := t[at] == '{'
	if name == "tasks" && t[at] == '[' {
		top.legacies++
		end := -1
		top.legacy, end = t.entries(at)
		return end
	}
	if object && name != "metadata" {
		top.names = append(top.names, name)
	}
	if name == tag {
		top.same++
	}
	if name != tag || !object {
		return t.skip(at)
	}
	top.tagged = []entry{}
	return t.object(at, func(m field) int {
		if !t.is(m.key, "tasks") {
			return t.skip(m.value.from)
		}
		top.arrays++
		if t[m.value.from] != '[' {
			return t.skip(m.value.from)
		}
		end := -1
		top.tasks = true
		top.tagged, end = t.entries(m.value.from)
		return end
	})
}

// entries finds the objects of the array that begins at i, and where that is over.
// Of an object it looks only for the first id.
func (t text) entries(i int) ([]entry, int) {
	list := []entry{}
	end := t.array(i, func(number, at int) int {
		if t[at] != '{' {
			return t.skip(at)
		}
		e := entry{number: number}
		end := t.object(at, func(m field) int {
			end := t.skip(m.value.from)
			if end < 0 || !t.is(m.key, "id") {
				return end
			}
			e.id = span{m.value.from, end}
			return -1 // nothing else is needed
		})
		if e.id.to > 0 {
			end = t.leave(e.id.to)
		}
		e.object = span{at, end}
		list = append(list, e)
		return end
	})
	return list, end
}

// idOf is the id as text. An entry without one has its number for it.
func (t text) idOf(e entry) string {
	if id := strings.TrimSpace(t.word(e.id)); id != "" {
		return id
	}
	return fmt.Sprint(e.number)
}

// has reports whether the id of an entry is id, which is one of those that checkID
// lets pass. Most entries have another, which costs no memory to find out.
func (t text) has(e entry, id string) bool {
	raw := t.at(e.id)
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	return string(raw) == id || (string(raw) == "null" || !isWord(string(raw))) && t.idOf(e) == id
}

func (f *File) noTag(tag string, top header) error {
	if top.legacy != nil {
		return problem(ErrNoTag, "", "%s has no tag %q: its tasks have no tags", f.Path, short(tag))
	}
	has := "it has none"
	if len(top.names) > 0 {
		slices.Sort(top.names)
		names := top.names[:min(len(top.names), mostNames)]
		for i := range names {
			names[i] = short(names[i])
		}
		has = "it has " + strings.Join(names, ", ")
		if more := len(top.names) - len(names); more > 0 {
			has += fmt.Sprintf(" and %d more", more)
		}
	}
	return problem(ErrNoTag, "", "%s has no tag %q; %s", f.Path, short(tag), has)
}

// broken is the error for a file in which nothing can be found. What exactly is
// wrong is for encoding/json to say.
func (f *File) broken(what string) error {
	var v map[string]json.RawMessage
	if err := record.Decode(f.data, &v); err != nil {
		return fmt.Errorf("load tasks: %s %w", f.Path, err)
	}
	return fmt.Errorf("load tasks: %s %s", f.Path, what)
}

// short is one line of bounded length, for a message.
func short(s string) string {
	return prompt.Cut(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " "), longestName)
}
