package keepcmd

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/keep"
	"autopilot/supervisor/story"
)

func code(err error) int {
	switch e, ok := errors.AsType[*outside.Error](err); {
	case err == nil:
		return 0
	case ok:
		return e.ExitCode()
	}
	return -1
}

func TestGcAsksAtATerminal(t *testing.T) {
	s := newSite(t)
	old := s.run(t, s.project, done("old", 100))
	s.run(t, s.project, done("last", 1))
	s.last(t, s.project, "last")
	s.std.TTY, s.std.InTTY = true, true
	for _, tt := range []struct {
		reply string
		want  bool
	}{{"n\n", true}, {"\n", true}, {"yes please\n", true}, {"y\n", false}} {
		s.std.In = strings.NewReader(tt.reply)
		if err := s.call(t, "gc", "--keep-runs", "0"); err != nil {
			t.Fatal(err)
		}
		if there(old) != tt.want || !strings.Contains(s.out.String(), "would remove") {
			t.Errorf("after %q the run is there: %v\n%s", tt.reply, there(old), s.out.String())
		}
	}
	if !strings.Contains(s.out.String(), "removed old in ") {
		t.Errorf("said: %s", s.out.String())
	}
	// Where there is nothing to do nobody is asked.
	s.std.In = strings.NewReader("")
	if err := s.call(t, "gc", "--keep-runs", "0"); err != nil {
		t.Error(err)
	}
}

func TestGcWithoutATerminalOnlyTells(t *testing.T) {
	s := newSite(t)
	old := s.run(t, s.project, done("old", 100))
	s.run(t, s.project, done("last", 1))
	s.last(t, s.project, "last")
	if err := s.call(t, "gc", "--keep-runs", "0", "--json"); err != nil || !there(old) {
		t.Fatal(err)
	}
	var v gcView
	if err := json.Unmarshal(s.out.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	if !v.DryRun || len(v.Items) != 2 || v.Items[0].Action != keep.Remove || v.Bytes != v.Items[0].Bytes || v.Bytes < 10_000 || v.Policy != (policyView{30, 0, "7d", false, false}) {
		t.Errorf("%+v", v)
	}
	for _, flag := range []string{"--yes", "--apply"} {
		s.run(t, s.project, done("old", 100))
		if err := s.call(t, "gc", "--keep-runs", "0", "--json", flag); err != nil || there(old) {
			t.Fatal(err)
		}
		v = gcView{}
		if err := json.Unmarshal(s.out.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.DryRun || len(v.Done) != 1 || v.Done[0].RunID != "old" || v.Bytes < 10_000 {
			t.Errorf("%s: %+v", flag, v)
		}
	}
}

// A folder that an agent wants to have removed, and a lock that another gc has.
func TestGcIsRefused(t *testing.T) {
	s := newSite(t)
	old := s.run(t, s.project, done("old", 100))
	s.run(t, s.project, done("last", 1))
	s.last(t, s.project, "last")
	plain := s.std.Environ
	s.std.Environ = append(slices.Clone(plain), "AUTOPILOT_SESSION_ID=x")
	if err := s.call(t, "gc", "--keep-runs", "0", "--yes"); code(err) != outside.ExitUsage || !there(old) {
		t.Errorf("in a session: %v", err)
	}
	s.std.Environ = plain
	lock, err := statedir.Acquire(t.Context(), filepath.Join(s.root, "gc.lock"), statedir.Holder{RunID: "gc"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	g := cleaning{std: s.std, root: s.root, now: time.Now()}
	var held *statedir.HeldError
	if err := g.run(ctx, true); !errors.As(err, &held) || !there(old) {
		t.Errorf("beside another: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"gc", "x"}, {"gc", "--keep-days", "many"}, {"gc", "--keep-runs", "-1"}, {"gc", "--compress-after", "3"}} {
		if err := s.call(t, args...); code(err) != outside.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// What could not be done is named, with exit code 3, and the rest is done.
func TestGcFails(t *testing.T) {
	s := newSite(t)
	old := s.run(t, s.project, done("old", 100))
	s.run(t, s.project, done("last", 1))
	s.last(t, s.project, "last")
	if err := os.MkdirAll(filepath.Join(s.repo, ".git", "autopilot.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := s.call(t, "gc", "--keep-runs", "0", "--yes")
	if code(err) != supervisor.ExitFailures || !strings.Contains(err.Error(), "remove old in "+s.repo) || !there(old) {
		t.Errorf("%d, %v", code(err), err)
	}
}

func TestLockOf(t *testing.T) {
	s := newSite(t)
	shared := filepath.Join(s.project.RunDir("c"), "stories", "a")
	put(t, shared, map[string]string{"task.json": "{}"})
	put(t, s.repo, map[string]string{"below/x": ""})
	for tree, want := range map[string]string{
		s.repo: filepath.Join(s.repo, ".git", "autopilot.lock"), filepath.Join(s.repo, "below"): "", filepath.Join(s.repo, "gone"): "", s.home: "", shared: filepath.Join(shared, "autopilot.lock"),
	} {
		if got, err := lockOf(t.Context(), s.root, tree); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", tree, got, err, want)
		}
	}
}

// opened is an archive, by name without the folder at its top.
func opened(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the archive: %v, %v", info.Mode(), err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, rel, ok := strings.Cut(h.Name, "/")
		if !ok || !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg {
			t.Errorf("entry %q", h.Name)
		}
		files[rel] = string(data)
	}
}

func TestExportOfACohort(t *testing.T) {
	s := newSite(t)
	parent := "cohort"
	child := func(id string) supervisor.State {
		st := done(id, 2)
		st.Record.ParentRunID = &parent
		return st
	}
	a, err := statedir.OpenProject(s.root, filepath.Join(s.root, "worktrees", "x", "a"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := statedir.OpenProject(s.root, filepath.Join(s.root, "worktrees", "x", "b"))
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, a, child("run-a"))
	s.run(t, b, child("run-b"))
	folder := s.run(t, s.project, done("cohort", 1))
	c := story.Cohort{Version: story.Version, RunID: parent, Members: []story.Member{
		{Story: story.Story{ID: "a"}, Runs: []string{"run-a", "run-a-gone"}, Worktree: a.Path, Folder: filepath.Join(folder, "stories", "a")},
		{Story: story.Story{ID: "b"}, Runs: []string{"run-b"}, Folder: filepath.Join(folder, "stories", "b")}, // its tree is gone
	}}
	if err := statedir.ReplaceJSON(filepath.Join(folder, story.File), c); err != nil {
		t.Fatal(err)
	}
	put(t, folder, map[string]string{"stories/a/output.log": "it began\n", "stories/a/beat": "", "stories/a/queue.json.lock": ""})
	metrics := filepath.Join(s.repo, ".orchestrator", "metrics")
	put(t, metrics, map[string]string{
		"autopilot.jsonl": `{"autopilot_run_id":"cohort"}` + "\n" + `{"autopilot_run_id":"run-a"}` + "\n" + `{"autopilot_run_id":"other"}` + "\n",
		"sessions.jsonl":  `{"session_id":"1","autopilot_run_id":"run-b"}` + "\n" + `{"session_id":"2","autopilot_run_id":"other"}` + "\n",
	})
	if err := s.call(t, "export", "cohort", "-o", "x.tar.gz"); err != nil {
		t.Fatal(err)
	}
	files := opened(t, "x.tar.gz")
	const session = "sessions/00000000-0000-4000-8000-000000000001/result.json"
	for _, name := range []string{"run/cohort.json", "run/stories/a/output.log", "stories/a/run-a/state.json", "stories/a/run-a/" + session, "stories/b/run-b/" + session, "report.md", "config.json"} {
		if _, ok := files[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range []string{"run/stories/a/beat", "run/stories/a/queue.json.lock", "stories/a/run-a-gone/state.json"} {
		if _, ok := files[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	if !strings.Contains(files["manifest.json"], "stories/a/run-a-gone") {
		t.Error("the run that is gone is not named")
	}
	if diff := cmp.Diff("{\"autopilot_run_id\":\"cohort\"}\n{\"autopilot_run_id\":\"run-a\"}\n", files["ledger/autopilot.jsonl"]); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if strings.Contains(files["ledger/sessions.jsonl"], "other") || !strings.Contains(files["ledger/sessions.jsonl"], "run-b") {
		t.Errorf("ledger of sessions: %s", files["ledger/sessions.jsonl"])
	}
}

func TestExportTarget(t *testing.T) {
	s := newSite(t)
	s.run(t, s.project, done("r", 1))
	s.run(t, s.project, done("r-1", 1))
	s.last(t, s.project, "r")
	precious := filepath.Join(s.home, "precious")
	put(t, s.home, map[string]string{"precious": "mine"})
	if err := os.Symlink(precious, "link.tar.gz"); err != nil {
		t.Fatal(err)
	}
	put(t, ".", map[string]string{"there.tar.gz": "mine"})
	for _, args := range [][]string{
		{"export", "-o", "there.tar.gz"},
		{"export", "-o", "link.tar.gz"},
		{"export", "-o", "no/folder.tar.gz"},
		{"export", "-o", "."},
		{"export", "-o", "/proc/x.tar.gz"},
		{"export", "unknown"},
		{"export", "../r"},
		{"export", "r/1"},
		{"export", ".gc-r"},
		{"export", "r", "more"},
	} {
		if err := s.call(t, args...); code(err) != outside.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := s.call(t, "export", "--force", "-o", "link.tar.gz"); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(precious); err != nil || string(data) != "mine" {
		t.Errorf("the link was followed: %q, %v", data, err)
	}
	if err := s.call(t, "export"); err != nil || len(opened(t, "autopilot-export-r.tar.gz")) < 8 {
		t.Error(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".autopilot-export") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// A run whose state is broken can be packed as it is: that is what a report is about.
func TestExportOfBrokenRuns(t *testing.T) {
	s := newSite(t)
	folder := s.run(t, s.project, done("r", 1))
	put(t, folder, map[string]string{"state.json": `{"version": 1, "token": "sk-ant-api03-0123456789ab`})
	if err := s.call(t, "export", "r", "-o", "x.tar.gz"); err != nil {
		t.Fatal(err)
	}
	files := opened(t, "x.tar.gz")
	if text := files["run/state.json"]; !strings.Contains(text, "version") || strings.Contains(text, "sk-ant") {
		t.Errorf("state: %q", text)
	}
	if !strings.Contains(files["manifest.json"], "its state cannot be read") {
		t.Errorf("manifest: %s", files["manifest.json"])
	}
	if err := os.Remove(filepath.Join(folder, "state.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "state.json")); err != nil {
		t.Fatal(err)
	}
	if err := s.call(t, "export", "r", "-o", "y.tar.gz"); err != nil {
		t.Fatal(err)
	}
	files = opened(t, "y.tar.gz")
	if text, ok := files["run/state.json"]; ok {
		t.Errorf("a link was followed: %q", text)
	}
}
