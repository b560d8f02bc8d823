package peer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/internal/proctest"
	"autopilot/probe/proctree"
)

func TestMain(m *testing.M) { proctest.Main(m) }

const cli = "/x/node_modules/@anthropic-ai/claude-code/"

func TestCountFixture(t *testing.T) {
	t.Parallel()
	native := proctest.Proc{PID: 100, Comm: "claude", Args: []string{"/opt/claude", "-p", "secret"}, CWD: "/work"}
	one := func(pid int) []int { return []int{pid} }
	tests := []struct {
		name     string
		self     int
		procs    []proctest.Proc
		want     []int
		excluded int
	}{
		{name: "an empty machine"},
		{name: "native", procs: []proctest.Proc{native}, want: one(100)},
		{
			name:  "wrapper and native child are one",
			procs: []proctest.Proc{native, {PID: 99, Comm: "node", Args: []string{"node", cli + "cli-wrapper.cjs"}}, {PID: 100, PPID: 99, Comm: "claude"}},
			want:  one(99),
		},
		{
			name: "child between fork and exec",
			procs: []proctest.Proc{
				native, {PID: 101, PPID: 100, Comm: "claude", Args: native.Args}, {PID: 102, PPID: 101, Comm: "claude", Args: native.Args},
			},
			want: one(100),
		},
		{
			name: "a session started by a tool of another one",
			procs: []proctest.Proc{
				native, {PID: 101, PPID: 100, Comm: "bash"}, {PID: 102, PPID: 101, Comm: "claude"},
			},
			want: []int{100, 102},
		},
		{
			name: "every way of running the script",
			procs: []proctest.Proc{
				{PID: 10, Comm: "node", Args: []string{"node", cli + "cli.js"}},
				{PID: 11, Comm: "MainThread", Args: []string{"node", cli + "cli.js"}},
				{PID: 12, Comm: "node-MainThread", Args: []string{"/usr/bin/node", "/usr/bin/claude"}},
				{PID: 13, Comm: "bun", Args: []string{"bun", "run", cli + "cli.js"}},
				{PID: 14, Comm: "node", Args: []string{"claude"}},
				{PID: 15, Comm: "claude", Args: []string{"claude       "}},
			},
			want: []int{10, 11, 12, 13, 14, 15},
		},
		{
			name: "what only mentions the name",
			procs: []proctest.Proc{
				{PID: 10, Comm: "vim", Args: []string{"vim", "claude.md"}},
				{PID: 11, Comm: "grep", Args: []string{"grep", "claude"}},
				{PID: 12, Comm: "node", Args: []string{"node", "server.js", "--name", "claude"}},
				{PID: 13, Comm: "claude-helper"},
				{PID: 14, Comm: "Claude"},
				{PID: 15, Comm: "sh", Args: []string{"sh", "/usr/bin/claude"}},
				{PID: 16, Comm: "node"},
			},
		},
		{
			name:  "a zombie is none, and no parent either",
			procs: []proctest.Proc{{PID: 100, Comm: "claude", State: 'Z'}, {PID: 101, PPID: 100, Comm: "claude"}},
			want:  one(101),
		},
		{
			name: "ours in any generation",
			self: 50,
			procs: []proctest.Proc{
				{PID: 50, Comm: "autopilot"},
				{PID: 60, PPID: 50, Comm: "claude"},
				{PID: 61, PPID: 60, Comm: "claude"},
				{PID: 70, PPID: 60, Comm: "bash"},
				{PID: 71, PPID: 70, Comm: "claude"},
				{PID: 80, Comm: "claude"},
			},
			want: one(80), excluded: 2,
		},
		{
			name: "a session above us is a peer",
			self: 50,
			procs: []proctest.Proc{
				{PID: 40, Comm: "claude"},
				{PID: 41, PPID: 40, Comm: "bash"},
				{PID: 50, PPID: 41, Comm: "autopilot"},
				{PID: 60, PPID: 50, Comm: "claude"},
			},
			want: one(40), excluded: 1,
		},
		{
			name:  "we bear the name ourselves",
			self:  50,
			procs: []proctest.Proc{{PID: 50, Comm: "claude"}, {PID: 60, PPID: 50, Comm: "claude"}},
			want:  nil, excluded: 1,
		},
		{
			name:  "a ring of reused pids",
			self:  50,
			procs: []proctest.Proc{{PID: 60, PPID: 61, Comm: "claude"}, {PID: 61, PPID: 60, Comm: "bash"}},
			want:  one(60),
		},
		{
			name:  "an ancestor that cannot be seen",
			self:  50,
			procs: []proctest.Proc{{PID: 60, PPID: 61, Comm: "claude"}},
			want:  one(60),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.self == 0 {
				tt.self = -1
			}
			got, err := Count(t.Context(), Options{Root: proctest.Tree(t, tt.procs...), Self: tt.self})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(pids(got), tt.want) || got.Count != len(tt.want) || got.Excluded != tt.excluded {
				t.Errorf("got %v, count %d, %d excluded; want %v, %d excluded", pids(got), got.Count, got.Excluded, tt.want, tt.excluded)
			}
		})
	}
}

func TestSessionTellsNoArguments(t *testing.T) {
	t.Parallel()
	root := proctest.Tree(t, proctest.Proc{PID: 100, Comm: "claude", Args: []string{"/opt/claude", "-p", "secret"}, CWD: "/work"})
	got, err := Count(t.Context(), Options{Root: root, Self: -1})
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Count: 1, Sessions: []Session{{PID: 100, Comm: "claude", Cmdline: "/opt/claude", CWD: "/work"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// The first pass saw the name; by the second the process has become a shell.
func TestSecondLookDecides(t *testing.T) {
	t.Parallel()
	root := proctest.Tree(t, proctest.Proc{PID: 100, Comm: "bash"}, proctest.Proc{PID: 101, PPID: 100, Comm: "claude"})
	proctest.File(t, root, "100/comm", "claude\n")
	got, err := Count(t.Context(), Options{Root: root, Self: -1})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{101}; !slices.Equal(pids(got), want) {
		t.Errorf("got %v, want %v", pids(got), want)
	}
}

func TestCountFailures(t *testing.T) {
	t.Parallel()
	if _, err := Count(t.Context(), Options{Root: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process table: got %v, want %v", err, fs.ErrNotExist)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Count(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want %v", err, context.Canceled)
	}
}

func TestLibraryVariableIsIgnored(t *testing.T) {
	t.Setenv("HOST_PROC", t.TempDir())
	root := proctest.Tree(t, proctest.Proc{PID: 100, Comm: "claude"})
	got, err := Count(t.Context(), Options{Root: root, Self: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Count != 1 {
		t.Errorf("count: got %d, want 1", got.Count)
	}
}

// Other sessions may run on the machine of the test, so the tests with real
// processes ask for pids, not for a number.
func TestCountRealProcesses(t *testing.T) {
	t.Parallel()
	claude, node, vim, bash := proctest.Named(t, "claude"), proctest.Named(t, "node"), proctest.Named(t, "vim"), proctest.Named(t, "bash")

	native := proctest.Start(t, proctest.Step{Path: claude, Args: []string{"-p", "secret"}}).PIDs
	wrapped := proctest.Start(t, proctest.Step{Path: node, Args: []string{cli + "cli-wrapper.cjs"}}, proctest.Step{Path: claude}).PIDs
	script := proctest.Start(t, proctest.Step{Path: node, Args: []string{"/usr/bin/claude"}}).PIDs
	nested := proctest.Start(t, proctest.Step{Path: claude}, proctest.Step{Path: bash, Setsid: true}, proctest.Step{Path: claude}).PIDs
	mention := proctest.Start(t, proctest.Step{Path: vim, Args: []string{"claude.md"}}).PIDs
	server := proctest.Start(t, proctest.Step{Path: node, Args: []string{"server.js", "--name", "claude"}}).PIDs

	all := count(t, -1)
	for _, tt := range []struct {
		name string
		pid  int
		want bool
	}{
		{"native", native[0], true},
		{"wrapper", wrapped[0], true},
		{"native child of a wrapper", wrapped[1], false},
		{"script named claude", script[0], true},
		{"outer session", nested[0], true},
		{"shell of a session", nested[1], false},
		{"session below a shell of a session", nested[2], true},
		{"editor with the name in an argument", mention[0], false},
		{"server with the name in an argument", server[0], false},
	} {
		if got := slices.Contains(pids(all), tt.pid); got != tt.want {
			t.Errorf("%s: counted %v, want %v", tt.name, got, tt.want)
		}
	}

	// Seen from the test, all of them are its own.
	ours := count(t, 0)
	for _, pid := range slices.Concat(native, wrapped, script, nested) {
		if slices.Contains(pids(ours), pid) {
			t.Errorf("process %d descends from us and was counted", pid)
		}
	}
	if ours.Excluded < 5 {
		t.Errorf("excluded: got %d, want at least 5", ours.Excluded)
	}
	// Seen from one session, only what it started is.
	if got := pids(count(t, nested[0])); slices.Contains(got, nested[2]) || !slices.Contains(got, native[0]) {
		t.Errorf("seen from %d: got %v, want %d and not %d", nested[0], got, native[0], nested[2])
	}
}

func TestCountRealSessionIsDescribed(t *testing.T) {
	t.Parallel()
	claude := proctest.Named(t, "claude")
	pid := proctest.Start(t, proctest.Step{Path: claude, Args: []string{"-p", "secret"}}).PIDs[0]
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	all := count(t, -1)
	at := slices.IndexFunc(all.Sessions, func(s Session) bool { return s.PID == pid })
	if at < 0 {
		t.Fatalf("process %d was not counted", pid)
	}
	want := Session{PID: pid, Comm: "claude", Cmdline: claude, CWD: cwd}
	if diff := cmp.Diff(want, all.Sessions[at]); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
}

func TestCountRealZombie(t *testing.T) {
	t.Parallel()
	c := proctest.Start(t, proctest.Step{Path: proctest.Named(t, "claude")})
	if got := pids(count(t, -1)); !slices.Contains(got, c.PIDs[0]) {
		t.Fatalf("running: got %v, want %d among them", got, c.PIDs[0])
	}
	c.End()
	for deadline := time.Now().Add(20 * time.Second); ; {
		p, err := proctree.Read(proctree.Root, c.PIDs[0])
		if err == nil && p.State == 'Z' {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d did not become a zombie", c.PIDs[0])
		}
	}
	if got := pids(count(t, -1)); slices.Contains(got, c.PIDs[0]) {
		t.Errorf("zombie: got %v, want %d not among them", got, c.PIDs[0])
	}
}

func BenchmarkCount(b *testing.B) {
	roots := map[string]string{"live": proctree.Root}
	for _, n := range []int{50, 2000} {
		var procs []proctest.Proc
		for i := range n {
			p := proctest.Proc{PID: 100 + i, Comm: "worker", Args: []string{"/usr/bin/worker"}}
			if i%10 == 0 {
				p.Comm, p.Args = "claude", []string{"/opt/claude", "-p"}
			}
			procs = append(procs, p)
		}
		roots[strconv.Itoa(n)] = proctest.Tree(b, procs...)
	}
	for name, root := range roots {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Count(b.Context(), Options{Root: root}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func count(t *testing.T, self int) Result {
	t.Helper()
	r, err := Count(t.Context(), Options{Self: self})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func pids(r Result) []int {
	var pids []int
	for _, s := range r.Sessions {
		pids = append(pids, s.PID)
	}
	return pids
}
