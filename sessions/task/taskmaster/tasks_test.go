package taskmaster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadFindsTheTag(t *testing.T) {
	t.Parallel()
	const one, two = `[{"id":1,"title":"one"}]`, `[{"id":1,"title":"two"}]`
	const both = `{"master":{"tasks":` + one + `,"metadata":{}},"next":{"metadata":{"tasks":[]},"tasks":` + two + `}}`
	tests := []struct {
		name  string
		files []string
		tag   string
		want  string // path, tag, title
	}{
		{"master", []string{tasksFile, both}, "", tasksFile + " master one"},
		{"asked for", []string{tasksFile, both}, "next", tasksFile + " next two"},
		{"current", []string{tasksFile, both, stateFile, `{"currentTag":"next"}`}, "", tasksFile + " next two"},
		{"asked for, not the current one", []string{tasksFile, both, stateFile, `{"currentTag":"next"}`}, "master", tasksFile + " master one"},
		{"asked for, with a broken state", []string{tasksFile, both, stateFile, `{`}, "next", tasksFile + " next two"},
		{"without tags", []string{tasksFile, `{"tasks":` + one + `}`}, "", tasksFile + " master one"},
		{"without tags, with another current one", []string{tasksFile, `{"tasks":` + one + `}`, stateFile, `{"currentTag":"next"}`}, "", tasksFile + " master one"},
		{"without tags, asked for", []string{tasksFile, `{"tasks":` + one + `}`}, "master", tasksFile + " master one"},
		{"older place", []string{legacyFile, `{"tasks":` + one + `,"metadata":{}}`}, "", legacyFile + " master one"},
		{"older place with tags", []string{legacyFile, both}, "next", legacyFile + " next two"},
		{"both places", []string{legacyFile, both, tasksFile, `{"tasks":` + two + `}`}, "", tasksFile + " master two"},
		{"tags beside tasks", []string{tasksFile, `{"tasks":` + one + `,"next":{"tasks":` + two + `}}`}, "next", tasksFile + " next two"},
		{"tags beside tasks, master", []string{tasksFile, `{"next":{"tasks":` + two + `},"tasks":` + one + `}`}, "", tasksFile + " master one"},
		{"a tag called tasks", []string{tasksFile, `{"tasks":{"tasks":` + two + `}}`}, "tasks", tasksFile + " tasks two"},
		{"escapes, a byte-order mark, white space", []string{tasksFile, "\ufeff\r\n{ \"m\\u0061ster\" : { \"tas\\u006bs\"\t:\n" + one + " } } \n"}, "", tasksFile + " master one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t, tt.files...).load(tt.tag)
			task, err := f.Task("1")
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Path + " " + f.Tag + " " + task.Title; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(content string) func(*testing.T, repo) {
		return func(_ *testing.T, r repo) { r.write(tasksFile, content) }
	}
	many := "{"
	for i := range 30 {
		many += fmt.Sprintf(`"t%02d":{},`, i)
	}
	tests := []struct {
		name string
		set  func(*testing.T, repo)
		tag  string
		kind error
		want string
	}{
		{"nothing", func(*testing.T, repo) {}, "", fs.ErrNotExist, "there is no .taskmaster/tasks/tasks.json"},
		{"empty", file(""), "", nil, "load tasks: .taskmaster/tasks/tasks.json is empty"},
		{"array", file("[]"), "", nil, "load tasks: .taskmaster/tasks/tasks.json is an array instead of an object"},
		{"null", file("null"), "", nil, "load tasks: .taskmaster/tasks/tasks.json is not an object"},
		{"broken", file("{\n\"master\": {\"tasks\": [}"), "", nil, "is not JSON: line 2: "},
		{"cut", file("{\n\"master\": {\"tasks\": [{\"id\": 1"), "", nil, "is not JSON: line 2: "},
		{"a string without end", file("{\"x\":\"\\\""), "", nil, "is not JSON: line 1: "},
		{"text behind", file("{\"tasks\":[]} x"), "", nil, "is not JSON: line 1: "},
		{"no array", file(`{"master":{"tasks":{}}}`), "", nil, `load tasks: .taskmaster/tasks/tasks.json has no array of tasks under the tag "master"`},
		{"no tasks", file(`{"master":{}}`), "", nil, `has no array of tasks under the tag "master"`},
		{"no tag", file(`{"b":{"tasks":[]},"a\u0000":{"tasks":[]},"metadata":{}}`), "", ErrNoTag, `.taskmaster/tasks/tasks.json has no tag "master"; it has a, b`},
		{"many tags", file(many + `"z":{}}`), "", ErrNoTag, ", t18, t19 and 11 more"},
		{"no tags", file(`{}`), "x", ErrNoTag, `has no tag "x"; it has none`},
		{"asked for and without tags", file(`{"tasks":[]}`), "x", ErrNoTag, `has no tag "x": its tasks have no tags`},
		{"the tag twice", file(`{"master":{"tasks":[]},"m\u0061ster":{"tasks":[]}}`), "", ErrAmbiguous, `has the tag "master" more than once`},
		{"tasks twice", file(`{"master":{"tasks":[],"tasks":[]}}`), "", ErrAmbiguous, `has tasks more than once under the tag "master"`},
		{"tasks twice without tags", file(`{"tasks":[],"tasks":[]}`), "", ErrAmbiguous, "has tasks without a tag more than once"},
		{"the current tag is broken", func(_ *testing.T, r repo) { r.write(tasksFile, `{"tasks":[]}`); r.write(stateFile, "{") }, "", nil, "read the current tag: .taskmaster/state.json is not JSON: line 1: "},
		{"folder", func(t *testing.T, r repo) { must(t, os.MkdirAll(r.path(tasksFile), 0o755)) }, "", nil, "load tasks: .taskmaster/tasks/tasks.json is no regular file"},
		{"pipe", func(t *testing.T, r repo) {
			r.write(tasksFile+"/../x", "")
			must(t, syscall.Mkfifo(r.path(tasksFile), 0o600))
		}, "", nil, "is no regular file"},
		{"giant", func(t *testing.T, r repo) { r.write(tasksFile, ""); must(t, os.Truncate(r.path(tasksFile), largest+1)) }, "", nil, "is larger than 64 MiB"},
		{"a link out", func(t *testing.T, r repo) {
			r.write(tasksFile+"/../x", "")
			must(t, os.WriteFile(filepath.Join(r.dir, "..", "out.json"), []byte(`{"tasks":[]}`), 0o600))
			must(t, os.Symlink("../../../out.json", r.path(tasksFile)))
		}, "", nil, "load tasks: .taskmaster/tasks/tasks.json cannot be read: path escapes from parent"},
		{"a link to nothing", func(t *testing.T, r repo) {
			r.write(tasksFile+"/../x", "")
			must(t, os.Symlink("gone", r.path(tasksFile)))
		}, "", nil, "is a symbolic link to nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "sub/x", "")
			r.dir = r.path("sub")
			tt.set(t, r)
			_, err := Load(r.dir, tt.tag)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %q of kind %v", err, tt.want, tt.kind)
			}
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("got %q, want one line", err)
			}
		})
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	f := of(t, `[
		null, {"id": "HAM-1", "title": "x", "subtasks": null},
		{"title": 7, "id": 2, "description": "a\nb", "details": ["x", 1], "testStrategy": null, "status": " Done ", "priority": "high",
		 "dependencies": [1, "HAM-1", "3.1", null, ""], "subtasks": [
			{"id": 1, "title": "s1", "dependencies": [2, "2.2", "HAM-1", 9], "status": "pending", "parentId": "undefined", "subtasks": [{"id": 5}]},
			{"\u0069d": "2", "titl\u0065": "s\u00322", "dependencies": 1},
			{"id": "2.3"}, "x", {}
		 ]},
		{"id": "4", "Title": "none", "dependencies": "2"},
		{"title": "no id"}, {"id": null, "title": "id is null"}, {"id": " 8\u0030 ", "title": "blanks"}, {"id": "\u0039", "title": "escape"}
	]`)
	want := Task{
		ID: "2", Title: "7", Description: "a\nb", Details: `["x", 1]`, Status: "Done", Priority: "high",
		Dependencies: []string{"1", "HAM-1", "3.1"},
		Subtasks: []Task{
			{ID: "2.1", Title: "s1", Status: "pending", Dependencies: []string{"2.2", "2.2", "HAM-1", "9"}},
			{ID: "2.2", Title: "s22", Dependencies: []string{"2.1"}},
			{ID: "2.3"},
			{ID: "2.5"},
		},
	}
	for id, want := range map[string]Task{"2": want, "HAM-1": {ID: "HAM-1", Title: "x"}, "4": {ID: "4", Dependencies: []string{"2"}}, "5": {ID: "5", Title: "no id"}, "6": {ID: "6", Title: "id is null"}, "80": {ID: "80", Title: "blanks"}, "9": {ID: "9", Title: "escape"}} {
		got, err := f.Task(id)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("task %s (-want +got), error %v:\n%s", id, err, diff)
		}
	}
}

func TestTaskRefuses(t *testing.T) {
	t.Parallel()
	several := `[{"id":8},{"id":"HAM-3"},{"id":10},{"id":11},{"id":20},{"id":1},{"id":9}]`
	tests := []struct {
		name, tasks, id string
		kind            error
		want, hint      string
	}{
		{"number", several, "12", ErrNotFound, ".taskmaster/tasks/tasks.json has no task 12 under the tag master; the nearest are 8, 9, 10, 11, 20", ""},
		{"letters", several, "HAM-9", ErrNotFound, "has no task HAM-9 under the tag master; the nearest are ", ""},
		{"few", `[{"id":3},{"id":"x\ny"}]`, "4", ErrNotFound, "has no task 4 under the tag master; it has 3, x y", ""},
		{"none", `[]`, "4", ErrNotFound, "; there are no tasks", ""},
		{"subtask", `[{"id":1,"subtasks":[{"id":1}]}]`, "1.1", ErrIsSubtask, "1.1 is a subtask of task 1", "say 1"},
		{"subtask of letters", `[]`, "HAM-2.10", ErrIsSubtask, "HAM-2.10 is a subtask of task HAM-2", "say HAM-2"},
		{"twice", "[{\"id\":1},\n{\"id\":2},\n{\"id\":\"1\"}]", "1", ErrAmbiguous, "has task 1 twice, in line 1 and in line 3", "give one of the two another id"},
		{"twice by its place", `[{"id":2},{}]`, "2", ErrAmbiguous, "has task 2 twice", ""},
		{"subtasks twice", "[{\"id\":1,\"subtasks\":[{\"id\":1},\n{\"id\":\"1.1\"}]}]", "1", ErrAmbiguous, "has subtask 1.1 twice, in line 1 and in line 2", ""},
		{"name twice", "[{\"id\":1,\"status\":\"done\",\n\"st\\u0061tus\":\"pending\"}]", "1", ErrAmbiguous, `has "status" twice in one object, in line 1 and in line 2`, ""},
		{"id twice", `[{"id":1,"id":2}]`, "1", ErrAmbiguous, `has "id" twice`, ""},
		{"name twice in a subtask", `[{"id":1,"subtasks":[{"id":1,"title":"a","title":"b"}]}]`, "1", ErrAmbiguous, `has "title" twice`, ""},
		{"id of a subtask", `[{"id":1,"subtasks":[{"id":"a b"}]}]`, "1", ErrBadID, `has "a b" for the id of a subtask of task 1, in line 1`, ""},
		{"subtask of another", `[{"id":1,"subtasks":[{"id":"2.1"}]}]`, "1", ErrBadID, `has "2.1" for the id of a subtask of task 1`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := of(t, tt.tasks).Task(tt.id)
			p, ok := errors.AsType[*Problem](err)
			if !ok || !errors.Is(err, tt.kind) || !strings.Contains(p.Message, tt.want) || tt.hint != "" && p.Hint() != tt.hint {
				t.Errorf("got %v, want %q of kind %v with the hint %q", err, tt.want, tt.kind, tt.hint)
			}
		})
	}
	for _, id := range []string{"", "abc", "1.", ".1", "1.2.3", "1 ", "-1", "HAM-", "HAM--1", "1-1", "../1", "1\n", "HAM 1", "ä-1", "1.ä", strings.Repeat("1", 200)} {
		if _, err := of(t, `[{"id":"abc"}]`).Task(id); !errors.Is(err, ErrBadID) {
			t.Errorf("task %q: got %v, want ErrBadID", id, err)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := of(t, `[{"id":1,"status":"in-progress","subtasks":[{"id":1,"status":"done"},{"id":2}]},{"id":2,"status":"a","status":"b"}]`)
	for id, want := range map[string]string{"1": "in-progress", "1.1": "done", "1.2": "", "1.3": "", "2": "", "3": "", "x": ""} {
		if got := f.Status(id); got != want {
			t.Errorf("status of %s = %q, want %q", id, got, want)
		}
	}
	f.Data()[0] = 'x'
	if got := f.Status("1"); got != "in-progress" || f.Data()[0] != '{' {
		t.Error("what Data returns is the memory of the file")
	}
}
