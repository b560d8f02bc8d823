//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"autopilot/sessions/approval"
	"autopilot/sessions/messagesapi"
	"autopilot/supervisor/queue"
)

// gates are the held calls of a lab.
func (l *lab) gates(all bool) (list []approval.Gate) {
	l.t.Helper()
	args := []string{"gates", "--json"}
	if all {
		args = append(args, "--all")
	}
	if err := json.Unmarshal([]byte(l.must(args...)), &list); err != nil {
		l.t.Fatal(err)
	}
	return list
}

// queued are the items of the queue by id.
func (l *lab) queued() map[string]queue.Item {
	l.t.Helper()
	var q struct{ Items []queue.Item }
	if err := json.Unmarshal([]byte(l.must("queue", "list", "--json")), &q); err != nil {
		l.t.Fatal(err)
	}
	out := map[string]queue.Item{}
	for _, it := range q.Items {
		out[it.ID] = it
	}
	return out
}

// TestE2EHeldCall has an agent force a push: it is held, the agent cannot approve it
// itself, a person does, and it goes through once.
func TestE2EHeldCall(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		const push = "git push --force origin HEAD:refs/heads/work"
		script := func(l *lab) messagesapi.Script {
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				switch r.Step {
				case 1:
					return bash("%s", push)
				case 2:
					return bash("env -u AUTOPILOT_RUN_ID -u AUTOPILOT_SESSION_ID autopilot approve g-")
				case 3:
					return bash("f=--force; git push $f origin HEAD:refs/heads/work && touch mark-around")
				case 4:
					return bash("%s", push)
				}
				return reportMore("a try")
			}, nil)
		}
		l := newLabFor(t, claude, script)
		l.git("init", "-q", "--bare", "../remote.git")
		l.git("remote", "add", "origin", "../remote.git")
		l.git("push", "-q", "origin", "HEAD:refs/heads/work")
		old := l.git("rev-parse", "HEAD")
		l.git("commit", "-q", "--amend", "-m", "another start")

		e := l.run("publish the branch work", "--max-sessions", "5", "--proceed-with-time-limit", "--allowed-tools", "Bash", "--permission-mode", "bypassPermissions")
		first := l.check(e, want{code: 4, cause: "needs-person", endings: "completed completed", completed: 2})
		if got := first.Termination; got.Reason != "human_gate" || !got.Resumable || !strings.Contains(got.Question, "git push --force") {
			t.Errorf("termination = %+v", got)
		}
		if got := l.git("--git-dir", "../remote.git", "rev-parse", "work"); got != old || l.exists("mark-around") {
			t.Fatal("the push went through")
		}
		open := l.gates(false)
		var id string
		for _, g := range open {
			if g.Subject == push {
				id = g.ID
			}
		}
		if len(open) != 3 || id == "" {
			t.Fatalf("%d calls are held: %+v, want the push, the other push and the approval", len(open), open)
		}
		l.must("approve", id)
		l.finish(l.command("resume", "--max-sessions", "3"))
		if got := l.git("--git-dir", "../remote.git", "rev-parse", "work"); got == old {
			t.Error("the approved push did not go through")
		}
		used, again := 0, 0
		for _, g := range l.gates(true) {
			switch {
			case g.Status == approval.Used && g.ID == id:
				used++
			case g.Subject == push && g.Status == approval.Pending:
				again++
			}
		}
		if used != 1 || again != 1 {
			t.Errorf("%d gates are used and %d ask again, want the approved one and its repetition", used, again)
		}
		refused := 0
		for _, b := range l.toolResults() {
			if b.IsError && strings.Contains(b.Text, "g-") {
				refused++
			}
		}
		if refused < 8 {
			t.Errorf("%d calls were refused with the name of a gate, want all but the approved one", refused)
		}
		l.nothingLeft()
	})
}

// increments are what the lab's repository has, each with one task.
func (l *lab) increments(names ...string) {
	l.t.Helper()
	for _, n := range names {
		dir := ".specweave/increments/" + n + "/"
		l.write(dir+"metadata.json", fmt.Sprintf("{\"id\": %q, \"status\": \"planned\"}\n", n))
		l.write(dir+"spec.md", "---\ntitle: \"The increment "+n+"\"\n---\n")
		l.write(dir+"tasks.md", "### T-001: Write "+n+"\n**Status**: [ ] pending\n")
	}
	l.commit("increments")
}

// worker does the task of the increment that a session was started for, and what else is
// said of it.
func worker(also map[string][]string) messagesapi.Script {
	var mu sync.Mutex
	calls := map[string]int{}
	return talk(func(r messagesapi.Request) messagesapi.Reply {
		if r.Step > 1 {
			return reportMore("the task")
		}
		_, after, _ := strings.Cut(strings.Join(r.UserTexts(), "\n"), "Work on the increment ")
		name, _, _ := strings.Cut(after, ":")
		mu.Lock()
		defer mu.Unlock()
		n := calls[name]
		calls[name]++
		extra := "true"
		if list := also[name]; n < len(list) {
			extra = list[n]
		}
		return bash("sed -i 's/\\[ \\] pending/[x] completed/' .specweave/increments/%s/tasks.md; %s", name, extra)
	}, nil)
}

// TestE2ENight works through three increments: a red test gate of the first is repaired
// by a further session, the second stays red and is for a person, the third is done.
func TestE2ENight(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, worker(map[string][]string{
			"0001-a": {"touch broken-a", "rm broken-a"}, "0002-b": {"touch broken-b"}, "0003-c": {"rm broken-b"},
		}))
		l.write("check.sh", "for f in broken-*; do [ -e $f ] && echo \"FAIL: $f is there\" && exit 1; done; echo fine\n")
		l.increments("0001-a", "0002-b", "0003-c")
		l.must("queue", "add", "0001-a", "0002-b", "0003-c")
		e := l.run("--source", "queue", "--test-command", "sh check.sh", "--max-sessions", "12", "--allowed-tools", "Bash")
		l.check(e, want{code: 4, cause: "needs-person", endings: strings.TrimSpace(strings.Repeat("completed ", 7)), completed: 7})
		q := l.queued()
		if a, b, c := q["0001-a"], q["0002-b"], q["0003-c"]; a.Status != queue.Done || b.Status != queue.NeedsHuman || c.Status != queue.Done || !strings.Contains(b.Why, "broken-b is there") {
			t.Errorf("the queue is %+v", q)
		}
		for name, status := range map[string]string{"0001-a": "completed", "0002-b": "paused", "0003-c": "completed"} {
			if got := l.must("queue", "list"); !strings.Contains(l.git("diff", "--", ".specweave/increments/"+name+"/metadata.json"), `"status": "`+status+`"`) {
				t.Errorf("%s is not %s:\n%s", name, status, got)
			}
		}
		told := 0
		for _, r := range l.mainRequests() {
			if r.Step == 1 && strings.Contains(strings.Join(r.UserTexts(), "\n"), "broken-a is there") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d sessions were told what was red in the first increment, want 1", told)
		}
		if text := l.must("report"); !strings.Contains(text, "0002-b") || !strings.Contains(text, "queue retry 0002-b") {
			t.Errorf("the report says nothing of what a person has to do:\n%s", text)
		}
	})
}

// TestE2EPromise believes a promise only on a line of its own, and with the task done.
func TestE2EPromise(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		const line = "<auto-complete>ALL DONE</auto-complete>"
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			text := strings.Join(r.UserTexts(), "\n")
			switch {
			case r.Step == 1 && strings.Contains(text, "session 1 of"):
				return bash("true")
			case r.Step == 1:
				return bash("sed -i 's/\\[ \\] pending/[x] completed/' .specweave/increments/0001-a/tasks.md")
			case strings.Contains(text, "session 1 of"):
				return messagesapi.Text("Nothing is done yet.\n" + line)
			case strings.Contains(text, "session 2 of"):
				return messagesapi.Text("I shall end with " + line + " soon.")
			}
			return messagesapi.Text("It is done.\n\n" + line)
		}, nil))
		l.increments("0001-a")
		l.must("queue", "add", "0001-a")
		e := l.run("--source", "queue", "--completion-promise", "ALL DONE", "--max-sessions", "6", "--allowed-tools", "Bash")
		l.check(e, want{cause: "work-done", endings: "completed completed completed", completed: 3})
		if it := l.queued()["0001-a"]; it.Status != queue.Done || !it.Claimed {
			t.Errorf("the item is %+v", it)
		}
	})
}
