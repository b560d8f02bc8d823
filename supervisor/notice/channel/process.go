package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel/shout"
)

const (
	maxOutput = 16 << 10
	margin    = 500 * time.Millisecond // a child gives up so much before it is ended
	drain     = time.Second            // for what a process left behind holds open
	tryLater  = 75                     // EX_TEMPFAIL of sysexits.h
)

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxOutput {
		t.b = bytes.Clone(t.b[len(t.b)-maxOutput:])
	}
	return len(p), nil
}

// run runs a program in a group of its own, which is killed as a whole with the context. It
// returns what it wrote on stdout, and its error is what it said at last.
func (s Sender) run(ctx context.Context, in []byte, env []string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, complaint tail
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, bytes.NewReader(in), &out, &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drain
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		err = nil // it has ended well; only something of it held the line open
	}
	return out.b, said(ctx, err, complaint.b)
}

// ended is the error of a program that ended by itself.
type ended struct {
	code  int
	words string
}

func (e *ended) Error() string { return e.words }

func said(ctx context.Context, err error, complaint []byte) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return errors.New("it did not end in time")
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	words := exit.Error()
	lines := strings.Split(strings.TrimSpace(string(complaint)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		words += ": " + last
	}
	return &ended{exit.ExitCode(), words}
}

// shout has this program send in a process of its own.
func (s Sender) shout(ctx context.Context, c Channel, h notice.Held, now time.Time, limit time.Duration) *Failure {
	if len(s.Program) == 0 {
		return &Failure{Permanent: true, Err: errors.New("internal error: no program to send with")}
	}
	o := order(c, h, now)
	o.Timeout = max(limit-margin, limit/2)
	in, err := json.Marshal(o)
	if err != nil {
		return &Failure{Permanent: true, Err: fmt.Errorf("encode notice: %w", err)}
	}
	out, err := s.run(ctx, in, s.Environ, s.Program...)
	if err != nil {
		return &Failure{Err: err}
	}
	var a shout.Answer
	if err := json.Unmarshal(bytes.TrimSpace(out), &a); err != nil {
		return &Failure{Err: errors.New("the process that sends has said nothing")}
	}
	if a.Sent {
		return nil
	}
	return &Failure{Permanent: !a.Temporary, After: a.After, Err: errors.New(a.Words)}
}

// order puts a notice into the form of a service.
func order(c Channel, h notice.Held, now time.Time) shout.Order {
	f, m := forms()[c.scheme], h.Message(now)
	o := shout.Order{Address: c.spec, Params: maps.Clone(f.fixed)}
	if o.Params == nil {
		o.Params = map[string]string{}
	}
	body := m.Body
	if f.title == "" || c.scheme == shout.Generic && !asJSON(c.spec) {
		body = m.Title + "\n\n" + body
	} else {
		o.Params[f.title] = fit(m.Title, f.most, f.line)
	}
	o.Text = fit(body, f.limit, f.text)
	switch n := h.Notice.Clean(); c.scheme {
	case shout.Ntfy:
		if n.Kind.Urgent() && !strings.Contains(strings.ToLower(c.spec), "priority=") {
			o.Params["priority"] = "high"
		}
	case shout.Generic: // in the JSON of ?template=json
		maps.Copy(o.Params, map[string]string{"kind": string(n.Kind), "run_id": n.RunID, "repository": n.Repo, "command": n.Command, "at": n.At.Format(time.RFC3339)})
	}
	return o
}

// asJSON reports whether a webhook is posted JSON, in which the title has a place of its own.
func asJSON(spec string) bool {
	u, err := url.Parse(spec)
	return err == nil && strings.EqualFold(u.Query().Get("template"), "json")
}

// hooked is what a command reads on stdin.
type hooked struct {
	notice.Notice
	More int      `json:"more,omitempty"` // others of this kind that are summed up here
	Also []string `json:"also,omitempty"` // their titles
}

func (s Sender) runCommand(ctx context.Context, c Channel, h notice.Held, _ time.Time) *Failure {
	in, err := json.Marshal(hooked{h.Notice.Clean(), h.More, h.Also})
	if err != nil {
		return &Failure{Permanent: true, Err: fmt.Errorf("encode notice: %w", err)}
	}
	// Without the two dashes a command that begins with one would be an option.
	_, err = s.run(ctx, append(in, '\n'), s.Environ, "/bin/sh", "-c", "--", c.words)
	if err == nil {
		return nil
	}
	e, byItself := errors.AsType[*ended](err)
	// A command that has failed by itself may have done its work in part.
	return &Failure{Permanent: byItself && e.code != tryLater, Err: err}
}

// script shows a notice on macOS. The texts are arguments and no part of it.
const script = `on run argv
display notification (item 2 of argv) with title (item 1 of argv)
end run`

func (s Sender) desktop(ctx context.Context, h notice.Held, now time.Time) *Failure {
	m := h.Message(now)
	title, body := fit(m.Title, 240, strings.Clone), fit(m.Body, 1000, strings.Clone)
	env := s.Environ
	argv := []string{"osascript", "-e", script, title, body} // a title begins with our name and is no option
	if s.OS != "darwin" {
		urgency := "normal"
		if h.Notice.Kind.Urgent() {
			urgency = "critical"
		}
		env = withBus(env)
		argv = []string{"notify-send", "--app-name=autopilot", "--urgency=" + urgency, "--", title, fit(m.Body, 1000, desktopText)}
	}
	name, err := lookPath(argv[0], env)
	if err != nil {
		return &Failure{Permanent: true, Err: err}
	}
	argv[0] = name
	_, err = s.run(ctx, nil, env, argv...)
	if err != nil {
		return &Failure{Permanent: true, Err: err}
	}
	return nil
}

// withBus adds the address of the user's session bus where a scheduler has not handed it on.
func withBus(env []string) []string {
	const name = "DBUS_SESSION_BUS_ADDRESS="
	for _, kv := range env {
		if strings.HasPrefix(kv, name) {
			return env
		}
	}
	bus := fmt.Sprintf("/run/user/%d/bus", os.Getuid())
	if _, err := os.Stat(bus); err != nil {
		return env
	}
	return append(env[:len(env):len(env)], name+"unix:path="+bus)
}

// lookPath finds a program on the PATH of an environment, in absolute folders alone.
func lookPath(name string, env []string) (string, error) {
	var dirs string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs = v
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}
