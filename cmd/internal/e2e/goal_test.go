//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"autopilot/sessions/messagesapi"
)

// editing answers each session with a file edit, a commit and a report.
func editing(next []string) messagesapi.Script {
	return func(r messagesapi.Request) messagesapi.Reply {
		if !strings.Contains(strings.Join(r.UserTexts(), "\n"), "Work towards this goal") {
			return messagesapi.Text("ok") // small requests of the CLI's own
		}
		n := sessionNumber(r)
		u := messagesapi.Usage{Input: 100, Output: 20}
		switch r.Step {
		case 0:
			return messagesapi.ToolUse("Write", map[string]any{"file_path": fmt.Sprintf("part%d.txt", n), "content": "done\n"}).WithUsage(u)
		case 1:
			return messagesapi.ToolUse("Bash", map[string]any{"command": fmt.Sprintf("git add -A && git commit -q -m 'part %d'", n), "description": "commit"}).WithUsage(u)
		default:
			part := fmt.Sprintf("part %d", n)
			return messagesapi.ToolUse("StructuredOutput", report([]string{part}, []string{part}, next)).WithUsage(u)
		}
	}
}

func sessionNumber(r messagesapi.Request) int {
	text := strings.Join(r.UserTexts(), "\n")
	_, after, _ := strings.Cut(text, "This is session ")
	n := 0
	_, _ = fmt.Sscanf(after, "%d of", &n)
	return n
}

func TestE2EThreeGoalSessions(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, editing([]string{"more"}))
		e := l.run("write the parts", "--max-sessions", "3", "--allowed-tools", "Bash(git *)")
		if e.code != 0 {
			t.Errorf("exit code %d, want 0", e.code)
		}
		r := l.oneRun()
		if r.KillSwitch == nil || *r.KillSwitch != "max-sessions-reached" || r.IterationsCompleted != 3 || endingOf(r) != "completed completed completed" {
			t.Errorf("run record = %+v", r)
		}
		if r.TotalTokensUsed < 3*3*120 || r.TotalCostUSD <= 0 {
			t.Errorf("tokens %d, cost %f, want at least those of nine answers", r.TotalTokensUsed, r.TotalCostUSD)
		}
		if got := l.git("log", "--format=%s"); got != "part 3\npart 2\npart 1\nstart" {
			t.Errorf("commits:\n%s", got)
		}
		for i, s := range l.sessions() {
			if s.AutopilotRunID != r.AutopilotRunID || s.TotalFilesChanged != 1 || len(s.Commits) != 1 || s.Effectiveness == nil || s.Effectiveness.PlannedIssues != 1 {
				t.Errorf("session %d = %+v", i, s)
			}
		}
		l.nothingLeft(r.AutopilotRunID)
	})
}
