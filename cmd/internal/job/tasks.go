package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
	"autopilot/sessions/task"
	"autopilot/supervisor/source"
)

// listVar names the variable from which Claude Code takes the name of its task list.
const listVar = "CLAUDE_CODE_TASK_LIST_ID"

// ghTime bounds one question to GitHub.
const ghTime = 30 * time.Second

// OnTasks reports whether the job works on tasks.
func (j Job) OnTasks() bool {
	_, ok := j.Source.(*source.Tasks)
	return ok
}

// taskSource is the source of work that the tasks are. What a session could not reach,
// the lists of other sessions, is left out.
func (j Job) taskSource(std outside.Stdio) *source.Tasks {
	place := j.TaskPlace(std)
	place.Session = place.ListID
	return &source.Tasks{
		Discover: func(ctx context.Context) task.Found { return task.Discover(ctx, place, j.Cfg.TaskSources) },
		Again:    []time.Duration{100 * time.Millisecond, 2 * time.Second}, Report: j.Cfg.NoMCP,
	}
}

// Tasks are the tasks of the project as they are now.
func (p Place) Tasks(ctx context.Context, std outside.Stdio) task.Found {
	return task.Discover(ctx, p.TaskPlace(std), p.Cfg.TaskSources)
}

// TaskPlace says where the tasks of the project are.
func (p Place) TaskPlace(std outside.Stdio) task.Place {
	return task.Place{
		Repo: p.Repo.Top, Config: launch.ConfigDir(std.Environ), ListID: p.TaskList(std), Files: p.Cfg.TaskFiles,
		GH: func(ctx context.Context, args ...string) ([]byte, error) {
			return gh(ctx, p.Repo.Top, std.Environ, args)
		},
	}
}

// localPlace is TaskPlace without the network: a question that many commands ask in
// passing.
func (p Place) localPlace(std outside.Stdio) task.Place {
	place := p.TaskPlace(std)
	place.GH = nil
	return place
}

// TaskList is the task list of Claude Code that sessions of this project share.
func (p Place) TaskList(std outside.Stdio) string {
	if p.Cfg.TaskList != "" {
		return p.Cfg.TaskList
	}
	if id := std.Getenv(listVar); id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(p.Repo.Top))
	return "autopilot-" + hex.EncodeToString(sum[:6])
}

func gh(ctx context.Context, dir string, environ, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ghTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gh", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environ, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // and what it has started
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		return out, fmt.Errorf("gh: %w: %s", err, exit.Stderr)
	}
	return out, err
}

// taskVariables are the variables without which Claude Code writes no tasks when
// nobody sits at it.
func taskVariables() []string {
	return []string{"CLAUDE_CODE_ENABLE_TASKS=1", "CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}
}

// SessionList is the task list of the sessions of a run: that of the project where it
// works on tasks, else one of its own.
func (j Job) SessionList(std outside.Stdio, runID string) string {
	if j.OnTasks() || j.Cfg.TaskList != "" {
		return j.TaskList(std)
	}
	return runID
}

// TaskListVariable tells a session which task list is its own.
func (j Job) TaskListVariable(std outside.Stdio, runID string) string {
	return listVar + "=" + j.SessionList(std, runID)
}

// Server is the command line of the tool server of a session whose desk is in a
// folder; nil when it gets none.
func (j Job) Server(std outside.Stdio, desk string) []string {
	if j.Cfg.NoMCP {
		return nil
	}
	return []string{std.Self, "mcp", desk}
}

// Desk is the desk of persistent completion of this project. The folder of a project
// that has none yet is made when create is set; else the desk is empty.
func (p Place) Desk(std outside.Stdio, create bool) (completion.Desk, error) {
	d := completion.Desk{
		Folder: filepath.Join(p.State, "none"), Place: p.localPlace(std), Session: std.Getenv("CLAUDE_CODE_SESSION_ID"), Cap: p.Cfg.EpisodesKept,
	}
	var err error
	if d.Defaults, err = p.completionDefaults(); err != nil {
		return d, err
	}
	project, found, err := p.FindProject()
	if err == nil && !found && create {
		project, err = p.OpenProject()
		found = true
	}
	if err != nil {
		return d, err
	}
	if found {
		d.Folder = CompletionDir(project)
		if !p.Cfg.NoLearning {
			d.Episodes = EpisodesDir(project)
		}
	}
	return d, nil
}

// CompletionDir is where the states of persistent completion are.
func CompletionDir(p statedir.Project) string { return filepath.Join(p.Dir, "completion") }

// EpisodesDir is where the episodes of a project are.
func EpisodesDir(p statedir.Project) string { return filepath.Join(p.Dir, "episodes") }
