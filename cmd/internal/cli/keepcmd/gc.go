package keepcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/keep"
)

// Commands are 'gc' and 'export'.
func Commands(std outside.Stdio) []*cobra.Command {
	return []*cobra.Command{gcCommand(std), exportCommand(std)}
}

// cleaning is one call of 'gc'.
type cleaning struct {
	std    outside.Stdio
	root   string
	tree   string // whose runs are meant; empty for all
	policy keep.Policy
	now    time.Time
	asJSON bool
}

func gcCommand(std outside.Stdio) *cobra.Command {
	var all, yes, asJSON bool
	var p keep.Policy
	c := &cobra.Command{
		Use: "gc", Short: "Remove the folders of old runs, and compress their messages; without --yes only say what would be done", Args: arg.None,
		Long: "Remove the state folders of runs that ended longer ago than --keep-days and are not among the latest --keep-runs\nof their work tree, and compress the messages of sessions of ended runs. Without --yes it only says what it\nwould do; on a terminal it asks.\n\n" +
			"Kept whatever their age are runs that are on, open, the last one, can be continued or are continued by such a\nrun, cohorts whose stories can go on or whose work trees are there, and what a question, a gate, the queue, a\ntest-driven workflow or an update that was not delivered refers to. Ledgers, conversations and work trees are\nnever touched.\n\n" +
			"Exit status 3 when something could not be removed.",
		Example: "  autopilot gc\n  autopilot gc --keep-days 90 --yes\n  autopilot gc --all-projects --orphans\n  autopilot schedule install --at 12:00 -- gc --all-projects --yes",
	}
	values := map[string]*string{}
	for _, o := range config.Options() {
		if o.Group == config.GroupKeep {
			values[o.Key] = c.Flags().String(o.Key, "", fmt.Sprintf("%s (%s) [%s]", o.Help, o.Bounds, o.Default))
		}
	}
	c.Flags().BoolVar(&all, "all-projects", false, "the runs of all repositories on this machine")
	c.Flags().BoolVar(&p.Resumable, "include-resumable", false, "also runs that could be continued")
	c.Flags().BoolVar(&p.Orphans, "orphans", false, "also the whole state of work trees that are gone")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	c.Flags().BoolVar(&yes, "apply", false, "the same as --yes")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var given []config.Value
		for key, v := range values {
			if c.Flags().Changed(key) {
				given = append(given, config.Value{Key: key, Raw: []string{*v}, Origin: "flag --" + key})
			}
		}
		g := cleaning{std: std, now: time.Now(), policy: p, asJSON: asJSON}
		if err := g.setUp(c.Context(), given, all); err != nil {
			return err
		}
		return g.run(c.Context(), yes)
	}
	return c
}

// setUp reads the settings: those of the person, of the environment and what was typed. A
// repository has no say.
func (g *cleaning) setUp(ctx context.Context, given []config.Value, all bool) error {
	user, err := config.LoadFile(config.UserFile(g.std.Getenv), false)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	cfg, err := config.Resolve(user, config.FromEnv(g.std.Environ), given)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: "'autopilot config' shows every key, its value and where it came from"}
	}
	g.policy.Days, g.policy.Runs, g.policy.CompressAfter = cfg.Keep.Days, cfg.Keep.Runs, cfg.Keep.CompressAfter
	root, err := statedir.Root(g.std.Getenv, runtime.GOOS)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil { // where it is not there is nothing to do
		root = real
	}
	g.root = root
	if all {
		return nil
	}
	r, err := job.FindRepo(ctx)
	if err != nil {
		return outside.UsageHint("go to the repository, or say --all-projects", "%v", err)
	}
	g.tree = r.Top
	return nil
}

func (g *cleaning) run(ctx context.Context, yes bool) error {
	items, problems := g.look(ctx)
	for _, p := range problems {
		fmt.Fprintf(g.std.Err, "autopilot: %s\n", plain(p.Error()))
	}
	work := slices.ContainsFunc(items, func(it keep.Item) bool { return it.Action != keep.Retain })
	if !yes && !g.asJSON && work && g.std.Asks() {
		if err := g.std.Say("%s", planText(items)); err != nil {
			return err
		}
		reply, err := g.std.Ask(ctx, "Do it? [y/N] ")
		if err != nil {
			return err
		}
		yes = strings.EqualFold(reply, "y") || strings.EqualFold(reply, "yes")
	} else if !yes && !g.asJSON {
		return g.std.Say("%s", planText(items)+dryEnd(work))
	}
	if !yes {
		if g.asJSON {
			return g.std.JSON(g.view(items, nil, problems))
		}
		return g.std.Say("nothing was done\n")
	}
	if err := g.byPerson(ctx); err != nil {
		return err
	}
	done, err := keep.Apply(ctx, keep.Options{Root: g.root, Policy: g.policy, Lock: g.locks()}, items, g.now)
	if g.asJSON {
		err = errors.Join(g.std.JSON(g.view(items, done, problems)), err)
	} else {
		err = errors.Join(g.std.Say("%s", doneText(items, done)), err)
	}
	return errors.Join(err, failed(done))
}

func (g *cleaning) look(ctx context.Context) ([]keep.Item, []error) {
	projects, problems := keep.Look(ctx, g.root, g.now)
	items := keep.Decide(projects, g.policy, g.now)
	if g.tree != "" {
		items = keep.Of(items, projects, g.root, g.tree)
	}
	return items, problems
}

// locks names the lock of a work tree, and asks git only once for each.
func (g *cleaning) locks() func(context.Context, string) (string, error) {
	known := map[string]string{}
	return func(ctx context.Context, tree string) (string, error) {
		if name, ok := known[tree]; ok {
			return name, nil
		}
		name, err := lockOf(ctx, g.root, tree)
		if err == nil {
			known[tree] = name
		}
		return name, err
	}
}

func lockOf(ctx context.Context, root, tree string) (string, error) {
	if info, err := os.Stat(tree); err != nil || !info.IsDir() {
		return "", nil // no supervisor can begin there
	}
	if strings.HasPrefix(tree, root+string(filepath.Separator)+"projects"+string(filepath.Separator)) {
		return filepath.Join(tree, statedir.RunLock), nil // a story that shared a tree with others
	}
	r, err := repo.Open(ctx, tree)
	if errors.Is(err, repo.ErrNotRepository) || err == nil && r.Top != tree {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(r.GitDir, statedir.RunLock), nil
}

// byPerson refuses to remove anything inside a session of any run of this machine.
func (g *cleaning) byPerson(ctx context.Context) error {
	if err := nightcmd.ByPerson(ctx, g.std, "gc"); err != nil {
		return err
	}
	if id := fleet.Inside(ctx, fleet.Options{Root: g.root, Now: g.now}, os.Getpid()); id != "" {
		return outside.UsageHint("a person does it, in a shell of their own", "gc is not for a session of autopilot, and this is one of run %s", id)
	}
	return nil
}

// failed is the error for what could not be done.
func failed(done []keep.Done) error {
	var bad []error
	for _, d := range done {
		if d.Err != nil {
			bad = append(bad, fmt.Errorf("%s %s: %w", d.Action, named(d.Item), d.Err))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &outside.Error{Code: supervisor.ExitFailures, Err: errors.Join(bad...), Way: "make it writable, and run gc again"}
}
