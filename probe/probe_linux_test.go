package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/internal/proctest"
	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/probe/tier"
)

func TestMain(m *testing.M) { proctest.Main(m) }

const meminfo = `MemTotal:       16777216 kB
MemFree:         1048576 kB
MemAvailable:   10485760 kB
Buffers:           10000 kB
Cached:           100000 kB
SwapTotal:       4194304 kB
SwapFree:        2621440 kB
`

// machine is a made-up /proc with 16 GB, 10 of them available, and 1.5 GB of
// swap in use.
func machine(tb testing.TB, procs ...proctest.Proc) string {
	tb.Helper()
	root := proctest.Tree(tb, procs...)
	proctest.File(tb, root, "meminfo", meminfo)
	proctest.File(tb, root, "loadavg", "0.50 0.40 0.30 1/234 5678\n")
	proctest.File(tb, root, "pressure/memory", "some avg10=1.25 avg60=0.50 avg300=0.10 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	return root
}

func TestTakeFixture(t *testing.T) {
	t.Parallel()
	root := machine(t,
		proctest.Proc{PID: 50, Comm: "autopilot"},
		proctest.Proc{PID: 60, PPID: 50, Comm: "claude"},
		proctest.Proc{PID: 70, Comm: "claude", Args: []string{"claude", "-p", "secret"}, CWD: "/work"},
	)
	got := Take(t.Context(), Options{ProcRoot: root, Self: 50})
	want := Snapshot{
		Signals:            tier.Signals{RAMAvailableGB: new(10.0), SwapUsedGB: new(1.5), Peers: new(1)},
		TakenAt:            got.TakenAt,
		RAMTotalGB:         new(16.0),
		RAMBoundedBy:       BoundedByHost,
		PSIMemorySomeAvg10: new(1.25),
		Load1m:             new(0.5),
		CPUs:               got.CPUs,
		PeerSessions:       []peer.Session{{PID: 70, Comm: "claude", Cmdline: "claude", CWD: "/work"}},
		DurationMS:         got.DurationMS,
		Absent:             []Absence{{Signal: "memory_pressure_pct_free", Reason: "linux states no such level"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if got.CPUs < 1 || got.DurationMS <= 0 || got.TakenAt.IsZero() {
		t.Errorf("got %d processors, %v ms, taken at %v", got.CPUs, got.DurationMS, got.TakenAt)
	}
}

func TestTakeWithoutAnything(t *testing.T) {
	t.Parallel()
	got := Take(t.Context(), Options{ProcRoot: t.TempDir() + "/none"})
	if got.Signals != (tier.Signals{}) || got.PSIMemorySomeAvg10 != nil || got.RAMBoundedBy != "" || got.PeerSessions != nil {
		t.Errorf("got %+v, want nothing measured", got)
	}
	var signals []string
	for _, a := range got.Absent {
		signals = append(signals, a.Signal)
		if a.Reason == "" {
			t.Errorf("%s is absent without a reason", a.Signal)
		}
	}
	want := []string{fieldRAM, fieldTotal, fieldSwap, fieldPeers, fieldPressure, fieldPSI}
	if got := slices.DeleteFunc(signals, func(s string) bool { return s == fieldLoad }); !slices.Equal(got, want) {
		t.Errorf("absent: got %v, want %v", got, want)
	}
	if j := tier.Judge(got.Signals, 6); j.Tier != tier.Green || j.Signal != tier.None {
		t.Errorf("verdict on nothing: got %s by %s, want green by none", j.Tier, j.Signal)
	}
}

func TestMachineWithoutSwap(t *testing.T) {
	t.Parallel()
	root := machine(t)
	proctest.File(t, root, "meminfo", "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
	got := Take(t.Context(), Options{ProcRoot: root, Self: -1})
	want := tier.Signals{RAMAvailableGB: new(0.5), SwapUsedGB: new(0.0), Peers: new(0)}
	if diff := cmp.Diff(want, got.Signals); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if got.PeerSessions == nil {
		t.Error("sessions that were counted and are none must not be nil")
	}
}

func TestPSI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		want       float64
		err        string
	}{
		{"plain", "some avg10=12.34 avg60=1.00 avg300=0.00 total=5\nfull avg10=1.00\n", 12.34, ""},
		{"other order", "full avg10=1.00\nsome total=5 avg10=0.00\n", 0, ""},
		{"no such line", "full avg10=1.00\n", 0, errPSILine.Error()},
		{"empty", "", 0, errPSILine.Error()},
		{"no number", "some avg10=x\n", 0, "avg10=x is no percentage"},
		{"not a number", "some avg10=NaN\n", 0, "avg10=NaN is no percentage"},
		{"more than all", "some avg10=101\n", 0, "avg10=101 is no percentage"},
	}
	for _, tt := range tests {
		got, err := parseSomeAvg10([]byte(tt.data))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: got %v, %v, want %v, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
	if _, err := readSomeAvg10(t.TempDir() + "/none"); !errors.Is(err, errNoPSI) {
		t.Errorf("no file: got %v, want %v", err, errNoPSI)
	}
}

// A source that hangs costs its own fields only, and the deadline ends it.
func TestTakeGivesUpOnASlowSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		got := take(t.Context(), Options{}, []source{
			{[]string{fieldRAM, fieldSwap}, func(context.Context, Options) fill {
				<-release
				return func(s *Snapshot) { s.RAMAvailableGB = new(1.0) }
			}},
			{[]string{fieldPeers}, func(context.Context, Options) fill {
				return func(s *Snapshot) { s.Peers = new(3) }
			}},
		})
		if waited := time.Since(began); waited != patience {
			t.Errorf("waited %v, want %v", waited, patience)
		}
		const reason = "no answer in time: context deadline exceeded"
		want := Snapshot{
			Signals: tier.Signals{Peers: new(3)},
			TakenAt: got.TakenAt, CPUs: got.CPUs, DurationMS: 5000,
			Absent: []Absence{{fieldRAM, reason}, {fieldSwap, reason}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("snapshot (-want +got):\n%s", diff)
		}
	})
}

func TestTakeObeysItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		release := make(chan struct{})
		defer close(release)
		got := take(ctx, Options{}, []source{{[]string{fieldPeers}, func(context.Context, Options) fill {
			<-release
			return func(s *Snapshot) { s.Peers = new(3) }
		}}})
		if got.Peers != nil || got.DurationMS != 1000 {
			t.Errorf("got %v peers after %v ms, want none after 1000", got.Peers, got.DurationMS)
		}
	})
}

func TestTakeThisMachine(t *testing.T) {
	t.Setenv("HOST_PROC", t.TempDir()) // must have no say
	claude := proctest.Start(t, proctest.Step{Path: proctest.Named(t, "claude")})
	got := Take(t.Context(), Options{Self: -1})
	if got.RAMAvailableGB == nil || got.RAMTotalGB == nil || *got.RAMAvailableGB <= 0 || *got.RAMAvailableGB > *got.RAMTotalGB {
		t.Errorf("memory: got %v of %v GB", got.RAMAvailableGB, got.RAMTotalGB)
	}
	if got.SwapUsedGB == nil || got.Load1m == nil {
		t.Errorf("swap and load: got %v and %v, want both", got.SwapUsedGB, got.Load1m)
	}
	if _, err := os.Stat(proctree.Root + "/pressure/memory"); (got.PSIMemorySomeAvg10 == nil) != errors.Is(err, fs.ErrNotExist) {
		t.Errorf("pressure: got %v where the file says %v", got.PSIMemorySomeAvg10, err)
	}
	found := func(p peer.Session) bool { return p.PID == claude.PIDs[0] }
	if got.Peers == nil || *got.Peers != len(got.PeerSessions) || !slices.ContainsFunc(got.PeerSessions, found) {
		t.Errorf("peers: got %v, want process %d among them", got.PeerSessions, claude.PIDs[0])
	}
	if ours := Take(t.Context(), Options{}); slices.ContainsFunc(ours.PeerSessions, found) {
		t.Errorf("process %d is our child and was counted", claude.PIDs[0])
	}

	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("snapshot after a round trip (-want +got):\n%s", diff)
	}
}

func BenchmarkTake(b *testing.B) {
	roots := map[string]string{"live": proctree.Root}
	for _, n := range []int{50, 2000} {
		var procs []proctest.Proc
		for i := range n {
			p := proctest.Proc{PID: 100 + i, Comm: "worker"}
			if i%10 == 0 {
				p.Comm, p.Args = "claude", []string{"/opt/claude", "-p"}
			}
			procs = append(procs, p)
		}
		roots[strconv.Itoa(n)] = machine(b, procs...)
	}
	for name, root := range roots {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := Take(b.Context(), Options{ProcRoot: root}); s.Peers == nil {
					b.Fatal(s.Absent)
				}
			}
		})
	}
}

func reasons(s Snapshot, signal string) string {
	var all []string
	for _, a := range s.Absent {
		if a.Signal == signal {
			all = append(all, a.Reason)
		}
	}
	return strings.Join(all, "; ")
}
