package taskmaster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Open returns the subtasks of a task of this file that are to be done, in an order in
// which they can be: each behind those it depends on, otherwise as in the file. Those
// with nothing to do are left out, see [ToDo]; when that is all of them there are none,
// and no error. The error is a [Problem]: ErrNoSubtasks, or ErrCannotOrder when
// subtasks wait for each other in a circle, or for what this task does not do.
func (f *File) Open(t Task) ([]Task, error) {
	if len(t.Subtasks) == 0 {
		return nil, problem(ErrNoSubtasks, "expand it first: task-master expand --id="+t.ID, "task %s has no subtasks", t.ID)
	}
	at := make(map[string]int, len(t.Subtasks))
	for i, sub := range t.Subtasks {
		at[sub.ID] = i
	}
	waits := make([]int, len(t.Subtasks)) // for so many
	next := make([][]int, len(t.Subtasks))
	var wrong []string
	for i, sub := range t.Subtasks {
		if !ToDo(sub.Status) {
			continue
		}
		for _, on := range sub.Dependencies {
			k, sibling := at[on]
			switch {
			case sibling && ToDo(t.Subtasks[k].Status):
				waits[i]++
				next[k] = append(next[k], i)
			case sibling && !Met(t.Subtasks[k].Status):
				wrong = append(wrong, fmt.Sprintf("%s waits for %s, which is %s", sub.ID, on, short(t.Subtasks[k].Status)))
			case !sibling:
				if why := f.unmet(on); why != "" {
					wrong = append(wrong, fmt.Sprintf("%s waits for %s, which %s", sub.ID, short(on), why))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return nil, cannotOrder(t, wrong)
	}
	return sorted(t, waits, next)
}

// sorted takes again and again the first one in the file that waits for nothing.
func sorted(t Task, waits []int, next [][]int) ([]Task, error) {
	var ready []int
	left := 0
	for i, sub := range t.Subtasks {
		if ToDo(sub.Status) {
			left++
			if waits[i] == 0 {
				ready = append(ready, i)
			}
		}
	}
	out := make([]Task, 0, left)
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		out = append(out, t.Subtasks[i])
		for _, k := range next[i] {
			if waits[k]--; waits[k] == 0 {
				at, _ := slices.BinarySearch(ready, k)
				ready = slices.Insert(ready, at, k)
			}
		}
	}
	if len(out) < left {
		return nil, cannotOrder(t, []string{circle(t, waits, next)})
	}
	return out, nil
}

// circle names subtasks that wait for each other. Each that still waits waits for one
// that does, so the way back from any of them comes to a place twice.
func circle(t Task, waits []int, next [][]int) string {
	behind := make([]int, len(waits)) // one that it waits for
	start := -1
	for k := range next {
		if waits[k] == 0 {
			continue
		}
		start = k
		for _, i := range next[k] {
			behind[i] = k
		}
	}
	seen := make([]int, len(waits))
	var way []string
	i := start
	for ; seen[i] == 0; i = behind[i] {
		way = append(way, t.Subtasks[i].ID)
		seen[i] = len(way)
	}
	return strings.Join(append(way[seen[i]-1:], t.Subtasks[i].ID), " waits for ")
}

func cannotOrder(t Task, wrong []string) error {
	const most = 5
	more := ""
	if len(wrong) > most {
		more = fmt.Sprintf(", and %d more", len(wrong)-most)
		wrong = wrong[:most]
	}
	return problem(ErrCannotOrder, "finish what they wait for, or change their dependencies", "the subtasks of task %s cannot be put in order: %s%s", t.ID, strings.Join(wrong, "; "), more)
}

// Unmet are the dependencies of a task of this file that keep it waiting, in their
// order: tasks and subtasks that are not done, and ids that nothing has.
func (f *File) Unmet(t Task) []string {
	var out []string
	for _, on := range t.Dependencies {
		if f.unmet(on) != "" && !slices.Contains(out, on) {
			out = append(out, on)
		}
	}
	return out
}

// unmet says why nobody can go on who waits for a task or subtask. It is empty when
// anybody can.
func (f *File) unmet(id string) string {
	object, err := f.object(id)
	switch {
	case errors.Is(err, ErrAmbiguous):
		return "is there twice"
	case err != nil:
		return "is not there"
	}
	list, err := f.fields(object)
	if err != nil {
		return "cannot be read"
	}
	status := f.read(id, list).Status
	switch {
	case Met(status):
		return ""
	case status == "":
		return "has no status"
	}
	return "is " + short(status)
}
