package task

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/probe/proctree"
)

func listOf(source string, tasks ...Task) list {
	for i := range tasks {
		tasks[i].Source = source
	}
	return list{tasks: tasks}
}

func pending(id, subject string, blockedBy ...string) Task {
	return Task{ID: id, Subject: subject, Status: "pending", BlockedBy: blockedBy}
}

func done(id, subject string) Task { return Task{ID: id, Subject: subject, Status: "completed"} }

func show(tasks []Task) []string {
	out := []string{}
	for _, t := range tasks {
		line := fmt.Sprintf("%s %s %s", t.Source, t.ID, t.Status)
		if t.Blocked {
			line += " blocked"
		}
		if t.Dead {
			line += " dead"
		}
		for _, also := range t.Also {
			line += "; " + also
		}
		out = append(out, line)
	}
	return out
}

func TestTheSameTask(t *testing.T) {
	t.Parallel()
	long := "x" + fmt.Sprint(make([]int, 300))
	tests := []struct {
		name  string
		lists []list
		want  []string
	}{
		{"nothing", nil, []string{}},
		{"two sources", []list{listOf("a", pending("1", "Fix it")), listOf("b", done("7", "fix IT."))}, []string{"a 1 pending; b 7 (completed)"}},
		{"two lists of one source", []list{listOf("a", done("1", "Fix it")), listOf("a", pending("1", "Fix it"))}, []string{"a 1 completed; a 1 (pending)"}},
		{"three sources", []list{listOf("a", pending("1", "Fix it")), listOf("b", done("2", "Fix it")), listOf("c", done("3", "Fix it"))}, []string{"a 1 pending; b 2 (completed); c 3 (completed)"}},
		{"one list", []list{listOf("a", pending("1", "Fix it"), done("2", "Fix it")), listOf("b")}, []string{"a 1 pending", "a 2 completed"}},
		{
			"pairs",
			[]list{listOf("a", pending("1", "Fix it"), pending("2", "Fix it")), listOf("b", done("1", "Fix it"), done("2", "Fix it"), done("3", "Fix it"))},
			[]string{"a 1 pending; b 1 (completed)", "a 2 pending; b 2 (completed)", "b 3 completed"},
		},
		{"a later list meets what the second kept", []list{listOf("a"), listOf("b", done("1", "X")), listOf("c", pending("2", "x!"))}, []string{"b 1 completed; c 2 (pending)"}},
		{"letters of other scripts", []list{listOf("a", pending("1", "ΣΑΣ Ünï")), listOf("b", done("2", "σας üNÏ"))}, []string{"a 1 pending; b 2 (completed)"}},
		{"only punctuation", []list{listOf("a", pending("1", "???")), listOf("b", done("2", "!!!"))}, []string{"a 1 pending", "b 2 completed"}},
		{"the same punctuation", []list{listOf("a", pending("1", "???")), listOf("b", done("2", "???"))}, []string{"a 1 pending; b 2 (completed)"}},
		{"other words", []list{listOf("a", pending("1", "Fix it")), listOf("b", done("2", "Fix, it"))}, []string{"a 1 pending", "b 2 completed"}},
		{"no subject but the id", []list{listOf("a", pending("1", "1")), listOf("b", done("1", "1"))}, []string{"a 1 pending", "b 1 completed"}},
		{"a subject and another's id", []list{listOf("a", pending("1", "x")), listOf("b", done("x", "x"))}, []string{"a 1 pending", "b x completed"}},
		{"cut subjects", []list{listOf("a", titled(pending("1", ""), "1", long)), listOf("b", titled(done("2", ""), "2", long+"y"))}, []string{"a 1 pending", "b 2 completed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, show(settle(tt.lists, nil))); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	failed := Task{ID: "1", Subject: "f", Status: "failed"}
	tests := []struct {
		name  string
		lists []list
		want  []string
	}{
		{"open", []list{listOf("a", pending("1", "x"), pending("2", "y", "1"))}, []string{"a 1 pending", "a 2 pending blocked"}},
		{"done", []list{listOf("a", done("1", "x"), pending("2", "y", "1"))}, []string{"a 1 completed", "a 2 pending"}},
		{"failed", []list{listOf("a", failed, pending("2", "y", "1"))}, []string{"a 1 failed", "a 2 pending blocked"}},
		{"one of two", []list{listOf("a", done("1", "x"), pending("2", "y", "1", "3"), pending("3", "z"))}, []string{"a 1 completed", "a 2 pending blocked", "a 3 pending"}},
		{"unknown", []list{listOf("a", pending("2", "y", "9"))}, []string{"a 2 pending"}},
		{"ring", []list{listOf("a", pending("1", "x", "2"), pending("2", "y", "1"))}, []string{"a 1 pending blocked", "a 2 pending blocked"}},
		{"itself", []list{listOf("a", pending("1", "x", "1"))}, []string{"a 1 pending blocked"}},
		{"the id of another list", []list{listOf("a", pending("1", "x")), listOf("b", pending("2", "y", "1"))}, []string{"a 1 pending", "b 2 pending"}},
		{"a blocker that another list has done", []list{listOf("a", done("9", "x")), listOf("b", pending("1", "x"), pending("2", "y", "1"))}, []string{"a 9 completed; b 1 (pending)", "b 2 pending"}},
		{"a blocker that another list has open", []list{listOf("a", pending("9", "x")), listOf("b", done("1", "x"), pending("2", "y", "1"))}, []string{"a 9 pending; b 1 (completed)", "b 2 pending blocked"}},
		{"only the first list's word", []list{listOf("a", pending("1", "x"), pending("2", "y")), listOf("b", pending("1", "z"), pending("2", "y", "1"))}, []string{"a 1 pending", "a 2 pending; b 2 (pending)", "b 1 pending"}},
		{"not by the ids of the other list", []list{listOf("a", done("1", "x"), pending("2", "y", "1")), listOf("b", pending("1", "z"), pending("5", "y", "1"))}, []string{"a 1 completed", "a 2 pending; b 5 (pending)", "b 1 pending"}},
		{"an id twice", []list{listOf("a", done("1", "x"), pending("1", "z"), pending("2", "y", "1"))}, []string{"a 1 completed", "a 1 pending", "a 2 pending blocked"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, show(settle(tt.lists, nil))); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDead(t *testing.T) {
	t.Parallel()
	working := func(owner string) Task { return Task{ID: "1", Subject: "x", Status: "In_Progress", Owner: owner} }
	of := func(session string, t Task) list { return list{tasks: []Task{t}, session: session} }
	tests := []struct {
		name string
		list list
		want bool
	}{
		{"list of a living session", of(sessionA, working("")), false},
		{"list of a dead session", of(sessionB, working("")), true},
		{"list of a dead session, owner an agent", of(sessionB, working("agent-a")), true},
		{"list of a living session, owner a dead one", of(sessionA, working(sessionB)), false},
		{"not begun", of(sessionB, pending("1", "x")), false},
		{"over", of(sessionB, done("1", "x")), false},
		{"shared, no owner", of("", working("")), false},
		{"shared, owner an agent", of("", working("agent-a")), false},
		{"shared, owner lives", of("", working(sessionA)), false},
		{"shared, owner dead", of("", working(sessionB)), true},
		{"shared, owner only looks long", of("", working(sessionB+"0")), false},
		{"shared, owner no hexadecimal", of("", working("z"+sessionB[1:])), false},
		{"shared, owner without dashes", of("", working("0a9f8c1e05d2b04c3a09e8f0112233445566")), false},
	}
	for _, tt := range tests {
		got := settle([]list{tt.list}, func() []LiveSession { return []LiveSession{{ID: sessionA}} })
		if got[0].Dead != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got[0].Dead, tt.want)
		}
	}
}

// Nobody is asked who lives while nothing is in progress.
func TestLivingIsAskedWhenNeeded(t *testing.T) {
	t.Parallel()
	asked := 0
	living := func() []LiveSession { asked++; return nil }
	settle([]list{{tasks: []Task{pending("1", "x")}, session: sessionA}}, living)
	if asked != 0 {
		t.Errorf("asked %d times, want 0", asked)
	}
	work := Task{ID: "1", Subject: "x", Status: "in_progress"}
	settle([]list{{tasks: []Task{work, work}, session: sessionA}}, living)
	if asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
	}
}

func TestDeadOnDisk(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, session := range []string{sessionA, sessionB} {
		h.transcript(session, now.Add(-time.Duration(i)*time.Hour))
		h.config("tasks/"+session+"/1.json", `{"id":"1","subject":"of `+session+`","status":"in_progress"}`)
	}
	h.config("tasks/shared/1.json", `{"id":"1","subject":"mine","status":"in_progress","owner":"`+sessionC+`"}`)
	h.place.ListID = "shared"
	start, _ := proctree.StartOf(os.Getpid())
	h.config(fmt.Sprintf("sessions/%d.json", os.Getpid()), fmt.Sprintf(`{"pid":%d,"sessionId":%q,"procStart":"%d"}`, os.Getpid(), sessionA, start))
	want := []string{"team-tasks 1 in_progress dead", "team-tasks 1 in_progress", "team-tasks 1 in_progress dead"}
	if diff := cmp.Diff(want, show(h.discover(TeamTasks).Tasks)); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func TestLiving(t *testing.T) {
	t.Parallel()
	me := os.Getpid()
	start, ok := proctree.StartOf(me)
	if !ok {
		t.Fatal("own process not found")
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, file, content string
		want                bool
	}{
		{"own process", strconv.Itoa(me), fmt.Sprintf(`{"pid":%d,"sessionId":"s","cwd":"/w","procStart":"%d"}`, me, start), true},
		{"start as a number", strconv.Itoa(me), fmt.Sprintf(`{"sessionId":"s","cwd":"/w","procStart":%d}`, start), true},
		{"pid used again", strconv.Itoa(me), fmt.Sprintf(`{"sessionId":"s","cwd":"/w","procStart":"%d"}`, start+1), false},
		{"no start", strconv.Itoa(me), `{"sessionId":"s","cwd":"/w"}`, true},
		{"no such process", strconv.Itoa(gone.Process.Pid), `{"sessionId":"s"}`, false},
		{"no session", strconv.Itoa(me), fmt.Sprintf(`{"procStart":"%d"}`, start), false},
		{"broken", strconv.Itoa(me), `{"sessionId":"s"`, false},
		{"no pid", "x" + strconv.Itoa(me), `{"sessionId":"s"}`, false},
		{"group", "-1", `{"sessionId":"s"}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			h.config("sessions/"+tt.file+".json", tt.content)
			h.config("sessions/"+strconv.Itoa(me), "no file of a session")
			want := []LiveSession(nil)
			if tt.want {
				want = []LiveSession{{ID: "s", PID: me, CWD: "/w"}}
			}
			if diff := cmp.Diff(want, Living(h.place.Config)); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
		})
	}
	if got := Living(""); got != nil {
		t.Errorf("no folder: got %v", got)
	}
}

// A process that has ended and was not waited for has its pid still.
func TestZombieDoesNotLive(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs the state of a process")
	}
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Wait() }()
	pid := c.Process.Pid
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		if p, err := proctree.Read(proctree.Root, pid); err == nil && p.State == 'Z' {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the process does not end")
		}
	}
	start, _ := proctree.StartOf(pid)
	for _, began := range []string{"", strconv.FormatUint(start, 10)} {
		if lives(pid, began) {
			t.Errorf("a zombie lives, start %q", began)
		}
	}
}

// Whatever the lists are: nothing gets lost, nothing is counted that should not
// be, and one list's tasks stay apart.
func TestSettleProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var lists []list
		most := map[string]int{} // of one subject in one list
		total := 0
		for k := range rapid.IntRange(0, 4).Draw(r, "lists") {
			n := map[string]int{}
			var l list
			for i := range rapid.IntRange(0, 6).Draw(r, "tasks") {
				s := rapid.SampledFrom([]string{"aa", "bb", "cc"}).Draw(r, "subject")
				n[s]++
				most[s] = max(most[s], n[s])
				on := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2", "9"}), 0, 3).Draw(r, "on")
				st := rapid.SampledFrom([]string{"pending", "completed", "failed"}).Draw(r, "status")
				l.tasks = append(l.tasks, Task{ID: strconv.Itoa(i), Subject: s, Status: st, BlockedBy: on, Source: "s", List: strconv.Itoa(k)})
				total++
			}
			lists = append(lists, l)
		}
		got := settle(lists, nil)
		counted, want := 0, 0
		for _, n := range most {
			want += n
		}
		for _, g := range got {
			counted += 1 + len(g.Also)
		}
		if len(got) != want || counted != total {
			r.Fatalf("got %d tasks that stand for %d, want %d and %d", len(got), counted, want, total)
		}
		byList := slices.IsSortedFunc(got, func(a, b Task) int { return int(a.List[0]) - int(b.List[0]) })
		if !byList {
			r.Fatalf("got %v, want the order of the lists", show(got))
		}
	})
}
