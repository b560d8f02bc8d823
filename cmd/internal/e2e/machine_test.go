//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"autopilot/sessions/hook"
	"autopilot/sessions/messagesapi"

	"github.com/google/go-cmp/cmp"
)

// session is a session of the real CLI that a person might have open.
type session struct{ cmd *exec.Cmd }

// open starts one and waits until it asks the API, which never answers.
func (l *lab) open(program ...string) *session {
	l.t.Helper()
	before := len(l.api.Requests())
	s := &session{exec.Command(program[0], append(slices.Clone(program[1:]), "-p", "hello")...)}
	s.cmd.Dir, s.cmd.Env = l.repo, l.env
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.end)
	if _, err := l.api.Wait(l.t.Context(), before+1); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// end ends it with everything that it has started. It may be called again.
func (s *session) end() {
	if s.cmd.ProcessState == nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.cmd.Wait()
	}
}

// machine is what the program sees of this machine.
type machine struct {
	Cap      int `json:"cap"`
	Snapshot struct {
		Peers    *int `json:"peers"`
		Sessions []struct {
			PID int `json:"pid"`
		} `json:"peer_sessions"`
	} `json:"snapshot"`
}

func (l *lab) probe() machine {
	l.t.Helper()
	var m machine
	e := l.finish(l.command("probe", "--json"))
	if err := json.Unmarshal([]byte(e.stdout), &m); err != nil {
		l.t.Fatalf("%v in %q", err, e.stdout)
	}
	return m
}

// peers are the sessions that the program counts, as far as they are the lab's:
// other people may have sessions at this machine.
func (l *lab) peers() []int {
	l.t.Helper()
	m := l.probe()
	if n := m.Snapshot.Peers; n == nil || *n != len(m.Snapshot.Sessions) {
		l.t.Fatalf("%d peers are listed, which is not the number %v", len(m.Snapshot.Sessions), n)
	}
	ours := map[int]bool{}
	for _, p := range l.processes() {
		ours[p.PID] = true
	}
	var pids []int
	for _, s := range m.Snapshot.Sessions {
		if ours[s.PID] {
			pids = append(pids, s.PID)
		}
	}
	return pids
}

// roomForAgents waits until the machine allows four sub-agents.
func (l *lab) roomForAgents() {
	l.t.Helper()
	eventually(l.t, "this machine has room for four sub-agents, see 'autopilot probe'", func() bool { return l.probe().Cap >= 4 })
}

// The CLI is started as the native program, then also by the wrapper of the npm
// package, which is a process of its own.
func TestE2EPeersAreCountedOnce(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, messagesapi.Always(messagesapi.Hang()))
		wrapper := filepath.Join(filepath.Dir(claude), "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs")
		var want []int
		for _, program := range [][]string{{claude}, {"node", wrapper}} {
			s := l.open(program...)
			defer s.end()
			want = append(want, s.cmd.Process.Pid)
			slices.Sort(want)
			if diff := cmp.Diff(want, l.peers()); diff != "" {
				t.Errorf("pids of the peers (-want +got):\n%s", diff)
			}
		}
	})
}

// A session of ours runs beside two of a person's, which is fine. With three the
// machine's tier falls, and with two again it rises, so ours is never counted.
// The cap that the hook reads follows. Sessions that others open meanwhile only
// make this take longer.
func TestE2ECapFollowsThePeers(t *testing.T) {
	eachVersionAlone(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case !r.HasTool("StructuredOutput"):
				return messagesapi.Hang() // a person's session
			case r.Step == 1:
				return bash("touch mark-begun; until [ -e mark-end ]; do sleep 0.1; done")
			default:
				return reportDone("it")
			}
		}, nil))
		first, second := l.open(claude), l.open(claude)
		run := l.inBash("--probe-interval", "100ms")
		capIs := func(n int) func() bool {
			file := hook.CapFile(l.stateFile("cap.json"))
			return func() bool { s, err := file.Load(); return err == nil && s.Cap == n }
		}
		eventually(t, "the cap is 6 with two peers", capIs(6))
		third := l.open(claude)
		eventually(t, "the cap falls with three peers", capIs(4))
		first.end()
		eventually(t, "the cap rises with two peers", capIs(6))
		l.write("mark-end", "")
		e := l.finish(run)
		second.end()
		third.end()
		r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		fell := false
		for i, c := range r.Caps {
			if c.Tier == "warn" && (c.Cap != 4 || c.Signal != "peers") || c.Tier == "green" && c.Cap != 6 || i > 0 && c.Tier == r.Caps[i-1].Tier {
				t.Errorf("caps applied = %+v, want changes between green with 6 and less, by peers", r.Caps)
				break
			}
			fell = fell || c.Tier == "warn"
		}
		if len(r.Caps) < 3 || !fell {
			t.Errorf("caps applied = %+v, want that it fell and rose again", r.Caps)
		}
	})
}

func TestE2EStrayKeyIsNotHandedOn(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(bash("echo hello")))
		l.key = false
		e := l.run("make the tests pass", "--allowed-tools", "Bash")
		l.check(e, want{code: 3, killSwitch: "failed-wave", endings: "auth"})
		if n := len(l.api.Requests()); n != 0 {
			t.Errorf("the API got %d requests, want none", n)
		}
		if !strings.Contains(e.stderr, "ANTHROPIC_API_KEY") || strings.Contains(e.stderr, "sk-fake") {
			t.Error("the log does not name the variable, or it tells the key")
		}
	})
}

func TestE2EEnvironmentOfASession(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(bash("env > mark-env")))
		l.set("CLAUDECODE", "1")
		l.set("CLAUDE_CODE_SESSION_ID", "of-the-session-around-us")
		l.set("CLAUDE_CODE_SSE_PORT", "4711")
		e := l.run("make the tests pass", "--agents-per-wave", "1", "--allowed-tools", "Bash")
		r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		got := map[string]string{}
		for line := range strings.Lines(l.contents("mark-env")) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				got[name] = value
			}
		}
		for name, want := range map[string]string{
			"AUTOPILOT_RUN_ID": r.AutopilotRunID, "AUTOPILOT_AGENTS_PER_WAVE": strconv.Itoa(r.Caps[0].Cap),
			"AUTOPILOT_GUARD": "", "CLAUDE_CODE_SESSION_ID": r.Sessions[0], "CLAUDE_CODE_SSE_PORT": "", "TERM": "dumb", "PWD": l.repo,
		} {
			if got[name] != want {
				t.Errorf("%s=%q in the session, want %q", name, got[name], want)
			}
		}
		if !strings.Contains(e.stderr, "CLAUDE_CODE_SSE_PORT") || strings.Contains(e.stderr, "AUTOPILOT_") {
			t.Error("the log does not name what was not handed on, or it names what is our own")
		}
	})
}

func TestE2EDoctor(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, messagesapi.Always(messagesapi.Text("ok")))
		l.set("AUTOPILOT_CLAUDE", claude)
		version := filepath.Base(filepath.Dir(claude))
		type finding struct {
			Name, Detail, Mend string
			OK                 bool
		}
		ask := func() (map[string]finding, int) {
			e := l.finish(l.command("doctor", "--json"))
			var all []finding
			if err := json.Unmarshal([]byte(e.stdout), &all); err != nil {
				t.Fatal(err)
			}
			by := map[string]finding{}
			for _, f := range all {
				by[f.Name] = f
			}
			return by, e.code
		}
		found, code := ask() // the key in the environment is not handed on
		if f := found["claude"]; !f.OK || !strings.Contains(f.Detail, version) || f.Mend != "" {
			t.Errorf("claude: %+v, want ok and version %s", f, version)
		}
		if f := found["login"]; f.OK || !strings.Contains(f.Detail, "not logged in") || !strings.Contains(f.Mend, "--use-api-key") || code != 2 {
			t.Errorf("login: %+v with exit code %d, want not logged in, the way out, and 2", f, code)
		}
		l.withToken()
		if found, code := ask(); !found["login"].OK || code != 0 {
			t.Errorf("login with a token: %+v with exit code %d, want ok and 0", found["login"], code)
		}
		if n := len(l.api.Requests()); n != 0 {
			t.Errorf("the API got %d requests, want none", n)
		}
		l.nothingLeft()
	})
}
