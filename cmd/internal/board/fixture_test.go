package board_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
)

// world is a state root with repositories.
type world struct {
	testing.TB
	dir string
	at  time.Time
}

func newWorld(t testing.TB) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{TB: t, dir: dir, at: time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC)}
}

func (w world) options() board.Options {
	return board.Options{Root: w.dir + "/state", Now: w.at, Past: 100, Environ: []string{"HOME=" + w.dir + "/home"}, Cache: &board.Cache{}}
}

func (w world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) project(name string) statedir.Project {
	w.Helper()
	w.check(os.MkdirAll(filepath.Join(w.dir, name), 0o700))
	p, err := statedir.OpenProject(w.dir+"/state", filepath.Join(w.dir, name))
	w.check(err)
	return p
}

func slug(p statedir.Project) string { return filepath.Base(p.Dir) }

// run makes a run that began some hours before now and whose supervisor is this process.
func (w world) run(p statedir.Project, hours int, change func(*supervisor.State)) (board.Ref, string) {
	w.Helper()
	started := w.at.Add(-time.Duration(hours) * time.Hour)
	id, folder, err := supervisor.Register(p, "main", started)
	w.check(err)
	s := supervisor.State{Version: supervisor.StateVersion, PID: os.Getpid(), UpdatedAt: w.at, Token: "token-of-" + id, Mode: "fixed"}
	s.Start, _ = proctree.StartOf(s.PID)
	s.Record = ledger.Run{AutopilotRunID: id, StartedAt: ledger.Stamp(started), MaxSessions: 10, MaxHours: 8, Source: "goal", Goal: "make it work"}
	if change != nil {
		change(&s)
	}
	w.json(filepath.Join(folder, "state.json"), s)
	if s.Finished {
		w.check(supervisor.Close(p, id))
	}
	return board.Ref{Project: slug(p), Run: id}, folder
}

// ended makes a run that has ended an hour after its begin.
func (w world) ended(p statedir.Project, hours int, change func(*supervisor.State)) (board.Ref, string) {
	w.Helper()
	return w.run(p, hours, func(s *supervisor.State) {
		s.Finished = true
		s.Record.CompletedAt = ledger.Stamp(time.Time(s.Record.StartedAt).Add(time.Hour))
		s.Record.ExitCause = "max-sessions-reached"
		s.Record.Termination = &ledger.Termination{Status: ledger.Stopped, Reason: "limit", Summary: "it came to a limit", Resumable: true}
		if change != nil {
			change(s)
		}
	})
}

func (w world) json(path string, v any) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(path), 0o700))
	w.check(statedir.ReplaceJSON(path, v))
}

// lines writes a file of JSON lines.
func (w world) lines(path string, values ...any) {
	w.Helper()
	var b strings.Builder
	for _, v := range values {
		line, err := json.Marshal(v)
		w.check(err)
		b.Write(line)
		b.WriteByte('\n')
	}
	w.text(path, b.String())
}

// text appends to a file.
func (w world) text(path, text string) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.check(err)
	_, err = f.WriteString(text)
	w.check(err)
	w.check(f.Close())
}

// session leaves the result of a session in the folder of a run.
func (w world) session(folder, id string, change func(*sessions.Result)) {
	w.Helper()
	r := sessions.Result{ID: sessions.ID(id), Ending: "completed", StartedAt: w.at.Add(-time.Hour), EndedAt: w.at.Add(-30 * time.Minute), Model: "m"}
	if change != nil {
		change(&r)
	}
	w.json(sessions.ResultPath(supervisor.SessionFolder(folder, r.ID)), r)
}

// settle makes all that was changed look as if that had been a while ago, at a moment of its
// own: a file that changed just now is not taken from a cache.
func (w world) settle(step int) {
	w.Helper()
	then := time.Now().Add(-2*time.Hour + time.Duration(step)*time.Second + time.Millisecond)
	w.check(filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || time.Since(info.ModTime()) > time.Hour {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

func ptr[T any](v T) *T { return &v }

func uuidOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// talkPath is where the conversation of a session in a folder is.
func (w world) talkPath(dir, id string) string {
	return launch.Transcript(w.options().Environ, dir, id) + ".jsonl"
}
