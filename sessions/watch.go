package sessions

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/stream"
	"autopilot/sessions/vitals"
)

// keepEvery is the least time between two writings of a session's progress.
const keepEvery = 5 * time.Second

// noticeBoard hands what the reader saw to the watch without making the reader
// wait: the reader of a pty must never wait for anything.
type noticeBoard struct {
	mu       sync.Mutex
	pending  []outcome.Notice
	activity time.Time // last sign of life in the stream
	wake     chan struct{}
}

func (b *noticeBoard) put(n outcome.Notice, at time.Time) {
	b.mu.Lock()
	if n.Activity {
		b.activity = at
	}
	matters := n.AuthFailed || n.Result || n.Working || n.Retry != nil || len(n.AgentsEnded) > 0
	if matters {
		b.pending = append(b.pending, n)
	}
	b.mu.Unlock()
	if matters {
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

func (b *noticeBoard) take() []outcome.Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pending
	b.pending = nil
	return p
}

func (b *noticeBoard) lastActivity() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.activity
}

// observe is called for every event, from the goroutine that reads the pty.
func (s *session) observe(e stream.Event) { s.notices.put(s.tally.Observe(e), e.At) }

// watch follows the process until it has exited, and ends it when it must.
func (s *session) watch(ctx context.Context, p *ptyrun.Process) {
	s.pid = p.PID()
	s.begun = time.Now().Round(0)
	s.life = vitals.New(s.pid, time.Now(), s.Limits.Limits, s.transcripts())
	s.beatNow("", false)
	timer := time.NewTimer(s.nextLook(time.Now()))
	defer timer.Stop()
	judged, kept := time.Now().Round(0), time.Now().Round(0)
	for {
		select {
		case <-p.Done():
			return
		case <-ctx.Done():
			s.end(p, outcome.StopAbort, "")
			return
		case <-s.Kill.Done():
			s.end(p, outcome.StopAbort, "")
			return
		case <-s.notices.wake:
			if s.handleNotices() {
				s.end(p, outcome.StopAuth, "")
				return
			}
		case <-timer.C:
		}
		now := time.Now()
		if stop, why := s.look(now); stop != outcome.StopNone {
			s.end(p, stop, why)
			return
		}
		if s.Judge != nil && now.Round(0).Sub(judged) >= s.Limits.Judge {
			judged = now.Round(0)
			s.judge(ctx)
			s.beatNow("", false)
		}
		if now.Round(0).Sub(kept) >= keepEvery {
			kept = now.Round(0)
			s.keepProgress()
		}
		timer.Reset(s.nextLook(now))
	}
}

// keepProgress puts on disk what the session has used so far, so that it is not
// lost when the supervisor is killed. It is a help and not a duty: when it cannot
// be written, the result will say so.
func (s *session) keepProgress() {
	so := s.res
	s.settle()
	_ = s.keep(ProgressPath(s.Folder))
	so.Caps = s.res.Caps
	s.res = so
}

// look checks the vital signs and the deadlines.
func (s *session) look(now time.Time) (outcome.Stop, string) {
	f := s.tally.Facts()
	active := s.notices.lastActivity()
	return s.life.Look(now, vitals.Signs{Active: active, InTool: f.ToolsRunning > 0, Started: s.begun.Add(-s.res.Worked)})
}

func (s *session) nextLook(now time.Time) time.Duration {
	if s.Judge == nil {
		return s.life.Next(now, 0)
	}
	return s.life.Next(now, s.Limits.Judge)
}

// transcripts are the files in which the CLI keeps the conversation: its own
// and the folder of those of its sub-agents.
func (s *session) transcripts() []string {
	main := launch.Transcript(s.Environ, s.Dir, string(s.Conversation()))
	return []string{main + ".jsonl", filepath.Join(main, "subagents")}
}

// end ends the process by the ladder. It returns when the process has exited.
func (s *session) end(p *ptyrun.Process, why outcome.Stop, words string) {
	s.stop, s.why = why, words
	if why == outcome.StopLinger {
		s.tally.Settle()
		s.why = ""
	}
	if words != "" {
		s.note(true, "ending the session: %s", words)
	}
	sig := p.Stop(s.Kill, s.Limits.Ladder)
	s.note(false, "session process ended by %v", sig)
}

// handleNotices reacts to what the reader saw. It reports whether the API
// refused the credentials.
func (s *session) handleNotices() (authFailed bool) {
	var ended []string
	for _, n := range s.notices.take() {
		authFailed = authFailed || n.AuthFailed
		ended = append(ended, n.AgentsEnded...)
		if n.Result {
			s.life.Result(time.Now())
			s.askEarly()
		}
		if n.Working {
			s.life.Working()
		}
		if r := n.Retry; r != nil {
			s.note(true, "the API is asked again: attempt %d of %d after %v, status %d %s", r.Attempt, r.Max, r.Delay.Round(time.Millisecond), r.Status, r.Kind)
		}
	}
	if len(ended) > 0 {
		if err := s.cap.Release(ended...); err != nil {
			s.note(true, "the agent cap could not be updated: %v", err)
		}
	}
	return authFailed
}

// judge looks at the machine again and passes a new cap on to the hook.
func (s *session) judge(ctx context.Context) {
	j := s.Judge(ctx)
	changed, err := s.cap.Set(j)
	if err != nil {
		s.note(true, "the agent cap could not be updated: %v", err)
		return
	}
	if changed {
		s.Cap = j
		s.note(true, "machine is %s now, decided by %s: at most %d sub-agents at once", j.Tier, j.Signal, j.Cap)
	}
}

func (s *session) note(warn bool, format string, args ...any) {
	s.beatNow(fmt.Sprintf(format, args...), warn)
}

func (s *session) beatNow(note string, warn bool) {
	if s.beat == nil {
		return
	}
	f := s.tally.Facts()
	active := s.notices.lastActivity()
	pr := Progress{
		PID: s.pid, Note: note, Warn: warn, Tools: f.ToolUses, Agents: f.Agents.Started(),
		Tokens: f.Usage.Input + f.Usage.Output + f.Usage.CacheCreation, CostUSD: f.Usage.CostUSD,
		Cap: s.Cap, InTool: f.ToolsRunning > 0,
		StepNo: s.res.NextStep + 1, StepsAll: len(s.Steps),
	}
	if !active.IsZero() {
		pr.Silent = time.Since(active)
	}
	s.beat(pr)
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.TrimSpace(line))
}
