package peers

import (
	"strings"
	"time"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

// Origin says where a peer was seen.
type Origin string

// Where peers are seen.
const (
	Lock     Origin = "lock"     // .orchestrator/session.lock of a worktree
	Registry Origin = "registry" // the registry of this machine
	StateMD  Origin = "state-md" // .claude/STATE.md of the repository
)

// Peer is a session of somebody else. Its texts come from files that anybody may have written;
// they are one line each, cut, and free of control characters and of what looks like a secret.
type Peer struct {
	SessionID     string    `json:"session_id"`
	Mode          string    `json:"mode"` // empty when it does not say
	Class         Class     `json:"class"`
	Origin        Origin    `json:"origin"`
	Worktree      string    `json:"worktree,omitempty"`      // absolute path
	PID           int       `json:"pid,omitempty"`           // often of a short-lived helper that has ended: no sign of life
	Host          string    `json:"host,omitempty"`          // this machine's name for peers of the registry
	StartedAt     time.Time `json:"started_at,omitzero"`     // zero when it does not say
	LastHeartbeat time.Time `json:"last_heartbeat,omitzero"` // zero for peers of STATE.md
}

const (
	maxName = 200 // runes of a session's name
	maxMode = 60
	maxPath = 300
)

// shown is a stranger's text as it may be shown. A secret is looked for before the text is
// cut, because half a secret does not look like one.
func shown(s string, n int) string {
	if s == "" {
		return ""
	}
	return prompt.Cut(logs.Redact(line(s)), n)
}

func line(s string) string { return strings.Join(strings.Fields(gate.Plain(s)), " ") }
