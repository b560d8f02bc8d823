package completion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/metrics/plainfile"
	"autopilot/metrics/statedir"
	"autopilot/sessions/task"
)

const (
	deskFile     = "desk"
	postTime     = 5 * time.Second
	summaryRunes = 4000
	pointRunes   = 400
	mostPoints   = 50
	// readBytes bounds how much of a text is searched for secrets.
	readBytes = 64 << 10
)

// record is a desk as it is kept for the processes of one session.
type record struct {
	Session    string   `json:"session"`
	Repo       string   `json:"repo"`
	Config     string   `json:"config"`
	ListID     string   `json:"listId"`
	Limit      string   `json:"limit"` // Place.Session
	Files      []string `json:"files"`
	Episodes   string   `json:"episodes"`
	Cap        int      `json:"cap"`
	Defaults   Settings `json:"defaults"`
	ReportFile string   `json:"reportFile"`
	Supervised bool     `json:"supervised"`
}

// Post prepares the desk of a session in a folder of its own, for the hook and the
// tool server that are started in that session: they find all they need in the
// folder. With enabled the session is under persistent completion from now on. A
// desk has no way to GitHub any more when it is opened again.
func Post(folder string, d Desk, enabled bool) error {
	if err := CheckSession(d.Session); err != nil {
		return fmt.Errorf("post desk: %w", err)
	}
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return fmt.Errorf("post desk: %w", err)
	}
	d.Folder, d.Place.GH = folder, nil
	// Like the states it means nothing once the session is over: it is not synced.
	err := replaceJSON(filepath.Join(folder, deskFile+".json"), record{
		Session: d.Session, Repo: d.Place.Repo, Config: d.Place.Config, ListID: d.Place.ListID, Limit: d.Place.Session, Files: d.Place.Files,
		Episodes: d.Episodes, Cap: d.Cap, Defaults: d.Defaults, ReportFile: d.ReportFile, Supervised: d.Supervised,
	})
	if err == nil && enabled {
		ctx, cancel := context.WithTimeout(context.Background(), postTime)
		defer cancel()
		_, _, _, err = d.enable(ctx, d.Session, time.Now())
	}
	if err != nil {
		return fmt.Errorf("post desk: %w", err)
	}
	return nil
}

// OpenDesk is the desk that was posted in a folder.
func OpenDesk(folder string) (Desk, error) {
	path := filepath.Join(folder, deskFile+".json")
	data, err := plainfile.Read(path, stateLimit)
	if err != nil {
		return Desk{}, fmt.Errorf("open desk: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Desk{}, fmt.Errorf("open desk %s: %w", path, err)
	}
	if err := CheckSession(r.Session); err != nil {
		return Desk{}, fmt.Errorf("open desk %s: %w", path, err)
	}
	return Desk{
		Folder: folder, Session: r.Session, Place: task.Place{Repo: r.Repo, Config: r.Config, ListID: r.ListID, Session: r.Limit, Files: r.Files},
		Episodes: r.Episodes, Cap: r.Cap, Defaults: r.Defaults, ReportFile: r.ReportFile, Supervised: r.Supervised,
	}, nil
}

// Report keeps what the agent says about its work, for its supervisor, to whom the last
// report counts, or without one in the event log. Secrets
// are removed, and what is too long is cut.
func (d Desk) Report(r Report) error {
	r = Report{
		Summary: told(r.Summary, summaryRunes), NeedsPerson: told(r.NeedsPerson, summaryRunes),
		Completed: points(r.Completed), CarriedOver: points(r.CarriedOver), NextSteps: points(r.NextSteps),
	}
	if r.Summary == "" {
		return errors.New("the report has no summary")
	}
	if d.ReportFile != "" {
		return statedir.ReplaceJSON(d.ReportFile, r)
	}
	if err := os.MkdirAll(d.Folder, folderMode); err != nil {
		return fmt.Errorf("create state folder: %w", err)
	}
	return d.log("", newEvent(time.Now(), "report", Event{
		"sessionId": d.Session, "summary": r.Summary, "completed": r.Completed, "carriedOver": r.CarriedOver, "nextSteps": r.NextSteps, "needsPerson": r.NeedsPerson,
	}))
}

func points(list []string) []string {
	var out []string
	for _, p := range list {
		if len(out) == mostPoints {
			break
		}
		if p = told(p, pointRunes); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// told is a text of the agent without secrets and control characters, shortened.
func told(text string, runes int) string {
	text = strings.ToValidUTF8(text[:min(len(text), readBytes)], "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(logs.Redact(text))
	if utf8.RuneCountInString(text) > runes {
		return cut(text, runes)
	}
	return text
}
