package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"autopilot/metrics/statedir"
)

const (
	openDir     = "open" // one empty file for each run that is not finished
	currentName = "current-run.json"
	stopName    = "stop.json"
	modeName    = "mode.json"
)

// RunID is the id of a run that starts on a branch at a moment, in the form
// that other programs know: <branch>-<date>-<hhmm>-autopilot, in UTC. A run of
// characters outside letters, digits, dot, underscore and minus becomes one
// minus.
func RunID(branch string, now time.Time) string {
	if branch == "" {
		branch = "unknown"
	}
	branch = regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(branch, "-")
	return branch + now.UTC().Format("-2006-01-02-1504-") + "autopilot"
}

// current names the run that was started last.
type current struct {
	RunID  string `json:"run_id"`
	Before string `json:"before,omitempty"` // run that it was until then
}

// Register makes the folder of a new run and marks it as open. The id gets a
// number behind it when a run of that minute has it already.
func Register(p statedir.Project, branch string, now time.Time) (id, folder string, err error) {
	for _, dir := range []string{p.RunsDir(), filepath.Join(p.Dir, openDir)} {
		if err := statedir.MakeDir(dir); err != nil {
			return "", "", err
		}
	}
	base := RunID(branch, now)
	for n := 1; ; n++ {
		if id = base; n > 1 {
			id += "-" + strconv.Itoa(n)
		}
		err := os.Mkdir(p.RunDir(id), 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("make folder of run: %w", err)
		}
		break
	}
	if err := os.WriteFile(filepath.Join(p.Dir, openDir, id), nil, 0o600); err != nil {
		return "", "", fmt.Errorf("mark run as open: %w", err)
	}
	if err := statedir.SyncDir(filepath.Join(p.Dir, openDir)); err != nil {
		return "", "", err
	}
	before, _ := LastWritten(p) // none, or one that cannot be told, is none to fall back on
	return id, p.RunDir(id), statedir.ReplaceJSON(filepath.Join(p.Dir, currentName), current{RunID: id, Before: before})
}

// Close takes away the mark of a run whose state says that it is finished. An
// unfinished run keeps it, and the next start finishes the run.
func Close(p statedir.Project, id string) error {
	s, err := LoadState(p.RunDir(id))
	if err != nil || !s.Finished {
		return err
	}
	return closeRun(p, id)
}

func closeRun(p statedir.Project, id string) error {
	if err := os.Remove(filepath.Join(p.Dir, openDir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("close run: %w", err)
	}
	return nil
}

// OpenRuns lists the runs that are not finished, alive or not.
func OpenRuns(p statedir.Project) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(p.Dir, openDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list open runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, nil
}

// LastRun returns the id of the run that was started last, or "".
func LastRun(p statedir.Project) (string, error) {
	var c current
	err := statedir.LoadJSON(filepath.Join(p.Dir, currentName), &c)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return c.RunID, err
}

// LastWritten is LastRun, but where that run died before it wrote anything the one before.
func LastWritten(p statedir.Project) (string, error) {
	var c current
	err := statedir.LoadJSON(filepath.Join(p.Dir, currentName), &c)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if _, none := LoadState(p.RunDir(c.RunID)); c.Before != "" && errors.Is(none, fs.ErrNotExist) {
		return c.Before, err
	}
	return c.RunID, err
}

// stopRequest is what 'stop' leaves for a running supervisor.
type stopRequest struct {
	At time.Time `json:"at"`
	By string    `json:"by"`
}

// RequestStop asks the run in a folder to stop after its current session.
func RequestStop(folder, by string, now time.Time) error {
	return statedir.ReplaceJSON(filepath.Join(folder, stopName), stopRequest{At: now, By: by})
}

// StopRequested says who asked the run in a folder to stop, or nothing.
func StopRequested(folder string) string {
	var r stopRequest
	err := statedir.LoadJSON(filepath.Join(folder, stopName), &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil: // somebody wanted it, by another user perhaps
		return fmt.Sprintf("stop was requested; by whom cannot be read: %v", err)
	}
	return "stop was requested by " + r.By
}

// modeRequest is what 'set' leaves for a running supervisor.
type modeRequest struct {
	At   time.Time `json:"at"`
	Mode string    `json:"mode"`
}

// RequestMode asks the run in a folder to go on in another mode.
func RequestMode(folder, mode string, now time.Time) error {
	return statedir.ReplaceJSON(filepath.Join(folder, modeName), modeRequest{At: now, Mode: mode})
}

// ModeRequested is the mode that was asked for last for the run in a folder, or
// nothing.
func ModeRequested(folder string) string {
	var r modeRequest
	if err := statedir.LoadJSON(filepath.Join(folder, modeName), &r); err != nil {
		return ""
	}
	return r.Mode
}
