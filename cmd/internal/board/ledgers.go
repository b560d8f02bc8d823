package board

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
)

const (
	keptRuns     = 300     // of a ledger
	keptSessions = 200_000 // places of sessions in a ledger
	endBytes     = 64      // before the end of what was read that are compared
)

// runLedger is what is known of a ledger of runs: the last ones.
type runLedger struct {
	lines.File
	version int
	last    []Row
}

// runLedger is the ledger of runs in a folder, up to date.
func (c *Cache) runLedger(dir string) (*runLedger, error) {
	l := c.ledgers[dir]
	if l == nil {
		l = &runLedger{}
		c.ledgers[dir] = l
	}
	err := l.More(filepath.Join(dir, ledger.RunsFile), func() { l.last, l.version = nil, l.version+1 }, func(_ int64, line []byte) {
		var rec ledger.Run
		if json.Unmarshal(line, &rec) != nil || rec.AutopilotRunID == "" || time.Time(rec.StartedAt).IsZero() || rec.DryRun {
			return
		}
		r := endedRow("", rec)
		r.Ref.Run = rec.AutopilotRunID
		l.version++
		if l.last = append(l.last, r); len(l.last) >= 2*keptRuns {
			l.last = append([]Row(nil), l.last[len(l.last)-keptRuns:]...)
		}
	})
	return l, err
}

// record is the record of a run in a ledger, the last one with that id.
func record(dir, id string) (ledger.Run, bool) {
	var out ledger.Run
	found := false
	quoted, err := json.Marshal(id)
	if err != nil {
		return out, false
	}
	_ = journal.Each(filepath.Join(dir, ledger.RunsFile), func(_ int, line []byte) error {
		var rec ledger.Run
		if bytes.Contains(line, quoted) && json.Unmarshal(line, &rec) == nil && rec.AutopilotRunID == id {
			out, found = rec, true
		}
		return nil
	})
	return out, found
}

// place is where a line is.
type place struct {
	at  int64
	len int32
}

// sessionLedger is where in a ledger the sessions of each run are.
type sessionLedger struct {
	lines.File
	path   string
	places map[string][]place
	count  int
}

// sessionLedger is the ledger of sessions in a folder, up to date.
func (c *Cache) sessionLedger(dir string) *sessionLedger {
	l := c.sessions[dir]
	if l == nil {
		l = &sessionLedger{path: filepath.Join(dir, ledger.SessionsFile)}
		c.sessions[dir] = l
	}
	again := func() { l.places, l.count = map[string][]place{}, 0 }
	_ = l.More(l.path, again, func(at int64, line []byte) { // what cannot be read has no sessions
		var rec struct {
			Run string `json:"autopilot_run_id"`
		}
		if json.Unmarshal(line, &rec) != nil || rec.Run == "" {
			return
		}
		if l.count++; l.count > keptSessions {
			again()
			l.count = 1
		}
		l.places[rec.Run] = append(l.places[rec.Run], place{at, int32(len(line))})
	})
	return l
}

// of are the records of the sessions of a run.
func (l *sessionLedger) of(run string) []ledger.Session {
	places := l.places[run]
	if len(places) == 0 {
		return nil
	}
	f, err := os.Open(l.path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var out []ledger.Session
	for _, p := range places[max(0, len(places)-mostSessions):] {
		line := make([]byte, p.len)
		var rec ledger.Session
		if _, err := f.ReadAt(line, p.at); err == nil && json.Unmarshal(line, &rec) == nil && rec.AutopilotRunID == run {
			out = append(out, rec)
		}
	}
	return out
}

// rewards are those of the episodes of a project, by run.
type rewards struct {
	dir    lines.Seen
	chunks map[string]*lines.File
	by     map[string]float64
}

// of is the reward of a run, or nil, as it was read last.
func (r *rewards) of(run string) *float64 {
	if v, ok := r.by[run]; ok {
		return &v
	}
	return nil
}

// read reads what is new.
func (r *rewards) read(p *project) {
	dir := filepath.Join(p.Dir, "episodes")
	if r.dir.Changed(dir) {
		r.list(dir)
	}
	for name, g := range r.chunks {
		_ = g.More(filepath.Join(dir, name), func() {}, func(_ int64, line []byte) { // without an episode there is no reward
			var e struct {
				Run    string   `json:"runId"`
				Reward *float64 `json:"reward"`
			}
			if json.Unmarshal(line, &e) == nil && e.Run != "" && e.Reward != nil {
				r.by[e.Run] = *e.Reward
			}
		})
	}
}

// list takes over which chunks there are. When some are gone, so are their rewards.
func (r *rewards) list(dir string) {
	entries, _ := os.ReadDir(dir) // none without a folder
	there := map[string]*lines.File{}
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == ".jsonl" {
			there[name] = r.chunks[name]
			if there[name] == nil {
				there[name] = &lines.File{}
			}
		}
	}
	for name := range r.chunks {
		if there[name] == nil {
			r.by = nil
		}
	}
	if r.by == nil {
		r.by = map[string]float64{}
		for name := range there {
			there[name] = &lines.File{}
		}
	}
	r.chunks = there
}
