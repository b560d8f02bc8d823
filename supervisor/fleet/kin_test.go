package fleet_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

// below starts a session as the child of a process with the name autopilot, and returns
// both.
func below(t *testing.T, env ...string) (parent, session actor) {
	t.Helper()
	session = beginArgs(t, named(t, "autopilot"), []string{named(t, "claude")}, append(env, partVar+"=guard", partVar+"_NEXT=session")...)
	p, err := proctree.Read(proctree.Root, session.pid)
	if err != nil {
		t.Fatal(err)
	}
	start, _ := proctree.StartOf(p.PPID)
	return actor{pid: p.PPID, start: start}, session
}

func TestPeers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	parent, ours := below(t)
	w.run(p, "supervisor", func(s *supervisor.State) { s.PID, s.Start = parent.pid, parent.start })
	guard, story1 := below(t)
	_, folder := w.run(p, "cohort", func(s *supervisor.State) { s.Start++ })
	reused, foreign := below(t)
	w.cohort(folder,
		member("one", story.Running, func(m *story.Member) { m.PID, m.Start = guard.pid, guard.start }),
		member("two", story.Running, func(m *story.Member) { m.PID, m.Start = reused.pid, reused.start+1 }),
	)
	w.run(p, "reused", func(s *supervisor.State) { s.PID, s.Start = reused.pid, reused.start+1 })
	dead, _ := w.run(p, "dead", func(s *supervisor.State) { s.Start++ })
	orphan := begin(t, "claude", "session", tokenOf(dead))
	w.run(p, "no-token", func(s *supervisor.State) { s.Start++; s.Token = "" })
	alone := begin(t, "claude", "session", tokenOf("another"))
	empty := begin(t, "claude", "session", launch.TokenVar+"=")

	found := []peer.Session{}
	for _, a := range []actor{ours, story1, foreign, orphan, alone, empty} {
		found = append(found, peer.Session{PID: a.pid, Comm: "claude", Cmdline: "claude", CWD: "/srv/app"})
	}
	rows := w.list(func(o *fleet.Options) {
		o.Peers = func(context.Context) ([]peer.Session, error) { return found, nil }
	})
	var got []int
	for _, r := range rows {
		if r.Kind == fleet.KindPeer {
			got = append(got, r.PID)
			if r.State != fleet.StateRunning || r.Repo != "/srv/app" || r.Note != "claude" {
				t.Errorf("row %+v", r)
			}
		}
	}
	if !slices.Equal(got, []int{foreign.pid, alone.pid, empty.pid}) {
		t.Errorf("peers %v, want %d, %d and %d (ours: %d below a supervisor, %d below a guard, %d by its token)", got, foreign.pid, alone.pid, empty.pid, ours.pid, story1.pid, orphan.pid)
	}
	if rows[len(rows)-1].Kind != fleet.KindPeer || rows[len(rows)-2].Kind != fleet.KindPeer {
		t.Error("peers are not last")
	}
}

func TestPeersBelowTheGuardOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder := w.register(w.project("app"), "main")
	path := named(t, "autopilot")
	// The guard starts the supervisor; a session whose supervisor is gone would hang below it.
	a := beginArgs(t, path, []string{path}, partVar+"=guard", partVar+"_NEXT=supervisor", folderVar+"="+folder, stateVar+`={"version": 1}`)
	if st, err := supervisor.LoadState(folder); err != nil || st.PID != a.pid {
		t.Fatalf("%s: %+v, %v", id, st, err)
	}
	p, err := proctree.Read(proctree.Root, a.pid)
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]string{a.pid: id, p.PPID: id, os.Getpid(): ""} {
		if got := fleet.Inside(t.Context(), w.options(), pid); got != want {
			t.Errorf("Inside(%d) = %q, want %q", pid, got, want)
		}
	}
}

func TestPeersCannotBeListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.project("app"), "main", nil)
	o := w.options()
	o.Peers = func(context.Context) ([]peer.Session, error) { return nil, errors.New("no table") }
	rows, problems := fleet.List(t.Context(), o)
	if len(rows) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "look for peers: no table") {
		t.Errorf("%v, %v", rows, problems)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	a := begin(t, "claude", "session")
	found, err := fleet.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if s.PID == a.pid {
			return // also what this process has started
		}
	}
	t.Errorf("pid %d is not among %v", a.pid, found)
}

// TestInside: a session belongs to its run wherever it stands, and whatever it has taken
// out of its environment.
func TestInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	parent, session := below(t)
	run, _ := w.run(p, "run", func(s *supervisor.State) { s.PID, s.Start = parent.pid, parent.start })
	dead, _ := w.run(p, "dead", func(s *supervisor.State) { s.Start++ })
	_, orphan := below(t, tokenOf(dead))
	reused, foreign := below(t)
	w.run(p, "reused", func(s *supervisor.State) { s.PID, s.Start = reused.pid, reused.start+1 })
	for pid, want := range map[int]string{session.pid: run, parent.pid: run, orphan.pid: dead, foreign.pid: "", os.Getpid(): ""} {
		if got := fleet.Inside(t.Context(), w.options(), pid); got != want {
			t.Errorf("Inside(%d) = %q, want %q", pid, got, want)
		}
	}
}
