package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/judge"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/start"
	"autopilot/cmd/internal/stories"
	"autopilot/supervisor"
)

func resumeCommand(std outside.Stdio) *cobra.Command {
	return continueCommand(std, &cobra.Command{
		Use: "resume [RUN] [flags] [-- CLAUDE-ARG...]", Short: "Continue a run that was stopped, paused, interrupted or killed",
		Long: `Continue a run, the last one unless named, with its goals, counters, budgets and
settings. Settings given here stand over those of the run; a limit that is used
up has to be raised. A conversation that was cut short goes on; what was finished
is not repeated. 'autopilot runs' shows what can be continued, and why not.`,
	}, func(args []string) (run, answer string, err error) {
		if len(args) > 1 {
			return "", "", outside.UsageHint("see 'autopilot resume --help'", "resume takes one run, got %q", args[1])
		}
		if len(args) == 1 {
			run = args[0]
		}
		return run, "", nil
	})
}

func answerCommand(std outside.Stdio) *cobra.Command {
	return continueCommand(std, &cobra.Command{
		Use: "answer [RUN|STORY] TEXT [flags] [-- CLAUDE-ARG...]", Short: "Answer the question of a paused run and continue it",
		Long: "Answer the question that paused a run, the last one unless named, and continue it as 'autopilot resume' does.\nA single letter takes the option with that letter; 'autopilot status' shows question and options. Of a run with\nseveral stories the one that asks is named.",
	}, func(args []string) (run, answer string, err error) {
		switch len(args) {
		case 1:
			answer = args[0]
		case 2:
			run, answer = args[0], args[1]
		default:
			return "", "", outside.UsageHint(`autopilot answer "use the container"`, "answer takes the run and one text, got %d words; put the text in quotes", len(args))
		}
		if answer = strings.TrimSpace(answer); answer == "" {
			return "", "", outside.Usage("the answer is empty")
		}
		return run, answer, nil
	})
}

// continueCommand makes a command that continues a run.
func continueCommand(std outside.Stdio, c *cobra.Command, read func(args []string) (run, answer string, err error)) *cobra.Command {
	var f start.Flags
	collect := addOptions(c)
	addSnapshotFlag(c)
	c.Flags().BoolVar(&f.JSON, "json", false, "print the run's record as JSON")
	c.Flags().BoolVar(&f.ExitZero, "exit-zero", false, "exit 0 however the run ended, for cron")
	c.Flags().BoolVar(&f.Nested, "allow-nested", false, "allow a run inside a Claude Code session")
	f.Yes = true // the person has agreed to the run that is continued
	c.RunE = func(c *cobra.Command, args []string) error {
		words, extra := args, []string(nil)
		if n := c.ArgsLenAtDash(); n >= 0 {
			words, extra = args[:n], args[n:]
		}
		run, answer, err := read(words)
		if err != nil {
			return err
		}
		snapshot, err := c.Flags().GetString("snapshot")
		if err != nil {
			return err
		}
		j, previous, err := continued(c, std, run, answer, job.Request{Flags: collect(), Extra: extra, Snapshot: snapshot})
		if err != nil {
			return err
		}
		return start.Run(c.Context(), std, j, f, previous)
	}
	return c
}

// continued prepares a run that continues another.
func continued(c *cobra.Command, std outside.Stdio, run, answer string, r job.Request) (job.Job, *supervisor.State, error) {
	p, err := job.SetUp(c.Context(), std, nil)
	if err != nil {
		return job.Job{}, nil, err
	}
	id, folder, story, err := findRunOrStory(p, run, answer)
	if err != nil {
		return job.Job{}, nil, err
	}
	if project, found, err := p.FindProject(); err == nil && found {
		if _, err := start.RecoverDead(c.Context(), std, p, project); err != nil {
			return job.Job{}, nil, err
		}
	}
	st, err := loadRun(id, folder)
	if err != nil {
		return job.Job{}, nil, err
	}
	if why := supervisor.NotResumable(st); why != "" {
		return job.Job{}, nil, outside.UsageHint("'autopilot runs' shows what can be continued", "run %s cannot be continued: %s", id, why)
	}
	if st.Record.Coordinates() && answer != "" {
		if err := stories.Answer(folder, story, answer); err != nil {
			return job.Job{}, nil, err
		}
		answer = ""
	}
	given, err := job.LoadSetup(folder)
	if err != nil {
		return job.Job{}, nil, outside.UsageHint("start it anew with 'autopilot run'", "run %s cannot be continued: %v", id, err)
	}
	if r, err = given.With(r); err != nil {
		return job.Job{}, nil, outside.Usage("run %s cannot be continued: %v", id, err)
	}
	j, err := job.New(c.Context(), std, r)
	if err != nil {
		return j, nil, err
	}
	judge.Complete(c.Context(), std, &j)
	if answer, err = chosen(st, answer); err != nil {
		return j, nil, err
	}
	if err := supervisor.TakeUp(&st, answer, j.Profile(j.Cfg.Mode).Limits); err != nil {
		way := "raise it with a flag, such as --max-sessions, --max-hours, --max-tokens or --max-cost-usd"
		if st.Pursuit.Asked() != nil {
			way = "answer with 'autopilot answer TEXT'"
		}
		return j, nil, outside.UsageHint(way, "%v", err)
	}
	return j, &st, nil
}

// chosen turns a single letter into the option that it stands for.
func chosen(s supervisor.State, answer string) (string, error) {
	g := s.Pursuit.Asked()
	letter := strings.ToUpper(strings.TrimRight(answer, ").:"))
	if g == nil || g.Question == nil || len(letter) != 1 || letter[0] < 'A' || letter[0] > 'Z' {
		return answer, nil
	}
	i := int(letter[0] - 'A')
	if len(g.Question.Options) == 0 {
		return answer, nil
	}
	if i >= len(g.Question.Options) {
		return "", outside.Usage("there is no option %s; the question has %d", letter, len(g.Question.Options))
	}
	return g.Question.Options[i], nil
}

// findRunOrStory finds the run that is to be continued. An answer may be for a story of the
// last run instead.
func findRunOrStory(p job.Place, run, answer string) (id, folder, story string, err error) {
	id, folder, err = findRun(p, run)
	if err != nil || answer == "" || run == "" {
		return id, folder, "", err
	}
	if _, err := loadRun(id, folder); err == nil {
		return id, folder, "", nil
	}
	id, folder, err = findRun(p, "")
	if _, none := stories.Load(folder); err != nil || none != nil {
		return "", "", "", noRun(run)
	}
	return id, folder, run, nil
}

// findRun finds a run by its id, the last one when none is named.
func findRun(p job.Place, run string) (id, folder string, err error) {
	project, found, err := p.FindProject()
	if err != nil {
		return "", "", err
	}
	if run != "" && !found { // without a project its folders would be looked for in the repository
		return "", "", noRun(run)
	}
	if id = run; id == "" && found {
		if id, err = supervisor.LastWritten(project); err != nil {
			return "", "", err
		}
	}
	if id == "" {
		return "", "", outside.UsageHint(`autopilot run "make the tests pass"`, "there is no run in %s yet", p.Repo.Top)
	}
	return id, project.RunDir(id), nil
}

func noRun(id string) error {
	return outside.UsageHint("'autopilot runs' lists the runs", "there is no run %s here", id)
}

func loadRun(id, folder string) (supervisor.State, error) {
	st, err := supervisor.LoadState(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, noRun(id)
	case err != nil:
		return st, outside.UsageHint("the ledgers still have its record; start it anew with 'autopilot run'", "run %s: %v", id, err)
	}
	return st, nil
}

func setCommand(std outside.Stdio) *cobra.Command {
	var mode string
	c := &cobra.Command{
		Use: "set [RUN] --mode MODE", Short: "Change the mode of the run that is on",
		Long: "Change the mode of a running run, fixed or continuous. It holds from the next decision on: limits and the\nreflection interval become those of the mode, except where the run was given others.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return outside.UsageHint("see 'autopilot set --help'", "set takes one run, got %q", args[1])
			}
			return nil
		},
	}
	c.Flags().StringVar(&mode, "mode", "", "`MODE`: fixed or continuous")
	c.RunE = func(c *cobra.Command, args []string) error {
		if mode != config.ModeFixed && mode != config.ModeContinuous {
			return outside.Usage("--mode takes fixed or continuous, got %q", mode)
		}
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		id, folder, err := findRun(p, strings.Join(args, ""))
		if err != nil {
			return err
		}
		st, err := loadRun(id, folder)
		if err != nil {
			return err
		}
		if st.Record.Coordinates() {
			return outside.Usage("run %s coordinates stories, which have no mode of their own to change", id)
		}
		if !st.Alive() {
			return outside.UsageHint("'autopilot resume --mode "+mode+"' continues it", "run %s is not on", id)
		}
		if err := supervisor.RequestMode(folder, mode, time.Now()); err != nil {
			return err
		}
		if err := syscall.Kill(st.PID, syscall.SIGUSR1); err != nil {
			return fmt.Errorf("signal pid %d: %w", st.PID, err)
		}
		return std.Say("run %s is in mode %s from its next decision on\n", id, mode)
	}
	return c
}
