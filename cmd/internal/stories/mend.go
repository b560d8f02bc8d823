package stories

import (
	"path/filepath"
	"slices"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

const mendTime = 15 * time.Second // that supervisors have to end after their coordinator

// Mend returns what brings the state of a coordinator that was killed up to how its stories
// stand: those that ran have ended by themselves, and are stopped.
//
// The records of their runs go to the ledgers as well: of one that is done nothing is begun
// again that could see to them.
func Mend(p job.Place, std outside.Stdio, ledgers *ledger.Ledgers) func(folder string, st *supervisor.State) {
	return func(folder string, st *supervisor.State) {
		c, err := Load(folder)
		if err != nil {
			return // it coordinated nothing, or had not begun to
		}
		p.Cfg.Stories.Isolation = string(c.Isolation) // the settings may have changed since
		s := &stage{std: std, job: job.Job{Place: p}, folder: folder, trees: Trees(p, std), ledgers: ledgers}
		for deadline := time.Now().Add(mendTime); s.anyAlive(c) && time.Now().Before(deadline); {
			time.Sleep(rescueLook)
		}
		for i := range c.Members {
			m := &c.Members[i]
			if m.Status != story.Running {
				continue
			}
			_ = s.recover(*m) // what cannot be done now the next run in its tree does
			look := s.Look(*m)
			m.Status, m.Why, m.PID, m.Start = story.Stopped, "the coordinator was killed", 0, 0
			if look.Item == story.Done {
				m.Status, m.Why = story.Done, ""
			}
			m.Sessions, m.Spent, m.EndedAt = look.Sessions, look.Spent, time.Now()
			if look.RunID != "" && !slices.Contains(m.Runs, look.RunID) {
				m.Runs = append(m.Runs, look.RunID)
			}
			if m.Worktree != "" && m.Worktree != p.Repo.Top {
				m.Kept = "the story is not over: " + string(m.Status)
			}
		}
		follow(st, c)
		t := termination(c, st.Record)
		// Also when all its stories are done by now: what follows on that is still to be done.
		t.Status, t.Reason, t.Resumable = ledger.Interrupted, "killed", true
		st.Record.Termination = t
		_ = statedir.ReplaceJSON(filepath.Join(folder, story.File), c) // the record says it as well
	}
}

// anyAlive reports whether a supervisor of a running story is still there.
func (s *stage) anyAlive(c story.Cohort) bool {
	for _, m := range c.Members {
		if st, ok := s.state(m); m.Status == story.Running && ok && st.Alive() {
			return true
		}
	}
	return false
}
