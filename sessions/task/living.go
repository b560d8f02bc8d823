package task

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"autopilot/probe/proctree"
	"autopilot/sessions/task/internal/record"
)

// LiveSession is a session of Claude Code whose process runs.
type LiveSession struct {
	ID  string // of the conversation
	PID int
	CWD string
}

// Living returns the sessions that run now on this machine, ordered by pid, from the
// files that Claude Code keeps below config, one for each process. A session lives
// if its process does and began when the file says: a killed one leaves its file
// behind, and its pid is used again. Where the file has no such number the pid alone
// counts. What cannot be read is taken for no session.
func Living(config string) []LiveSession {
	at, err := openFolder(config)
	if err != nil {
		return nil
	}
	defer at.close()
	entries, err := at.entries("sessions")
	if err != nil {
		return nil
	}
	var out []LiveSession
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		pid, err := strconv.Atoi(name)
		if !ok || err != nil || pid <= 0 {
			continue
		}
		data, err := at.read(filepath.Join("sessions", e.Name()))
		if err != nil {
			continue
		}
		s, began, ok := parseSession(data)
		if ok && lives(pid, began) {
			s.PID = pid
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b LiveSession) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

// parseSession reads the file of one process: its session, and when it began in the
// words of the system, which may be missing.
func parseSession(data []byte) (s LiveSession, began string, ok bool) {
	var file struct {
		SessionID string      `json:"sessionId"`
		CWD       string      `json:"cwd"`
		Began     record.Text `json:"procStart"`
	}
	if record.Decode(data, &file) != nil || file.SessionID == "" {
		return LiveSession{}, "", false
	}
	return LiveSession{ID: file.SessionID, CWD: file.CWD}, strings.TrimSpace(file.Began.String()), true
}

func lives(pid int, began string) bool {
	if start, err := strconv.ParseUint(began, 10, 64); err == nil {
		return proctree.Alive(pid, start)
	}
	p, err := proctree.Read(proctree.Root, pid)
	return err == nil && !p.Dead()
}
