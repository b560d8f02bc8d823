package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/config"
	"autopilot/metrics/statedir"
	"autopilot/sessions/binary"
	"autopilot/sessions/repo"
)

// place is the repository a command works on and everything that belongs to it.
type place struct {
	repo  repo.Repo
	cfg   config.Resolved
	state string // root of the state folders
}

// findRepo opens the repository that the command was started in.
func findRepo(c *cobra.Command) (repo.Repo, error) {
	dir, err := os.Getwd()
	if err != nil {
		return repo.Repo{}, usage("the working directory cannot be found: %v", err)
	}
	r, err := repo.Open(c.Context(), dir)
	if errors.Is(err, repo.ErrNotRepository) {
		return r, usageHint("go to the repository, or name it with -C DIR; 'git init' makes one", "%v", err)
	}
	if err != nil {
		return r, usage("%v", err)
	}
	return r, nil
}

// setUp finds the repository and resolves the configuration for it.
func setUp(c *cobra.Command, std Stdio, flags []config.Value) (place, error) {
	r, err := findRepo(c)
	if err != nil {
		return place{}, err
	}
	cfg, err := resolve(std, r.Top, flags)
	if err != nil {
		return place{}, err
	}
	root, err := statedir.Root(std.getenv, runtime.GOOS)
	if err != nil {
		return place{}, &codeError{code: exitUsage, err: err, hint: hintOf(err)}
	}
	return place{repo: r, cfg: cfg, state: root}, nil
}

// resolve reads all layers. Every problem of every layer is reported at once.
func resolve(std Stdio, top string, flags []config.Value) (config.Resolved, error) {
	user, err1 := config.LoadFile(config.UserFile(std.getenv), false)
	session, err2 := config.LoadSessionConfig(top)
	versioned, err3 := config.LoadFile(filepath.Join(top, config.RepoFile), true)
	if err := errors.Join(err1, err2, err3); err != nil {
		return config.Resolved{}, &codeError{code: exitUsage, err: err}
	}
	cfg, err := config.Resolve(user, session, versioned, config.FromEnv(std.Environ), flags)
	if err != nil {
		return cfg, &codeError{code: exitUsage, err: err, hint: "'autopilot config' shows every key, its value and where it came from"}
	}
	return cfg, nil
}

// metricsDir is the folder of the ledgers.
func (p place) metricsDir() string {
	if filepath.IsAbs(p.cfg.MetricsDir) {
		return p.cfg.MetricsDir
	}
	return filepath.Join(p.repo.Top, p.cfg.MetricsDir)
}

// lockPath is the lock of the project. It lies in the git folder of the work
// tree, so that supervisors with different state folders, such as cron's and a
// person's, exclude each other too.
func (p place) lockPath() string { return filepath.Join(p.repo.GitDir, "autopilot.lock") }

// worktree is the path of the work tree when it is not the repository's first.
func (p place) worktree() string {
	if filepath.Base(filepath.Dir(p.repo.GitDir)) == "worktrees" {
		return p.repo.Top
	}
	return ""
}

// findClaude resolves the claude binary to an absolute path.
func findClaude(name string) (string, error) {
	path, err := binary.Find(name)
	if err != nil {
		return "", usageHint("install Claude Code (npm install -g @anthropic-ai/claude-code), or name the binary with --claude PATH", "%v", err)
	}
	return path, nil
}

// claudeVersion asks the binary for its version.
func claudeVersion(ctx context.Context, path string, environ []string) (string, error) {
	ver, err := binary.Version(ctx, path, environ)
	if err != nil {
		return "", usageHint("run it by hand to see why", "%v", err)
	}
	return ver, nil
}
