package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
)

const (
	// maxLook is the longest time between two looks at a running session.
	maxLook = 30 * time.Second
	// sleepGap is how much later than planned a look may come before the
	// machine must have been asleep.
	sleepGap = 30 * time.Second
	// busyShare is the share of one processor above which a session's tree is
	// at work. An idle CLI stays far below, with its timers.
	busyShare = 0.05
)

// vitals are the signs of life of one process.
type vitals struct {
	pid         int
	transcripts []string
	startedAt   time.Time
	alive       time.Time // last sign of life of any kind
	planned     time.Time // when the next look was due
	resultAt    time.Time // when the last result came; zero while a turn runs
	sample      sample
}

type sample struct {
	at   time.Time
	cpu  time.Duration
	size int64
}

type signs struct {
	active  time.Time // last event that counts
	inTool  bool
	started time.Time // start of the session
}

func newVitals(now time.Time, transcripts []string) vitals {
	return vitals{startedAt: wall(now), alive: wall(now), transcripts: transcripts}
}

// wall drops the monotonic reading, which stands still while a machine sleeps.
func wall(t time.Time) time.Time { return t.Round(0) }

// look decides whether the process must be ended.
func (v *vitals) look(now time.Time, g signs, l Limits) (outcome.Stop, string) {
	now = wall(now)
	if !v.planned.IsZero() && now.Sub(v.planned) > sleepGap {
		v.alive = now
	}
	if a := wall(g.active); !g.active.IsZero() && a.After(v.alive) {
		v.alive = a
	}
	if l.Session > 0 && now.Sub(wall(g.started)) >= l.Session {
		return outcome.StopTimeout, fmt.Sprintf("session-timeout %v reached", l.Session)
	}
	if !v.resultAt.IsZero() {
		if now.Sub(wall(v.resultAt)) >= l.ExitGrace {
			return outcome.StopLinger, fmt.Sprintf("the process did not exit within %v after its last result", l.ExitGrace)
		}
		return outcome.StopNone, ""
	}
	limit, clock := l.Stall, "stall-timeout"
	if g.inTool {
		limit, clock = max(l.ToolStall, l.Stall), "tool-stall-timeout"
	}
	silent := now.Sub(v.alive)
	if limit <= 0 || silent < quietBefore(limit) {
		return outcome.StopNone, ""
	}
	v.takeSample(now)
	silent = now.Sub(v.alive)
	if silent >= limit {
		return outcome.StopHung, fmt.Sprintf("no event, no transcript growth and no CPU for %v >= %s=%v", silent.Round(time.Second), clock, limit)
	}
	return outcome.StopNone, ""
}

// quietBefore is how long the stream is silent before the process tree and the
// transcript are looked at: most sessions never get there.
func quietBefore(limit time.Duration) time.Duration { return limit / 3 }

// takeSample compares CPU time and transcript size with the sample before.
func (v *vitals) takeSample(now time.Time) {
	cur := sample{at: now, size: v.transcriptSize()}
	if table, err := proctree.Take(proctree.Root); err == nil {
		pids := []int{v.pid}
		for _, d := range table.Descendants(v.pid) {
			pids = append(pids, d.PID)
		}
		cur.cpu = table.CPU(pids...)
	}
	before := v.sample
	v.sample = cur
	if before.at.IsZero() {
		return
	}
	busy := float64(cur.cpu-before.cpu) > busyShare*float64(cur.at.Sub(before.at))
	if busy || cur.size != before.size {
		v.alive = now
	}
}

// nextLook is the time until the process has to be looked at again.
func (s *session) nextLook(now time.Time) time.Duration {
	d := maxLook
	if s.Judge != nil && s.Limits.Judge > 0 {
		d = min(d, s.Limits.Judge)
	}
	for _, l := range []time.Duration{s.Limits.Stall, s.Limits.ToolStall, s.Limits.Session} {
		if l > 0 {
			d = min(d, max(l/6, 20*time.Millisecond))
		}
	}
	if !s.life.resultAt.IsZero() {
		d = min(d, max(s.Limits.ExitGrace/6, 20*time.Millisecond))
	}
	s.life.planned = wall(now).Add(d)
	return d
}

// transcripts are the files in which the CLI keeps the conversation: its own
// and the folder of those of its sub-agents.
func (s *session) transcripts() []string {
	base := launch.Lookup(s.Environ, "CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(launch.Lookup(s.Environ, "HOME"), ".claude")
	}
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(s.Dir, "-")
	main := filepath.Join(base, "projects", slug, string(s.ID))
	return []string{main + ".jsonl", filepath.Join(main, "subagents")}
}

func (v *vitals) transcriptSize() int64 {
	var n int64
	for _, name := range v.transcripts {
		fi, err := os.Stat(name)
		if err != nil {
			continue
		}
		n += fi.Size()
		if !fi.IsDir() {
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fi, err := e.Info(); err == nil {
				n += fi.Size()
			}
		}
	}
	return n
}
