package meter

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/samples"
	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
)

// world is a state root with repositories.
type world struct {
	*testing.T
	dir  string
	root string
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{t, dir, filepath.Join(dir, "state")}
}

func (w world) project(name string) statedir.Project {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.Fatal(err)
	}
	p, err := statedir.OpenProject(w.root, path)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// write appends records to a ledger of a repository, or begins it anew.
func (w world) write(anew bool, path string, records ...any) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	mode := os.O_APPEND
	if anew {
		mode = os.O_TRUNC
	}
	f, err := os.OpenFile(path, mode|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	for _, r := range records {
		line, err := json.Marshal(r)
		if s, raw := r.(string); raw {
			line, err = []byte(s), nil
		}
		if err != nil {
			w.Fatal(err)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			w.Fatal(err)
		}
	}
}

func (w world) runs(name string) string {
	return filepath.Join(w.dir, name, ".orchestrator", "metrics", ledger.RunsFile)
}

func (w world) sessions(name string) string {
	return filepath.Join(w.dir, name, ".orchestrator", "metrics", ledger.SessionsFile)
}

func (w world) source(active ...board.Row) *Source {
	return &Source{
		Std: outside.Stdio{Environ: []string{"HOME=" + w.dir, "XDG_CONFIG_HOME=" + w.dir}}, Root: w.root,
		Look: func(_ context.Context, o board.Options) board.Overview {
			return board.Overview{At: o.Now, Active: active}
		},
	}
}

func record(id string) ledger.Run {
	return ledger.Run{AutopilotRunID: id, StartedAt: ledger.Stamp(at(0)), CompletedAt: ledger.Stamp(at(5)), ExitCause: "work-done", TotalCostUSD: 1}
}

// counts are what the facts count of runs and sessions, by repository.
func counts(f telemetry.Facts) map[string][2]int64 {
	out := map[string][2]int64{}
	for _, r := range f.Repositories {
		var n [2]int64
		for _, v := range r.Ended {
			n[0] += v
		}
		for _, v := range r.Sessions {
			n[1] += v
		}
		out[r.Name] = n
	}
	return out
}

func TestSourceCountsLedgers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.project("app")
	w.project("web")
	w.project("none")
	w.project("elsewhere")
	w.write(true, w.runs("app"), record("a1"), "no JSON", record("a2"))
	w.write(true, w.sessions("app"), map[string]string{"session_id": "s1", "ending": "completed"}, map[string]string{"session_id": "s2", "status": "abandoned"})
	if err := os.WriteFile(filepath.Join(w.dir, "web", "autopilot.yaml"), []byte("metrics-dir: metrics\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write(true, filepath.Join(w.dir, "web", "metrics", ledger.RunsFile), record("w1"))
	s := w.source()
	s.Ledgers = map[string]string{filepath.Join(w.dir, "elsewhere"): filepath.Join(w.dir, "flag")}
	w.write(true, filepath.Join(w.dir, "flag", ledger.RunsFile), record("f1"))
	look := func(step string, want map[string][2]int64) {
		t.Helper()
		if diff := cmp.Diff(want, counts(s.Facts(t.Context()))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	want := map[string][2]int64{"app": {2, 2}, "web": {1, 0}, "elsewhere": {1, 0}}
	look("first", want)
	look("again", want)
	w.write(false, w.runs("app"), record("a3"), record("a1"))
	w.write(false, w.sessions("app"), map[string]string{"session_id": "s3", "ending": "limited"})
	want["app"] = [2]int64{3, 3}
	look("appended", want)
	w.write(true, w.runs("app"), record("a9"))
	want["app"] = [2]int64{4, 3}
	look("replaced by a shorter one", want)
	if err := os.WriteFile(w.runs("app"), append([]byte(`{"autopilot_run_id":"torn"`), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	look("torn", want)
	if err := os.RemoveAll(filepath.Join(w.dir, "web")); err != nil {
		t.Fatal(err)
	}
	look("a repository that is gone keeps what it had", want)
	w.project("late")
	w.write(true, w.runs("late"), record("l1"))
	want["late"] = [2]int64{1, 0}
	look("one more", want)
}

func TestSourceReadsStatesAndSamples(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	id, folder, err := supervisor.Register(p, "main", at(0))
	if err != nil {
		t.Fatal(err)
	}
	st := supervisor.State{Version: supervisor.StateVersion, Record: ledger.Run{AutopilotRunID: id, Tokens: ledger.Tokens{Input: 5, CacheRead: 70}}, Waiting: &supervisor.Waiting{Until: at(99)}}
	if err := st.Save(folder); err != nil {
		t.Fatal(err)
	}
	r := board.Row{Row: fleet.Row{Kind: fleet.KindRun, RunID: id, Repo: p.Path, State: fleet.StateWaiting, Tokens: 8}, Ref: board.Ref{Project: filepath.Base(p.Dir), Run: id}}
	s := w.source(r)
	measured := 0
	s.Probe = func(context.Context) probe.Snapshot {
		measured++
		return probe.Snapshot{Signals: tier.Signals{RAMAvailableGB: ptr(1.0), SwapUsedGB: ptr(0.0), Peers: ptr(7)}}
	}
	s.Schedules = func() []telemetry.Schedule { return []telemetry.Schedule{{Name: "nightly"}} }
	f := s.Facts(t.Context())
	if len(f.Runs) != 1 || f.Runs[0].Tokens.CacheRead != 70 || f.Runs[0].InFlight != 3 || !f.Runs[0].WaitUntil.Equal(at(99)) || f.Runs[0].Repository != "app" || len(f.Schedules) != 1 {
		t.Errorf("%+v", f)
	}
	if measured != 1 || *f.Machine.AvailableBytes != 1<<30 || *f.Machine.Peers != 7 || f.Machine.Tier != "critical" {
		t.Errorf("the machine, measured %d times: %+v", measured, f.Machine)
	}
	for _, x := range []samples.Sample{
		{At: time.Now().Add(-time.Hour), Tier: "degraded"}, {At: time.Now().Add(-time.Second), Tier: "warn", AvailableGB: ptr(4.5), Peers: ptr(3)},
	} {
		if err := samples.Append(folder, x); err != nil {
			t.Fatal(err)
		}
	}
	if f = s.Facts(t.Context()); measured != 1 || f.Machine.Tier != "warn" || *f.Machine.AvailableBytes != 4.5*(1<<30) || f.Machine.SwapBytes != nil || *f.Machine.Peers != 3 {
		t.Errorf("with a fresh sample, measured %d times: %+v", measured, f.Machine)
	}
	s = w.source()
	if f = s.Facts(t.Context()); f.Machine != (telemetry.Machine{}) {
		t.Errorf("nobody measures: %+v", f.Machine)
	}
}

func TestSourceWithoutAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if f := w.source().Facts(t.Context()); len(f.Repositories) != 0 || f.Problems != 0 || len(f.Runs) != 0 {
		t.Errorf("%+v", f)
	}
	w.project("app")
	if err := os.WriteFile(filepath.Join(w.dir, "app", "autopilot.yaml"), []byte("what: ever\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write(true, w.runs("app"), record("a1"))
	if err := os.WriteFile(filepath.Join(w.root, "projects", "broken"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.root, "projects", "bad"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.root, "projects", "bad", "project.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := w.source().Facts(t.Context()); f.Problems == 0 {
		t.Errorf("%+v", f)
	}
}

func BenchmarkSource(b *testing.B) {
	dir := b.TempDir()
	root := filepath.Join(dir, "state")
	path := filepath.Join(dir, "app")
	if err := os.MkdirAll(filepath.Join(path, ".orchestrator", "metrics"), 0o700); err != nil {
		b.Fatal(err)
	}
	if _, err := statedir.OpenProject(root, path); err != nil {
		b.Fatal(err)
	}
	var runs, sessions []byte
	for i := range 10_000 {
		line, err := json.Marshal(record(fmt.Sprint("run-", i)))
		if err != nil {
			b.Fatal(err)
		}
		runs = append(append(runs, line...), '\n')
		sessions = fmt.Appendf(sessions, `{"session_id":"s-%d","ending":"completed","summary":"some words about what was done in it"}`+"\n", i)
	}
	for name, data := range map[string][]byte{ledger.RunsFile: runs, ledger.SessionsFile: sessions} {
		if err := os.WriteFile(filepath.Join(path, ".orchestrator", "metrics", name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	std := outside.Stdio{Environ: []string{"HOME=" + dir}}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			(&Source{Std: std, Root: root}).Facts(b.Context())
		}
	})
	b.Run("again", func(b *testing.B) {
		s := &Source{Std: std, Root: root}
		s.Facts(b.Context())
		for b.Loop() {
			s.Facts(b.Context())
		}
	})
}
