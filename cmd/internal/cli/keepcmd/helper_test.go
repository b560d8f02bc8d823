package keepcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// site is a repository with its state, in which the test stands.
type site struct {
	repo, home, root string
	project          statedir.Project
	out, err         bytes.Buffer
	std              outside.Stdio
}

func newSite(t *testing.T) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{repo: filepath.Join(base, "repo"), home: filepath.Join(base, "home"), root: filepath.Join(base, "home", ".local", "state", "autopilot")}
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("XDG_STATE_HOME", filepath.Dir(s.root))
	t.Setenv("HOME", s.home)
	if out, err := exec.Command("git", "init", "-q", s.repo).CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
	t.Chdir(s.repo)
	s.std = outside.Stdio{In: strings.NewReader(""), Out: &s.out, Err: &s.err, Environ: os.Environ(), Self: "/nowhere/autopilot", Width: 80}
	if s.project, err = statedir.OpenProject(s.root, s.repo); err != nil {
		t.Fatal(err)
	}
	return s
}

// call runs a command and returns its error; what it prints is in out.
func (s *site) call(t *testing.T, args ...string) error {
	t.Helper()
	s.out.Reset()
	root := &cobra.Command{Use: "autopilot", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands(s.std)...)
	root.SetArgs(args)
	root.SetOut(&s.out)
	return root.ExecuteContext(t.Context())
}

func ago(days float64) time.Time {
	return time.Now().Add(-time.Duration(days * 24 * float64(time.Hour))).UTC()
}

// done is the state of a run that reached its goals.
func done(id string, days float64) supervisor.State {
	return supervisor.State{Version: supervisor.StateVersion, Finished: true, PID: 1 << 22, Start: 7, UpdatedAt: ago(days), Record: ledger.Run{
		SchemaVersion: ledger.RunSchema, AutopilotRunID: id, StartedAt: ledger.Stamp(ago(days)), CompletedAt: ledger.Stamp(ago(days)), Sessions: []string{}, Endings: []ledger.Ending{}, Caps: []ledger.Cap{},
		Termination: &ledger.Termination{Status: ledger.Completed, Deliverables: []ledger.Deliverable{}},
	}}
}

// run writes the folder of a run with a session.
func (s *site) run(t testing.TB, p statedir.Project, st supervisor.State) string {
	t.Helper()
	folder := p.RunDir(st.Record.AutopilotRunID)
	data, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	session := "sessions/00000000-0000-4000-8000-000000000001/"
	put(t, folder, map[string]string{
		"state.json": string(data), "setup.json": `{"version": 1, "goals": ["a goal"]}`, "activity.jsonl": "{\"msg\":\"run started\"}\n", "machine.jsonl": "{}\n",
		"reflections.jsonl":                      `{"ts":"2026-01-01T00:00:00Z","iteration":1,"reflector":"rules","decision":{"action":"continue","reason":"x"}}` + "\n",
		session + "stderr.log":                   strings.Repeat("a message of the session\n", 500),
		session + "result.json":                  fmt.Sprintf(`{"id": %q, "run_id": %q, "files_changed": ["a.go"], "commits": [], "usage": {}}`, filepath.Base(session), st.Record.AutopilotRunID),
		session + "answer.txt":                   strings.Repeat("an answer ", 900),
		"test-results/20260101T000000.000Z.json": `{"passed": true, "summary": "green", "suites": []}`,
	})
	return folder
}

func put(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *site) last(t testing.TB, p statedir.Project, id string) {
	t.Helper()
	put(t, p.Dir, map[string]string{"current-run.json": fmt.Sprintf(`{"run_id": %q}`, id)})
}

func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
