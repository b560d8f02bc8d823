package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// adapter is what the suite knows about one source. Its tasks stand in one file.
type adapter struct {
	source  string
	prepare func(h *home) // what has to be there beside the file
	file    func(h *home) string
	none    string // the file when it holds no tasks
	whyNone string
	healthy string
	want    []Task
	flawed  string // with one broken entry among two
	flaw    string // what the fault says
	many    func(n int) string
	subject func(s string) string // the file with one task of this subject, in JSON or as it is
	lenient bool                  // text that is no JSON is fine
	remote  bool                  // no file of its own
}

func repoFile(name string) func(h *home) string {
	return func(h *home) string { return filepath.Join(h.place.Repo, name) }
}

func repeat(n int, left, right, between string, one func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = one(i)
	}
	return left + strings.Join(parts, between) + right
}

func quoted(format string) func(string) string {
	return func(s string) string { return fmt.Sprintf(format, `"`+s+`"`) }
}

func adapters() []adapter {
	return []adapter{
		{
			source:  TeamTasks,
			prepare: func(h *home) { h.place.Session = sessionA },
			file:    func(h *home) string { return filepath.Join(h.place.Config, "tasks", sessionA, "7.json") },
			none:    `{"id":"7","subject":"x","status":"deleted"}`, whyNone: "Claude Code wrote no tasks",
			healthy: `{"id":"7","subject":"Build it","description":"d","owner":"agent-a","status":"pending","blocks":[],"blockedBy":["8"],"metadata":{"a":[1,{"b":null}]}}`,
			want:    []Task{{ID: "7", Subject: "Build it", Status: "pending", Owner: "agent-a", BlockedBy: []string{"8"}}},
			subject: quoted(`{"id":"7","subject":%s,"status":"pending"}`),
		},
		{
			source: SwarmTasks, file: repoFile(swarmFile), none: `{"tasks":[]}`, whyNone: "holds no tasks",
			healthy: `[{"taskId":3,"description":"One","status":"done"},{"name":"Two","blockedBy":"3"},{"id":"x","subject":"Three","status":"failed","dependencies":["swarm-1"]}]`,
			want: []Task{
				{ID: "3", Subject: "One", Status: "done"},
				{ID: "swarm-1", Subject: "Two", Status: "unknown", BlockedBy: []string{"3"}},
				{ID: "x", Subject: "Three", Status: "failed", BlockedBy: []string{"swarm-1"}, Blocked: true},
			},
			flawed: `{"tasks":[{"subject":["a"]},{"subject":"Two"}]}`, flaw: "entry 0: ",
			many: func(n int) string {
				return repeat(n, "[", "]", ",", func(i int) string { return fmt.Sprintf(`{"id":%d,"subject":"Task %d"}`, i, i) })
			},
			subject: quoted(`[{"id":"7","subject":%s}]`),
		},
		{
			source: FileChecklist, file: repoFile(checklistFile), none: `[]`, whyNone: "holds no tasks",
			healthy: `{"items":[{"text":"One","done":true},"Two",{"id":"c","description":"Three","status":"skipped","done":false},{"text":"Four","done":false}]}`,
			want: []Task{
				{ID: "check-0", Subject: "One", Status: "completed"},
				{ID: "check-1", Subject: "Two", Status: "pending"},
				{ID: "c", Subject: "Three", Status: "skipped"},
				{ID: "check-3", Subject: "Four", Status: "pending"},
			},
			flawed: `[5,"Two"]`, flaw: "entry 0: is a number instead of an object",
			many: func(n int) string {
				return repeat(n, "[", "]", ",", func(i int) string { return fmt.Sprintf(`"Task %d"`, i) })
			},
			subject: quoted(`[%s]`),
		},
		{
			source: TaskMaster, file: repoFile(masterFile), none: `{"master":{"tasks":[]}}`, whyNone: "under the tag master",
			healthy: `{"master":{"tasks":[{"id":5,"title":"One","status":"in-progress","dependencies":[],"subtasks":[
				{"id":1,"title":"Part","status":"done"},{"id":2,"title":"Rest","status":"pending","dependencies":[1,"5.3",6]},{"id":3,"title":"End","status":"pending"}]},
				{"id":"6","title":"Two","status":"deferred","dependencies":["5"]}],"metadata":{}},"other":{"tasks":[{"id":1,"title":"No"}]}}`,
			want: []Task{
				{ID: "5", Subject: "One", Status: "in-progress", List: "master"},
				{ID: "5.1", Subject: "Part", Status: "done", List: "master"},
				{ID: "5.2", Subject: "Rest", Status: "pending", List: "master", BlockedBy: []string{"5.1", "5.3", "6"}, Blocked: true},
				{ID: "5.3", Subject: "End", Status: "pending", List: "master"},
				{ID: "6", Subject: "Two", Status: "deferred", List: "master", BlockedBy: []string{"5"}, Blocked: true},
			},
			flawed: `{"tasks":[null,{"id":2,"title":"Two"}]}`, flaw: "entry 0: is null",
			many: func(n int) string {
				return repeat(n, `{"tasks":[`, "]}", ",", func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"Task %d"}`, i, i) })
			},
			subject: quoted(`{"tasks":[{"id":7,"title":%s}]}`),
		},
		{
			source: SpecWeave,
			prepare: func(h *home) {
				h.repo(".specweave/increments/0007-x/metadata.json", `{"id":"0007-x","status":"active"}`)
			},
			file: repoFile(".specweave/increments/0007-x/tasks.md"), none: "# Tasks\n- [ ] a criterion\n", whyNone: "0007-x",
			healthy: "# Tasks\n\n### T-001: One\n**User Story**: US-001 | **Status**: [x] completed\n- [ ] **AC-US1-01**: no task\n" +
				"### T-002E: Two\n#### Notes\n**Status**: [ ] in_progress\n**Dependencies**: T-001, T-003\n- [ ] [T003] [P] haiku - Three\n" +
				"## T-004: Four\n**Status:** [ ] transferred\n",
			want: []Task{
				{ID: "T-001", Subject: "One", Status: "completed", List: "0007-x"},
				{ID: "T-002E", Subject: "Two", Status: "in_progress", List: "0007-x", BlockedBy: []string{"T-001", "T-003"}},
				{ID: "T003", Subject: "Three", Status: "pending", List: "0007-x"},
				{ID: "T-004", Subject: "Four", Status: "skipped", List: "0007-x"},
			},
			flawed: "### T-001: One\n```\n### T-002: Two\n", flaw: "line 2: the code block or comment is not closed",
			many: func(n int) string {
				return repeat(n, "", "", "\n", func(i int) string { return fmt.Sprintf("### T-%05d: Task %d", i, i) })
			},
			subject: func(s string) string { return "### T-007: " + s + "\n" }, lenient: true,
		},
		{
			source:  Markdown,
			prepare: func(h *home) { h.place.Files = []string{"docs/PLAN.md"} },
			file:    repoFile("docs/PLAN.md"), none: "# Plan\n- [ ]\n- [a] b\n-[ ] c\n", whyNone: "without a check box: docs/PLAN.md",
			healthy: "# Plan\n- [ ] One\n  * [x] Nested\n1. [X] Numbered\n+ [-] Dropped\n2) [~] Begun\n~~~\n- [ ] code\n~~~\n<!--\n- [ ] hidden\n-->\n- [x](link)\n- [ ]\tTab\r\n",
			want: []Task{
				{ID: "L2", Subject: "One", Status: "pending", List: "docs/PLAN.md"},
				{ID: "L3", Subject: "Nested", Status: "completed", List: "docs/PLAN.md"},
				{ID: "L4", Subject: "Numbered", Status: "completed", List: "docs/PLAN.md"},
				{ID: "L5", Subject: "Dropped", Status: "cancelled", List: "docs/PLAN.md"},
				{ID: "L6", Subject: "Begun", Status: "in-progress", List: "docs/PLAN.md"},
				{ID: "L14", Subject: "Tab", Status: "pending", List: "docs/PLAN.md"},
			},
			flawed: "- [ ] One\n````\n```\n- [ ] code\n", flaw: "line 2: the code block or comment is not closed",
			many: func(n int) string {
				return repeat(n, "", "", "\n", func(i int) string { return fmt.Sprintf("- [ ] Task %d", i) })
			},
			subject: func(s string) string { return "- [ ] " + s + "\n" }, lenient: true,
		},
		{
			source: GitHubIssues,
			prepare: func(h *home) {
				h.place.GH = func(context.Context, ...string) ([]byte, error) {
					return os.ReadFile(filepath.Join(h.place.Repo, "gh.json"))
				}
			},
			file: repoFile("gh.json"), none: "[]", whyNone: "has no issues",
			healthy: `[{"number":9,"title":"One","state":"OPEN","assignees":[{"login":"me"},{"login":"you"}],"labels":[]},{"number":8,"title":"Two","state":"CLOSED","stateReason":"NOT_PLANNED"},{"number":7,"title":"Three","state":"CLOSED"}]`,
			want: []Task{
				{ID: "9", Subject: "One", Status: "pending", Owner: "me, you"},
				{ID: "8", Subject: "Two", Status: "cancelled"},
				{ID: "7", Subject: "Three", Status: "completed"},
			},
			flawed: `[{"title":"no number"},{"number":2,"title":"Two"}]`, flaw: "entry 0: has no number",
			many: func(n int) string {
				return repeat(n, "[", "]", ",", func(i int) string { return fmt.Sprintf(`{"number":%d,"title":"Task %d","state":"OPEN"}`, i, i) })
			},
			subject: quoted(`[{"number":7,"title":%s,"state":"OPEN"}]`), remote: true,
		},
	}
}

// with runs one case for every adapter in a home where content is its file.
func with(t *testing.T, test func(t *testing.T, a adapter, h *home)) {
	t.Helper()
	all := adapters()
	if got, want := len(all), len(Sources()); got != want {
		t.Fatalf("the suite knows %d adapters, there are %d sources", got, want)
	}
	for i, a := range all {
		if a.source != Sources()[i] {
			t.Fatalf("adapter %d is %s, want %s", i, a.source, Sources()[i])
		}
		t.Run(a.source, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			if a.prepare != nil {
				a.prepare(h)
			}
			test(t, a, h)
		})
	}
}

func (a adapter) look(t *testing.T, h *home, content string) Found {
	t.Helper()
	write(t, a.file(h), content)
	return a.check(t, h)
}

// check discovers and sees to what holds for every answer.
func (a adapter) check(t *testing.T, h *home) Found {
	t.Helper()
	found := h.discover(a.source)
	if len(found.Looks) != 1 || found.Looks[0].Source != a.source || found.Tasks == nil {
		t.Fatalf("got %+v, want one look of %s and a list", found, a.source)
	}
	look := found.Looks[0]
	if look.Places == nil || look.Broken == nil || look.Tasks != len(found.Tasks) || (look.Empty == "") != (look.Tasks > 0) {
		t.Errorf("got look %+v for %d tasks", look, len(found.Tasks))
	}
	for _, task := range found.Tasks {
		sane(t, task)
		if task.Source != a.source || (task.Path != a.file(h)) != a.remote {
			t.Errorf("got source %s and path %s, want %s and %s", task.Source, task.Path, a.source, a.file(h))
		}
	}
	for _, f := range look.Broken {
		if f.Path == "" || f.Why == "" || oneLine(f.Why) != f.Why {
			t.Errorf("got fault %+q", f)
		}
	}
	return found
}

// sane checks what holds for every task, wherever it comes from.
func sane(tb testing.TB, task Task) {
	tb.Helper()
	for _, s := range []string{task.ID, task.Subject, task.Status, task.List, task.Owner} {
		if !utf8.ValidString(s) || oneLine(s) != s || utf8.RuneCountInString(s) > longestSubject {
			tb.Errorf("got %q, which is no clean line", s)
		}
	}
	if task.Subject == "" || task.Status == "" || task.ID == "" {
		tb.Errorf("got a task that lacks something: %+v", task)
	}
}

func subjects(found Found) []string {
	out := []string{}
	for _, t := range found.Tasks {
		out = append(out, t.Subject)
	}
	return out
}

func TestMissing(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		if a.remote {
			h.place.GH = nil
		}
		found := a.check(t, h)
		if len(found.Tasks) != 0 || len(found.Looks[0].Broken) != 0 {
			t.Errorf("got %+v, want nothing and no fault", found)
		}
		for _, h.place = range []Place{{}, {Repo: h.place.Repo + "/gone", Config: h.place.Config + "/gone"}} {
			a.check(t, h)
		}
	})
}

func TestNone(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		found := a.look(t, h, a.none)
		if look := found.Looks[0]; look.Tasks != 0 || len(look.Broken) != 0 || !strings.Contains(look.Empty, a.whyNone) {
			t.Errorf("got %+v, want nothing, no fault, and why: %s", look, a.whyNone)
		}
	})
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		for _, mark := range []string{"", "\ufeff"} {
			found := a.look(t, h, mark+a.healthy)
			want := append([]Task{}, a.want...)
			for i := range want {
				want[i].Source = a.source
				if !a.remote {
					want[i].Path = a.file(h)
				}
				if a.source == TeamTasks {
					want[i].List = sessionA
				}
			}
			if diff := cmp.Diff(want, found.Tasks); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if len(found.Looks[0].Broken) > 0 || len(found.Looks[0].Places) == 0 {
				t.Errorf("got %+v, want no fault and a place", found.Looks[0])
			}
		}
	})
}

func TestOneBroken(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		if a.flawed == "" { // one task to a file
			write(t, filepath.Join(filepath.Dir(a.file(h)), "3.json"), `{"id":"3",`)
			a.flawed, a.flaw = a.healthy, "is not JSON: line 1: "
		}
		found := a.look(t, h, a.flawed)
		look := found.Looks[0]
		if len(look.Broken) != 1 || !strings.HasPrefix(look.Broken[0].Why, a.flaw) || len(found.Tasks) != 1 {
			t.Errorf("got %d tasks and faults %+v, want one of each, %q", len(found.Tasks), look.Broken, a.flaw)
		}
	})
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ab cd ", 300_000)
	with(t, func(t *testing.T, a adapter, h *home) {
		for _, tt := range []struct{ in, json, want string }{
			{"a \xff\xfe b", "a \xff\xfe b", "a \ufffd\ufffd b"},
			{" a\t\tb\v ", `\u0020a\t\tb\u000b `, "a b"},
			{"a\x1b[31mb\x7f\u0085", `a\u001b[31mb\u007f\u0085`, "a[31mb"},
			{"a\u202eb\u2028c", `a\u202eb\u2028c`, "ab c"},
			{"😀 é", `\ud83d\ude00 \u00e9`, "😀 é"},
			{long, long, long[:longestSubject-1] + "…"},
		} {
			in := tt.json
			if a.lenient {
				in = tt.in
			}
			found := a.look(t, h, a.subject(in))
			if got := subjects(found); len(got) != 1 || got[0] != tt.want {
				t.Errorf("subject %.80q: got %.80q, want %.80q", in, got, tt.want)
			}
		}
	})
}

func TestHostileFile(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		for name, content := range map[string]string{
			"empty": "", "blank": " \n", "cut": a.healthy[:len(a.healthy)-2], "twice": a.healthy + a.healthy, "zero": a.subject("a\x00b"),
			"null": "null", "number": "5", "text": `"x"`, "true": "true", "nested": strings.Repeat("[", 20_000), "deep": `[{"subject":` + strings.Repeat(`{"a":`, 12_000),
			"wrong": `[true,[],{"id":{},"number":[],"title":7.5e3,"status":[],"blockedBy":{"a":1},"done":"yes"}]`, "utf16": "\xff\xfe[\x00]\x00",
		} {
			found := a.look(t, h, content)
			broken := len(found.Looks[0].Broken) > 0
			switch name {
			case "zero", "utf16":
				if !broken {
					t.Errorf("%s: got no fault", name)
				}
			case "null", "true", "empty", "blank", "cut", "twice", "number", "text", "nested", "deep", "wrong":
				if !broken && !a.lenient && (name != "null" || a.source != TaskMaster) {
					t.Errorf("%s: got no fault", name)
				}
			}
		}
	})
}

func TestManyEntries(t *testing.T) {
	t.Parallel()
	const n = 10_000
	with(t, func(t *testing.T, a adapter, h *home) {
		if a.many == nil {
			for i := range n {
				write(t, filepath.Join(filepath.Dir(a.file(h)), fmt.Sprintf("%d.json", i)), fmt.Sprintf(`{"id":"%d","subject":"Task %d"}`, i, i))
			}
		} else {
			write(t, a.file(h), a.many(n))
		}
		found := h.discover(a.source)
		if len(found.Tasks) != n {
			t.Fatalf("got %d tasks, want %d: %+v", len(found.Tasks), n, found.Looks[0].Broken)
		}
		for i, task := range found.Tasks {
			if want := fmt.Sprintf("Task %d", i); task.Subject != want {
				t.Fatalf("task %d: got %q, want %q", i, task.Subject, want)
			}
		}
	})
}

func TestOnlyRegularFilesInside(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		if a.remote {
			t.Skip("no file of its own")
		}
		file := a.file(h)
		write(t, file, a.healthy)
		aside, outside := filepath.Join(filepath.Dir(file), "aside"), filepath.Join(t.TempDir(), "outside")
		write(t, aside, a.healthy)
		write(t, outside, a.healthy)
		up, err := filepath.Rel(filepath.Dir(file), outside)
		if err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			name  string
			make  func() error
			tasks int
		}{
			{"link inside", func() error { return os.Symlink("aside", file) }, len(a.want)},
			{"link out", func() error { return os.Symlink(up, file) }, 0},
			{"absolute link", func() error { return os.Symlink(outside, file) }, 0},
			{"link to nothing", func() error { return os.Symlink("nothing", file) }, 0},
			{"ring", func() error { return os.Symlink(filepath.Base(file), file) }, 0},
			{"pipe", func() error { return syscall.Mkfifo(file, 0o600) }, 0},
			{"folder", func() error { return os.Mkdir(file, 0o700) }, 0},
			{"large", func() error { return sparse(file, largest+1) }, 0},
		}
		for _, tt := range tests {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(); err != nil {
				t.Fatal(err)
			}
			found := a.check(t, h)
			if broken := found.Looks[0].Broken; len(found.Tasks) != tt.tasks || (len(broken) == 1) != (tt.tasks == 0) {
				t.Errorf("%s: got %d tasks and faults %+v, want %d tasks", tt.name, len(found.Tasks), broken, tt.tasks)
			}
			if tt.name == "large" && found.Looks[0].Broken[0].Why != "is larger than 16 MiB" {
				t.Errorf("large: got %+v", found.Looks[0].Broken)
			}
		}
		// The folder itself must not lead out either.
		dir := filepath.Dir(file)
		if dir == h.place.Repo {
			return
		}
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Dir(outside), dir); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(filepath.Dir(outside), filepath.Base(file)), a.healthy)
		if found := a.check(t, h); len(found.Tasks) != 0 || len(found.Looks[0].Broken) == 0 {
			t.Errorf("folder that leads out: got %+v, want a fault", found)
		}
		if err := errors.Join(os.Remove(dir), syscall.Mkfifo(dir, 0o600)); err != nil {
			t.Fatal(err)
		}
		if found := a.check(t, h); len(found.Tasks) != 0 || len(found.Looks[0].Broken) == 0 {
			t.Errorf("folder that is a pipe: got %+v, want a fault", found)
		}
	})
}

func sparse(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Close()
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	with(t, func(t *testing.T, a adapter, h *home) {
		if a.remote {
			t.Skip("no file of its own")
		}
		write(t, a.file(h), a.healthy)
		if err := os.Chmod(a.file(h), 0); err != nil {
			t.Fatal(err)
		}
		if found := a.check(t, h); len(found.Looks[0].Broken) != 1 {
			t.Errorf("got %+v, want a fault", found)
		}
	})
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	with(t, func(t *testing.T, a adapter, h *home) {
		write(t, a.file(h), a.healthy)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		found := Discover(ctx, h.place, []string{a.source})
		if len(found.Tasks) != 0 || !strings.Contains(found.Looks[0].Empty, "context canceled") {
			t.Errorf("got %+v, want nothing and why", found)
		}
	})
}
