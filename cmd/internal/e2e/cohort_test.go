//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/sessions/messagesapi"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/shared"
)

const room = `{"ram_available_gb": 32, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": 90}`

// stories are those that a lab's cohort works on: each has a name, and perhaps more
// lines. The machine that --snapshot rehearses has room for all of them.
func (l *lab) stories(list ...string) {
	l.t.Helper()
	var b strings.Builder
	for _, s := range list {
		id, more, _ := strings.Cut(s, " ")
		fmt.Fprintf(&b, "- {id: %s, goal: Write the file %s.txt%s}\n", id, id, more)
	}
	l.write("stories.yaml", b.String())
	l.write("common.txt", "nobody was here\n")
	l.commit("stories")
	if err := os.WriteFile(l.green(), []byte(room), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) green() string { return filepath.Join(l.home, "green.json") }

// cohort starts a run through the lab's stories.
func (l *lab) cohort(args ...string) *started {
	l.t.Helper()
	return l.start(append([]string{"--multi-story", "--stories", "stories.yaml", "--allowed-tools", "Bash,Edit,Read,Write,Agent"}, args...)...)
}

// goOn continues the last cohort.
func (l *lab) goOn() *started {
	l.t.Helper()
	return l.command("resume", "--allow-nested", "--snapshot", l.green())
}

// storyOf is the story that a conversation is about; empty for none.
func storyOf(r messagesapi.Request) string {
	_, after, _ := strings.Cut(strings.Join(r.UserTexts(), "\n"), "Write the file ")
	id, _, _ := strings.Cut(after, ".txt")
	return id
}

// place is the folder that a session was told it works in. Where the CLI says so differs
// between its versions.
func place(r messagesapi.Request) string {
	texts := []string{r.System}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			texts = append(texts, b.Text)
		}
	}
	_, after, _ := strings.Cut(strings.Join(texts, "\n"), "Primary working directory: ")
	dir, _, _ := strings.Cut(after, "\n")
	return dir
}

// commits is an answer that writes the file of a story and commits it, and nothing else.
func commits(r messagesapi.Request) messagesapi.Reply {
	id := storyOf(r)
	return bash("echo %s > %s.txt && git add %s.txt && git commit -qm 'Write %s.txt'", id, id, id, id)
}

// of are the requests of a story's sessions.
func (l *lab) of(id string) []messagesapi.Request {
	return slices.DeleteFunc(l.mainRequests(), func(r messagesapi.Request) bool { return storyOf(r) != id })
}

// conversations counts the sessions that have asked the API for their n-th step.
func (l *lab) conversations(step int) int {
	ids := map[string]bool{}
	for _, r := range l.mainRequests() {
		if r.Step == step {
			ids[r.Session] = true
		}
	}
	return len(ids)
}

// held keeps the API from answering until something holds, or the test is over.
func (l *lab) held(holds func() bool) {
	comesTrue(func() bool { return l.t.Context().Err() != nil || holds() })
}

// found are the paths below the state folder of autopilot that fit a pattern.
func (l *lab) found(pattern string) []string {
	l.t.Helper()
	all, err := filepath.Glob(filepath.Join(l.home, ".local/state/autopilot", pattern))
	if err != nil {
		l.t.Fatal(err)
	}
	return all
}

// tree is the work tree of a story.
func (l *lab) tree(id string) string {
	all := l.found("worktrees/*/" + id)
	if len(all) != 1 {
		return filepath.Join(l.home, "nowhere")
	}
	return all[0]
}

// inTree reports whether a file is in the work tree of a story.
func (l *lab) inTree(id, name string) bool {
	_, err := os.Stat(filepath.Join(l.tree(id), name))
	return err == nil
}

// allotments are what the stories of the lab's cohorts were given last.
func (l *lab) allotments() map[string]shared.Allotment {
	l.t.Helper()
	out := map[string]shared.Allotment{}
	for _, file := range l.found("projects/*/runs/*/stories/*/allotment.json") {
		a, err := shared.LoadAllotment(filepath.Dir(file))
		if err != nil {
			l.t.Fatal(err)
		}
		out[filepath.Base(filepath.Dir(file))] = a
	}
	return out
}

// coordinated is a cohort as its records tell it.
type coordinated struct {
	ledger.Run                       // of the coordinator
	by         map[string]ledger.Run // of each story's supervisor
}

// cohortOf asserts what holds for the records of every cohort, the last ones of the
// ledger: each story's run names the coordinator's, which names them, and each session its
// run. It leaves no process.
func (l *lab) cohortOf(e ended, code, children int) coordinated {
	l.t.Helper()
	l.nothingLeft()
	l.noneMarked()
	runs := l.runs()
	if len(runs) < children+1 {
		l.t.Fatalf("%d run records, want %d of stories and one of their coordinator", len(runs), children)
	}
	c := coordinated{Run: runs[len(runs)-1], by: map[string]ledger.Run{}}
	runs = slices.DeleteFunc(runs, func(r ledger.Run) bool { return deref(r.ParentRunID) != c.AutopilotRunID })
	if len(runs) != children {
		l.t.Errorf("%d run records of stories, want %d", len(runs), children)
	}
	if !c.Coordinates() || c.Kind != ledger.CoordinatorKind || e.code != code || c.ExitCode != code {
		l.t.Fatalf("exit code %d and %d in the record %+v, want %d and a coordinator's", e.code, c.ExitCode, c.Run, code)
	}
	var ids, want []string
	sessions := map[string]string{}
	for _, r := range runs {
		if r.AutopilotRunID == c.AutopilotRunID || slices.Contains(ids, r.AutopilotRunID) {
			l.t.Errorf("run %q is not alone with its id; its coordinator is %q", r.AutopilotRunID, c.AutopilotRunID)
		}
		ids = append(ids, r.AutopilotRunID)
		for _, s := range r.Sessions {
			sessions[s] = r.AutopilotRunID
		}
		for _, s := range c.Stories {
			if slices.Contains(s.Runs, r.AutopilotRunID) {
				c.by[s.ID] = r
			}
		}
	}
	for _, s := range c.Stories {
		want = append(want, s.Runs...)
	}
	if !slices.Equal(slices.Sorted(slices.Values(c.ChildRunIDs)), slices.Sorted(slices.Values(want))) || len(c.by) != children {
		l.t.Errorf("the coordinator names runs %q, its stories %q, records are of %q", c.ChildRunIDs, want, ids)
	}
	for _, s := range l.sessions() {
		if run, ours := sessions[s.SessionID]; ours && s.AutopilotRunID != run {
			l.t.Errorf("session %s names run %q, want %q", s.SessionID, s.AutopilotRunID, run)
		}
		delete(sessions, s.SessionID)
	}
	if len(sessions) > 0 {
		l.t.Errorf("sessions without a record: %v", sessions)
	}
	return c
}

// noneMarked asserts that no process has the mark of a run of the lab any more, wherever
// it went.
func (l *lab) noneMarked() {
	l.t.Helper()
	for _, folder := range l.found("projects/*/runs/*") {
		st, err := supervisor.LoadState(folder)
		if err != nil || st.Token == "" {
			l.t.Errorf("state of the run in %s: token %q, %v", folder, st.Token, err)
			continue
		}
		if pids, err := proctree.WithEnv(launch.TokenVar, st.Token); err != nil || len(pids) > 0 {
			l.t.Errorf("processes %d are left of the run in %s (%v)", pids, folder, err)
		}
	}
}

// stand asserts how the stories stand, as "id status" in their order.
func (c coordinated) stand(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, s := range c.Stories {
		got = append(got, s.ID+" "+s.Status)
	}
	if !slices.Equal(got, want) {
		t.Errorf("stories stand as %q, want %q (%+v)", got, want, c.Stories)
	}
}

// finished asserts that each story is done with one commit on its own branch, and that
// nothing but these has changed.
func (l *lab) finished(base string, c coordinated) {
	l.t.Helper()
	for _, s := range c.Stories {
		if got := l.git("log", "--format=%s", base+"..autopilot/"+s.ID); got != "Write "+s.ID+".txt" || s.Status != string(story.Done) || s.Commits != 1 {
			l.t.Errorf("story %s is %s with commits %q, %d counted; want it done with its own", s.ID, s.Status, got, s.Commits)
		}
	}
	if got := l.git("rev-parse", "HEAD"); got != base {
		l.t.Errorf("%s has moved", l.branch)
	}
	if got := l.git("status", "--porcelain"); got != "" {
		l.t.Errorf("the main tree is left with %q", got)
	}
}
