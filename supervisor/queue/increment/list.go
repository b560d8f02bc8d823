package increment

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"autopilot/sessions/task"
)

// List returns the increments of a repository in the order of their ids, with what
// metadata.json and the fields of spec.md say. Those whose metadata.json cannot be read
// are not among them. All that is wrong is among the faults. Without .specweave there
// are no increments, and nothing is wrong.
func List(repo string) ([]Increment, []Fault) {
	f, err := open(repo)
	if err != nil {
		return nil, []Fault{{Path: repo, Why: why(err)}}
	}
	defer f.close()
	ids, err := f.ids(home)
	if err != nil {
		return nil, []Fault{{Path: f.path(home), Why: why(err)}}
	}
	everywhere := slices.Concat(ids, f.away())
	var out []Increment
	var faults []Fault
	for _, id := range ids {
		inc, _, bad, err := f.light(id, everywhere)
		faults = append(faults, bad...)
		if err == nil {
			out = append(out, inc)
		}
	}
	return out, faults
}

// Archived returns the statuses of the increments that were put away completed or
// abandoned, by id: they are in no list any more, but others may depend on them. What
// cannot be read, and what was put away in another status, is left out.
func Archived(repo string) map[string]string {
	out := map[string]string{}
	f, err := open(repo)
	if err != nil {
		return out
	}
	defer f.close()
	for _, dir := range attics() {
		ids, err := f.ids(dir)
		if err != nil {
			continue // what is not known there counts as not there
		}
		for _, id := range ids {
			data, _, err := f.read(path.Join(dir, id, metadata))
			if err != nil {
				continue
			}
			var inc Increment
			if inc.metadata(data) == nil && (inc.Status == Completed || inc.Status == Abandoned) {
				out[id] = inc.Status
			}
		}
	}
	return out
}

// attics are the folders into which increments are put away.
func attics() []string { return []string{home + "/_archive", home + "/_abandoned"} }

func (f folder) away() []string {
	var out []string
	for _, dir := range attics() {
		ids, err := f.ids(dir)
		if err == nil { // or a dependency on them is not written in full
			out = append(out, ids...)
		}
	}
	return out
}

// Load returns an increment with its tasks and criteria. The id may be cut short as
// long as it is clear which one is meant. Without a readable metadata.json it is an
// error; what is wrong with the other files is among the warnings.
//
// The error wraps [ErrNotFound] when there is no such increment.
func Load(repo, id string) (Increment, error) {
	f, id, err := find(repo, id)
	if err != nil {
		return Increment{}, fmt.Errorf("load increment: %w", err)
	}
	defer f.close()
	ids, err := f.ids(home)
	if err != nil {
		return Increment{}, fmt.Errorf("load increment %s: %s %w", id, f.path(home), err)
	}
	inc, text, bad, err := f.light(id, slices.Concat(ids, f.away()))
	if err != nil {
		return Increment{}, fmt.Errorf("load increment %s: %w", id, err)
	}
	for _, b := range bad {
		inc.warn("%s %s", path.Base(b.Path), b.Why)
	}
	inc.Criteria = criteria(text)
	data, _, err := f.read(in(id, tasks))
	if err != nil {
		inc.warn("%s %s", tasks, why(err))
		return inc, nil
	}
	inc.tasks(data)
	return inc, nil
}

func (inc *Increment) tasks(data []byte) {
	list, err := task.ParseIncrement(data)
	if err != nil {
		inc.warn("%s %v", tasks, err)
	}
	if len(list) == 0 {
		inc.warn("%s has no tasks that can be recognised, such as \"### T-001: title\" or \"- [ ] [T001] title\"", tasks)
	}
	inc.Tasks = list
}

// light reads an increment without its tasks. It returns the text of spec.md, too. The
// error is the fault of metadata.json.
func (f folder) light(id string, ids []string) (inc Increment, text []byte, faults []Fault, err error) {
	inc = Increment{ID: id, Dir: f.path(path.Join(home, id))}
	fault := func(file string, err error) {
		faults = append(faults, Fault{Path: f.path(in(id, file)), Why: why(err)})
	}
	data, _, err := f.read(in(id, metadata))
	if err == nil {
		err = inc.metadata(data)
	}
	if err != nil {
		fault(metadata, err)
		return inc, nil, faults, fmt.Errorf("%s %s", f.path(in(id, metadata)), why(err))
	}
	text, _, err = f.read(in(id, spec))
	if err != nil {
		fault(spec, err)
	} else if err := inc.spec(text); err != nil {
		fault(spec, err)
	}
	for i, d := range inc.DependsOn {
		if full, err := resolve(ids, d); err == nil {
			inc.DependsOn[i] = full
		}
	}
	if inc.Title == "" {
		inc.Title = id
	}
	return inc, text, faults, nil
}

func (inc *Increment) warn(format string, args ...any) {
	if len(inc.Warnings) < mostWarnings {
		inc.Warnings = append(inc.Warnings, line(fmt.Sprintf(format, args...), longestWhy))
	}
}

// why is an error in words, without what Go would add.
func why(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "is not there"
	}
	return line(err.Error(), longestWhy)
}
