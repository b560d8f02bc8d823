package desk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/completion"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
	"autopilot/sessions/repo"
)

// hookMemory is what a hook may use before garbage is collected after all.
const hookMemory = 256 << 20

// Hook answers a hook of a session that is not about sub-agents, and reports false
// when there is none of that name. It never keeps a session from starting or stopping
// because something is wrong with autopilot: the exit code is always 0, and what is
// wrong goes to stderr.
func Hook(std outside.Stdio, name string, args []string) bool {
	// It lives for milliseconds: collecting garbage would only cost some of them.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(hookMemory)
	find := func(session, cwd string) (completion.Desk, bool, error) {
		// In a supervised session, only the hook that the supervisor has given it
		// answers, not the repository's own beside it.
		if len(args) == 0 && std.Getenv(launch.SessionVar) != "" {
			return completion.Desk{}, false, nil
		}
		if len(args) > 0 {
			if waits(args[0]) { // sent on, it could only try again
				return completion.Desk{}, false, nil
			}
			d, err := completion.OpenDesk(args[0])
			return d, err == nil, err
		}
		return deskBelow(std, session, cwd)
	}
	switch name {
	case "stop":
		if err := hook.Stop(std.In, std.Out, find, time.Now(), std.Getenv); err != nil {
			fmt.Fprintf(std.Err, "autopilot: stop hook: %v\n", err)
		}
	case "session-start":
		if err := hook.Start(std.In, std.Out, find, time.Now()); err != nil {
			fmt.Fprintf(std.Err, "autopilot: session-start hook: %v\n", err)
		}
	default:
		return false
	}
	return true
}

// waits reports whether a call of the session with this desk waits for a person.
func waits(folder string) bool {
	g, err := hook.LoadGate(filepath.Join(filepath.Dir(folder), hook.GateName))
	return err == nil && g.Waits(time.Now())
}

// deskBelow is the desk of the project in which a session works. Without one, nobody
// has enabled anything there. No git is asked, because that takes longer than all
// the rest.
func deskBelow(std outside.Stdio, session, cwd string) (completion.Desk, bool, error) {
	dir := std.Getenv("CLAUDE_PROJECT_DIR")
	if dir == "" {
		dir = cwd
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return completion.Desk{}, false, err
	}
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return completion.Desk{}, false, err
	}
	for top := dir; ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			return deskOf(std, root, top, session)
		}
		if top == filepath.Dir(top) {
			return completion.Desk{}, false, nil
		}
	}
}

func deskOf(std outside.Stdio, root, top, session string) (completion.Desk, bool, error) {
	_, found, err := statedir.FindProject(root, top)
	if err != nil || !found {
		return completion.Desk{}, false, err
	}
	cfg, err := job.Resolve(std, top, nil)
	if err != nil {
		return completion.Desk{}, false, err
	}
	d, err := job.Place{Repo: repo.Repo{Top: top}, Cfg: cfg, State: root}.Desk(std, false)
	d.Session, d.Place.Session, d.Place.GH = session, session, nil
	return d, err == nil, err
}
