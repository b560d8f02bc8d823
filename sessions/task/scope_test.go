package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/launch"

	"github.com/google/go-cmp/cmp"
)

func one(id, subject string) string {
	return fmt.Sprintf(`{"id":%q,"subject":%q,"status":"pending","blocks":[],"blockedBy":[]}`, id, subject)
}

func TestScope(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	// What every case finds on disk; Repo stands for the repository.
	setUp := func(t *testing.T) *home {
		h := newHome(t)
		h.transcript(sessionA, day)
		h.transcript(sessionB, day.Add(time.Hour))
		h.config("projects/-else/"+sessionC+".jsonl", "{}")
		h.config("projects/"+launch.FileName(h.place.Repo, "")+"/loose.jsonl/x", "no transcript")
		for list, subject := range map[string]string{
			sessionA: "of A", sessionB: "of B", sessionC: "of another project", "my-list---x_1": "shared",
			"led": "of a team that A leads", "led-C": "of a team that C leads", "beside": "of a team in the repository",
			"sibling": "of a team in a folder with a longer name", "loose": "nobody's",
		} {
			h.config("tasks/"+list+"/1.json", one("1", subject))
			h.config("tasks/"+list+"/.lock", "")
			h.config("tasks/"+list+"/.highwatermark", "1")
			h.config("tasks/"+list+"/notes.txt", "no task")
			h.config("tasks/"+list+"/.1.json", "{")
		}
		h.config("teams/led/config.json", `{"leadSessionId":"`+sessionA+`","members":[{"cwd":"/else"}]}`)
		h.config("teams/led-C/config.json", `{"leadSessionId":"`+sessionC+`","members":[{"cwd":""}]}`)
		h.config("teams/beside/config.json", fmt.Sprintf(`{"leadSessionId":%q,"members":[{"cwd":"/else"},{"cwd":%q}]}`, sessionC, h.place.Repo+"/sub"))
		h.config("teams/sibling/config.json", fmt.Sprintf(`{"members":[{"cwd":%q}]}`, h.place.Repo+"-2"))
		h.config("teams/empty/notes", "")
		return h
	}
	tests := []struct {
		name   string
		change func(h *home)
		want   []string
	}{
		{"the project", func(*home) {}, []string{"of B", "of A", "of a team in the repository", "of a team that A leads"}},
		{"with a shared list", func(h *home) { h.place.ListID = "my list/..x_1" }, []string{"shared", "of B", "of A", "of a team in the repository", "of a team that A leads"}},
		{"one session", func(h *home) { h.place.Session = sessionA }, []string{"of A", "of a team that A leads"}},
		{"one session and a shared list", func(h *home) { h.place.Session, h.place.ListID = sessionB, "my list/..x_1" }, []string{"shared", "of B"}},
		{"the session is the shared list", func(h *home) { h.place.Session, h.place.ListID = sessionB, sessionB }, []string{"of B"}},
		{"a session of another project", func(h *home) { h.place.Session = sessionC }, []string{"of another project", "of a team in the repository", "of a team that C leads"}},
		{"a session that would lead out", func(h *home) { h.place.Session = "../tasks/" + sessionA }, []string{}},
		{"a project without transcripts", func(h *home) { h.place.Repo += "-new" }, []string{}},
		{"reached by a link", func(h *home) {
			link := h.place.Repo + "-link"
			if err := os.Symlink(h.place.Repo, link); err != nil {
				t.Fatal(err)
			}
			h.place.Repo = link
		}, []string{"of B", "of A", "of a team in the repository", "of a team that A leads"}},
		{"a leader without a list of its own", func(h *home) {
			if err := os.RemoveAll(filepath.Join(h.place.Config, "tasks", sessionA)); err != nil {
				t.Fatal(err)
			}
		}, []string{"of B", "of a team in the repository", "of a team that A leads"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := setUp(t)
			tt.change(h)
			found := h.discover(TeamTasks)
			if diff := cmp.Diff(tt.want, subjects(found)); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
			if broken := found.Looks[0].Broken; len(broken) > 0 {
				t.Errorf("got faults %+v", broken)
			}
		})
	}
}

// TestBrokenTeam has teams of which nobody can say whose they are. They are not held
// against this project.
func TestBrokenTeam(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.config("teams/a/config.json", `{"members":{}}`)
	h.config("teams/b/config.json", `{"leadSessionId":`)
	h.config("teams/c/config.json", fmt.Sprintf(`{"members":[{"cwd":%q}]}`, h.place.Repo))
	h.config("tasks/c/1.json", one("1", "x"))
	found := h.discover(TeamTasks)
	if got := found.Looks[0]; got.Tasks != 1 || len(got.Broken) != 0 {
		t.Errorf("got %+v, want a task and no fault", got)
	}
}

func TestWhyNoTeamTasks(t *testing.T) {
	t.Parallel()
	const off = "CLAUDE_CODE_ENABLE_TASKS=1"
	tests := []struct {
		name  string
		setUp func(h *home)
		want  []string
	}{
		{"no folder", func(*home) {}, []string{"/tasks is not there", off}},
		{"no list", func(h *home) { h.config("tasks/.x", "") }, []string{"holds no lists", off}},
		{"an empty list", func(h *home) {
			h.place.Session = sessionA
			h.config("tasks/"+sessionA+"/.lock", "")
			h.config("tasks/"+sessionA+"/.highwatermark", "0")
		}, []string{"wrote no tasks into the list " + sessionA, off, "--allowedTools"}},
		{"others' lists", func(h *home) {
			h.config("tasks/a/1.json", one("1", "x"))
			h.config("tasks/b/1.json", one("1", "x"))
		}, []string{"no task list belongs to this project", "others: 2"}},
		{"another session's list", func(h *home) {
			h.place.Session = sessionA
			h.config("tasks/a/1.json", one("1", "x"))
		}, []string{"session " + sessionA + " has no task list", "others: 1"}},
		{"all broken", func(h *home) {
			h.place.Session = sessionA
			h.config("tasks/"+sessionA+"/1.json", "{")
		}, []string{"1.json: is not JSON"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			tt.setUp(h)
			got := h.discover(TeamTasks).Looks[0]
			for _, part := range tt.want {
				if !strings.Contains(got.Empty, part) {
					t.Errorf("got %q, want it to say %q", got.Empty, part)
				}
			}
			if len(got.Places) == 0 {
				t.Error("got no place")
			}
		})
	}
}

func TestTeamFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.place.Session = sessionA
	for name, content := range map[string]string{
		"10.json": one("10", "ten"), "9.json": one("9", "nine"), "abc.json": `{"subject":"no id","status":"in_progress"}`,
		"2.json": one("2", "two"), "12.json": `{"id":12}`, "11.json": `{"description":" first\n second ","status":null}`,
		"3.json": `{"id":"3","subject":"gone","status":"deleted"}`, "4.txt": "{", "007.json": `{"title":"seven"}`, "13.json": `{"blocks":[]}`,
	} {
		h.config("tasks/"+sessionA+"/"+name, content)
	}
	var got []string
	for _, task := range h.discover(TeamTasks).Tasks {
		got = append(got, task.ID+": "+task.Subject+" ("+task.Status+")")
	}
	want := []string{"2: two (pending)", "007: seven (unknown)", "9: nine (pending)", "10: ten (pending)", "11: first second (unknown)", "12: 12 (unknown)", "13: 13 (unknown)", "abc: no id (in_progress)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

// A file larger than one read, and one that is as large as a buffer.
func TestLargeTeamFiles(t *testing.T) {
	t.Parallel()
	for _, size := range []int{8<<10 - 1, 8 << 10, 8<<10 + 1, 16 << 10, 300_000} {
		h := newHome(t)
		h.place.Session = sessionA
		head, tail := `{"subject":"big","description":"`, `"}`
		h.config("tasks/"+sessionA+"/1.json", head+strings.Repeat("x", size-len(head)-len(tail))+tail)
		if found := h.discover(TeamTasks); len(found.Tasks) != 1 {
			t.Errorf("file of %d bytes: got %+v", size, found.Looks[0])
		}
	}
}

// A link is left to the way that knows where it may lead.
func TestTeamFileIsNoLink(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.config("tasks/x/2.json", one("2", "x"))
	if err := os.Symlink("2.json", filepath.Join(h.place.Config, "tasks/x/1.json")); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(filepath.Join(h.place.Config, "tasks/x"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	r := reader{dir: int(dir.Fd())}
	for name, want := range map[string]bool{"1.json": false, "2.json": true} {
		if _, _, err := r.bytes(name, make([]byte, 1000)); (err == nil) != want {
			t.Errorf("%s: got %v, want success %v", name, err, want)
		}
	}
}

func TestListName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"my list/..x_1": "my-list---x_1", "": "", "é": "-", "😀": "--", "A-z_0": "A-z_0",
	} {
		if got := listName(in); got != want {
			t.Errorf("list %q: got %q, want %q", in, got, want)
		}
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/a/b": true, "/a/b/": true, "/a/b/c": true, "/a/b/../b/c": true, "/a/b/..": false, "/a/bc": false, "/a": false, "": false, "c": false,
	} {
		if got := inside(path, "/a/b"); got != want {
			t.Errorf("inside %q: got %v, want %v", path, got, want)
		}
	}
}
