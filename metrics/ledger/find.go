package ledger

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"autopilot/metrics/journal"
)

// clockSlack is how much the times of another program's record may lie outside
// the session as we saw it.
const clockSlack = 2 * time.Second

// Found is what another program wrote about a session. Pointers are nil where
// it says nothing.
type Found struct {
	SessionID    string
	RunID        string // the join as the record carries it; may be empty
	Spiral       *int
	Failed       *int
	Planned      *int
	Carryover    *int
	Completed    *int
	TotalAgents  *int
	FilesChanged *int
}

// Want says which record belongs to a session.
type Want struct {
	ClaudeID string // id of the conversation
	RunID    string
	Since    time.Time // start of the session
	Until    time.Time
	Used     map[string]bool // records that belong to earlier sessions of the run
}

// FindSession looks through what was appended to the session ledger since an
// offset for the record of a session. A record is taken by the id of the
// conversation, else by the run's id, else by a start that lies inside the session.
// Abandoned stubs are never taken, since other sessions' hooks write them, and
// the last line has no privilege.
func FindSession(path string, offset int64, w Want) (Found, bool, error) {
	best, rank := Found{}, 0
	for {
		lines, next, err := journal.ReadFrom(path, offset)
		if err != nil {
			return Found{}, false, err
		}
		for _, line := range lines {
			var rec map[string]any
			if json.Unmarshal(line, &rec) != nil {
				continue
			}
			if r := w.rank(rec); r > rank {
				best, rank = found(rec), r
			}
		}
		if next == offset {
			return best, rank > 0, nil
		}
		offset = next
	}
}

// rank says how surely a record is the wanted one; 0 means that it is not.
func (w Want) rank(rec map[string]any) int {
	id := text(rec, "session_id")
	if id == "" || w.Used[id] || text(rec, "status") == StatusAbandoned || rec["_backfill_source"] != nil {
		return 0
	}
	run := text(rec, "autopilot_run_id")
	switch {
	case id == w.ClaudeID, text(rec, "claude_session_id") == w.ClaudeID && w.ClaudeID != "":
		return 3
	case run != "" && run == w.RunID:
		return 2
	case run != "":
		return 0 // another run's
	}
	start, err := time.Parse(time.RFC3339Nano, text(rec, "started_at"))
	if err != nil || start.Before(w.Since.Add(-clockSlack)) || start.After(w.Until.Add(clockSlack)) {
		return 0
	}
	return 1
}

func text(rec map[string]any, key string) string {
	s, _ := rec[key].(string)
	return s
}

func found(rec map[string]any) Found {
	summary, _ := rec["agent_summary"].(map[string]any)
	eff, _ := rec["effectiveness"].(map[string]any)
	return Found{
		SessionID: text(rec, "session_id"), RunID: text(rec, "autopilot_run_id"),
		Spiral: count(summary["spiral"]), Failed: count(summary["failed"]),
		Planned: count(eff["planned_issues"]), Carryover: count(eff["carryover"]), Completed: count(eff["completed"]),
		TotalAgents: count(rec["total_agents"]), FilesChanged: count(rec["total_files_changed"]),
	}
}

// maxCount bounds what is taken for a count, so that it fits an int everywhere.
const maxCount = math.MaxInt32

// count reads a number, also one written as text, and rounds it up: a part of a
// failure is one. Anything else is not there.
func count(v any) *int {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return nil
		}
		f = n
	default:
		return nil
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	n := int(min(max(math.Ceil(f), -maxCount), maxCount))
	return &n
}
