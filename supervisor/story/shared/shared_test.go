package shared

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe"
	"autopilot/probe/peer"
	"autopilot/probe/tier"
	"autopilot/supervisor/killswitch"
)

func TestFilesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "cohort", "login")
	ram, peers, load := 3.25, 2, 0.5
	task := someTask(folder)
	allotment := Allotment{
		At: noon(), Tier: "warn", Cap: 3, Hold: true, HoldWhy: "2 stories wait", Among: 3, Stop: "a person asked", Aborted: true,
		Snapshot: probe.Snapshot{
			Signals: tier.Signals{RAMAvailableGB: &ram, Peers: &peers}, TakenAt: noon(), Load1m: &load, CPUs: 2,
			PeerSessions: []peer.Session{{PID: 7, Comm: "claude"}}, Absent: []probe.Absence{{Signal: "swap_used_gb", Reason: "none"}},
		},
	}
	spend := Spend{RunID: "main-2026-11-22-1205", Tokens: 1<<53 + 1, CostUSD: 0.1, Sessions: 3, UpdatedAt: noon()}
	if err := errors.Join(SaveTask(folder, task), SaveAllotment(folder, allotment), SaveSpend(folder, spend)); err != nil {
		t.Fatal(err)
	}

	gotTask, err1 := LoadTask(folder)
	gotAllotment, err2 := LoadAllotment(folder)
	gotSpend, err3 := LoadSpend(folder)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(task, gotTask); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(allotment, gotAllotment); diff != "" {
		t.Errorf("allotment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spend, gotSpend); diff != "" {
		t.Errorf("spending (-want +got):\n%s", diff)
	}

	if err := open(t, folder).Beat(noon()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		".": 0o700, taskFile: 0o600, allotmentFile: 0o600, spendFile: 0o600, beatFile: 0o600,
	} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestMissingIsNotBroken(t *testing.T) {
	t.Parallel()
	loads := map[string]func(folder string) error{
		taskFile:      func(f string) error { _, err := LoadTask(f); return err },
		allotmentFile: func(f string) error { _, err := LoadAllotment(f); return err },
		spendFile:     func(f string) error { _, err := LoadSpend(f); return err },
	}
	for file, load := range loads {
		folder := t.TempDir()
		if err := load(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, missing: %v", file, err)
		}
		if err := load(filepath.Join(folder, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, missing folder: %v", file, err)
		}
		for _, content := range []string{
			"", "\x00\x00\x00", "{", "{}", "null", "[]", `"x"`,
			`{"version":2,"cohort":"c","story":"s"}`, `{"version":1,"story":"s"}`, `{"version":1,"cohort":"c"}`,
			`{"version":1,"cohort":"c","story":"s","max_tokens":-1}`, `{"at":"2026-11-22T12:00:00Z","cap":-1}`, `{"at":"2026-11-22T12:00:00Z","cap":"2"}`,
			`{"updated_at":"2026-11-22T12:00:00Z","tokens":-1}`, `{"updated_at":"2026-11-22T12:00:00Z","cost_usd":-0.1}`, `{"tokens":1}`,
		} {
			write(t, filepath.Join(folder, file), content)
			err := load(folder)
			if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(folder, file)) {
				t.Errorf("%s with %q: %v, want an error that names the file", file, content, err)
			}
		}
	}
}

func TestWhatWouldBeBrokenIsNotSaved(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	allot(t, folder, numbered(1))
	good := Spend{Tokens: 5, UpdatedAt: noon()}
	if err := SaveSpend(folder, good); err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	for name, err := range map[string]error{
		"a task without a story":       SaveTask(folder, Task{Cohort: "c"}),
		"an allotment without a time":  SaveAllotment(folder, Allotment{Cap: 2}),
		"a negative cap":               SaveAllotment(folder, Allotment{At: noon(), Cap: -1}),
		"a snapshot that is no number": SaveAllotment(folder, Allotment{At: noon(), Snapshot: probe.Snapshot{Load1m: &inf}}),
		"spending without a time":      SaveSpend(folder, Spend{Tokens: 6}),
		"negative spending":            SaveSpend(folder, Spend{Tokens: -6, UpdatedAt: noon()}),
		"a cost that is no number":     SaveSpend(folder, Spend{CostUSD: math.NaN(), UpdatedAt: noon()}),
		"no folder":                    SaveSpend(filepath.Join(folder, "nowhere"), good),
	} {
		if err == nil {
			t.Errorf("%s was saved", name)
		}
	}
	task, err1 := LoadTask(folder)
	allotment, err2 := LoadAllotment(folder)
	spend, err3 := LoadSpend(folder)
	if err := errors.Join(err1, err2, err3); err != nil || task.Story != "login" || allotment.Cap != 1 || spend != good {
		t.Errorf("after that: %v %v %v %v", task, allotment, spend, err)
	}
}

func TestTheVersionIsWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := SaveTask(folder, Task{Cohort: "c", Story: "s"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, taskFile))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version     int
		Coordinator *struct{ PID, Start *uint64 }
	}
	if err := json.Unmarshal(data, &got); err != nil || got.Version != 1 || got.Coordinator == nil || got.Coordinator.Start == nil {
		t.Errorf("written as %s: %v", data, err)
	}
}

// A writer that is killed at any moment leaves whole files, and a reader beside it sees
// only such.
func TestReaderNeverSeesHalf(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	for range 4 {
		p := start(t, "write", folder)
		for range 40 {
			p.line(t)
			if a, err := LoadAllotment(folder); err != nil || len(a.HoldWhy) != a.Cap%9000 {
				t.Fatalf("beside a writer: cap %d, %d bytes, %v", a.Cap, len(a.HoldWhy), err)
			}
			if s, err := LoadSpend(folder); err != nil || int(s.Tokens) != s.Sessions {
				t.Fatalf("beside a writer: %v, %v", s, err)
			}
		}
		p.kill()
		if a, err := LoadAllotment(folder); err != nil || len(a.HoldWhy) != a.Cap%9000 {
			t.Fatalf("after a kill: cap %d, %d bytes, %v", a.Cap, len(a.HoldWhy), err)
		}
		if s, err := LoadSpend(folder); err != nil || int(s.Tokens) != s.Sessions {
			t.Fatalf("after a kill: %v, %v", s, err)
		}
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	cohort := t.TempDir()
	save := func(story string, tokens int64, cost float64) {
		folder := filepath.Join(cohort, story)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := SaveSpend(folder, Spend{Tokens: tokens, CostUSD: cost, UpdatedAt: noon()}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, story string, want killswitch.Spend, broken string) {
		t.Helper()
		got, err := Others(cohort, story)
		if diff := cmp.Diff(want, got.Spend); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (err != nil) != (broken != "") || err != nil && !strings.Contains(err.Error(), broken) {
			t.Errorf("%s: error %v, want one with %q", name, err, broken)
		}
	}

	check("nobody is there", "a", killswitch.Spend{}, "")
	save("a", 1<<60, 100)
	save("b", 1_000_000_007, 0.5)
	save("c", 30, 0.25)
	if err := os.Mkdir(filepath.Join(cohort, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(cohort, "cohort.json"), "{}")
	check("all but a", "a", killswitch.Spend{Tokens: 1_000_000_037, CostUSD: 0.75}, "")
	check("all but one that has written nothing", "d", killswitch.Spend{Tokens: 1<<60 + 1_000_000_037, CostUSD: 100.75}, "")
	check("all", "", killswitch.Spend{Tokens: 1<<60 + 1_000_000_037, CostUSD: 100.75}, "")
	if err := SaveSpend(filepath.Join(cohort, "c"), Spend{Tokens: 30, CostUSD: 0.25, Reserved: 2.5, UpdatedAt: noon()}); err != nil {
		t.Fatal(err)
	}
	if sum, err := Others(cohort, "a"); err != nil || sum.Reserved != 2.5 || sum.Holders != 1 {
		t.Errorf("with money that a session holds: %+v, %v", sum, err)
	}

	write(t, filepath.Join(cohort, "b", spendFile), `{"tokens":`)
	check("a broken one", "a", killswitch.Spend{Tokens: 30, CostUSD: 0.25}, filepath.Join("b", spendFile))
	check("the broken one is its own", "b", killswitch.Spend{Tokens: 1<<60 + 30, CostUSD: 100.25}, "")
	save("b", math.MaxInt64, 0)
	check("too many to count", "c", killswitch.Spend{Tokens: 1 << 60, CostUSD: 100}, "tokens in b")

	if _, err := Others(filepath.Join(cohort, "nowhere"), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a cohort without a folder: %v", err)
	}
}

func BenchmarkOthers(b *testing.B) {
	cohort := b.TempDir()
	for i := range 10 {
		folder := filepath.Join(cohort, string(rune('a'+i)))
		if err := os.Mkdir(folder, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := SaveSpend(folder, Spend{RunID: "main-2026-11-22-1205", Tokens: 12345678, CostUSD: 1.25, Sessions: 3, UpdatedAt: noon()}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := Others(cohort, "a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSaveSpend(b *testing.B) {
	folder := folderOf(b)
	for b.Loop() {
		if err := SaveSpend(folder, Spend{Tokens: 1, UpdatedAt: noon()}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSaveAllotment(b *testing.B) {
	folder := folderOf(b)
	for b.Loop() {
		if err := SaveAllotment(folder, numbered(100)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllotment(b *testing.B) {
	folder := folderOf(b)
	allot(b, folder, numbered(100))
	v := open(b, folder)
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			v.Allotment(noon())
		}
	})
	b.Run("read", func(b *testing.B) {
		now := noon()
		for b.Loop() {
			now = now.Add(time.Second)
			v.Allotment(now)
		}
	})
}

func BenchmarkBeat(b *testing.B) {
	v := open(b, folderOf(b))
	for b.Loop() {
		if err := v.Beat(noon()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCoordinatorAlive(b *testing.B) {
	v := View{task: Task{Coordinator: Process{PID: os.Getpid()}}}
	for b.Loop() {
		v.CoordinatorAlive()
	}
}
