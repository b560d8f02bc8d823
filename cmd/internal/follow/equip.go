package follow

import (
	"slices"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/episode"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
	"autopilot/sessions/prompt"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

// recalled is how many earlier episodes advice is drawn from.
const recalled = 10

// Equip gives each session the hook that holds calls, and its desk: a folder with the
// state that its Stop hook and its tool server share.
func Equip(std outside.Stdio, j job.Job, w Run) func(*sessions.Spec) error {
	project, n := w.Project, w.Night
	return func(s *sessions.Spec) error {
		if err := n.HoldCalls(std, s); err != nil {
			return err
		}
		if t := j.Story; t != nil {
			s.Notice += prompt.Story(t.Branch, t.Isolation == string(story.Worktree), t.Lane)
		}
		if j.Cfg.NoMCP && !j.OnTasks() {
			return nil
		}
		folder := sessions.DeskFolder(s.Folder)
		place := j.TaskPlace(std)
		place.Session, place.GH, place.ListID = string(s.Conversation()), nil, j.SessionList(std, s.RunID)
		d := completion.Desk{
			Folder: folder, Place: place, Session: string(s.Conversation()), ReportFile: sessions.ReportPath(s.Folder), Cap: j.Cfg.EpisodesKept, Supervised: true,
			Defaults: completion.Settings{TaskSources: j.Cfg.TaskSources},
		}
		if !j.Cfg.NoLearning {
			d.Episodes = job.EpisodesDir(project)
		}
		if err := completion.Post(folder, d, j.OnTasks()); err != nil {
			return err
		}
		s.ReportFile = d.ReportFile
		s.Variables = append(slices.Clone(s.Variables), launch.DeskVar+"="+folder)
		if j.OnTasks() && !j.Cfg.NoMCP { // without tools it reports at its end, which no hook survives
			s.StopHook = launch.Quote(std.Self) + " hook stop " + launch.Quote(folder)
		}
		s.Server = j.Server(std, folder)
		return nil
	}
}

// Memory connects a run with the episodes of its project.
func Memory(j job.Job, w Run, o *supervisor.Options) (err error) {
	project, log := w.Project, w.Log
	if j.Cfg.NoLearning {
		return nil
	}
	if j.Story != nil { // what it teaches outlives its work tree
		if project, err = statedir.OpenProject(j.State, j.Story.Main); err != nil {
			return err
		}
	}
	store := episode.Open(job.EpisodesDir(project), episode.Options{Keep: j.Cfg.EpisodesKept})
	o.Learn = func(e episode.Episode) error {
		_, err := store.Append(e)
		return err
	}
	o.Recall = func(work string) []string {
		matches, err := store.Recall(work, recalled)
		if err != nil {
			log.Warn("earlier episodes cannot be read", "err", err.Error())
			return nil
		}
		return episode.Advise(matches).Recommendations
	}
	return nil
}
