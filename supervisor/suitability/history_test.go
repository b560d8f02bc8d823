package suitability

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// write puts a ledger into a folder of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "autopilot.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// ended is the record of a run that ended some time before noon.
func ended(id string, before time.Duration) string {
	return fmt.Sprintf(`{"schema_version":1,"autopilot_run_id":%q,"completed_at":%q,"kill_switch":"spiral","sessions":["x"]}`+"\n",
		id, noon().Add(-before).Format("2006-01-02T15:04:05.000Z"))
}

func idsOf(runs []Run) string {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

func TestRecentRuns(t *testing.T) {
	t.Parallel()
	many := func(n int) (text string) {
		for i := range n {
			text += ended(fmt.Sprint(i), time.Hour)
		}
		return text
	}
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"empty", "", 5, ""},
		{"the newest are last", ended("a", time.Hour) + ended("b", 0), 5, "a b"},
		{"no newline at the end", ended("a", 0) + strings.TrimSpace(ended("b", 0)), 5, "a b"},
		{"only so many", many(9), 3, "6 7 8"},
		{"fewer than the gate needs are honoured", many(9), 1, "8"},
		{"fifty when nothing is said", many(55), 0, "5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54"},
		{"a negative limit says nothing", many(3), -1, "0 1 2"},
		{"broken lines", "{bad\n" + ended("a", 0) + "[1]\nnull\n7\n\"x\"\n\n \t\r\n" + ended("b", 0) + `{"autopilot_run_id":"c"`, 5, "a b"},
		{"windows line ends and a byte-order mark", "\ufeff" + strings.ReplaceAll(ended("a", 0)+ended("b", 0), "\n", "\r\n"), 5, "a b"},
		{"coordinators", ended("a", 0) + `{"kind":"multi-story-coordinator","autopilot_run_id":"c"}` + "\n", 1, "a"},
		{"another kind stays", `{"kind":"other","autopilot_run_id":"c"}` + "\n", 5, "c"},
		{"dry runs do not use up the limit", ended("a", 0) + strings.Repeat(`{"autopilot_run_id":"d","dry_run":true}`+"\n", 60), 2, "a"},
		{"a week is remembered", ended("a", HistoryAge) + ended("b", HistoryAge+time.Millisecond), 5, "a"},
		{"old ones do not use up the limit", ended("a", time.Hour) + ended("b", 30*24*time.Hour), 1, "a"},
		{"the future is not old", ended("a", -time.Hour), 5, "a"},
		{"another zone", `{"autopilot_run_id":"a","completed_at":"2026-08-25T14:00:00+02:00"}` + "\n" + `{"autopilot_run_id":"b","completed_at":"2026-08-25T13:59:59+02:00"}` + "\n", 5, "a"},
		{"without a time it stays", `{"autopilot_run_id":"a"}` + "\n" + `{"autopilot_run_id":"b","completed_at":"long ago"}` + "\n", 5, "a b"},
	}
	for _, tt := range tests {
		if got := idsOf(RecentRuns(write(t, tt.in), tt.limit, noon())); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRecentRunsReadsTheRecord(t *testing.T) {
	t.Parallel()
	got := RecentRuns(write(t, `{"autopilot_run_id":"a","kill_switch":null,"dry_run":false,"aborted_by_cohort":true,"completed_at":"2026-09-01T11:00:00.000Z"}`+"\n"+
		`{"autopilot_run_id":7,"kill_switch":["spiral"],"dry_run":"true"}`+"\n"), 0, noon())
	want := []Run{{ID: "a", AbortedByCohort: true, CompletedAt: noon().Add(-time.Hour)}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestTheGateHeals is a repository with bad nights that nobody starts runs in any more.
func TestTheGateHeals(t *testing.T) {
	t.Parallel()
	name := write(t, strings.Repeat(ended("a", 0), 6))
	after := func(d time.Duration) Verdict {
		return Judge(with(func(s *Signals) { s.RecentRuns = RecentRuns(name, 0, noon().Add(d)) }))
	}
	if v := after(6 * 24 * time.Hour); v.Suitable {
		t.Errorf("six bad runs are forgotten after six days: %s", v.Rationale)
	}
	if v := after(8 * 24 * time.Hour); !v.Suitable {
		t.Errorf("they are remembered for ever: %s", v.Rationale)
	}
}

func TestRecentRunsNeverFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "missing"), dir, pipe, ""} {
		if got := RecentRuns(name, 0, noon()); got != nil {
			t.Errorf("%s: got %v, want nothing", name, got)
		}
	}
}

// TestRecentRunsReadsOnlyTheEnd puts the records behind a hole that nobody could read through.
func TestRecentRunsReadsOnlyTheEnd(t *testing.T) {
	t.Parallel()
	name := write(t, "")
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const hole = 1 << 40
	if _, err := f.WriteAt([]byte("\n"+ended("a", 0)+ended("b", 0)), hole); err != nil {
		t.Skipf("the file system has no sparse files of this size: %v", err)
	}
	if got := idsOf(RecentRuns(name, 0, noon())); got != "a b" {
		t.Errorf("got %q, want a b", got)
	}
}

// TestRecentRunsKeepsWholeLines lets the part that is read begin inside a record, which
// would be a record of its own.
func TestRecentRunsKeepsWholeLines(t *testing.T) {
	t.Parallel()
	inner := ended("half", 0)
	rest := strings.Repeat(" ", maxTail-len(inner)-len(ended("a", 0))) + "\n"
	name := write(t, `{"pad":"" ,"x":`+inner[:len(inner)-1]+rest+ended("a", 0))
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() <= maxTail {
		t.Fatalf("the ledger has %d bytes, want more than %d", info.Size(), maxTail)
	}
	if got := idsOf(RecentRuns(name, 0, noon())); got != "a" {
		t.Errorf("got %q, want a", got)
	}
}

func BenchmarkRecentRuns(b *testing.B) {
	name := filepath.Join(b.TempDir(), "autopilot.jsonl")
	if err := os.WriteFile(name, []byte(strings.Repeat(ended("a", 0), 200_000)), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := RecentRuns(name, 0, noon()); len(got) != DefaultRuns {
			b.Fatal("runs are missing")
		}
	}
}
