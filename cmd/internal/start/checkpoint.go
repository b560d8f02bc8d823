package start

import (
	"fmt"
	"path/filepath"

	"autopilot/cmd/internal/job"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// checkpoints tells of the state of a run and copies it into a folder of the person's
// choice.
func checkpoints(j job.Job, id string, tell func(supervisor.State)) func(supervisor.State) error {
	dir := j.Cfg.CheckpointDir
	if dir == "" {
		return func(s supervisor.State) error {
			tell(s)
			return nil
		}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(j.Repo.Top, dir)
	}
	return func(s supervisor.State) error {
		tell(s)
		if n := s.Carried.Iterations + s.Iteration; !s.Finished && n%j.Cfg.CheckpointInterval != 0 {
			return nil
		}
		if err := statedir.MakeDir(dir); err != nil {
			return err
		}
		return statedir.ReplaceJSON(filepath.Join(dir, fmt.Sprintf("%s-%d.json", id, s.Carried.Iterations+s.Iteration)), s)
	}
}
