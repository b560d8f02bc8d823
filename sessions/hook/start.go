package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/completion"
	"autopilot/sessions/prompt"
	"autopilot/sessions/task"
)

const (
	toldTasks   = 5
	toldSubject = 120 // runes
)

type startOutput struct {
	Specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// Start answers the call that Claude Code makes when a session begins: it tells the
// session what remains, where persistent completion is on for it or for the next one
// that stops, or was on for one that has ended with tasks left. Otherwise it says
// nothing. desk is as for Stop. It fails open, like Stop.
func Start(stdin io.Reader, stdout io.Writer, desk func(sessionID, cwd string) (d completion.Desk, ok bool, err error), now time.Time) error {
	in, err := readStop(stdin)
	if err != nil || in.Event != "SessionStart" {
		return err
	}
	if err := completion.CheckSession(in.SessionID); err != nil {
		return fmt.Errorf("read hook input: %w", err)
	}
	d, ok, err := desk(in.SessionID, in.CWD)
	if err != nil || !ok {
		return err
	}
	d.Session, d.Place.Session = in.SessionID, ""
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	s, err := d.Status(ctx, now)
	if err != nil || len(s.Remaining) == 0 {
		return err
	}
	var why string
	switch {
	case s.Waiting:
		why = "Persistent completion is on for the next session that stops here, which may be this one: it is sent on while tasks remain."
	case s.Enabled:
		why = "Persistent completion is on for this session: it is sent on while tasks remain."
	case leftBehind(s.Others, d.Place.Config):
		why = "A session that has ended was to complete these tasks. 'autopilot enable' goes on with them; take them up if that is what you are asked for."
	default:
		return nil
	}
	var out startOutput
	out.Specific.Event, out.Specific.Context = "SessionStart", remains(s, why)
	enc := json.NewEncoder(stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// leftBehind reports whether one of the sessions lives no more.
func leftBehind(sessions []string, config string) bool {
	if len(sessions) == 0 {
		return false
	}
	living := task.Living(config)
	return slices.ContainsFunc(sessions, func(id string) bool {
		return !slices.ContainsFunc(living, func(l task.LiveSession) bool { return l.ID == id })
	})
}

func remains(s completion.Status, why string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "AUTOPILOT: %d/%d tasks complete (%d%%). %s\nRemaining tasks:\n", s.Tasks.Completed, s.Tasks.Total, s.Tasks.Percent, why)
	for i, t := range s.Remaining {
		if i == toldTasks {
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n", prompt.Cut(t.Subject, toldSubject), prompt.Cut(t.Status, toldSubject))
	}
	if more := s.Tasks.Total - s.Tasks.Completed - toldTasks; more > 0 {
		fmt.Fprintf(&b, "... and %d more\n", more)
	}
	return b.String()
}
