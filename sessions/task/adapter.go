package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"autopilot/sessions/task/internal/record"
)

// Discover asks the sources for the tasks of a project, in the order of their
// priority whatever order they are named in. Names that are no source are left out;
// see [CheckSources]. It never returns an error: what is amiss is in the looks.
func Discover(ctx context.Context, p Place, sources []string) Found {
	found := Found{Looks: []Look{}}
	var lists []list
	for _, name := range Sources() {
		if !slices.Contains(sources, name) {
			continue
		}
		f := finding{Look: Look{Source: name, Places: []string{}, Broken: []Fault{}}}
		if ctx.Err() != nil {
			f.why = fmt.Sprintf("not looked at: %v", context.Cause(ctx))
		} else {
			f.look(ctx, p)
		}
		found.Looks = append(found.Looks, f.done())
		lists = append(lists, f.lists...)
	}
	found.Tasks = settle(lists, func() []LiveSession { return Living(p.Config) })
	return found
}

// list is one list of tasks, within which ids are unique.
type list struct {
	tasks   []Task
	session string // whose list it is; empty when it is nobody's or several share it
}

// finding is what one source has while it is being asked.
type finding struct {
	Look
	lists []list
	why   string // there are none, as far as nothing was broken
}

func (f *finding) look(ctx context.Context, p Place) {
	top := p.Repo
	switch f.Source {
	case GitHubIssues:
		f.readIssues(ctx, p)
		return
	case TeamTasks:
		top = p.Config
	}
	at, err := openFolder(top)
	if err != nil {
		f.missing(top, err)
		return
	}
	defer at.close()
	switch f.Source {
	case TeamTasks:
		f.readTeams(ctx, at, p)
	case SwarmTasks:
		f.readFile(at, swarmFile, parseSwarm)
	case FileChecklist:
		f.readFile(at, checklistFile, parseChecklist)
	case TaskMaster:
		f.readTaskMaster(at)
	case SpecWeave:
		f.readIncrements(ctx, at)
	case Markdown:
		f.readMarkdown(ctx, at, p.Files)
	}
}

// readFile takes one file of the repository that holds the whole source.
func (f *finding) readFile(repo folder, name string, parse func([]byte) ([]Task, error)) {
	data, err := repo.read(name)
	f.Places = append(f.Places, repo.path(name))
	if err != nil {
		f.missing(repo.path(name), err)
		return
	}
	tasks, err := parse(data)
	f.fault(repo.path(name), err)
	f.add(list{tasks: tasks}, "", repo.path(name))
	f.why = repo.path(name) + " holds no tasks"
}

// missing notes why a place was not read: as a fault, unless it only is not there.
func (f *finding) missing(path string, err error) {
	switch {
	case path == "":
		f.why = "no folder is given to look in"
	case errors.Is(err, fs.ErrNotExist):
		f.why = path + " is not there"
	default:
		f.fault(path, err)
	}
}

// fault notes what is broken in a file; nil is nothing.
func (f *finding) fault(path string, err error) {
	if err == nil {
		return
	}
	if several, ok := errors.AsType[*record.Flaws](err); ok {
		for _, e := range several.First {
			f.Broken = append(f.Broken, Fault{Path: path, Why: oneLine(e.Error())})
		}
		if several.More > 0 {
			f.Broken = append(f.Broken, Fault{Path: path, Why: fmt.Sprintf("%d more entries are broken", several.More)})
		}
		return
	}
	f.Broken = append(f.Broken, Fault{Path: path, Why: oneLine(err.Error())})
}

// add takes the tasks of one list. A path that a task has already stays.
func (f *finding) add(l list, name, path string) {
	for i := range l.tasks {
		t := &l.tasks[i]
		t.Source, t.List = f.Source, name
		if t.Path == "" {
			t.Path = path
		}
	}
	f.Tasks += len(l.tasks)
	f.lists = append(f.lists, l)
}

func (f *finding) done() Look {
	switch {
	case f.Tasks > 0:
	case len(f.Broken) > 0:
		f.Empty = fmt.Sprintf("nothing of it could be used: %s: %s", f.Broken[0].Path, f.Broken[0].Why)
	default:
		f.Empty = f.why
	}
	return f.Look
}
