package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"autopilot/probe/proctree"
	"autopilot/sessions/commit"
	"autopilot/sessions/launch"
	"autopilot/sessions/repo"
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

// tree makes the work tree of a story. One that waited for others begins at what they have
// done, which nobody may have merged yet.
func (s *stage) tree(ctx context.Context, m *story.Member, after []story.Member) error {
	branch, start := branchPrefix+m.ID, cmp.Or(m.Base, s.base.Commit)
	var merge []string
	if m.Base == "" {
		for _, a := range after {
			if s.count(ctx, &a); a.Commits == 0 {
				continue
			}
			merge = append(merge, a.Branch)
		}
		if len(merge) > 0 {
			start, merge = merge[0], merge[1:]
		}
	}
	t, err := s.trees.Add(ctx, m.ID, branch, start)
	// A supervisor that is ending has the tree for a moment still.
	for deadline := time.Now().Add(leftover); err != nil && m.Base != "" && s.heldTree(ctx, *m) && time.Now().Before(deadline); {
		time.Sleep(rescueLook)
		t, err = s.trees.Add(ctx, m.ID, branch, start)
	}
	if err != nil {
		return err
	}
	for _, b := range merge {
		if err := s.trees.Merge(ctx, t, b); err != nil {
			return err
		}
	}
	if m.Base == "" && !t.Made {
		s.log.Warn("the story goes on in the work tree that an earlier run has left", "story", m.ID, "worktree", t.Path, "branch", t.Branch)
	}
	if t.Made { // what was set up went with the one before
		if err := os.Remove(filepath.Join(m.Folder, setupMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	m.Worktree, m.Branch, m.Base = t.Path, t.Branch, t.Base
	return nil
}

// heldTree reports whether a supervisor works in the tree of a story.
func (s *stage) heldTree(ctx context.Context, m story.Member) bool {
	st, err := s.trees.Look(ctx, worktree.Tree{Path: m.Worktree, Branch: m.Branch, Base: m.Base})
	return err == nil && st.Held != "" && ctx.Err() == nil
}

// setUp runs the person's command in a new work tree, once.
func (s *stage) setUp(ctx context.Context, m story.Member) error {
	mark := filepath.Join(m.Folder, setupMark)
	command := s.job.Cfg.Stories.Setup
	if _, err := os.Stat(mark); command == "" || s.shared() || err == nil {
		return nil
	}
	runner := gate.Runner{Dir: m.Worktree, Environ: s.environ(), RunID: s.run, Token: s.token, APIKey: s.job.Cfg.UseAPIKey, Timeout: setupTime}
	for _, r := range runner.Run(ctx, []gate.Check{{Kind: gate.Command, Command: command, Given: true}}) {
		if !r.OK {
			return fmt.Errorf("story-setup %q: %s", command, r.Detail)
		}
	}
	return os.WriteFile(mark, nil, 0o600)
}

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

// settle puts in order what a story that has ended leaves: nobody holds money for it any
// more, and what its supervisor has written is committed.
func (s *stage) settle(m story.Member) {
	if spend, err := shared.LoadSpend(m.Folder); err == nil && spend.Reserved > 0 {
		spend.Reserved = 0
		if err := shared.SaveSpend(m.Folder, spend); err != nil {
			s.log.Warn("the budget of a story could not be given back", "story", m.ID, "err", logs.Redact(err.Error()))
		}
	}
	s.commitStatus(m)
}

// rescue waits for a supervisor whose guard was killed, which ends by itself then, ends what
// is left of its run and writes the records that are missing.
func (s *stage) rescue(m story.Member) {
	for deadline := time.Now().Add(leftover); time.Now().Before(deadline); {
		st, ok := s.state(m)
		if !ok || !st.Alive() {
			break
		}
		time.Sleep(rescueLook)
	}
	if st, ok := s.state(m); ok && st.Alive() {
		_ = syscall.Kill(st.PID, syscall.SIGKILL)
	}
	if err := s.recover(m); err != nil {
		s.log.Warn("the records of a story whose supervisor was killed are not complete", "story", m.ID, "err", logs.Redact(err.Error()))
	}
}

func (s *stage) recover(m story.Member) error {
	ctx, cancel := context.WithTimeout(context.Background(), rescueTime)
	defer cancel()
	p := s.place(m)
	project, found, err := p.FindProject()
	if err != nil || !found {
		return err
	}
	if !s.shared() {
		if p.Repo, err = repo.Open(ctx, m.Worktree); err != nil {
			return err
		}
	}
	lock, err := statedir.Acquire(ctx, p.LockPath(), statedir.Holder{})
	if err != nil {
		return err
	}
	_, err = supervisor.Recover(project, s.ledgers, nil)
	return errors.Join(err, lock.Release())
}

// commitStatus commits on the branch of a story that its increment is done, which its
// supervisor has written into the increment: what is done is to be seen where the work is.
func (s *stage) commitStatus(m story.Member) {
	q, err := queue.Store{Path: job.QueueOf(m.Folder)}.Load()
	if s.shared() || m.Kind != story.Increment || err != nil || len(q.Items) == 0 || q.Items[0].Status != queue.Done {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTime)
	defer cancel()
	file := ".specweave/increments/" + m.Story.Folder() + "/metadata.json"
	changed, err := s.trees.Changed(ctx, m.Worktree, "HEAD")
	if err == nil && !slices.Contains(changed, file) {
		return
	}
	var r repo.Repo
	if err == nil {
		r, err = repo.Open(ctx, m.Worktree)
	}
	if err == nil {
		_, err = commit.Tree{Repo: r, Environ: s.environ()}.Commit(ctx, commit.Commit{Branch: m.Branch, Message: "Mark increment " + m.Story.Folder() + " as completed\n", Files: []string{file}})
	}
	if err != nil {
		s.log.Warn("the status of an increment could not be committed", "story", m.ID, "err", logs.Redact(err.Error()))
	}
}

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

// Leave removes the work tree of a story that holds no work, and says why another is kept.
func (s *stage) Leave(ctx context.Context, m *story.Member) {
	if s.shared() {
		s.strays.Do(func() { s.stray(ctx) })
		return
	}
	t := worktree.Tree{Path: m.Worktree, Branch: m.Branch, Base: m.Base}
	if st, err := s.trees.Look(ctx, t); err == nil {
		m.Commits = st.Ahead
	}
	if !m.Status.Over() || m.Status == story.Stopped || m.Status == story.Person {
		m.Kept = "the story is not over: " + string(m.Status)
		return
	}
	removed, kept, err := s.trees.Remove(ctx, t)
	switch {
	case err != nil:
		m.Kept = logs.Redact(err.Error())
	case !removed:
		m.Kept = kept
	default:
		m.Kept, m.Worktree = "", ""
	}
}

// stray names what was changed in a shared tree outside of the paths that any story had.
func (s *stage) stray(ctx context.Context) {
	if s.head == "" || len(s.lanes) == 0 {
		return
	}
	changed, err := s.trees.Changed(ctx, s.job.Repo.Top, s.head)
	if err != nil {
		s.log.Warn("what was changed cannot be told", "err", logs.Redact(err.Error()))
		return
	}
	var out []string
	for _, f := range changed {
		if !story.Inside(s.lanes, f) && !strings.HasPrefix(f, ".orchestrator/") {
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		s.log.Warn("files were changed that no story was to change", "count", len(out), "first", logs.Redact(gate.Plain(out[0])))
	}
}

// count counts the commits of a story's branch, so that what waits for it begins at them.
func (s *stage) count(ctx context.Context, m *story.Member) {
	if st, err := s.trees.Look(ctx, worktree.Tree{Path: m.Worktree, Branch: m.Branch, Base: m.Base}); err == nil {
		m.Commits = st.Ahead
	}
}

// draft pushes the branch of a story and opens its draft request.
func (s *stage) draft(ctx context.Context, m story.Member) (string, error) {
	s.count(ctx, &m)
	if m.Commits == 0 {
		return "", nil
	}
	if err := forge.Push(ctx, m.Worktree, s.forge.Remote, m.Branch, forge.PushOptions{Environ: s.std.Environ, Defaults: []string{s.base.Branch}, Pinned: &s.push}); err != nil {
		return "", err
	}
	url, _, err := s.forge.OpenDraft(ctx, forge.Draft{Branch: m.Branch, Base: s.base.Branch, Title: m.Title, Body: draftBody(s.run, m), Closes: m.Issue})
	return url, err
}

func draftBody(run string, m story.Member) string {
	var b strings.Builder
	switch {
	case m.Issue != 0: // whose text is there already
	case m.Kind == story.Increment:
		fmt.Fprintf(&b, "Increment %s: %s\n\n", m.Story.Folder(), m.Title)
	default:
		fmt.Fprintf(&b, "%s\n\n", m.Goal)
	}
	fmt.Fprintf(&b, "Made by autopilot, run %s. Nobody has looked at it yet.\n", run)
	return logs.Redact(b.String())
}

// process is the guard of a story's supervisor.
type process struct {
	cmd        *exec.Cmd
	supervisor func() int
	rescue     func() // ends and records what a guard that was killed has left
	after      func() // is called when it has ended
	kill       sync.Once
}

func (p *process) PID() int { return p.cmd.Process.Pid }

func (p *process) Wait() int {
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
		p.rescue() // it was the guard: its supervisor may be at work still
	}
	p.after()
	return code
}

// End hands a termination to the supervisor, through its guard. One that is suspended is
// woken, so that it hears it.
func (p *process) End() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	if pid := p.child(); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Kill kills the supervisor, which its guard cleans up after, and the guard when that does
// not end either.
func (p *process) Kill() {
	p.kill.Do(func() {
		if pid := p.child(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			time.AfterFunc(killTime, func() { _ = p.cmd.Process.Kill() })
			return
		}
		_ = p.cmd.Process.Kill()
	})
}

// child is the supervisor when it still is the guard's child.
func (p *process) child() int {
	pid := p.supervisor()
	row, err := proctree.Read(proctree.Root, pid)
	if pid <= 1 || err != nil || row.PPID != p.cmd.Process.Pid {
		return 0
	}
	return pid
}

// readFile reads a regular file of limited length.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s is longer than %d bytes", path, mostBytes)
	}
	return os.ReadFile(path)
}
