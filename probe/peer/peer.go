package peer

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"autopilot/probe/proctree"
)

// Options say where to look and who we are.
type Options struct {
	// Root is the process table's folder; empty means [proctree.Root]. macOS has none.
	Root string
	// Self is the pid whose descendants are our own sessions. Zero means the
	// calling process, a negative number that nothing is ours.
	Self int
}

// Result is one count.
type Result struct {
	// Count is the number of peers, the length of Sessions.
	Count int `json:"count"`
	// Sessions are ordered by pid; never nil.
	Sessions []Session `json:"sessions"`
	// Excluded is the number of sessions left out because they are ours.
	Excluded int `json:"excluded"`
}

// Session is one peer, by its topmost process.
type Session struct {
	PID int `json:"pid"`
	// Comm is the short name of the process.
	Comm string `json:"comm"`
	// Cmdline is the executable as it was called and, under node or bun, the
	// script; the short name where the process has written over it.
	Cmdline string `json:"cmdline"`
	// CWD is the working directory, empty where it cannot be read.
	CWD string `json:"cwd,omitempty"`
}

// Count looks at all processes once and at what looks like a session twice. It
// fails only when the processes cannot be listed or ctx ends; it looks at ctx
// between processes, so a read that the kernel holds up can outlast it.
func Count(ctx context.Context, o Options) (Result, error) {
	if o.Root == "" {
		o.Root = proctree.Root
	}
	if o.Self == 0 {
		o.Self = os.Getpid()
	}
	pids, err := candidates(ctx, o.Root)
	if err != nil {
		return Result{}, err
	}
	r := Result{Sessions: []Session{}}
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		p, args, ok := sessionProcess(o.Root, pid)
		if !ok || p.PID == o.Self {
			continue
		}
		if _, _, part := sessionProcess(o.Root, p.PPID); part && p.PPID != o.Self {
			continue
		}
		if descends(o.Root, p, o.Self) {
			r.Excluded++
			continue
		}
		r.Sessions = append(r.Sessions, describe(o.Root, p, args))
	}
	r.Count = len(r.Sessions)
	return r, nil
}

// sessionProcess takes the closer look at one process: whether it lives, is
// part of a session, and how it was called.
func sessionProcess(root string, pid int) (proctree.Process, []string, bool) {
	p, err := proctree.Read(root, pid)
	if err != nil || p.Dead() {
		return p, nil, false
	}
	kind := kindOf(p.Comm)
	if kind == other {
		return p, nil, false
	}
	// Missing arguments are no reason not to count what is named claude.
	args, _ := proctree.Args(root, pid)
	return p, args, kind == native || runsCLI(args)
}

// maxDepth ends the climb where pids that were reused meanwhile form a ring.
const maxDepth = 1000

// descends reports whether self is among the ancestors of p. A climb that ends
// because an ancestor ended is repeated: p was inherited then, perhaps by us.
func descends(root string, p proctree.Process, self int) bool {
	for range 3 {
		ours, torn := climb(root, p, self)
		if !torn {
			return ours
		}
		var err error
		if p, err = proctree.Read(root, p.PID); err != nil {
			return false
		}
	}
	return false
}

func climb(root string, p proctree.Process, self int) (ours, torn bool) {
	for range maxDepth {
		if p.PPID == self {
			return true, false
		}
		if p.PPID <= 1 {
			return false, false
		}
		var err error
		if p, err = proctree.Read(root, p.PPID); err != nil {
			return false, true
		}
	}
	return false, false
}

func describe(root string, p proctree.Process, args []string) Session {
	// Not readable for every process, and not needed to count it.
	cwd, _ := os.Readlink(filepath.Join(root, strconv.Itoa(p.PID), "cwd"))
	return Session{PID: p.PID, Comm: p.Comm, Cmdline: shortCommand(p.Comm, args), CWD: cwd}
}
