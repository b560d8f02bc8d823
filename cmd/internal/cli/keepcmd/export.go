package keepcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/keep/bundle"
)

// exporting is one call of 'export'.
type exporting struct {
	std        outside.Stdio
	file       string // empty for one named after the run
	force      bool
	transcript bool
	keepPaths  bool
	now        time.Time
}

func exportCommand(std outside.Stdio) *cobra.Command {
	e := exporting{std: std}
	c := &cobra.Command{
		Use: "export [RUN]", Short: "Pack a run into one archive for a bug report, without what looks like a secret", Args: arg.AtMost(1),
		Long: "Pack all that was written down of a run, the last one unless RUN names another: its folder, its lines of the\nledgers, its report, the settings and the version, with the runs of its stories where it has some. A run may be on,\nand one whose folder is gone has its lines in the ledgers.\n\n" +
			"What looks like a secret is taken out, and so are the values of secrets in the environment, the home folder,\nthe names of user and host; of long files the middle is left out. manifest.json in the archive says what was\nfound and what is missing. Look through the files before you send them: what does not look like a secret is not\nfound. The output of 'autopilot doctor' is not in it, which finishes killed runs and so changes what is packed.",
		Example: "  autopilot export\n  autopilot export main-2026-01-31-2200-autopilot -o /srv/report.tar.gz",
	}
	c.Flags().StringVarP(&e.file, "output", "o", "", "write it to `FILE` (default autopilot-export-RUN.tar.gz in this folder)")
	c.Flags().BoolVar(&e.force, "force", false, "replace a file that is there")
	c.Flags().BoolVar(&e.transcript, "with-transcript", false, "also the conversations of its sessions, as Claude Code keeps them")
	c.Flags().BoolVar(&e.keepPaths, "keep-paths", false, "leave the home folder and the names of user and host in it")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		e.now = time.Now()
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		return e.run(ctx, id)
	}
	return c
}

func (e *exporting) run(ctx context.Context, id string) error {
	// A bug report is also for settings that cannot be read.
	p, broken := job.SetUp(ctx, e.std, nil)
	if broken != nil {
		bare, err := job.SetUpBare(ctx, e.std)
		if err != nil {
			return err
		}
		p = bare
	}
	s, err := findSubject(p, id)
	if err != nil {
		return err
	}
	name, err := e.target(s.id)
	if err != nil {
		return err
	}
	c := &collection{std: e.std, place: p, subject: s, now: e.now, broken: broken}
	c.collect(e.transcript)
	r := bundle.NewRedactor(person(e.std), e.keepPaths)
	out := bundle.Options{Top: "autopilot-export-" + statedir.Slug(s.id)[1:], Time: c.time(), Left: c.left, Info: c.info()}
	var m bundle.Manifest
	err = e.write(name, func(f *os.File) (err error) {
		m, err = bundle.Write(ctx, f, c.files, r, out)
		return err
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return e.std.Say("wrote %s: %s, %s\n  redacted    %s\n  left out    %s; manifest.json names them\n  next        look through it before you send it: what does not look like a secret was not found\n",
		name, size(info.Size()), count(len(m.Files), "file"), m.Redacted.Words(), count(len(m.Left), "file"))
}

// person is who this process belongs to.
func person(std outside.Stdio) bundle.Person {
	p := bundle.Person{Environ: std.Environ, Home: std.Getenv("HOME"), User: std.Getenv("USER")}
	if u, err := user.Current(); err == nil && p.User == "" {
		p.User = u.Username
	}
	p.Host, _ = os.Hostname() // what is not known is not looked for
	return p
}

// target is where the archive goes.
func (e *exporting) target(id string) (string, error) {
	name := e.file
	if name == "" {
		name = "autopilot-export-" + statedir.Slug(id)[1:] + ".tar.gz"
	}
	info, err := os.Stat(filepath.Dir(name))
	if err != nil || !info.IsDir() {
		return "", outside.UsageHint("make it, or name another file with -o", "there is no folder %s for the archive", filepath.Dir(name))
	}
	switch info, err := os.Lstat(name); {
	case err == nil && info.IsDir():
		return "", outside.UsageHint("name a file in it with -o", "%s is a folder", name)
	case err == nil && !e.force:
		return "", present(name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", outside.Usage("write archive: %v", err)
	}
	return name, nil
}

func present(name string) error {
	return outside.UsageHint("--force replaces it, -o names another", "%s is there already", name)
}

// write makes a file that is there as a whole or not at all, for the user alone.
func (e *exporting) write(name string, fill func(*os.File) error) error {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, ".autopilot-export-*") // 0600
	if err != nil {
		return outside.UsageHint("name a file in a folder that can be written with -o", "write archive: %v", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = fill(f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return statedir.Full(dir, fmt.Errorf("write archive: %w", err))
	}
	if e.force {
		err = os.Rename(f.Name(), name)
	} else if err = os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) { // not every file system has links
		if _, there := os.Lstat(name); errors.Is(there, fs.ErrNotExist) {
			err = os.Rename(f.Name(), name)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return present(name)
	}
	if err != nil {
		return outside.Usage("write archive: %v", err)
	}
	return statedir.SyncDir(dir)
}
