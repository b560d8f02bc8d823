package stories

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions/commit"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/shared"
)

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
