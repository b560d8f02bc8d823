package act

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

const (
	maxOutput = 64 << 10 // bytes that are kept of what a command prints
	shown     = 2000     // runes of it that a person sees
	patience  = 5 * time.Second
)

// Actor acts for a person. It may be used by several goroutines.
type Actor struct {
	Self    string   // path of this program
	Environ []string // of the commands
	Root    string   // state root, absolute
}

// Stop asks a run to end after its session, or with now to end that as well, and does not
// wait for the end. It returns what the command has said. A run that is not on is an error.
func (a Actor) Stop(ctx context.Context, ref board.Ref, now bool) (string, error) {
	p, err := a.project(ref)
	if err != nil {
		return "", err
	}
	s, err := supervisor.LoadState(p.RunDir(ref.Run))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", outside.UsageHint("look again; it may be starting", "run %s has written nothing yet", ref.Run)
	case err != nil:
		return "", err
	case !s.Alive():
		return "", outside.UsageHint("", "run %s is not on", ref.Run)
	}
	args := []string{"fleet", "stop"}
	if now {
		args = append(args, "--now")
	}
	return a.run(ctx, "", append(args, "--", strconv.Itoa(s.PID))...)
}

// Approve lets a held call through, once, and returns what the command has said.
func (a Actor) Approve(ctx context.Context, ref board.Ref, id string) (string, error) {
	p, err := a.holder(ref, id)
	if err != nil {
		return "", err
	}
	return a.run(ctx, p.Path, "approve", "--", id)
}

// Deny refuses a held call, with a reason that may be empty, and returns what the command
// has said.
func (a Actor) Deny(ctx context.Context, ref board.Ref, id, because string) (string, error) {
	p, err := a.holder(ref, id)
	if err != nil {
		return "", err
	}
	args := []string{"deny"}
	if because = strings.TrimSpace(because); because != "" {
		args = append(args, "--because="+because)
	}
	return a.run(ctx, p.Path, append(args, "--", id)...)
}

// project is the project of a run.
func (a Actor) project(ref board.Ref) (statedir.Project, error) {
	all, err := statedir.Projects(a.Root)
	for _, p := range all {
		if filepath.Base(p.Dir) == ref.Project && ref.Project != "" {
			return p, named(ref.Run)
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no project %q", wording.Line(ref.Project, shown))
	}
	return statedir.Project{}, err
}

// named refuses what is no name of something.
func named(id string) error {
	if strings.HasPrefix(id, "-") || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c == 0x7f || c == '/' }) {
		return outside.Usage("%q is no name of anything here", wording.Line(id, shown))
	}
	return nil
}

// holder is the project in which a call is held: that of the run, or of the repository that
// its story is for.
func (a Actor) holder(ref board.Ref, id string) (statedir.Project, error) {
	if err := named(id); err != nil {
		return statedir.Project{}, err
	}
	own, err := a.project(ref)
	if err != nil || holds(own, id) {
		return own, err
	}
	all, _ := statedir.Projects(a.Root) // what cannot be read holds nothing that could be decided
	for _, p := range all {
		if holds(p, id) {
			return p, nil
		}
	}
	return own, nil // and the command says that there is none
}

// holds reports whether a gate with an id is in a project.
func holds(p statedir.Project, id string) bool {
	if id == "" || strings.ContainsAny(id, `*?[\`) {
		return false
	}
	found, err := filepath.Glob(filepath.Join(escaped(p.Dir), "gates", id+".*.json"))
	return err == nil && len(found) > 0
}

// escaped is a path in which nothing stands for something else.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// run runs a command of this program in a folder and returns what it has said.
func (a Actor) run(ctx context.Context, dir string, args ...string) (string, error) {
	if dir != "" {
		args = append([]string{"-C", dir}, args...)
	}
	var out, bad limited
	cmd := exec.CommandContext(ctx, a.Self, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = a.Environ, &out, &bad, patience
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", args[0], context.Cause(ctx))
	}
	if err != nil {
		return "", refusal(err, bad.String()+out.String())
	}
	return wording.Text(out.String(), shown), nil
}

// refusal is why a command has failed, as it has said itself.
func refusal(err error, said string) error {
	code := supervisor.ExitError
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	}
	said = wording.Text(said, shown)
	why, way := "", ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "autopilot: "); ok {
			why, way = rest, ""
		} else if rest, ok := strings.CutPrefix(line, "hint: "); ok {
			way = rest
		}
	}
	if why == "" {
		if why = said; why == "" {
			why = err.Error()
		}
	}
	return &outside.Error{Code: code, Err: errors.New(why), Way: way}
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

// Write takes all and keeps what fits.
func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
