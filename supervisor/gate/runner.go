package gate

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/launch"
	"autopilot/sessions/reap"
)

const (
	// DefaultTimeout is what a command may take when nothing else is said.
	DefaultTimeout = 10 * time.Minute
	// DefaultGrace is what a command is given between termination and kill.
	DefaultGrace = 5 * time.Second

	leftGrace = time.Second
	leftTime  = 5 * time.Second

	defaultShell = "/bin/sh"
	markerPrefix = "check-" // no session has such an id
)

// Runner makes checks. All fields but Dir may be left at their zero value.
type Runner struct {
	Dir     string   // the repository
	Environ []string // the supervisor's own; a command gets what a session would get of it
	RunID   string
	Token   string        // of the run: the guard and the next start find by it what a crash leaves
	APIKey  bool          // hand on the API key, as for sessions
	Timeout time.Duration // of each command; 0 is DefaultTimeout
	Grace   time.Duration // from SIGTERM to SIGKILL; 0 is DefaultGrace
	Sweeper *reap.Sweeper // nil finds strays by their marker and session only
	Shell   string        // takes -c; empty is /bin/sh
	// Tee gets all that a command prints, as it comes, from one goroutine; nil for
	// nobody. It must not block.
	Tee io.Writer
}

// Run makes the checks one after the other and returns a result for each, in the
// same order. When ctx ends, the command that runs is ended, and what was not
// looked at does not hold. It must not be called while a session of this process
// or another Run with the same Sweeper is at work.
func (r Runner) Run(ctx context.Context, checks []Check) []Result {
	results := make([]Result, 0, len(checks))
	for _, c := range checks {
		results = append(results, r.one(ctx, c))
	}
	return results
}

// EndLeft ends what commands of the same Token have left running, whose own process was
// killed. Without a Token it does nothing.
func (r Runner) EndLeft() {
	if r.Token != "" {
		reap.EndMarked(reap.Marker{Name: launch.TokenVar, Value: r.Token}, leftGrace, leftTime)
	}
}

func (r Runner) one(ctx context.Context, c Check) Result {
	if ctx.Err() != nil {
		return Result{Check: c, Exit: -1, Detail: "not run: " + oneLine(context.Cause(ctx).Error(), maxDetail)}
	}
	begun := time.Now()
	res := Result{Exit: -1}
	switch c.Kind {
	case Command:
		_, err := ParseCommand(c.Command) // an empty one would succeed
		if err == nil {
			return r.command(ctx, c)
		}
		res.Detail = "not run: " + err.Error()
	case File:
		res.OK, res.Detail = proof(r.Dir, c.File)
	default:
		res.Detail = fmt.Sprintf("not run: %q is no kind of check", c.Kind)
	}
	res.Check, res.Took, res.Detail = c, time.Since(begun), oneLine(res.Detail, maxDetail)
	return res
}

// environ returns the environment of one command and the marker in it. It is that
// of a session, with an id of its own. The cap on agents is no business of a check;
// the one that a session gets would count as an option of this program.
func (r Runner) environ() ([]string, reap.Marker) {
	m := reap.Marker{Name: launch.SessionVar, Value: markerPrefix + rand.Text()}
	env, _ := launch.Env(r.Environ, launch.Identity{RunID: r.RunID, Token: r.Token, SessionID: m.Value, UseAPIKey: r.APIKey})
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, launch.CapVar+"=") })
	if given := launch.Lookup(r.Environ, launch.CapVar); given != "" {
		env = append(env, launch.CapVar+"="+given)
	}
	return env, m
}

func (r Runner) timeout() time.Duration { return positive(r.Timeout, DefaultTimeout) }
func (r Runner) grace() time.Duration   { return positive(r.Grace, DefaultGrace) }

func positive(d, other time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return other
}
