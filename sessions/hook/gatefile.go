package hook

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
)

// GateFile is what the hook that holds calls needs to know of its session. The hook runs
// in a process of its own, and reads no settings: those could be changed by the session.
type GateFile struct {
	Dir       string        `json:"dir"` // folder of the gates
	Key       string        `json:"key"` // file of the key that decisions are sealed with
	Timeout   time.Duration `json:"timeout_ns"`
	Advance   []string      `json:"advance,omitempty"` // rules that are approved in advance
	Rules     []string      `json:"rules,omitempty"`   // beside the usual ones
	RunID     string        `json:"run_id"`
	SessionID string        `json:"session_id"`
	Home      string        `json:"home,omitempty"` // of the person, absolute
	// Protected are folders and files, absolute, that no call may change: where gates are
	// kept and this file itself.
	Protected []string `json:"protected,omitempty"`
	Lane      Lane     `json:"lane,omitzero"`
	LaneOnly  bool     `json:"lane_only,omitempty"` // no rule holds a call
}

// Save writes the file of a session.
func (f GateFile) Save(path string) error {
	if err := statedir.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return statedir.ReplaceJSON(path, f)
}

// LoadGate reads the file of a session. An error means that no call can be judged.
func LoadGate(path string) (GateDesk, error) {
	var f GateFile
	if err := statedir.LoadJSON(path, &f); err != nil {
		return GateDesk{}, err
	}
	if f.Dir == "" {
		return GateDesk{}, fmt.Errorf("read %s: it names no folder", path)
	}
	rules, err := rule.Default().With(f.Rules)
	if err != nil {
		return GateDesk{}, fmt.Errorf("read %s: %w", path, err)
	}
	return GateDesk{
		Rules: rules.Guarding(f.Home, f.Protected...), Desk: approval.Desk{Dir: f.Dir, Key: f.Key, Timeout: f.Timeout, Advance: f.Advance}, RunID: f.RunID, SessionID: f.SessionID, Home: f.Home, Lane: f.Lane, LaneOnly: f.LaneOnly,
	}, nil
}

// Judge says which rules would hold a call. It keeps nothing.
func (g GateDesk) Judge(c rule.Call) []rule.Finding {
	return g.Rules.Guarding(g.Home, guardedFolders(g.Desk.Dir)...).Judge(c, g.read)
}

// GateName is the name of the file in the folder of its session.
const GateName = "gate.json"

// Waits reports whether a call of the session waits for a person.
func (g GateDesk) Waits(now time.Time) bool {
	list, err := g.Desk.List(now)
	return err == nil && slices.ContainsFunc(list, func(x approval.Gate) bool { return x.LastSession == g.SessionID && x.Status == approval.Pending })
}
