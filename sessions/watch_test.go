package sessions_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/sessions/ptyrun"
)

// TestAbort ends a session at every moment of its life.
func TestAbort(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		signal       string
	}{
		{"while the model answers", "write a.txt x\nmark $D/marks\nhang", ""},
		{"while a tool runs", "write a.txt x\nbash echo x > $D/marks; sleep 300", ""},
		{"while it goes on in the background", "write a.txt x\nleave sleep 300\nmark $D/marks\nhang", ""},
		{"after its result", "write a.txt x\nresult\nmark $D/marks\nlinger 300s", ""},
		{"ignoring the interrupt", "ignore INT $D/signals\nwrite a.txt x\nmark $D/marks\nhang", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script)
			if strings.Contains(tt.script, "ignore INT") {
				p.spec.Limits.Ladder.Interrupt = 50 * time.Millisecond
			}
			ctx, cancel := context.WithCancel(t.Context())
			p.when("marks", cancel)
			res := p.run(ctx)
			if res.Ending != outcome.Cancelled || res.Cause != "ended on request" || !gone(string(p.spec.ID)) {
				t.Errorf("got %s (%s)", res.Ending, res.Cause)
			}
			if diff := cmp.Diff([]string{"a.txt"}, res.Files); diff != "" || !res.Measured {
				t.Errorf("what it changed until then (-want +got):\n%s", diff)
			}
			p.onDisk(res)
		})
	}
}

// TestKill is a second signal to the supervisor while the ladder of the first
// takes its time.
func TestKill(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "ignore INT TERM $D/signals\nwrite a.txt x\nbash echo x > $D/marks; sleep 300")
	p.spec.Limits.Ladder = ptyrun.Ladder{Interrupt: time.Hour, Terminate: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	kill, killNow := context.WithCancel(t.Context())
	p.spec.Kill = kill
	p.when("marks", cancel)
	p.when("signals", killNow)
	res := p.run(ctx)
	if res.Ending != outcome.Cancelled || res.Signal != "SIGKILL" || p.read("signals") != "INT\n" || !gone(string(p.spec.ID)) {
		t.Errorf("got %s by %q after the signals %q", res.Ending, res.Signal, p.read("signals"))
	}
}

// TestKillAlone has no first signal.
func TestKillAlone(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x\nmark $D/marks\nhang")
	kill, killNow := context.WithCancel(t.Context())
	p.spec.Kill = kill
	p.when("marks", killNow)
	if res := p.run(t.Context()); res.Ending != outcome.Cancelled || res.Signal != "SIGKILL" {
		t.Errorf("got %s by %q, want a cancelled session that was killed", res.Ending, res.Signal)
	}
}

// TestAbortBeforeTheNextStep: a session that is over counts, the rest is not begun
// for its own sake.
func TestAbortBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x\n---\nmark $D/marks\nhang")
	p.spec.Steps = append(p.spec.Steps, p.spec.Steps[0])
	ctx, cancel := context.WithCancel(t.Context())
	p.spec.Satisfied = func() bool { cancel(); return false }
	if res := p.run(ctx); res.Ending != outcome.Cancelled || res.NextStep != 1 {
		t.Errorf("got %s in step %d, want it cancelled in the second", res.Ending, res.NextStep)
	}
}

func TestHang(t *testing.T) {
	t.Parallel()
	const heartbeat = `raw {"type":"tool_progress","tool_name":"Bash","elapsed_time_seconds":30,"heartbeat":true}` + "\nthink 100ms\n"
	const event = `raw {"type":"system","subtype":"informational"}` + "\nthink 100ms\n"
	tests := []struct {
		name, script string
		stall, tool  time.Duration
		session      time.Duration
		want         outcome.Ending
		says         string
	}{
		{"silence", "write a.txt x\nhang", time.Second, patience, 0, outcome.Hung, "stall-timeout=1s"},
		{"a tool in silence", "write a.txt x\nbash sleep 300", time.Second, 2 * time.Second, 0, outcome.Hung, "tool-stall-timeout=2s"},
		{"a tool that takes its time", "bare-tool 2500ms", time.Second, patience, 0, outcome.Completed, ""},
		{"heartbeats are no life", "write a.txt x\n" + strings.Repeat(heartbeat, 40), time.Second, patience, 0, outcome.Hung, "stall-timeout=1s"},
		{"events are", "write a.txt x\n" + strings.Repeat(event, 30), 2 * time.Second, patience, 0, outcome.Completed, ""},
		{"session timeout", "write a.txt x\n" + strings.Repeat(event, 100), patience, patience, time.Second, outcome.Hung, "session-timeout 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script)
			p.spec.Limits.Stall, p.spec.Limits.ToolStall, p.spec.Limits.Session = tt.stall, tt.tool, tt.session
			res := p.run(t.Context())
			if res.Ending != tt.want || !strings.Contains(res.Cause, tt.says) || !gone(string(p.spec.ID)) {
				t.Errorf("got %s (%s), want %s saying %q", res.Ending, res.Cause, tt.want, tt.says)
			}
			if hung := tt.want == outcome.Hung; p.noted("ending the session: ") != hung {
				t.Errorf("notes %q", p.notes)
			}
		})
	}
}

// TestTranscriptIsLife: the CLI writes its transcript where the environment says.
func TestTranscriptIsLife(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
write a.txt x
bare-tool 1ms
mark $D/marks
think 2500ms`)
	p.spec.Limits.Stall = time.Second
	done := make(chan struct{})
	p.when("marks", func() {
		slug := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, p.top)
		name := p.path(".claude/projects/" + slug + "/" + string(p.spec.ID) + ".jsonl")
		if _, err := os.Stat(name); err != nil {
			t.Errorf("the stand-in keeps its transcript elsewhere: %v", err)
		}
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = f.WriteString("{}\n")
			_ = f.Close()
		}
	})
	res := p.run(t.Context())
	close(done)
	if res.Ending != outcome.Completed {
		t.Errorf("got %s (%s), want completed", res.Ending, res.Cause)
	}
}

func TestLinger(t *testing.T) {
	t.Parallel()
	const next = `raw {"type":"system","subtype":"status","status":"requesting"}`
	tests := []struct {
		name, script string
		grace        time.Duration
		want         outcome.Ending
		lingers      bool
		answer       string
	}{
		{"it stays", "write a.txt x\nresult\nlinger 300s", 100 * time.Millisecond, outcome.Completed, true, "done"},
		{"it stays and ignores signals", "ignore INT TERM\nwrite a.txt x\nresult\nlinger 300s", 100 * time.Millisecond, outcome.Completed, true, "done"},
		{"it stays after nothing", "result\nlinger 300s", 100 * time.Millisecond, outcome.NoWork, true, "done"},
		{
			"it stays after an error", "write a.txt x\nraw " + `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"num_turns":1,"result":"API Error"}` + "\nlinger 300s",
			100 * time.Millisecond, outcome.Overloaded, true, "API Error",
		},
		{"it exits in time", "write a.txt x\nresult\nlinger 200ms", patience, outcome.Completed, false, "done"},
		{"another turn", "write a.txt x\nresult\n" + next + "\nthink 2s\nwake", time.Second, outcome.Completed, false, "woken"},
		{"several results", "write a.txt x\nresult\nwake\nwake\nwake", patience, outcome.Completed, false, "woken"},
		{"an empty result behind", "write a.txt x\nresult\nraw " + `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}`, patience, outcome.Completed, false, "done"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script)
			p.spec.Limits.ExitGrace = tt.grace
			p.spec.Limits.Ladder = ptyrun.Ladder{Interrupt: 200 * time.Millisecond, Terminate: 200 * time.Millisecond}
			res := p.run(t.Context())
			if res.Ending != tt.want || res.Answer != tt.answer {
				t.Errorf("got %s (%s) with the answer %q, want %s with %q", res.Ending, res.Cause, res.Answer, tt.want, tt.answer)
			}
			if got := p.noted("did not exit within"); got != tt.lingers {
				t.Errorf("notes %q, want it ended for staying: %v", p.notes, tt.lingers)
			}
		})
	}
}

// TestAuth is cut short at its first sign.
func TestAuth(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "retry 401 authentication_failed 1\nhang")
	res := p.run(t.Context())
	if res.Ending != outcome.Auth || !p.noted("attempt 1 of 10") {
		t.Errorf("got %s (%s) with the notes %q", res.Ending, res.Cause, p.notes)
	}
	p = newPlace(t, "api-error 401 authentication_failed")
	if res := p.run(t.Context()); res.Ending != outcome.Auth {
		t.Errorf("got %s (%s), want auth", res.Ending, res.Cause)
	}
}

// TestProgress is what a person is told, and what would be left if we died.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
usage 100 20 0.5
write a.txt x
agents 2
result
raw {"type":"system","subtype":"status","status":"requesting"}
mark $D/marks
bash while [ ! -s $D/stop ]; do sleep 0.01; done`)
	p.spec.Steps = append(p.spec.Steps, sessions.Step{Prompt: "more"})
	p.spec.Satisfied = func() bool { return true }
	var last sessions.Progress
	p.beat = func(pr sessions.Progress) {
		if p.read("stop") == "" {
			last = pr
		}
	}
	p.spec.Judge = func(context.Context) hook.Change { return p.spec.Cap } // each look is a beat
	var kept sessions.Result
	looked := p.when("state/session/progress.json", func() {
		if err := json.Unmarshal([]byte(p.read("state/session/progress.json")), &kept); err != nil {
			t.Error(err)
		}
		p.write("stop", "x")
	})
	res := p.run(t.Context())
	<-looked
	if res.Ending != outcome.Completed {
		t.Fatalf("got %s (%s)", res.Ending, res.Cause)
	}
	got := []any{kept.ID, kept.Ending, kept.Usage, kept.ToolUses, kept.Agents, kept.Processes, kept.Caps.Allowed}
	want := []any{p.spec.ID, outcome.Ending(""), outcome.Usage{Input: 100, Output: 20, CostUSD: 0.5}, 4, outcome.Agents{Complete: 2}, 1, 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("progress on disk (-want +got):\n%s", diff)
	}
	if !kept.StartedAt.Equal(res.StartedAt) || kept.EndedAt.Before(kept.StartedAt) || kept.EndedAt.After(res.EndedAt) {
		t.Errorf("progress from %v to %v, the session from %v to %v", kept.StartedAt, kept.EndedAt, res.StartedAt, res.EndedAt)
	}
	if last.PID == 0 || last.Tools != 4 || last.Agents != 2 || last.Tokens != 120 || last.CostUSD != 0.5 || !last.InTool || last.StepNo != 1 || last.StepsAll != 2 || last.Cap.Tier != "green" {
		t.Errorf("last told: %+v", last)
	}
	p.onDisk(res)
}

// TestCrash is a process that dies without a word.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, signal string
		want           outcome.Ending
	}{
		{"write a.txt x\ncrash", "SIGKILL", outcome.Crashed},
		{"write a.txt x\nexit 3", "", outcome.Crashed},
		{"write a.txt x\nexit 0", "", outcome.Cancelled},
	} {
		p := newPlace(t, c.script)
		res := p.run(t.Context())
		if res.Ending != c.want || res.Signal != c.signal || len(res.Files) != 1 || res.ToolUses != 1 {
			t.Errorf("%q: got %+v", c.script, res)
		}
	}
}
