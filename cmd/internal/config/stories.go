package config

import (
	"errors"
	"fmt"
	"slices"

	"autopilot/supervisor/story"
	"autopilot/supervisor/suitability"
)

// GroupStories is the group of the options for many at once.
const GroupStories = "stories"

// Values of the story-base option: which head of the default branch stories begin at.
const (
	BaseLocal  = "local"
	BaseRemote = "remote"
)

// Values of the issue-authors option.
const (
	AuthorsKnown  = "collaborators"
	AuthorsAnyone = "anyone"
)

// Values of the draft-pr option.
const (
	DraftOff     = "off"
	DraftOnStart = "on-start"
	DraftOnGreen = "on-green"
)

// Values of the on-conflict option.
const (
	ConflictRefuse   = "refuse"
	ConflictWait     = "wait"
	ConflictWorktree = "worktree"
)

// Stories says how several pieces of work are done at once, and what is done where
// somebody else is at work.
type Stories struct {
	Multi     bool
	Max       int    // at once
	File      string // with stories, relative to the repository; empty for none
	Label     string // of issues that are stories; empty for none
	Authors   string // of those issues: collaborators or anyone
	Isolation string // worktree or none
	Lanes     []string
	Base      string // local or remote
	Dir       string // of the work trees; empty for one below the state folder
	Setup     string // shell command in a new work tree
	Draft     string
	Conflict  string

	NoSuitability bool
	Autonomy      string  // empty when nobody has said
	Floor         float64 // 0..1

	Decay      bool    // learnings lose trust with time
	HalfLife   float64 // days after which one has half its confidence
	DecayFloor float64 // share of its confidence that it keeps, 0..1
}

func storyOptions() []Option {
	lanes := list("deconflict-paths", nil, "with bg-isolation none: paths (globs) that stories without paths of their own may change, one story each; may be repeated", nil)
	lanes.apply = func(c *Config, raw []string) (moved, error) {
		c.Stories.Lanes = nil
		for _, r := range raw {
			c.Stories.Lanes = append(c.Stories.Lanes, story.Patterns(r)...)
		}
		for _, p := range c.Stories.Lanes {
			if err := story.CheckPattern(p); err != nil {
				return moved{}, err
			}
		}
		return moved{}, nil
	}
	dir := grouped(GroupStories, text("worktree-dir", "", "folder of the stories' work trees; empty is one in the state folder", func(c *Config, v string) { c.Stories.Dir = v }))
	dir.NotInRepo = true
	draft := choice("draft-pr", DraftOff, []string{DraftOff, DraftOnStart, DraftOnGreen}, "push a story's branch and open a draft pull or merge request through gh or glab: off, at its first commit, or when it is done", func(c *Config, v string) { c.Stories.Draft = v })
	floor := grouped(GroupStories, number("confidence-floor", "0.5", span[float64]{0, 1}, "confidence from which a run is suitable to start without asking", func(c *Config, v float64) { c.Stories.Floor = v }))
	floor.trusted = func(raw []string) bool { // a repository can only be more careful
		_, v, err := oneNumber(raw)
		return err != nil || v >= 0.5
	}
	setup := grouped(GroupStories, text("story-setup", "", "shell command that is run in a new work tree, such as npm ci", func(c *Config, v string) { c.Stories.Setup = v }))
	setup.NotInRepo = true
	multi := boolean("multi-story", "false", "work on several stories at once, each in a work tree of its own: those of --stories or --issues, else the queue's", func(c *Config, v bool) { c.Stories.Multi = v })
	multi.NotInRepo = true
	label := text("issues", "", "`LABEL` of the open issues on GitHub or GitLab that are stories", func(c *Config, v string) { c.Stories.Label = v })
	label.NotInRepo = true
	authors := grouped(GroupStories, choice("issue-authors", AuthorsKnown, []string{AuthorsKnown, AuthorsAnyone}, "whose issues are stories: those of collaborators, or anyone's, who then writes what a session is told", func(c *Config, v string) { c.Stories.Authors = v }))
	authors.NotInRepo = true
	unasked := boolean("no-suitability", "false", "start without asking whether the machine, CI and the last runs speak for it", func(c *Config, v bool) { c.Stories.NoSuitability = v })
	unasked.NotInRepo = true
	draft.trusted = func(raw []string) bool { return slices.Equal(filled(raw), []string{DraftOff}) }
	return []Option{
		multi,
		integer("max-stories", "3", span[int]{1, 10}, "stories at once", func(c *Config, n int) { c.Stories.Max = n }),
		text("stories", "", "YAML `FILE` with stories", func(c *Config, v string) { c.Stories.File = v }),
		label, authors,
		choice("bg-isolation", string(story.Worktree), []string{string(story.Worktree), string(story.None)}, "where stories work: each in a work tree, or none: all in this one, which needs --deconflict-paths", func(c *Config, v string) { c.Stories.Isolation = v }),
		lanes,
		grouped(GroupStories, choice("story-base", BaseLocal, []string{BaseLocal, BaseRemote}, "head of the default branch that stories begin at", func(c *Config, v string) { c.Stories.Base = v })),
		dir,
		setup,
		draft,
		choice("on-conflict", ConflictRefuse, []string{ConflictRefuse, ConflictWait, ConflictWorktree}, "what to do where another session or run works in the repository", func(c *Config, v string) { c.Stories.Conflict = v }),
		unasked,
		grouped(GroupStories, boolean("learning-decay", "true", "learnings lose trust with time when a mode is chosen", func(c *Config, v bool) { c.Stories.Decay = v })),
		grouped(GroupStories, number("learning-half-life", "90", span[float64]{0.01, 10000}, "days after which a learning has half its confidence", func(c *Config, v float64) { c.Stories.HalfLife = v })),
		grouped(GroupStories, number("learning-decay-floor", "0.1", span[float64]{0, 1}, "share of its confidence that a learning keeps", func(c *Config, v float64) { c.Stories.DecayFloor = v })),
		autonomy(),
		floor,
	}
}

// StoryKeys are the keys of the options that a cohort decides for its stories.
func StoryKeys() []string {
	var keys []string
	for _, o := range storyOptions() {
		keys = append(keys, o.Key)
	}
	return keys
}

// autonomy is the dial for starts that nobody has confirmed.
func autonomy() Option {
	o := grouped(GroupStories, text("autonomy", "", "what follows from an unfavourable verdict: off and advisory ask at a terminal and only tell without one, autonomous-gated refuses without one; empty is off", nil))
	o.apply = func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		if _, ok := suitability.ParseDial(s); !ok && s != "" {
			return moved{}, fmt.Errorf("%q is none of off, advisory, autonomous-gated", s)
		}
		c.Stories.Autonomy = s
		return moved{}, nil
	}
	o.trusted = func(raw []string) bool { // a repository can only be more careful
		return slices.Equal(filled(raw), []string{string(suitability.AutonomousGated)})
	}
	o.Group = ""
	return o
}

// CheckStories refuses what does not go together, and says what to do.
func (c Config) CheckStories() (way string, err error) {
	s := c.Stories
	switch {
	case !s.Multi && s.File != "":
		return "add --multi-story", errors.New("--stories is for --multi-story")
	case !s.Multi && s.Label != "":
		return "add --multi-story", errors.New("--issues is for --multi-story")
	case s.File != "" && s.Label != "":
		return "leave out one of the two", errors.New("--stories and --issues exclude each other")
	case s.Multi && s.Isolation == string(story.None) && s.Draft != DraftOff:
		return "leave bg-isolation at worktree, or leave out --draft-pr", errors.New("without a work tree a story has no branch to open a draft for")
	case len(s.Lanes) > 0 && !(s.Multi && s.Isolation == string(story.None)):
		return "add --multi-story --bg-isolation none, or leave it out", errors.New("--deconflict-paths is for stories without isolation")
	case s.Multi && c.Task != "":
		return "leave out one of the two", errors.New("--task is for --source tdd, and --multi-story has sources of its own")
	case s.File+s.Label != "" && (len(c.Night.Increments) > 0 || c.Night.AllBacklog):
		return "leave out one of the two", errors.New("--increments and --all-backlog are for the stories of the queue")
	case s.Multi && s.Isolation == string(story.None) && s.Max > 1 && len(s.Lanes) == 0:
		return "give each story paths of its own with --deconflict-paths GLOB, or leave bg-isolation at worktree",
			fmt.Errorf("bg-isolation none with max-stories %d lets stories edit the same files", s.Max)
	}
	return "", nil
}
