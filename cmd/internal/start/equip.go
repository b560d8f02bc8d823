package start

import (
	"log/slog"
	"slices"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/episode"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
)

// recalled is how many earlier episodes advice is drawn from.
const recalled = 10

// equip gives each session the hook that holds calls, and its desk: a folder with the
// state that its Stop hook and its tool server share.
func equip(std outside.Stdio, j job.Job, project statedir.Project, n night.Night) func(*sessions.Spec) error {
	return func(s *sessions.Spec) error {
		if err := n.HoldCalls(std, s); err != nil {
			return err
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

// memory connects a run with the episodes of its project.
func memory(j job.Job, project statedir.Project, log *slog.Logger, o *supervisor.Options) {
	if j.Cfg.NoLearning {
		return
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
}
