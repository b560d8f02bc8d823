package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"autopilot/sessions/task"
)

func taskOptions() []Option {
	sources := list("task-sources", task.Usual(), "where tasks come from: "+strings.Join(task.Sources(), ", "), nil)
	sources.apply = func(c *Config, raw []string) (moved, error) {
		c.TaskSources = filled(strings.Split(strings.Join(raw, ","), ","))
		return moved{}, task.CheckSources(c.TaskSources)
	}
	files := list("task-files", []string{"PLAN.md", "TODO.md"}, "files with check boxes for the task source markdown, relative to the repository", nil)
	files.apply = func(c *Config, raw []string) (moved, error) {
		c.TaskFiles = filled(raw)
		for _, f := range c.TaskFiles {
			if !filepath.IsLocal(f) {
				return moved{}, fmt.Errorf("%q is no path inside the repository", f)
			}
		}
		return moved{}, nil
	}
	return []Option{
		sources, files,
		text("task-list", "", "task list of Claude Code that the sessions share; empty is one of the project's own", func(c *Config, v string) { c.TaskList = v }),
		text("task", "", "id of the task that --source tdd works on, test by test", func(c *Config, v string) { c.Task = v }),
		text("task-tag", "", "tag of that task; empty is the current one", func(c *Config, v string) { c.TaskTag = v }),
		boolean("no-mcp", "false", "give sessions no tool server of autopilot", func(c *Config, v bool) { c.NoMCP = v }),
		boolean("no-learning", "false", "keep no episodes and tell sessions nothing of earlier ones", func(c *Config, v bool) { c.NoLearning = v }),
		integer("episodes-kept", "10000", span[int]{100, 1_000_000}, "episodes that are kept to learn from; the oldest go first", func(c *Config, n int) { c.EpisodesKept = n }),
	}
}
