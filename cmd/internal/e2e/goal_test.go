//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"autopilot/sessions/messagesapi"

	"github.com/google/go-cmp/cmp"
)

func TestE2EThreeGoalSessions(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var l *lab
		l = newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			n := sessionNumber(r)
			switch r.Step {
			case 1:
				return messagesapi.ToolUse("Write", map[string]any{"file_path": l.path(fmt.Sprintf("part%d.txt", n)), "content": "done\n"})
			case 2:
				return bash("git add -A && git commit -q -m 'part %d'", n)
			default:
				return reportMore(fmt.Sprintf("part %d", n))
			}
		}, nil))
		e := l.run("write the parts", "--max-sessions", "3", "--allowed-tools", "Bash(git *)")
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed completed completed", completed: 3})
		if r.TotalTokensUsed != 3*3*120 || r.TotalCostUSD <= 0 {
			t.Errorf("tokens %d, cost %f, want those of nine answers", r.TotalTokensUsed, r.TotalCostUSD)
		}
		if diff := cmp.Diff("part 3\npart 2\npart 1\nstart", l.git("log", "--format=%s")); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		all := l.sessions()
		if len(all) != 3 {
			t.Fatalf("%d session records, want 3", len(all))
		}
		for i, s := range all {
			if s.AutopilotRunID != r.AutopilotRunID || s.SessionID != r.Sessions[i] || s.TotalFilesChanged != 1 || len(s.Commits) != 1 ||
				s.Effectiveness == nil || s.Effectiveness.PlannedIssues != 1 || s.Summary != fmt.Sprintf("did part %d", i+1) {
				t.Errorf("session %d = %+v", i+1, s)
			}
		}
		if n := len(l.mainRequests()); n != 9 {
			t.Errorf("the API got %d requests, want 9", n)
		}
	})
}
