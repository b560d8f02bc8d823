package job

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/source"
	"autopilot/supervisor/story/shared"
)

// storyOf is the story that this process is the supervisor of, as its coordinator says, or
// nil.
func storyOf(std outside.Stdio) (*shared.Task, error) {
	folder := std.Getenv(launch.StoryVar)
	if folder == "" {
		return nil, nil
	}
	t, err := shared.LoadTask(folder)
	if err != nil {
		return nil, outside.UsageHint("unset "+launch.StoryVar+"; only a coordinator of stories sets it", "%v", err)
	}
	return &t, nil
}

// inStory puts what the cohort says over the settings: a story has one piece of work, and
// its records are kept where the cohort's are.
func (p *Place) inStory(t *shared.Task) {
	p.Story = t
	c := &p.Cfg.Config
	c.Source, c.MetricsDir = config.SourceQueue, t.Metrics
	c.Stories = config.Stories{NoSuitability: true}
	c.Night.Increments, c.Night.AllBacklog, c.Night.Sync = nil, false, nil
}

// FindProject is the state folder of the place; found is false when it has none yet.
func (p Place) FindProject() (statedir.Project, bool, error) {
	return statedir.FindProject(p.State, p.projectPath())
}

// OpenProject is FindProject that makes the folder.
func (p Place) OpenProject() (statedir.Project, error) {
	return statedir.OpenProject(p.State, p.projectPath())
}

// projectPath is what the state folder belongs to: the work tree, or the story where
// several are worked on in one.
func (p Place) projectPath() string {
	if p.Story != nil && p.Story.SharesTree() {
		return p.Story.Folder
	}
	return p.Repo.Top
}

// LockPath is the lock of the project. It lies in the git folder of the work
// tree, so that supervisors with different state folders, such as cron's and a
// person's, exclude each other too. Of stories in one tree their coordinator holds it.
func (p Place) LockPath() string {
	if p.Story != nil && p.Story.SharesTree() {
		return filepath.Join(p.Story.Folder, statedir.RunLock)
	}
	return filepath.Join(p.Repo.GitDir, statedir.RunLock)
}

// Night is what the work tree has for unattended work. Its state folder is made when create
// is set and there is none. A story has a queue of its own, and the rest in common with the
// repository that it is for: a person approves calls in one place.
func (p Place) Night(create bool) (night.Night, error) {
	if p.Story == nil {
		return night.Open(p.State, p.Repo.Top, p.Cfg.Config, create)
	}
	n, err := night.Open(p.State, p.Story.Main, p.Cfg.Config, create)
	if err != nil {
		return n, err
	}
	own, found, err := p.FindProject()
	if err != nil {
		return n, err
	}
	if found {
		n.Protected = append(n.Protected, own.Dir)
	}
	if p.Story.Worktree != p.Story.Main { // what is ours among the trees is on record beside them
		n.Protected = append(n.Protected, filepath.Join(filepath.Dir(p.Story.Worktree), ".trees"))
	}
	n.Repo, n.Queue.Path = p.Repo.Top, QueueOf(p.Story.Folder)
	for _, pattern := range p.Story.Lane { // a folder stands for what is below it
		n.Lane = append(n.Lane, pattern)
		if !strings.ContainsAny(path.Base(pattern), "*?[{") {
			n.Lane = append(n.Lane, strings.TrimSuffix(pattern, "/")+"/**")
		}
	}
	return n, nil
}

// QueueOf is the queue of the story with a folder; it has one item.
func QueueOf(folder string) string { return filepath.Join(folder, "queue.json") }

// Stories stands for several pieces of work where a run says what it works on. It has no
// sessions of its own.
type Stories struct{}

// Name is the name of the source.
func (Stories) Name() string { return "stories" }

// Next has nothing to do for a session.
func (Stories) Next(source.Request) source.Assignment { return source.Assignment{} }

// manySource refuses what does not go with several stories at once.
func (j Job) manySource() (supervisor.Source, error) {
	switch {
	case j.Goal != "":
		return nil, outside.UsageHint("'autopilot queue add --goal TEXT' puts a goal into the queue; --stories FILE names several", "--multi-story takes no goal, got %q", j.Goal)
	case !slices.Contains([]string{config.SourceAuto, config.SourceQueue}, j.Cfg.Source):
		return nil, outside.UsageHint("leave out one of the two", "--multi-story works on stories, and --source is %s", j.Cfg.Source)
	case j.Cfg.Mode == config.ModeContinuous:
		return nil, outside.UsageHint("leave out --mode", "--multi-story ends when its stories are over; it has no mode continuous")
	}
	return Stories{}, nil
}
