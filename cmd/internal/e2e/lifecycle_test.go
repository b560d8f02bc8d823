//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/sessions/messagesapi"

	"github.com/google/go-cmp/cmp"
)

// lifecycle sets a repository up for the lifecycle source: three commands, and
// signals that make feature sessions as sure as can be.
func (l *lab) lifecycle() {
	l.t.Helper()
	for _, name := range []string{"session", "go", "close"} {
		l.write(".claude/commands/"+name+".md", "---\ndescription: the "+name+" command\n---\nTEXT-OF-"+strings.ToUpper(name)+" $ARGUMENTS\n")
	}
	l.write(".claude/STATE.md", "---\nschema-version: 1\nsession-type: feature\nstatus: completed\nrecommended-mode: feature\n"+
		"top-priorities: [1, 2]\ncarryover-ratio: 0.0\ncompletion-rate: 1.0\n---\n\nAll is well.\n")
	l.write(".orchestrator/bootstrap.lock", "version: 1\ntier: standard\n")
	for i, subject := range []string{"feature-size", "feature-scope"} {
		l.appendTo(".orchestrator/metrics/learnings.jsonl", fmt.Sprintf(
			`{"id":"l%d","type":"effective-sizing","subject":%q,"insight":"it fits","confidence":0.9,"created_at":"2026-01-01T00:00:00Z","expires_at":"2999-01-01T00:00:00Z"}`, i, subject))
	}
	for i := range 3 {
		l.appendTo(sessionLedger, fmt.Sprintf(
			`{"schema_version":2,"session_id":"earlier-%d","session_type":"feature","platform":"claude","started_at":"2026-01-0%[2]dT10:00:00.000Z","completed_at":"2026-01-0%[2]dT11:00:00.000Z","duration_seconds":3600,"total_waves":0,"waves":[],"agent_summary":{"complete":0,"partial":0,"failed":0,"spiral":0},"total_agents":0,"total_files_changed":1,"effectiveness":{"planned_issues":2,"completed":2,"carryover":0,"completion_rate":1},"status":"completed"}`, i, i+1))
	}
	l.commit("lifecycle")
}

const sessionLedger = ".orchestrator/metrics/" + ledger.SessionsFile

func (l *lab) appendTo(name, line string) {
	l.t.Helper()
	before, err := os.ReadFile(l.path(name))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	l.write(name, string(before)+line+"\n")
}

// recording is a shell command that writes the session's own record, as a plugin
// does, and after it the stub that another session's hook leaves behind.
func recording(id string, planned, carryover int) string {
	record := fmt.Sprintf(`{"schema_version":2,"session_id":"%s","session_type":"feature","platform":"claude","started_at":"NOW","completed_at":"NOW","duration_seconds":1,"total_waves":1,"waves":[{"wave":1,"role":"impl","agent_count":0}],"agent_summary":{"complete":0,"partial":0,"failed":0,"spiral":0},"total_agents":0,"total_files_changed":1,"effectiveness":{"planned_issues":%d,"completed":%d,"carryover":%d,"completion_rate":1},"status":"completed","of_its_own":true}`,
		id, planned, planned-carryover, carryover)
	stub := `{"schema_version":2,"session_id":"stub-of-another","session_type":"feature","started_at":"NOW","completed_at":"NOW","status":"abandoned"}`
	return fmt.Sprintf(`printf '%%s\n' '%s' '%s' | sed "s/NOW/$(date -u +%%Y-%%m-%%dT%%H:%%M:%%S.000Z)/g" >> %s`, record, stub, sessionLedger)
}

// command is the name of the last slash command of a conversation.
func command(r messagesapi.Request) string {
	last, name := -1, ""
	text := strings.Join(r.UserTexts(), "\n")
	for _, c := range []string{"SESSION", "GO", "CLOSE"} {
		if at := strings.LastIndex(text, "TEXT-OF-"+c); at > last {
			last, name = at, c
		}
	}
	return name
}

// commandsSeen are the commands in the order in which the API saw them.
func (l *lab) commandsSeen() string {
	var seen []string
	for _, r := range l.mainRequests() {
		if c := command(r); len(seen) == 0 || seen[len(seen)-1] != c {
			seen = append(seen, c)
		}
	}
	return strings.Join(seen, " ")
}

func TestE2ELifecycle(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			answers := map[string][]messagesapi.Reply{
				"SESSION": {bash("git log --oneline"), messagesapi.Text("This is the plan. Shall I go?")},
				"GO":      {bash("echo hello > part.txt; git add part.txt; git commit -q -m part"), messagesapi.Text("Done. Shall I close?")},
				"CLOSE":   {bash("%s", recording("feature-today-1", 2, 1)), messagesapi.Text("Closed.")},
			}[command(r)]
			return answers[min(r.Step, len(answers))-1]
		}, nil))
		l.lifecycle()
		before := l.contents(sessionLedger)
		e := l.run("--max-sessions", "1", "--allowed-tools", "Bash")
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1})
		if got := l.commandsSeen(); got != "SESSION GO CLOSE" {
			t.Errorf("commands = %q, want /session, /go, /close", got)
		}
		if !strings.Contains(strings.Join(l.mainRequests()[0].UserTexts(), "\n"), "TEXT-OF-SESSION feature") {
			t.Errorf("the first prompt is %q, want /session with the mode", l.mainRequests()[0].UserTexts())
		}
		for _, q := range l.mainRequests() {
			if q.Session != l.mainRequests()[0].Session {
				t.Errorf("request %d belongs to another conversation", q.Number)
			}
		}
		if r.Source != "lifecycle" || r.Endings[0].Record != "plugin" || r.Endings[0].SessionID != "feature-today-1" || cmp.Diff([]string{"feature-today-1"}, r.Sessions) != "" {
			t.Errorf("run record = %+v, want the session's own record in it", r)
		}
		added, ok := strings.CutPrefix(l.contents(sessionLedger), before)
		if lines := strings.Split(strings.TrimSpace(added), "\n"); !ok || len(lines) != 2 || !strings.Contains(lines[0], `"of_its_own":true}`) || !strings.Contains(lines[1], "stub-of-another") {
			t.Errorf("the session ledger got %q, want the two lines that the session wrote", added)
		}
		if r.TotalTokensUsed != 6*120 {
			t.Errorf("%d tokens, want those of six answers", r.TotalTokensUsed)
		}
	})
}

func (l *lab) contents(name string) string {
	l.t.Helper()
	data, err := os.ReadFile(l.path(name))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(data)
}

// A session that closes itself in its first turn is not told to go; what its own
// record says about the plan decides about the run.
func TestE2ELifecycleInOneTurn(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(messagesapi.InSteps(bash("%s", recording("feature-today-2", 4, 3)), messagesapi.Text("Closed.")), nil))
		l.lifecycle()
		e := l.run("--allowed-tools", "Bash")
		r := l.check(e, want{code: 3, killSwitch: "carryover-too-high", endings: "completed", completed: 1})
		if got := l.commandsSeen(); got != "SESSION" || r.Endings[0].Record != "plugin" {
			t.Errorf("commands = %q, record by %q; want /session alone and the plugin's", got, r.Endings[0].Record)
		}
	})
}

// A session that writes no record gets one of ours.
func TestE2ELifecycleWithoutARecord(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(messagesapi.InSteps(bash("echo hello"), messagesapi.Text("Shall I go on?")), nil))
		l.lifecycle()
		e := l.run("--max-sessions", "1", "--allowed-tools", "Bash")
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1})
		all := l.sessions()
		last := all[len(all)-1]
		if len(all) != 4 || r.Endings[0].Record != "own" || last.SessionID != r.Sessions[0] || last.SessionType != "feature" || last.Processes != 3 {
			t.Errorf("%d session records, last %+v; want a fourth of our own", len(all), last)
		}
	})
}
