//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/sessions/messagesapi"
)

// TestE2EStories has three sessions work at the same time, each in a tree of its own, on
// files of which one is common to all. None of them counts as somebody else's.
func TestE2EStories(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var on atomic.Bool
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				common := filepath.Join(place(r), "common.txt")
				switch r.Step {
				case 1:
					return messagesapi.Blocks(
						messagesapi.ToolBlock("Write", map[string]any{"file_path": filepath.Join(place(r), storyOf(r)+".txt"), "content": "x\n"}),
						messagesapi.ToolBlock("Read", map[string]any{"file_path": common}),
					)
				case 2:
					l.held(on.Load)
					return messagesapi.ToolUse("Edit", map[string]any{"file_path": common, "old_string": "nobody", "new_string": storyOf(r)})
				case 3:
					return bash("git add -A && git commit -qm 'Write %s.txt'", storyOf(r))
				}
				return reportDone(storyOf(r))
			}, nil)
		})
		l.stories("a , verify: test -s a.txt", "b ", "c ")
		base := l.git("rev-parse", "HEAD")
		eventually(t, "this machine has room for two sessions, see 'autopilot probe'", func() bool { return l.probe().Cap >= 2 })

		s := l.cohort("--probe-interval", "100ms")
		eventually(t, "two sessions wait for the API at the same time", func() bool { return l.conversations(2) >= 2 })
		if n := len(l.named("claude")); n < 2 {
			t.Errorf("%d processes of the CLI, want that of each session", n)
		}
		l.peersOfStories()
		on.Store(true)
		c := l.cohortOf(l.finish(s), 0, 3)
		l.finished(base, c)
		if len(l.runs()) != 4 || c.ExitCause != "work-done" || c.CompletedCount != 3 || c.CohortTokens != 3*480 {
			t.Errorf("of %d records the coordinator's is %+v", len(l.runs()), c.Coordinator)
		}
		for id, r := range c.by {
			if got := deref(r.WorktreePath); got != l.tree(id) || endingsOf(r) != "completed" {
				t.Errorf("story %s ended as %q in %q, want one session in %q", id, endingsOf(r), got, l.tree(id))
			}
			if got := l.git("show", "autopilot/"+id+":common.txt"); got != id+" was here" {
				t.Errorf("story %s has made %q of the common file", id, got)
			}
			l.alone(id, r)
		}
		var global map[string]any
		data, err := os.ReadFile(filepath.Join(l.home, ".claude.json"))
		if err != nil || json.Unmarshal(data, &global) != nil {
			t.Errorf("the CLI's global configuration is broken (%v):\n%s", err, data)
		}
	})
}

// peersOfStories asserts that no process of the lab counts as somebody else's in what the
// stories are told of the machine. They are told anew first.
func (l *lab) peersOfStories() {
	l.t.Helper()
	since, told := time.Now(), l.allotments()
	eventually(l.t, "the stories are told how the machine is", func() bool {
		told = l.allotments()
		for _, a := range told {
			if !a.Snapshot.TakenAt.After(since) {
				return false
			}
		}
		return len(told) >= 2
	})
	ours := map[int]bool{}
	for _, p := range l.processes() {
		ours[p.PID] = true
	}
	for id, a := range told {
		for _, p := range a.Snapshot.PeerSessions {
			if ours[p.PID] {
				l.t.Errorf("story %s is told of process %d (%s) as somebody else's", id, p.PID, p.Comm)
			}
		}
		if a.Among < 2 {
			l.t.Errorf("story %s is one of %d, want that the others count", id, a.Among)
		}
	}
}

// alone asserts that the only session of a story has asked about nothing but that story,
// from its own tree, where the CLI keeps one transcript of it.
func (l *lab) alone(id string, r ledger.Run) {
	l.t.Helper()
	for _, q := range l.mainRequests() {
		if (q.Session == r.Sessions[0]) != (storyOf(q) == id) || storyOf(q) == id && place(q) != l.tree(id) {
			l.t.Errorf("request %d of session %s is about %q in %q", q.Number, q.Session, storyOf(q), place(q))
		}
	}
	kept, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", r.Sessions[0]+".jsonl"))
	if err != nil || len(kept) != 1 {
		l.t.Errorf("story %s: transcripts %q, want one (%v)", id, kept, err)
	}
	for _, s := range l.sessions() {
		if commit := l.git("rev-parse", "autopilot/"+id); s.SessionID == r.Sessions[0] && !slices.Equal(s.Commits, []string{commit}) {
			l.t.Errorf("the session of story %s has commits %q, want %q", id, s.Commits, commit)
		}
	}
}

// TestE2EStoriesUnderALimit has one of three stories meet a usage limit. Until it is over
// the others begin no further session, and the cohort no further story.
func TestE2EStoriesUnderALimit(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var mu sync.Mutex
		var reset time.Time
		asked := map[string][]time.Time{} // prompts by story
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				id := storyOf(r)
				switch first := sessionNumber(r) == 1 && !resumed(r); {
				case r.Step == 1:
					mu.Lock()
					defer mu.Unlock()
					if asked[id] = append(asked[id], time.Now()); !first {
						return bash("ls")
					}
					return commits(r)
				case id == "a" && first:
					l.held(func() bool { return l.conversations(2) == 3 })
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					reset = now.Add(10 * time.Second).Truncate(time.Second)
					return messagesapi.UsageLimit(messagesapi.Window{Claim: "five_hour", Reset: reset, Utilization: 1}, now)
				case (id == "b" || id == "c") && first:
					l.held(func() bool { return len(l.found("limits/*.json")) > 0 })
					if id == "b" {
						return reportMore("a part")
					}
				}
				return reportDone(id)
			}, nil)
		})
		l.withToken()
		l.stories("a", "b", "c", "d")
		base := l.git("rev-parse", "HEAD")
		c := l.cohortOf(l.finish(l.cohort("--max-stories", "3", "--limit-margin", "0s", "--snapshot", l.green())), 0, 4)
		l.finished(base, c)
		for id, want := range map[string]int{"a": 2, "b": 2, "c": 1, "d": 1} {
			times := asked[id]
			if len(times) != want {
				t.Errorf("story %s was prompted %d times, want %d", id, len(times), want)
			}
			if last := times[len(times)-1]; id != "c" && last.Before(reset) {
				t.Errorf("story %s was prompted at %v, before the limit was over at %v", id, last, reset)
			}
		}
		if a, b := c.by["a"], c.by["b"]; a.WaitedSeconds < 1 || b.WaitedSeconds < 1 || endingsOf(a) != "completed" || endingsOf(b) != "completed completed" {
			t.Errorf("a waited %d s and ended %q, b %d s and %q; want waits, and one session and two", a.WaitedSeconds, endingsOf(a), b.WaitedSeconds, endingsOf(b))
		}
		l.sameConversation(l.of("a"))
		if why := "usage limit (five_hour), which run " + c.by["a"].AutopilotRunID + " met"; !strings.Contains(l.activity(), why) {
			t.Errorf("no log says that a session waited for the %s", why)
		}
	})
}

// TestE2EStoriesInterrupted ends two sessions in the middle of a command. What continues
// the cohort goes on with both conversations and begins the story that waited.
func TestE2EStoriesInterrupted(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case r.Step > 1:
				return reportDone(storyOf(r))
			case storyOf(r) != "c" && !strings.Contains(r.LastUserText(), "cut short when the run was stopped"):
				return bash("echo begun >> mark-runs; %s", longCommand)
			}
			return commits(r)
		}, nil))
		l.stories("a", "b", "c")
		base := l.git("rev-parse", "HEAD")
		s := l.cohort("--max-stories", "2", "--snapshot", l.green())
		eventually(t, "both sessions run a command", func() bool { return l.inTree("a", "mark-begun") && l.inTree("b", "mark-begun") })
		s.signal(syscall.SIGINT)
		first := l.cohortOf(l.finish(s), 130, 2)
		first.stand(t, "a stopped", "b stopped", "c waiting")
		for id, r := range first.by {
			if deref(r.KillSwitch) != "user-abort" || endingsOf(r) != "cancelled" || r.TotalTokensUsed != 120 {
				t.Errorf("story %s ended by %q with %q and %d tokens, want a cancelled session of one answer", id, deref(r.KillSwitch), endingsOf(r), r.TotalTokensUsed)
			}
		}
		if deref(first.KillSwitch) != "user-abort" || first.CohortTokens != 240 {
			t.Errorf("the cohort ended by %q with %d tokens", deref(first.KillSwitch), first.CohortTokens)
		}

		c := l.cohortOf(l.finish(l.goOn()), 0, 3)
		l.finished(base, c)
		if c.CohortTokens != 240+3*240 {
			t.Errorf("%d tokens, want those of both cohorts", c.CohortTokens)
		}
		for _, id := range []string{"a", "b"} {
			runs, err := os.ReadFile(filepath.Join(l.tree(id), "mark-runs"))
			if string(runs) != "begun\n" {
				t.Errorf("story %s: the command that was cut short ran as %q (%v), want once", id, runs, err)
			}
			q := l.of(id)
			if len(q) != 3 || q[1].Session != q[0].Session || q[2].Session != q[0].Session || q[1].Turn < 2 {
				t.Errorf("story %s: %d requests, the second is turn %d of session %s; want one conversation, as %s", id, len(q), q[1].Turn, q[1].Session, q[0].Session)
			}
			if got := c.by[id].ResumedFrom; got != first.by[id].AutopilotRunID {
				t.Errorf("the run of story %s continues %q, want %q", id, got, first.by[id].AutopilotRunID)
			}
		}
		if c.ResumedFrom != first.AutopilotRunID {
			t.Errorf("the cohort continues %q, want %q", c.ResumedFrom, first.AutopilotRunID)
		}
	})
}

// TestE2EStoriesStopped lets two sessions come to their ends and begins no other. What
// continues the cohort opens new sessions for what is not done.
func TestE2EStoriesStopped(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var stopped atomic.Bool
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				id, again := storyOf(r), sessionNumber(r) > 1
				switch {
				case r.Step == 1 && again:
					return bash("ls")
				case r.Step == 1:
					return commits(r)
				}
				l.held(stopped.Load)
				if id == "b" && !again {
					return reportMore("a part")
				}
				return reportDone(id)
			}, nil)
		})
		l.stories("a", "b", "c")
		base := l.git("rev-parse", "HEAD")
		s := l.cohort("--max-stories", "2", "--snapshot", l.green())
		eventually(t, "both sessions wait for the API", func() bool { return l.conversations(2) == 2 })
		l.must("stop")
		eventually(t, "both stories are told to stop", func() bool {
			a := l.allotments()
			return a["a"].Stop != "" && a["b"].Stop != ""
		})
		stopped.Store(true)
		first := l.cohortOf(l.finish(s), 0, 2)
		first.stand(t, "a done", "b stopped", "c waiting")
		for id, r := range first.by {
			if endingsOf(r) != "completed" {
				t.Errorf("story %s ended as %q, want one whole session", id, endingsOf(r))
			}
		}

		c := l.cohortOf(l.finish(l.goOn()), 0, 2)
		l.finished(base, c)
		for id, want := range map[string]int{"a": 1, "b": 2, "c": 1} {
			sessions := map[string]bool{}
			for _, r := range l.of(id) {
				sessions[r.Session] = true
			}
			if len(sessions) != want {
				t.Errorf("story %s had %d sessions, want %d", id, len(sessions), want)
			}
		}
	})
}

// TestE2EStoriesInOneTree has two sessions share the work tree. What one edits outside of
// its own paths is refused, by itself and by a sub-agent, and the model is told why.
func TestE2EStoriesInOneTree(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		edit := func(path, word string) messagesapi.Block {
			return messagesapi.ToolBlock("Edit", map[string]any{"file_path": path, "old_string": "nobody", "new_string": word})
		}
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			read := func(path string) messagesapi.Block {
				return messagesapi.ToolBlock("Read", map[string]any{"file_path": path})
			}
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				id := storyOf(r)
				own, other := l.path(id+"/here.txt"), l.path(map[string]string{"code": "docs", "docs": "code"}[id]+"/rest.txt")
				switch r.Step {
				case 1:
					l.held(func() bool { return l.conversations(1) == 2 })
					return messagesapi.Blocks(read(own), read(other), read(l.path("common.txt")))
				case 2:
					return messagesapi.Blocks(edit(own, id), edit(other, id), edit(l.path("common.txt"), id))
				case 3:
					return agents(id)
				case 4:
					return write(l.path(id+"/new.txt"), "new\n")
				case 5:
					return bash("until git add %s && git commit -qm 'Write %s.txt' -- %s; do sleep 0.1; done", id, id, id)
				}
				return reportDone(id)
			}, func(r messagesapi.Request) messagesapi.Reply {
				if r.Step == 1 {
					return write(l.path("stray-"+r.Session+".txt"), "a stray file\n")
				}
				return messagesapi.Text("the report of a sub-agent")
			})
		})
		for _, id := range []string{"code", "docs"} {
			l.write(id+"/here.txt", "nobody was here\n")
			l.write(id+"/rest.txt", "nobody was here\n")
		}
		l.stories(`code , paths: ["code/**"]`, `docs , paths: ["docs/**"]`)
		base := l.git("rev-parse", "HEAD")
		c := l.cohortOf(l.finish(l.cohort("--bg-isolation", "none", "--deconflict-paths", "notes/**", "--snapshot", l.green())), 0, 2)
		c.stand(t, "code done", "docs done")
		for id, r := range c.by {
			if r.WorktreePath != nil {
				t.Errorf("story %s names the work tree %s, want none", id, *r.WorktreePath)
			}
			if got := l.git("show", "HEAD:"+id+"/here.txt", "HEAD:"+id+"/new.txt"); got != id+" was here\nnew" {
				t.Errorf("story %s has made %q of its own files", id, got)
			}
			l.refusedOutside(id, 2)
		}
		if got := l.git("diff", "--name-only", base); got != "code/here.txt\ncode/new.txt\ndocs/here.txt\ndocs/new.txt" {
			t.Errorf("changed are %q, want only the files of the stories", got)
		}
		if got := l.git("status", "--porcelain"); got != "" {
			t.Errorf("the tree is left with %q", got)
		}
	})
}

// refusedOutside asserts how many calls of a story's main conversation were refused because
// of the path, and one more of its sub-agent, each with what it may change.
func (l *lab) refusedOutside(id string, want int) {
	l.t.Helper()
	session, refused := "", map[string]bool{}
	count := func(r messagesapi.Request, who string) {
		for _, b := range r.LastToolResults() {
			if strings.Contains(b.Text, "another story may be at work there") && strings.Contains(b.Text, id+"/**") && b.IsError {
				refused[who+b.ID] = true
			}
		}
	}
	for _, r := range l.of(id) {
		session = r.Session
		count(r, "")
	}
	for _, r := range l.agentRequests() {
		if r.Session == session {
			count(r, "agent")
		}
	}
	if len(refused) != want+1 {
		l.t.Errorf("story %s: calls %v were refused for their paths, want %d and one of the sub-agent", id, refused, want)
	}
}
