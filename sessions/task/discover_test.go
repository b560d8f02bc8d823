package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiscoverKeepsToThePriority(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.place.Session = sessionA
	h.config("tasks/"+sessionA+"/5.json", one("5", "Write the parser"))
	h.repo(swarmFile, `[{"id":"7","subject":"write the  Parser.","status":"done"},{"id":"8","subject":"only here","status":"done"}]`)
	h.repo(checklistFile, `["Write the parser","Ship it"]`)
	found := h.discover(FileChecklist, SwarmTasks, TeamTasks, "no source")
	want := []string{"team-tasks 5 pending; swarm-tasks 7 (done); file-checklist check-0 (pending)", "swarm-tasks 8 done", "file-checklist check-1 pending"}
	if diff := cmp.Diff(want, show(found.Tasks)); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	var looks []string
	for _, l := range found.Looks {
		looks = append(looks, fmt.Sprintf("%s %d", l.Source, l.Tasks))
	}
	if diff := cmp.Diff([]string{"team-tasks 1", "swarm-tasks 2", "file-checklist 2"}, looks); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	if found := h.discover(); found.Tasks == nil || found.Looks == nil || len(found.Looks) > 0 {
		t.Errorf("no source: got %+v, want empty lists", found)
	}
}

func TestTaskMasterTags(t *testing.T) {
	t.Parallel()
	const both = `{"master":{"tasks":[{"id":1,"title":"of master"}]},"next":{"tasks":[{"id":1,"title":"of next"}]}}`
	const legacy = `{"tasks":[{"id":1,"title":"old"}],"metadata":{}}`
	tests := []struct {
		name  string
		files map[string]string
		want  []string
		fault string
	}{
		{"master", map[string]string{masterFile: both}, []string{"master: of master"}, ""},
		{"current", map[string]string{masterFile: both, masterState: `{"currentTag":"next"}`}, []string{"next: of next"}, ""},
		{"state without a tag", map[string]string{masterFile: both, masterState: `{"currentTag":""}`}, []string{"master: of master"}, ""},
		{"broken state", map[string]string{masterFile: both, masterState: `{`}, []string{"master: of master"}, "state.json: is not JSON: line 1: unexpected end of JSON input"},
		{"unknown tag", map[string]string{masterFile: both, masterState: `{"currentTag":"x"}`}, nil, `tasks.json: has no tag "x"; it has master, next`},
		{"no array", map[string]string{masterFile: `{"master":{"tasks":{}}}`}, nil, `tasks.json: has no array of tasks under the tag "master"`},
		{"old form", map[string]string{masterFile: legacy, masterState: `{"currentTag":"next"}`}, []string{": old"}, ""},
		{"old form and tags", map[string]string{masterFile: strings.TrimSuffix(legacy, "}") + "," + both[1:]}, []string{"master: of master"}, ""},
		{"a tag called tasks", map[string]string{masterFile: `{"tasks":{"tasks":[{"title":"t"}]}}`, masterState: `{"currentTag":"tasks"}`}, []string{"tasks: t"}, ""},
		{"old place", map[string]string{legacyFile: legacy}, []string{": old"}, ""},
		{"both places", map[string]string{legacyFile: legacy, masterFile: both}, []string{"master: of master"}, ""},
		{"broken subtasks", map[string]string{masterFile: `{"tasks":[{"id":1,"title":"t","subtasks":[1,{"id":2,"title":"s"}]},{"id":2,"title":"u","subtasks":"x"}]}`}, []string{": t", ": s", ": u"}, "tasks.json: subtasks of task 1: entry 0: is a number instead of an object|tasks.json: subtasks of task 2: is no array"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			for name, content := range tt.files {
				h.repo(name, content)
			}
			found := h.discover(TaskMaster)
			var got, faults []string
			for _, task := range found.Tasks {
				got = append(got, task.List+": "+task.Subject)
			}
			for _, f := range found.Looks[0].Broken {
				faults = append(faults, f.Path[strings.LastIndexByte(f.Path, '/')+1:]+": "+f.Why)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if got := strings.Join(faults, "|"); got != tt.fault {
				t.Errorf("got faults %q, want %q", got, tt.fault)
			}
		})
	}
}

func TestIncrements(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for name, status := range map[string]string{
		"0002-b": `"active"`, "0001-a": `"active"`, "0003-c": `"planned"`, "0004-d": `"completed"`, "0005-e": `"backlog"`, "0006-f": `7`, "_archive": `"active"`, "0007-g": `""`,
	} {
		h.repo(incrementFolder+"/"+name+"/metadata.json", `{"status":`+status+`}`)
		h.repo(incrementFolder+"/"+name+"/tasks.md", "### T-001: Of "+name+"\n")
	}
	h.repo(incrementFolder+"/0008-h/tasks.md", "### T-001: Of nothing\n")
	h.repo(incrementFolder+"/README.md", "no increment")
	found := h.discover(SpecWeave)
	if diff := cmp.Diff([]string{"Of 0001-a", "Of 0002-b"}, subjects(found)); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	if got := found.Looks[0].Broken; len(got) != 2 || !strings.Contains(got[0].Path, "0007-g") || !strings.Contains(got[1].Why, "state of the increment is not known") {
		t.Errorf("got faults %+v, want those of 0007 and 0008", got)
	}
}

func TestNoActiveIncrement(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.repo(incrementFolder+"/0001-a/metadata.json", `{"status":"paused"}`)
	if got := h.discover(SpecWeave).Looks[0].Empty; !strings.Contains(got, "none of 1 increments") {
		t.Errorf("got %q", got)
	}
	h.repo(incrementFolder+"/0002-b/metadata.json", `{"status":"active"}`)
	if got := h.discover(SpecWeave).Looks[0].Empty; !strings.Contains(got, "0002-b") {
		t.Errorf("got %q", got)
	}
}

func TestIncrementStatus(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"[x] completed": "completed", "[ ] pending": "pending", "[ ] completed": "pending", "[x] pending": "completed", "[ ] in_progress": "in_progress",
		"[x] canceled": "canceled", "[ ] canceled": "canceled", "[x] Transferred": "skipped", "[~]": "in-progress", "completed": "completed", "": "",
	} {
		if got := incrementStatus(in); got != want {
			t.Errorf("status %q: got %q, want %q", in, got, want)
		}
	}
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		" T-001: One": {"T-001", "One"}, "T-0012E - One": {"T-0012E", "One"}, "[T001] One": {"T001", "One"}, "T-001": {"T-001", ""},
		"T-01: a": {}, "T-001x": {}, "Tasks": {}, "[T001 One": {}, "": {}, "T-001EE": {},
	} {
		if id, title := numbered(in); id != want[0] || title != want[1] {
			t.Errorf("%q: got %q and %q, want %q", in, id, title, want)
		}
	}
}

func TestMarkdownFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.repo("PLAN.md", "- [ ] One\n- [ ] One\n")
	h.repo("docs/TODO.md", "- [x] one\n")
	write(t, h.place.Repo+"/../out.md", "- [ ] Out\n")
	h.place.Files = []string{"PLAN.md", "gone.md", "docs/TODO.md", "../out.md", "/etc/hosts", "docs"}
	found := h.discover(Markdown)
	if diff := cmp.Diff([]string{"markdown L1 pending; markdown L1 (completed)", "markdown L2 pending"}, show(found.Tasks)); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	if got := found.Looks[0]; len(got.Broken) != 3 || got.Tasks != 3 {
		t.Errorf("got %+v, want three tasks and three faults", got)
	}
	h.place.Files = []string{"gone.md", "too.md"}
	if got := h.discover(Markdown).Looks[0]; len(got.Broken) != 0 || got.Empty != "not there: gone.md, too.md" {
		t.Errorf("got %+v, want only that the files are missing", got)
	}
}

func TestFences(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"longer inside", "````\n```\n- [ ] a\n````\n- [ ] b", "b"},
		{"other kind inside", "~~~\n```\n- [ ] a\n~~~\n- [ ] b", "b"},
		{"with words", "```go\n- [ ] a\n``` go\n- [ ] a\n```\n- [ ] b", "b"},
		{"in a list", "- ```\n  - [ ] a\n  ```\n- [ ] b", "b"},
		{"a code span", "```x``` is code\n- [ ] a", "a"},
		{"two are none", "``\n- [ ] a\n", "a"},
		{"windows", "```\r\n- [ ] a\r\n```\r\n- [ ] b\r\n", "b"},
		{"one-line comment", "<!-- - [ ] a -->\n- [ ] b", "b"},
		{"comment open", "- [ ] a\n<!--\n- [ ] b", "a!"},
		{"open", "- [ ] a\n```\n- [ ] b", "a!"},
	}
	for _, tt := range tests {
		tasks, err := parseMarkdown([]byte(tt.text))
		got := strings.Join(subjects(Found{Tasks: tasks}), ",")
		if err != nil {
			got += "!"
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	many := adapters()[6].many
	tests := []struct {
		name  string
		gh    func(fields string) ([]byte, error)
		tasks int
		fault string
		asked int
	}{
		{"fine", func(string) ([]byte, error) { return []byte(many(3)), nil }, 3, "", 1},
		{"an old gh", func(fields string) ([]byte, error) {
			if strings.Contains(fields, "stateReason") {
				return nil, errors.New(`Unknown JSON field: "stateReason"`)
			}
			return []byte(many(3)), nil
		}, 3, "", 2},
		{"fails", func(string) ([]byte, error) { return nil, errors.New("exit status 4\n\x1b[31mnot logged in") }, 0, "exit status 4 [31mnot logged in", 1},
		{"the most", func(string) ([]byte, error) { return []byte(many(200)), nil }, 200, "there may be more than the 200 issues that it gave", 1},
		{"no JSON", func(string) ([]byte, error) { return []byte("hello"), nil }, 0, "is not JSON: line 1: invalid character 'h' looking for beginning of value", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			p := Place{GH: func(_ context.Context, args ...string) ([]byte, error) {
				asked = append(asked, strings.Join(args, " "))
				return tt.gh(args[len(args)-1])
			}}
			found := Discover(t.Context(), p, []string{GitHubIssues})
			fault := ""
			for _, f := range found.Looks[0].Broken {
				fault += f.Why
			}
			if len(found.Tasks) != tt.tasks || fault != tt.fault || len(asked) != tt.asked {
				t.Errorf("got %d tasks, fault %q, asked %q; want %d, %q, %d times", len(found.Tasks), fault, asked, tt.tasks, tt.fault, tt.asked)
			}
			if want := "issue list --state all --limit 200 --json number,title,state,assignees,labels"; !strings.HasPrefix(asked[len(asked)-1], want) {
				t.Errorf("asked %q, want %q", asked, want)
			}
		})
	}
	found := Discover(t.Context(), Place{}, []string{GitHubIssues})
	if got := found.Looks[0].Empty; !strings.Contains(got, "network is not asked") {
		t.Errorf("got %q", got)
	}
}

// More broken entries than anybody reads.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.repo(swarmFile, repeat(5000, "[", "]", ",", func(int) string { return "1" }))
	got := h.discover(SwarmTasks).Looks[0].Broken
	if len(got) != 101 || got[100].Why != "4900 more entries are broken" {
		t.Errorf("got %d faults, the last %+v", len(got), got[len(got)-1])
	}
}
