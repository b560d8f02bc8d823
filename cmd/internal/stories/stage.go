package stories

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/forge"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/cohort"
	"autopilot/supervisor/story/shared"
	"autopilot/supervisor/story/worktree"
)

const (
	branchPrefix = "autopilot/"
	setupTime    = 30 * time.Minute
	killTime     = 20 * time.Second // that a guard has to clean up after its supervisor was killed
	outputName   = "output.log"
	setupMark    = "setup.done"
	tailBytes    = 2 << 10
	commitTime   = 5 * time.Minute
	rescueLook   = 200 * time.Millisecond
	rescueTime   = 20 * time.Second // to take the lock of a tree whose supervisor is gone
)

// stage is where the stories of a run are worked on.
type stage struct {
	std     outside.Stdio
	job     job.Job
	run     string // id of the coordinator's run
	folder  string // of the coordinator's run
	trees   worktree.Manager
	token   string // marks the processes of the run
	base    worktree.Base
	forge   *forge.Forge // that drafts are opened at; nil for none
	push    forge.Pinned // where branches go
	own     shared.Process
	log     *slog.Logger
	began   time.Time
	nested  bool // the run is allowed inside a session
	ledgers *ledger.Ledgers
	mu      sync.Mutex // guards what follows: stories are prepared side by side
	head    string     // commit of a shared tree when the first story began
	lanes   []string   // that any story had in it
	strays  sync.Once
}

// Folder is what coordinator and supervisor of a story share.
func (s *stage) Folder(id string) string { return filepath.Join(s.folder, "stories", id) }

// Prepare makes the work tree of a story and its queue of one item.
func (s *stage) Prepare(ctx context.Context, m *story.Member, after []story.Member) error {
	if s.shared() {
		st, err := s.job.Repo.State(ctx)
		if err != nil {
			return err
		}
		m.Worktree, m.Branch, m.Base = s.job.Repo.Top, st.Branch, cmp.Or(m.Base, st.Head)
		s.mu.Lock()
		s.head, s.lanes = cmp.Or(s.head, st.Head), append(s.lanes, m.Lane...)
		if len(m.Lane) == 0 {
			s.lanes = append(s.lanes, "**")
		}
		s.mu.Unlock()
	} else if err := s.tree(ctx, m, after); err != nil {
		return err
	}
	if err := statedir.MakeDir(m.Folder); err != nil {
		return err
	}
	if err := s.setUp(ctx, *m); err != nil {
		return err
	}
	return s.enqueue(*m)
}

func (s *stage) shared() bool { return s.job.Cfg.Stories.Isolation == string(story.None) }

// enqueue puts the piece of work of a story into its queue. What the story waited for was
// done in other work trees; the cohort has seen to that.
func (s *stage) enqueue(m story.Member) error {
	n, err := s.job.Night(true)
	if err != nil {
		return err
	}
	n.Repo, n.Queue.Path = m.Worktree, job.QueueOf(m.Folder)
	before, err := n.Queue.Load()
	if err != nil {
		return err
	}
	if len(before.Items) == 0 {
		w := night.Wanted{Goals: []string{m.Goal}, Like: queue.Item{Verify: s.checks(m)}}
		if m.Kind == story.Increment {
			w = night.Wanted{Increments: []string{m.Story.Folder()}}
		}
		if _, err := n.Enqueue(w); err != nil {
			return err
		}
	}
	return n.Queue.Update(func(q *queue.Queue) error {
		it := &q.Items[0]
		it.After = nil
		if it.Kind == queue.Goal && m.Answer != "" && !strings.HasSuffix(it.Title, m.Answer) {
			it.Title += "\n\nA person was asked: " + it.Why + "\nThe answer is: " + m.Answer
		}
		if it.Status.Over() && it.Status != queue.Done {
			return q.Retry(it.ID, time.Now())
		}
		return nil
	})
}

// checks are the commands that must succeed before a goal counts as reached: the story's
// and the run's.
func (s *stage) checks(m story.Member) []string {
	all := slices.Concat(m.Verify, s.job.Cfg.Verify)
	for _, f := range s.job.Cfg.ExpectFiles {
		all = append(all, "test -e "+launch.Quote(f))
	}
	return all
}

// environ is the environment of supervisors: this process's own, without what only it may
// have.
func (s *stage) environ() []string { return outside.Without(s.std.Environ, launch.StoryVar) }

// Launch starts the supervisor of a story: one that goes on with its last run where that
// can be done.
func (s *stage) Launch(_ context.Context, m story.Member) (cohort.Process, error) {
	t := shared.Task{
		Cohort: s.run, Story: m.ID, Folder: m.Folder, Coordinator: s.own, Main: s.job.Repo.Top, Worktree: m.Worktree, Branch: m.Branch,
		Lane: m.Lane, Isolation: s.job.Cfg.Stories.Isolation, Metrics: s.job.MetricsDir(), IssueBlockedBy: s.blockedBy(m),
		MaxHours: s.job.Cfg.MaxHours, Deadline: s.began.Add(time.Duration(s.job.Cfg.MaxHours * float64(time.Hour))),
		MaxTokens: s.job.Cfg.MaxTokens, MaxCostUSD: s.job.Cfg.MaxCostUSD,
	}
	if err := shared.SaveTask(m.Folder, t); err != nil {
		return nil, err
	}
	args := s.command(m)
	if s.nested {
		args = append(args, "--allow-nested")
	}
	args = append(args, flagsOf(s.job.Layers[len(s.job.Layers)-1])...)
	if len(s.job.Extra) > 0 {
		args = append(append(args, "--"), s.job.Extra...)
	}
	out, err := os.OpenFile(filepath.Join(m.Folder, outputName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open output of story: %w", err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(s.std.Self, args...)
	cmd.Dir, cmd.Env = m.Worktree, append(s.environ(), launch.StoryVar+"="+m.Folder)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start supervisor of story: %w", err)
	}
	return &process{cmd: cmd, supervisor: func() int { st, _ := s.state(m); return st.PID }, rescue: func() { s.rescue(m) }, after: func() { s.settle(m) }}, nil
}

func (s *stage) blockedBy(m story.Member) int {
	for _, id := range m.After {
		var n int
		if _, err := fmt.Sscanf(id, "issue-%d", &n); err == nil {
			return n
		}
	}
	return 0
}

// command is the command of a supervisor.
func (s *stage) command(m story.Member) []string {
	if st, ok := s.state(m); ok && supervisor.NotResumable(st) == "" {
		taken := st // a person who goes on with a cohort gives each story its sessions anew
		if supervisor.TakeUp(&taken, "", s.job.Limits()) == nil {
			return []string{"resume", st.Record.AutopilotRunID}
		}
	}
	return []string{"run", "--yes"}
}

// flagsOf are the settings that were typed for the cohort and hold for each of its stories.
func flagsOf(typed []config.Value) []string {
	cohort := map[string]bool{"source": true, "increments": true, "all-backlog": true, "metrics-dir": true, "sync": true, "task": true}
	for _, k := range config.StoryKeys() {
		cohort[k] = true
	}
	var out []string
	for _, v := range typed {
		if cohort[v.Key] || v.Key == "proceed-with-time-limit" {
			continue
		}
		for _, raw := range v.Raw {
			out = append(out, "--"+v.Key+"="+raw)
		}
	}
	return out
}

// place is where the records of a story are.
func (s *stage) place(m story.Member) job.Place {
	p := s.job.Place
	p.Story, p.Repo.Top = &shared.Task{Isolation: s.job.Cfg.Stories.Isolation, Folder: m.Folder}, m.Worktree
	return p
}

// state is the state of a story's last run in this cohort.
func (s *stage) state(m story.Member) (supervisor.State, bool) {
	spend, err := shared.LoadSpend(m.Folder)
	if err != nil || spend.RunID == "" {
		return supervisor.State{}, false
	}
	project, found, err := s.place(m).FindProject()
	if err != nil || !found {
		return supervisor.State{}, false
	}
	st, err := supervisor.LoadState(project.RunDir(spend.RunID))
	return st, err == nil
}

// Look reads how a story stands.
func (s *stage) Look(m story.Member) cohort.Standing {
	out := cohort.Standing{Words: s.lastWords(m)}
	if spend, err := shared.LoadSpend(m.Folder); err == nil {
		out.RunID, out.Sessions = spend.RunID, spend.Sessions
		out.Spent = killswitch.Spend{Tokens: spend.Tokens, CostUSD: spend.CostUSD}
	}
	out.Beat, _ = shared.LastBeat(m.Folder) // none yet is no sign of life
	if st, ok := s.state(m); ok {
		rec := st.Record
		out.Begun, out.Cause, out.ExitCode = true, rec.ExitCause, rec.ExitCode
		if rec.KillSwitch != nil {
			out.KillSwitch = killswitch.Reason(*rec.KillSwitch)
		}
		if rec.KillSwitchDetail != nil {
			out.Detail = *rec.KillSwitchDetail
		}
	}
	q, err := queue.Store{Path: job.QueueOf(m.Folder)}.Load()
	if err != nil || len(q.Items) == 0 {
		return out
	}
	it := q.Items[0]
	out.Why = it.Why
	switch it.Status {
	case queue.Done:
		if out.Cause == ending.CauseDone { // else a check of the run has failed, or it was cut short
			out.Item = story.Done
		}
	case queue.Failed, queue.Skipped:
		out.Item = story.Failed
	case queue.NeedsHuman:
		out.Item = story.Person
	}
	return out
}

// lastWords is the last line that the supervisor of a story printed: why it did not begin.
func (s *stage) lastWords(m story.Member) string {
	f, err := os.Open(filepath.Join(m.Folder, outputName))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	data, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return logs.Redact(gate.Plain(strings.Join(lines[max(0, len(lines)-2):], "; ")))
}
