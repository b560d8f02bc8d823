package gate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/sessions/launch"
	"autopilot/sessions/reap"
	"autopilot/supervisor/gate"
)

// TestLeftBehind: what a command leaves behind is ended, also after a success, and
// whoever holds the pipe is not waited for.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	const stay = "sh -c '" + note + "exec sleep 1000'"
	wait := func(n int) string {
		return fmt.Sprintf("\nwhile [ $(cat $P 2>/dev/null | wc -l) -lt %d ]; do sleep 0.01; done; echo said", n)
	}
	for name, tt := range map[string]struct {
		command string
		n       int
	}{
		"background":               {stay + " &" + wait(1), 1},
		"own session":              {"setsid " + stay + " &" + wait(1), 1},
		"own session, forked":      {"(setsid sh -c '(" + note + "exec sleep 1000) &' &)" + wait(1), 1},
		"own group":                {"set -m; " + stay + " &" + wait(1), 1},
		"cleared environment":      {`env -i P="$P" PATH="$PATH" ` + stay + " &" + wait(1), 1},
		"ignores signals":          {"sh -c 'trap \"\" TERM HUP INT; " + note + "exec sleep 1000' &" + wait(1), 1},
		"prints on":                {"sh -c '" + note + "while :; do echo noise; done' & setsid sh -c '" + note + "exec yes' &" + wait(2) + "; sleep 0.1", 2},
		"stopped":                  {"setsid sh -c '" + note + "kill -STOP $$' &" + wait(1), 1},
		"many":                     {"for i in 1 2 3 4 5 6 7 8; do setsid " + stay + " & " + stay + " & done" + wait(16), 16},
		"holds the output, failed": {stay + " &" + wait(1) + "; exit 1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			got := p.run(tt.command)
			if failed := strings.HasSuffix(name, "failed"); got.OK == failed || !strings.Contains(got.Output, "said\n") && name != "prints on" {
				t.Errorf("got %v, %q, %q", got.OK, got.Detail, got.Output)
			}
			p.nothingLeft(tt.n)
		})
	}
}

// TestAdopted is a supervisor that adopts: also what has neither a marker nor a
// session of ours is found.
func TestAdopted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	command := `env -i P="$P" PATH="$PATH" setsid sh -c '(` + note + `exec sleep 1000) & (setsid sh -c "echo \$\$ >> $P; exec sleep 1000" &)' &
		while [ $(cat $P 2>/dev/null | wc -l) -lt 2 ]; do sleep 0.01; done`
	out, err := self(t, "supervise "+command, "P="+p.pids, fileVar+"="+p.pids).Output()
	if err != nil || !strings.Contains(string(out), `"ok":true`) {
		t.Errorf("got %s (%v)", out, err)
	}
	p.nothingLeft(2)
}

// TestSupervisorKilled: the shell does not outlive it, and the rest carries the token.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := self(t, "supervise "+note+"while :; do sleep 0.01; done", "P="+p.pids, fileVar+"="+p.pids)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	poll(t, "the command runs", func() bool { return len(p.written()) == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	poll(t, "the shell ends", func() bool { return gone(p.written()[0]) })
	_, _ = reap.EndMarked(reap.Marker{Name: fileVar, Value: p.pids}, 0, patience)
	p.nothingLeft(1)
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command string
		n       int
		output  string
	}{
		"sleeps":                      {note + "echo begun; sleep 1000", 1, "begun\n"},
		"is the shell no more":        {note + "echo begun; exec sleep 1000", 1, "begun\n"},
		"ignores termination":         {"trap '' TERM; " + note + "echo begun; while :; do sleep 0.01; done", 1, "begun\n"},
		"says status 0 when it ends":  {"trap 'echo bye; exit 0' TERM; " + note + "echo begun; while :; do sleep 0.01 2>/dev/null; done 2>/dev/null", 1, "begun\nbye\n"},
		"has a child that stays":      {"sh -c 'trap \"\" TERM; " + note + "while :; do sleep 0.01; done' & " + note + "echo begun; wait", 2, "begun\n"},
		"has a child of its own mind": {"setsid sh -c '" + note + "exec sleep 1000' & " + note + "echo begun; wait", 2, "begun\n"},
		"is stopped":                  {note + "echo begun; kill -STOP $$", 1, "begun\n"},
		"never stops to print":        {note + "echo begun; exec yes", 1, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.Timeout, p.Grace = 2*time.Second, time.Second
			got := p.run(tt.command)
			if got.OK || !got.TimedOut || !strings.HasPrefix(got.Detail, "not done within the time limit of 2s: ") {
				t.Errorf("got %v, timed out %v, %q", got.OK, got.TimedOut, got.Detail)
			}
			if got.Output != tt.output && tt.output != "-" {
				t.Errorf("output is %q, want %q", got.Output, tt.output)
			}
			if got.Took < p.Timeout {
				t.Errorf("it took %v, less than the limit", got.Took)
			}
			p.nothingLeft(tt.n)
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"ends":                      note + "sleep 1000",
		"says status 0":             "trap 'exit 0' TERM; " + note + "while :; do sleep 0.01; done",
		"has a daemon":              "setsid sh -c 'exec sleep 1000' & " + note + "sleep 1000",
		"with a file after it that": note + "exec sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			write(t, p.Dir, "there", "x")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				for deadline := time.Now().Add(patience); len(p.written()) == 0 && time.Now().Before(deadline); {
					<-time.After(2 * time.Millisecond)
				}
				cancel(errors.New("user asked\nfor it"))
			}()
			results := p.Run(ctx, []gate.Check{
				{Kind: gate.Command, Command: "true"},
				{Kind: gate.Command, Command: command},
				{Kind: gate.Command, Command: note + "true"},
				{Kind: gate.File, File: "there"},
			})
			want := []string{`exit status 0 after [0-9.]+m?s`, `cancelled after [0-9.ms]+ \(user asked for it\)(: Terminated)?`, "not run: user asked for it", "not run: user asked for it"}
			for i, r := range results {
				if r.OK != (i == 0) || r.TimedOut || !regexp.MustCompile("^(?:"+want[i]+")$").MatchString(r.Detail) {
					t.Errorf("%d: got %v, %q; want %q", i, r.OK, r.Detail, want[i])
				}
			}
			if len(results) != len(want) {
				t.Errorf("%d results, want %d", len(results), len(want))
			}
			p.nothingLeft(1)
		})
	}
}

// TestOthersStay: nothing but what the command started is ended.
func TestOthersStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	other := exec.CommandContext(t.Context(), "sleep", "1000")
	other.Env = append(os.Environ(), launch.SessionVar+"=check-other", launch.TokenVar+"="+p.Token)
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	p.run("setsid sh -c '" + note + "exec sleep 1000' & while ! [ -s $P ]; do sleep 0.01; done")
	p.nothingLeft(1)
	if gone(other.Process.Pid) {
		t.Error("a process of somebody else was ended")
	}
}

// TestTermination reaches the whole group: a tool below the shell can put things in
// order.
func TestTermination(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Timeout = 2 * time.Second
	got := p.run("trap 'wait; exit 0' TERM; sh -c 'trap \"echo in order; exit\" TERM; " + note + "while :; do sleep 0.01; done' & " + note + "wait")
	if got.OK || !got.TimedOut || !strings.Contains(got.Output, "in order\n") {
		t.Errorf("got %v, %q, %q", got.OK, got.Detail, got.Output)
	}
	p.nothingLeft(2)
}

// TestNotWaitedFor: without a sweeper that adopts, a process that got rid of its
// session, its parent and its environment is not found. It holds the output all the
// same, and must not hold us.
func TestNotWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.run(`(env -i P="$P" PATH="$PATH" setsid sh -c '` + note + `exec sleep 1000' &); while ! [ -s $P ]; do sleep 0.01; done; echo said`)
	pids := p.written()
	if len(pids) != 1 || gone(pids[0]) {
		t.Fatalf("%v of the test's processes are there, want one", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	poll(t, "the process ends", func() bool { return gone(pids[0]) })
	if !got.OK || got.Output != "said\n" {
		t.Errorf("got %v, %q, %q", got.OK, got.Detail, got.Output)
	}
	p.nothingLeft(1)
}
