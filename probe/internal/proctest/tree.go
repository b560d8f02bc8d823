package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Proc is one made-up process. Zero fields take a plain value: parent 1 (0 for
// process 1 itself), own group and session, name "proc", state S.
type Proc struct {
	PID, PPID, PGID, SID int
	Comm                 string
	State                byte
	UserTicks, SysTicks  int
	Start                int // 100 when zero
	Args, Env            []string
	CWD                  string
	// Children are listed for the first thread when Listed is set.
	Children []int
	Listed   bool
}

// Tree writes the processes under a new folder and returns it.
func Tree(tb testing.TB, procs ...Proc) string {
	tb.Helper()
	root := tb.TempDir()
	for _, p := range procs {
		Write(tb, root, p)
	}
	return root
}

// Write adds one process to the tree at root, or replaces it.
func Write(tb testing.TB, root string, p Proc) {
	tb.Helper()
	pid := strconv.Itoa(p.PID)
	or := func(v, other int) int {
		if v == 0 {
			return other
		}
		return v
	}
	if p.Comm == "" {
		p.Comm = "proc"
	}
	if p.State == 0 {
		p.State = 'S'
	}
	parent := or(p.PPID, 1)
	if p.PID == 1 {
		parent = 0
	}
	File(tb, root, pid+"/comm", p.Comm+"\n")
	File(tb, root, pid+"/stat", fmt.Sprintf("%d (%s) %c %d %d %d 0 -1 4194560 10 0 0 0 %d %d 7 8 20 0 1 0 %d 4096 100\n",
		p.PID, p.Comm, p.State, parent, or(p.PGID, p.PID), or(p.SID, p.PID), p.UserTicks, p.SysTicks, or(p.Start, 100)))
	File(tb, root, pid+"/cmdline", zeroEnded(p.Args))
	File(tb, root, pid+"/environ", zeroEnded(p.Env))
	task := pid + "/task/" + pid
	File(tb, root, task+"/comm", p.Comm+"\n")
	if p.Listed {
		var list strings.Builder
		for _, kid := range p.Children {
			fmt.Fprintf(&list, "%d ", kid)
		}
		File(tb, root, task+"/children", list.String())
	}
	if p.CWD != "" {
		if err := os.Symlink(p.CWD, filepath.Join(root, pid, "cwd")); err != nil {
			tb.Fatal(err)
		}
	}
}

// File writes one file below root and the folders above it.
func File(tb testing.TB, root, name, content string) {
	tb.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func zeroEnded(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, "\x00") + "\x00"
}
