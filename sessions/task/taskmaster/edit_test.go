package taskmaster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWithStatus(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, tasks, id, want string }{
		{"task", `[{"id":1,"status":"pending"},{"id":2,"status":"pending"}]`, "2", `[{"id":1,"status":"pending"},{"id":2,"status":"done"}]`},
		{"subtask", `[{"status":"pending","subtasks":[{"status":"pending","id":"2"},{"status":"pending","id":3}],"id":1}]`, "1.2", `[{"status":"pending","subtasks":[{"status":"done","id":"2"},{"status":"pending","id":3}],"id":1}]`},
		{"dotted subtask", `[{"id":"HAM-1","subtasks":[{"id":"HAM-1.2","status":""}]}]`, "HAM-1.2", `[{"id":"HAM-1","subtasks":[{"id":"HAM-1.2","status":"done"}]}]`},
		{"in the words of the file", "[ {\r\n\t\"id\" : 1e0,\r\n\t\"\\u0073tatus\"\t:\"pend\\u0069ng\" } ]", "", ""},
		{"null", `[{"id":1,"status":null }]`, "1", `[{"id":1,"status":"done" }]`},
		{"escaped name", `[{"id":1,"\u0073tatus" :  "pend\u0069ng"}]`, "1", `[{"id":1,"\u0073tatus" :  "done"}]`},
		{"a status within", `[{"id":1,"metadata":{"status":"x"},"title":"\"status\":\"x\"","status":"x"}]`, "1", `[{"id":1,"metadata":{"status":"x"},"title":"\"status\":\"x\"","status":"done"}]`},
		{"the same", `[{"id":1,"status":"d\u006fne"}]`, "1", `[{"id":1,"status":"d\u006fne"}]`},
		{"none, behind the title", "[{\n  \"id\": 1,\n  \"title\": \"x\",\n  \"a\": 2\n}]", "1", "[{\n  \"id\": 1,\n  \"title\": \"x\",\n  \"status\": \"done\",\n  \"a\": 2\n}]"},
		{"none, the title at the end", "[{\r\n\t\"id\" :1,\r\n\t\"title\" :\"x\"\r\n}]", "1", "[{\r\n\t\"id\" :1,\r\n\t\"title\" :\"x\",\r\n\t\"status\" :\"done\"\r\n}]"},
		{"none, behind the id", `[{"id": 1, "a": 2}]`, "1", `[{"id": 1, "status": "done", "a": 2}]`},
		{"none, nothing but the id", `[{"id": 1}]`, "1", `[{"id": 1, "status": "done"}]`},
		{"none, tight", `[{"id":1}]`, "1", `[{"id":1,"status":"done"}]`},
		{"none, in front", "[{\n \"a\": 2\n}]", "1", "[{\n \"status\": \"done\",\n \"a\": 2\n}]"},
		{"none, empty", "[{ }]", "1", `[{"status":"done" }]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.id == "" { // by its place, as 1e0 is not the 1 that is asked for
				if _, _, err := of(t, tt.tasks).WithStatus("1", "done"); !errors.Is(err, ErrNotFound) {
					t.Errorf("got %v, want ErrNotFound", err)
				}
				return
			}
			f := of(t, tt.tasks)
			got, changed, err := f.WithStatus(tt.id, "done")
			want := `{"master":{"tasks":` + tt.want + `}}`
			if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
				t.Errorf("data (-want +got), error %v:\n%s", err, diff)
			}
			if changed != (tt.tasks != tt.want) {
				t.Errorf("changed = %v", changed)
			}
		})
	}
}

func TestWithStatusRefuses(t *testing.T) {
	t.Parallel()
	const two = `[{"id":1,"status":"pending","subtasks":[{"id":1},{"id":2}]}]`
	tests := []struct {
		name, tasks, id, status string
		kind                    error
		want                    string
	}{
		{"status", two, "1", "finished", ErrBadStatus, `"finished" is not a status: it is one of pending, in-progress, done, deferred, cancelled, blocked, review`},
		{"completed", two, "1", "completed", ErrBadStatus, ""},
		{"no task", two, "2", "done", ErrNotFound, "has no task 2"},
		{"no task of a subtask", two, "2.1", "done", ErrNotFound, "has no task 2"},
		{"no subtask", two, "1.3", "done", ErrNotFound, "has no subtask 1.3 of task 1; it has 1.1, 1.2"},
		{"no subtasks", `[{"id":1}]`, "1.3", "done", ErrNotFound, "has no subtask 1.3 of task 1; it has no subtasks"},
		{"id", two, "x", "done", ErrBadID, `"x" is not the id of a task`},
		{"task twice", `[{"id":1},{"id":"1"}]`, "1", "done", ErrAmbiguous, "has task 1 twice"},
		{"task of a subtask twice", `[{"id":1,"subtasks":[{"id":1}]},{"id":"1"}]`, "1.1", "done", ErrAmbiguous, "has task 1 twice"},
		{"subtask twice", `[{"id":1,"subtasks":[{"id":1},{"id":"1"}]}]`, "1.1", "done", ErrAmbiguous, "has subtask 1.1 twice"},
		{"status twice", `[{"id":1,"status":"done","status":"pending"}]`, "1", "done", ErrAmbiguous, `has "status" twice in one object`},
		{"subtasks twice", `[{"id":1,"subtasks":[{"id":1}],"subtasks":[{"id":1}]}]`, "1.1", "done", ErrAmbiguous, `has "subtasks" twice`},
		{"no text", "[{\"id\":1,\n\"status\":{\"a\":1}}]", "1", "done", nil, `has something else than text for "status" in line 2`},
		{"broken elsewhere", "[{\"id\":1,\"status\":\"pending\"},{\"id\":2,\n\"x\":tru}]", "1", "done", nil, "change the status of 1: .taskmaster/tasks/tasks.json is not JSON: line 2: "},
		{"brackets that do not fit", `[{"id":1,"status":"pending"},{"id":2,"x":[}}]`, "1", "done", nil, "is not JSON: line 1: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := of(t, tt.tasks)
			before := string(f.data)
			data, changed, err := f.WithStatus(tt.id, tt.status)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %q of kind %v", err, tt.want, tt.kind)
			}
			if data != nil || changed || string(f.data) != before {
				t.Errorf("got data %q, changed %v beside the error", data, changed)
			}
		})
	}
}

// drawn is a file in some form, and where what is in it.
type drawn struct {
	*rapid.T
	out bytes.Buffer
	ids []string // of tasks and subtasks that can be asked for
}

func (d *drawn) one(of ...string) { d.out.WriteString(rapid.SampledFrom(of).Draw(d.T, "one")) }
func (d *drawn) blank()           { d.one("", "", " ", "\n  ", "\r\n\t", "\n") }

func (d *drawn) member(name string, value func()) func() {
	return func() {
		if rapid.IntRange(0, 9).Draw(d.T, "escape") == 0 {
			name = fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
		}
		d.out.WriteString(`"` + name + `"`)
		d.blank()
		d.out.WriteByte(':')
		d.blank()
		value()
	}
}

func (d *drawn) list(open, shut byte, items []func()) {
	d.out.WriteByte(open)
	for i, item := range items {
		if i > 0 {
			d.out.WriteByte(',')
		}
		d.blank()
		item()
		d.blank()
	}
	d.blank()
	d.out.WriteByte(shut)
}

func (d *drawn) anything() {
	d.one(`"a \"status\": \"x\" \\"`, `"}]{["`, `"äö\ud83d\ude00"`, "1.50", "-0e+5", "null", "true", `{"status":"x","id":1}`, `[ {"id":1, "tasks":[]} ,[ ]]`, `""`, `"`+strings.Repeat("xyz \\n", 30)+`"`)
}

func (d *drawn) object(id string, asText bool, more ...func()) {
	written := id
	if asText {
		written = strconv.Quote(id)
	}
	members := []func(){d.member("id", func() { d.out.WriteString(written) })}
	for _, name := range []string{"title", "details", "metadata", "Status"} {
		if rapid.Bool().Draw(d.T, name) {
			members = append(members, d.member(name, d.anything))
		}
	}
	if rapid.IntRange(0, 4).Draw(d.T, "status") > 0 {
		members = append(members, d.member("status", func() { d.one(`"pending"`, `"done"`, `"d\u006fne"`, "null", `"in-progress"`, `"x"`) }))
	}
	members = rapid.Permutation(append(members, more...)).Draw(d.T, "order")
	d.list('{', '}', members)
}

func (d *drawn) tasks() {
	var tasks []func()
	for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(1, 20), 1, 4, rapid.ID).Draw(d.T, "ids") {
		id, asText := strconv.Itoa(n), rapid.Bool().Draw(d.T, "text")
		if asText && rapid.Bool().Draw(d.T, "letters") {
			id = "HAM-" + id
		}
		d.ids = append(d.ids, id)
		var subs []func()
		for k := range rapid.IntRange(0, 3).Draw(d.T, "subtasks") {
			sub := strconv.Itoa(k + 1)
			dotted := id + "." + sub
			d.ids = append(d.ids, dotted)
			asText := rapid.Bool().Draw(d.T, "text")
			if asText && rapid.Bool().Draw(d.T, "dotted") {
				sub = dotted
			}
			subs = append(subs, func() { d.object(sub, asText) })
		}
		tasks = append(tasks, func() {
			d.object(id, asText, d.member("subtasks", func() { d.list('[', ']', subs) }))
		})
		if rapid.IntRange(0, 9).Draw(d.T, "strange") == 0 {
			tasks = append(tasks, func() { d.one("null", `"x"`, "[[]]") })
		}
	}
	d.list('[', ']', tasks)
}

func draw(t *rapid.T) *drawn {
	d := &drawn{T: t}
	d.one("", "", "\ufeff")
	d.blank()
	list := d.member("tasks", d.tasks)
	other := d.member("metadata", d.anything)
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		d.list('{', '}', rapid.Permutation([]func(){list, other}).Draw(t, "top"))
	default:
		foreign := d.member("other", func() { d.out.WriteString(`{"tasks":[{"id":1,"status":"pending","subtasks":[{"id":1}]}]}`) })
		tag := d.member("master", func() { d.list('{', '}', rapid.Permutation([]func(){list, other}).Draw(t, "tag")) })
		d.list('{', '}', rapid.Permutation([]func(){tag, foreign}).Draw(t, "top"))
	}
	d.one("", "\n", "\r\n", " ")
	return d
}

// setIn changes the status in a decoded file, as one who decodes it would.
func setIn(t *rapid.T, top map[string]any, id, status string) {
	if tag, ok := top["master"].(map[string]any); ok {
		top = tag
	}
	main, sub, dotted := strings.Cut(id, ".")
	pick := func(list any, ids ...string) map[string]any {
		for _, v := range list.([]any) {
			o, _ := v.(map[string]any)
			for _, id := range ids {
				if o != nil && fmt.Sprint(o["id"]) == id {
					return o
				}
			}
		}
		t.Fatalf("no %v in %v", ids, list)
		return nil
	}
	o := pick(top["tasks"], main)
	if dotted {
		o = pick(o["subtasks"], sub, id)
	}
	o["status"] = status
}

func decoded(t *rapid.T, data []byte) map[string]any {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return v
}

func TestOneStatusChangesAndNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		before := bytes.Clone(d.out.Bytes())
		f, err := parse(tasksFile, before, masterTag, true)
		if err != nil {
			t.Fatalf("%v in %q", err, before)
		}
		id := rapid.SampledFrom(d.ids).Draw(t, "id")
		status := rapid.SampledFrom(statuses()).Draw(t, "to")
		after, changed, err := f.WithStatus(id, status)
		if err != nil {
			t.Fatalf("%v in %q", err, before)
		}
		want, got := decoded(t, before), decoded(t, after)
		setIn(t, want, id, status)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("status %s of %s:\n%q\n%q", status, id, before, after)
		}
		if changed == bytes.Equal(before, after) || !bytes.Equal(f.data, d.out.Bytes()) {
			t.Fatalf("changed = %v:\n%q\n%q", changed, before, after)
		}
		// What is different is one value, or one new member and its comma.
		front := 0
		for front < min(len(before), len(after)) && before[front] == after[front] {
			front++
		}
		back := 0
		for back < min(len(before), len(after))-front && before[len(before)-1-back] == after[len(after)-1-back] {
			back++
		}
		if gone := len(before) - front - back; gone > len(`"in-progress"`) {
			t.Fatalf("%d bytes are gone:\n%q\n%q", gone, before, after)
		}
		if again, changed, err := (&File{Path: f.Path, Tag: f.Tag, data: after, list: mustParse(t, after).list}).WithStatus(id, status); err != nil || changed || !bytes.Equal(again, after) {
			t.Fatalf("the second time: %v, %v", changed, err)
		}
		readBack(t, after, id, status)
	})
}

func mustParse(t *rapid.T, data []byte) *File {
	f, err := parse(tasksFile, data, masterTag, true)
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return f
}

func readBack(t *rapid.T, data []byte, id, status string) {
	main, _, dotted := strings.Cut(id, ".")
	task, err := mustParse(t, data).Task(main)
	if err != nil {
		t.Fatal(err)
	}
	list := []Task{task}
	if dotted {
		list = task.Subtasks
	}
	for _, one := range list {
		if one.ID == id && one.Status == status {
			return
		}
	}
	t.Fatalf("%s is not %s in %+v", id, status, task)
}

// FuzzWithStatus: nothing panics, what was JSON stays JSON, and a second time there is
// nothing to change.
func FuzzWithStatus(f *testing.F) {
	for _, s := range []string{
		`{"master":{"tasks":[{"id":1,"title":"x","status":"pending","subtasks":[{"id":1},{"id":"1.2","status":null}]}]}}`,
		"\ufeff{\r\n\"tasks\": [ { }, {\"id\": \"HAM-1\", \"subtasks\": [{}] } ]\r\n}", `{"tasks":[{"id":1,"id":1}]}`, `{"tasks":[{"id":1,"x":[}}]}`, `{"tasks":[{`, `{"master":{"tasks":[]}`, `{"tasks":[{"id":"\ud800","status":"\u"}]}`, `{"tasks":[{"id":1,"status":[]}]} x`,
	} {
		f.Add([]byte(s), "1")
		f.Add([]byte(s), "1.2")
	}
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		before := bytes.Clone(data)
		file, err := parse(tasksFile, data, masterTag, false)
		if err != nil {
			return
		}
		if task, err := file.Task(id); err == nil {
			_, _ = file.Open(task)
			file.Unmet(task)
		}
		after, changed, err := file.WithStatus(id, "review")
		if !bytes.Equal(before, data) {
			t.Fatal("the data of the file was written to")
		}
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(after, []byte("\ufeff"))) || changed == bytes.Equal(before, after) {
			t.Fatalf("%q became %q, changed %v", before, after, changed)
		}
		next, err := parse(tasksFile, after, file.Tag, true)
		if err != nil {
			t.Fatalf("%q became %q: %v", before, after, err)
		}
		if _, changed, err := next.WithStatus(id, "review"); changed || err != nil {
			t.Fatalf("%q became %q; again: %v, %v", before, after, changed, err)
		}
	})
}

func TestWrite(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "data/real.json", `{"tasks":[{"id":1,"status":"pending"},{"id":2}]}`)
	if err := os.MkdirAll(r.path(".taskmaster/tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../data/real.json", r.path(tasksFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.path("data/real.json"), 0o640); err != nil {
		t.Fatal(err)
	}
	f := r.load("")
	for _, id := range []string{"1", "2"} { // one after the other with the same File
		data, _, err := f.WithStatus(id, "done")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(r.dir, data); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.read("data/real.json"), `{"tasks":[{"id":1,"status":"done"},{"id":2,"status":"done"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if link, err := os.Readlink(r.path(tasksFile)); err != nil || link != "../../data/real.json" {
		t.Errorf("link = %q, %v", link, err)
	}
	info, err := os.Stat(r.path("data/real.json"))
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("mode = %v, %v, want 0640", info.Mode(), err)
	}
	for _, dir := range []string{"data", ".taskmaster/tasks"} {
		if entries, err := os.ReadDir(r.path(dir)); err != nil || len(entries) != 1 {
			t.Errorf("%s has %v, %v, want one file", dir, entries, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	const before, theirs = `{"tasks":[{"id":1,"status":"pending"}]}`, `{"tasks":[{"id":1,"status":"review"}]}`
	tests := []struct {
		name string
		set  func(r repo) error
		data string
		kind error
		want string
		left string
	}{
		{"changed", func(r repo) error { return os.WriteFile(r.path(tasksFile), []byte(theirs), 0o600) }, "", ErrChanged, "write tasks: .taskmaster/tasks/tasks.json is not what it was when it was read: somebody else has changed it", theirs},
		{"gone", func(r repo) error { return os.Remove(r.path(tasksFile)) }, "", ErrChanged, "somebody else has changed it", ""},
		{"read-only", func(r repo) error { return os.Chmod(r.path(tasksFile), 0o444) }, "", nil, "write tasks: .taskmaster/tasks/tasks.json is read-only", before},
		{"became a link out", func(r repo) error {
			if err := os.Rename(r.path(tasksFile), filepath.Join(r.dir, "..", "out.json")); err != nil {
				return err
			}
			return os.Symlink("../../../out.json", r.path(tasksFile))
		}, "", nil, "path escapes from parent", before},
		{"other data", func(repo) error { return nil }, "null", nil, "write tasks: what would be written: load tasks: .taskmaster/tasks/tasks.json is not an object", before},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "sub/"+tasksFile, before)
			r.dir = r.path("sub")
			f := r.load("")
			data, _, err := f.WithStatus("1", "done")
			if err != nil {
				t.Fatal(err)
			}
			if tt.data != "" {
				data = []byte(tt.data)
			}
			if err := tt.set(r); err != nil {
				t.Fatal(err)
			}
			err = f.Write(r.dir, data)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %q of kind %v", err, tt.want, tt.kind)
			}
			if got, _ := os.ReadFile(r.path(tasksFile)); string(got) != tt.left {
				t.Errorf("left %q, want %q", got, tt.left)
			}
		})
	}
	// Nothing to write is not written, whatever is there.
	r := newRepo(t, tasksFile, theirs)
	f := r.load("")
	data, _, err := f.WithStatus("1", "review")
	r.write(tasksFile, before)
	if err != nil || f.Write(r.dir, data) != nil || r.read(tasksFile) != before {
		t.Errorf("nothing to change: %v", err)
	}
}
