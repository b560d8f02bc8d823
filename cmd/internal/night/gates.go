package night

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/sessions"
	"autopilot/sessions/approval"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
)

// HoldCalls gives a session the hook that holds calls for a person, and tells it what was
// decided about earlier ones.
func (n Night) HoldCalls(std outside.Stdio, s *sessions.Spec) error {
	if !n.Cfg.Night.HumanGates && len(n.Lane) == 0 {
		return nil
	}
	path := filepath.Join(s.Folder, hook.GateName)
	f := hook.GateFile{
		Dir: n.Gates.Dir, Key: n.Gates.Key, Timeout: n.Gates.Timeout, Advance: n.Gates.Advance, Rules: n.Cfg.Night.GateRules,
		RunID: s.RunID, SessionID: string(s.ID), Home: std.Getenv("HOME"), Protected: append([]string{n.Dir, n.Gates.Key}, n.Protected...),
		Lane: hook.Lane{Root: n.Repo, Patterns: n.Lane}, LaneOnly: !n.Cfg.Night.HumanGates,
	}
	if err := f.Save(path); err != nil {
		return err
	}
	s.GateHook = launch.Quote(std.Self) + " hook gate " + launch.Quote(path) + " || exit 2"
	if n.Cfg.Night.HumanGates {
		s.Notice += n.decided()
	}
	return nil
}

// told bounds how many decisions a session is told.
const told = 20

// decided says which held calls may be made now, and which were refused by a person.
func (n Night) decided() string {
	list, _ := n.Gates.List(time.Now()) // what is broken is named by status and doctor
	var free, no []string
	for _, g := range list {
		switch g.Status {
		case approval.Approved:
			words := "- " + g.Tool + " in " + g.Dir + ": " + g.Input
			if strings.Contains(g.Input, logs.Redacted) {
				words += " (a secret was taken out here; make the call as you made it)"
			}
			free = append(free, words)
		case approval.Denied:
			words := "- " + g.Subject
			if g.Because != "" {
				words += " (" + g.Because + ")"
			}
			no = append(no, words)
		}
	}
	var b strings.Builder
	if len(free) > 0 {
		fmt.Fprintf(&b, "\n\nA person has approved these calls, which were held. Each may be made once, exactly as it stands here:\n%s\n", strings.Join(last(free, told), "\n"))
	}
	if len(no) > 0 {
		fmt.Fprintf(&b, "\n\nA person has refused these calls. Do without them:\n%s\n", strings.Join(last(no, told), "\n"))
	}
	return b.String()
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
