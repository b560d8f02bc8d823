package proctree

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/internal/proctest"
)

func TestTakeFixture(t *testing.T) {
	t.Parallel()
	root := proctest.Tree(t,
		proctest.Proc{PID: 1, PPID: 0, Comm: "init"},
		proctest.Proc{PID: 30, PPID: 20, SID: 20, UserTicks: 150, SysTicks: 50},
		proctest.Proc{PID: 20, PPID: 10, UserTicks: 1},
		proctest.Proc{PID: 10, PGID: 5, SID: 4, Comm: "((", State: 'R', UserTicks: 3, SysTicks: 4, Start: 77},
		proctest.Proc{PID: 21, PPID: 10, State: 'Z'},
		proctest.Proc{PID: 40},
	)
	// What is no process, and one that vanished between the listing and the read.
	proctest.File(t, root, "meminfo", "")
	proctest.File(t, root, "12x/stat", "")
	if err := os.Mkdir(filepath.Join(root, "50"), 0o700); err != nil {
		t.Fatal(err)
	}

	table, err := Take(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pidsOf(slices.Collect(table.All())), []int{1, 10, 20, 21, 30, 40}; !slices.Equal(got, want) {
		t.Errorf("all: got %v, want %v", got, want)
	}
	got, _ := table.Get(10)
	want := Process{PID: 10, PPID: 1, PGID: 5, SID: 4, Comm: "((", State: 'R', CPU: 70 * time.Millisecond, Reaped: 150 * time.Millisecond, Start: 77}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if _, ok := table.Get(50); ok {
		t.Error("a vanished process must not be in the table")
	}
	if got, want := pidsOf(table.Descendants(10)), []int{20, 21, 30}; !slices.Equal(got, want) {
		t.Errorf("descendants: got %v, want %v", got, want)
	}
	if got, want := pidsOf(table.Children(1)), []int{10, 40}; !slices.Equal(got, want) {
		t.Errorf("children: got %v, want %v", got, want)
	}
	if got := table.Children(30); got != nil {
		t.Errorf("children of a leaf: got %v, want none", got)
	}
	if got, want := pidsOf(table.Sessions(20)), []int{20, 30}; !slices.Equal(got, want) {
		t.Errorf("session: got %v, want %v", got, want)
	}
	if got, want := table.CPU(30, 20, 999), 2010*time.Millisecond; got != want {
		t.Errorf("processor time: got %v, want %v", got, want)
	}
}

// Rows are not of one instant, so a reused pid can make two processes each
// other's parents.
func TestDescendantsOfARing(t *testing.T) {
	t.Parallel()
	table := newTable([]Process{{PID: 5, PPID: 6}, {PID: 6, PPID: 5}, {PID: 7, PPID: 7}})
	if got, want := pidsOf(table.Descendants(5)), []int{6}; !slices.Equal(got, want) {
		t.Errorf("descendants in a ring: got %v, want %v", got, want)
	}
	if got := table.Descendants(7); got != nil {
		t.Errorf("descendants of its own parent: got %v, want none", got)
	}
}

func TestTakeKeepsTheRestOfABadTable(t *testing.T) {
	t.Parallel()
	root := proctest.Tree(t, proctest.Proc{PID: 10}, proctest.Proc{PID: 11})
	proctest.File(t, root, "11/stat", "11 (broken\n")
	table, err := Take(root)
	if !errors.Is(err, errStat) || !strings.Contains(err.Error(), "process 11") {
		t.Errorf("got error %v, want one that names process 11", err)
	}
	if got, want := pidsOf(slices.Collect(table.All())), []int{10}; !slices.Equal(got, want) {
		t.Errorf("all: got %v, want %v", got, want)
	}
}

func TestTakeWithoutProc(t *testing.T) {
	t.Parallel()
	if _, err := Take(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := Read(t.TempDir(), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestParseStatRefuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "\n", "()", "1 () S", "1 (a)", "1 (a) ", "1 (a) S", "1 (a) S ", "1 (a)S 1 2",
		"x (a) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5",
		"0 (a) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5",
		"1 (a) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0",
		"1 (a) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 y",
		"1 )a( S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5",
	} {
		if p, err := parseStat([]byte(line)); !errors.Is(err, errStat) {
			t.Errorf("parse %q: got %+v, %v, want %v", line, p, err, errStat)
		}
	}
}

func TestParseStatOfAProcessBeingRemoved(t *testing.T) {
	t.Parallel()
	got, err := parseStat([]byte("9 (a) X 0 -1 -1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 18446744073709551615 0"))
	if err != nil {
		t.Fatal(err)
	}
	want := Process{PID: 9, PGID: -1, SID: -1, Comm: "a", State: 'X', CPU: 20 * time.Millisecond, Start: 1<<63 - 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if !got.Dead() {
		t.Error("a process being removed must count as dead")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 5023 63119 22 119 7 25 40 120 20 0 1 0 4 22175744 2945 1844 1 1 0"))
	f.Add([]byte("77 (a) R 1 (b) Z 5 77 77 34816 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 99"))
	f.Add([]byte("3 () I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 0 -20 1 0 9"))
	f.Add([]byte("9 (x"))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := parseStat(line)
		if err != nil {
			return
		}
		// The name is whatever stands between the first bracket and the last.
		if !bytes.Contains(line, []byte("("+p.Comm+") "+string([]byte{p.State})+" ")) {
			t.Errorf("name %q, state %q are not in %q", p.Comm, p.State, line)
		}
		if bytes.IndexByte(line[bytes.IndexByte(line, '(')+len(p.Comm)+2:], ')') >= 0 && p.State != ')' {
			t.Errorf("name %q does not reach the last bracket of %q", p.Comm, line)
		}
		if p.PID <= 0 {
			t.Errorf("pid %d in %q", p.PID, line)
		}
	})
}

func TestChildrenFixture(t *testing.T) {
	t.Parallel()
	many := make([]int, 3000)
	for i := range many {
		many[i] = 100000 + i
	}
	root := proctest.Tree(t,
		proctest.Proc{PID: 10, Listed: true, Children: []int{30, 20}},
		proctest.Proc{PID: 11, Listed: true},
		proctest.Proc{PID: 12, Listed: true, Children: many},
		proctest.Proc{PID: 13},
		proctest.Proc{PID: 40, PPID: 13},
		proctest.Proc{PID: 14, Listed: true, Children: []int{1}},
		proctest.Proc{PID: 15, Listed: true},
	)
	// A second thread with children of its own.
	proctest.File(t, root, "10/task/16/children", "25 ")
	proctest.File(t, root, "15/task/15/children", "7 x ")
	tests := []struct {
		name string
		pid  int
		want []int
	}{
		{"two threads", 10, []int{20, 25, 30}},
		{"none", 11, nil},
		{"more than one read", 12, many},
		{"a kernel without lists", 13, []int{40}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := childrenOf(root, tt.pid)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("children (-want +got):\n%s", diff)
			}
		})
	}
	if got, err := childrenOf(root, 15); err == nil {
		t.Errorf("a list that holds no pid: got %v and no error", got)
	}
}

func TestReadPidsInPieces(t *testing.T) {
	t.Parallel()
	list := "1 22 333 4444 55555 "
	want := []int{1, 22, 333, 4444, 55555}
	for size := 6; size < len(list)+2; size++ {
		got, err := readPids(nil, strings.NewReader(list), make([]byte, size))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("buffer of %d: got %v, %v, want %v", size, got, err, want)
		}
	}
	got, err := readPids(nil, iotest.OneByteReader(strings.NewReader(list)), make([]byte, 8))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("byte by byte: got %v, %v, want %v", got, err, want)
	}
	if _, err := readPids(nil, strings.NewReader(list), make([]byte, 3)); err == nil {
		t.Error("a number longer than the buffer must be refused")
	}
}

func TestEnvFixture(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	root := proctest.Tree(t,
		proctest.Proc{PID: 10, Env: []string{"A=1", "MARK=v", "B=2"}},
		proctest.Proc{PID: 11, Env: []string{"MARK=v"}},
		proctest.Proc{PID: 12, Env: []string{"MARK=vv", "XMARK=v", "MARK=", "C=MARK=v"}},
		proctest.Proc{PID: 13, Env: []string{"LONG=" + long, "MARK=v", "LONG2=" + long}},
		proctest.Proc{PID: 14},
		proctest.Proc{PID: 15, Env: []string{"EMPTY="}},
		proctest.Proc{PID: 16, Env: []string{"BIG=" + long}},
	)
	proctest.File(t, root, "17/environ", "A=1\x00MARK=v") // the last zero byte overwritten
	tests := []struct {
		name, value string
		want        []int
	}{
		{"MARK", "v", []int{10, 11, 13, 17}},
		{"EMPTY", "", []int{15}},
		{"BIG", long, []int{16}},
		{"NONE", "v", []int{}},
	}
	for _, tt := range tests {
		got, err := withEnv(root, tt.name, tt.value)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("processes with %s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEnvRefusesWhatCannotBeAMark(t *testing.T) {
	t.Parallel()
	for _, mark := range [][2]string{{"", "v"}, {"A=B", "v"}, {"A\x00", "v"}, {"A", "v\x00w"}} {
		if _, err := WithEnv(mark[0], mark[1]); err == nil {
			t.Errorf("mark %q: got no error", mark)
		}
		if HasEnv(os.Getpid(), mark[0], mark[1]) {
			t.Errorf("mark %q: got a match", mark)
		}
	}
}

// Wherever a read ends, the mark is found once and only as a whole entry.
func TestSearchEnvInPieces(t *testing.T) {
	t.Parallel()
	mark, err := envMark("MARK", "value")
	if err != nil {
		t.Fatal(err)
	}
	for before := range 60 {
		for _, tt := range []struct {
			entry string
			want  bool
		}{{"MARK=value", true}, {"MARK=valu", false}, {"XMARK=value", false}, {"MARK=valuee", false}} {
			env := "P=" + strings.Repeat("p", before) + "\x00" + tt.entry + "\x00Q=1\x00"
			for _, size := range []int{2*len(mark) + 1, 30, 47, 4096} {
				if got := searchEnv(strings.NewReader(env), mark, make([]byte, size)); got != tt.want {
					t.Fatalf("%q in pieces of %d: got %v, want %v", env, size, got, tt.want)
				}
			}
			if got := searchEnv(iotest.OneByteReader(strings.NewReader(env)), mark, make([]byte, 4*len(mark))); got != tt.want {
				t.Fatalf("%q byte by byte: got %v, want %v", env, got, tt.want)
			}
		}
	}
}

func TestSplitArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		data string
		full bool
		want []string
	}{
		{"none", "", false, nil},
		{"plain", "a\x00b\x00", false, []string{"a", "b"}},
		{"an empty one", "a\x00\x00b\x00", false, []string{"a", "", "b"}},
		{"overwritten", "claude   ", false, []string{"claude   "}},
		{"cut off", "a\x00bbbb", true, []string{"a"}},
		{"one that is cut off", "aaaa", true, []string{"aaaa"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, splitArgs([]byte(tt.data), tt.full)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
