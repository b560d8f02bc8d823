package job

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/binary"
	"autopilot/sessions/repo"
	"autopilot/supervisor/story/shared"
)

// Place is the repository a command works on and everything that belongs to it.
type Place struct {
	Repo  repo.Repo
	Cfg   config.Resolved
	State string // root of the state folders
	Bare  bool   // the settings are not read
	// Story is what the place is for when this process is the supervisor of a story.
	Story *shared.Task
	// Layers are the settings as they were given, lowest first.
	Layers [][]config.Value
}

// FindRepo opens the repository that the command was started in.
func FindRepo(ctx context.Context) (repo.Repo, error) {
	dir, err := os.Getwd()
	if err != nil {
		return repo.Repo{}, outside.Usage("the working directory cannot be found: %v", err)
	}
	r, err := repo.Open(ctx, dir)
	if errors.Is(err, repo.ErrNotRepository) {
		return r, outside.UsageHint("go to the repository, or name it with -C DIR; 'git init' makes one", "%v", err)
	}
	if err != nil {
		return r, outside.Usage("%v", err)
	}
	return r, nil
}

// SetUp finds the repository and resolves the configuration for it.
func SetUp(ctx context.Context, std outside.Stdio, flags []config.Value) (Place, error) {
	return setUpFrom(ctx, std, flags, "")
}

// setUpFrom is SetUp with the settings and ledgers of another work tree of the repository,
// where from is the top of one.
func setUpFrom(ctx context.Context, std outside.Stdio, flags []config.Value, from string) (Place, error) {
	r, err := FindRepo(ctx)
	if err != nil {
		return Place{}, err
	}
	t, err := storyOf(std)
	if err != nil {
		return Place{}, err
	}
	top := cmp.Or(from, r.Top)
	if t != nil { // all stories of a cohort have the settings of the tree that it was started in
		top = t.Main
	}
	layers, err := readLayers(std, top, flags)
	if err != nil {
		return Place{}, err
	}
	cfg, err := resolve(layers)
	if err != nil {
		return Place{}, err
	}
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return Place{}, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	p := Place{Repo: r, Cfg: cfg, State: root, Layers: layers}
	switch {
	case t != nil:
		p.inStory(t)
	case from != "" && !filepath.IsAbs(cfg.MetricsDir):
		p.Cfg.MetricsDir = filepath.Join(from, cfg.MetricsDir)
	}
	return p, nil
}

// SetUpBare finds the repository alone, with every setting at its default: for what
// has to work also when the settings are broken.
func SetUpBare(ctx context.Context, std outside.Stdio) (Place, error) {
	r, err := FindRepo(ctx)
	if err != nil {
		return Place{}, err
	}
	cfg, err := config.Resolve()
	if err != nil {
		return Place{}, err
	}
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return Place{}, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return Place{Repo: r, Cfg: cfg, State: root, Bare: true}, nil
}

// Resolve reads all layers. Every problem of every layer is reported at once.
func Resolve(std outside.Stdio, top string, flags []config.Value) (config.Resolved, error) {
	layers, err := readLayers(std, top, flags)
	if err != nil {
		return config.Resolved{}, err
	}
	return resolve(layers)
}

func readLayers(std outside.Stdio, top string, flags []config.Value) ([][]config.Value, error) {
	user, err1 := config.LoadFile(config.UserFile(std.Getenv), false)
	session, err2 := config.LoadSessionConfig(top)
	master, err3 := config.LoadTaskMaster(top)
	weave, err4 := config.LoadSpecWeave(top)
	versioned, err5 := config.LoadFile(filepath.Join(top, config.RepoFile), true)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	return [][]config.Value{user, session, master, weave, versioned, config.FromDispatcher(std.Getenv), config.FromEnv(std.Environ), flags}, nil
}

func resolve(layers [][]config.Value) (config.Resolved, error) {
	cfg, err := config.Resolve(layers...)
	if err != nil {
		return cfg, &outside.Error{Code: outside.ExitUsage, Err: err, Way: "'autopilot config' shows every key, its value and where it came from"}
	}
	return cfg, nil
}

// MetricsDir is the folder of the ledgers.
func (p Place) MetricsDir() string {
	if filepath.IsAbs(p.Cfg.MetricsDir) {
		return p.Cfg.MetricsDir
	}
	return filepath.Join(p.Repo.Top, p.Cfg.MetricsDir)
}

// Worktree is the path of the work tree when it is not the repository's first.
func (p Place) Worktree() string {
	if filepath.Base(filepath.Dir(p.Repo.GitDir)) == "worktrees" {
		return p.Repo.Top
	}
	return ""
}

// FindClaude resolves the claude binary to an absolute path.
func FindClaude(name string) (string, error) {
	path, err := binary.Find(name)
	if err != nil {
		return "", outside.UsageHint("install Claude Code (npm install -g @anthropic-ai/claude-code), or name the binary with --claude PATH", "%v", err)
	}
	return path, nil
}

// ClaudeVersion asks the binary for its version.
func ClaudeVersion(ctx context.Context, path string, environ []string) (string, error) {
	ver, err := binary.Version(ctx, path, environ)
	if err != nil {
		return "", outside.UsageHint("run it by hand to see why", "%v", err)
	}
	return ver, nil
}

// Personal resolves those options that no repository can set, by the prefix of their keys.
// It needs no repository, and what is wrong with other settings does not touch it.
func Personal(std outside.Stdio, prefix string) (config.Resolved, error) {
	user, err := config.LoadFile(config.UserFile(std.Getenv), false)
	if err != nil {
		return config.Resolved{}, &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	other := func(v config.Value) bool { return !strings.HasPrefix(v.Key, prefix) }
	return resolve([][]config.Value{slices.DeleteFunc(user, other), slices.DeleteFunc(config.FromEnv(std.Environ), other)})
}
