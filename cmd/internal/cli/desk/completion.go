package desk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
)

// deskCommand is a command of persistent completion.
type deskCommand struct {
	use, short, long string
	writes           bool // makes the state folder of a project that has none
	known            bool // a session that is named must be enabled
	always           bool // works also when the settings are broken
	flags            func(c *cobra.Command)
	run              func(ctx context.Context, d completion.Desk, asJSON bool) error
}

func (k deskCommand) command(std outside.Stdio) *cobra.Command {
	var asJSON bool
	var session string
	c := &cobra.Command{Use: k.use, Short: k.short, Long: k.long, Args: arg.None}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&session, "session", "", "the Claude Code session with this `ID`; else the one this command runs in, or the only one")
	if k.flags != nil {
		k.flags(c)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := openDesk(c.Context(), std, opening{create: k.writes, session: session, always: k.always})
		if err != nil {
			return err
		}
		if k.known && session != "" {
			if s, err := d.Status(c.Context(), time.Now()); err != nil || !s.Enabled || s.SessionID != session {
				return errors.Join(Refusal(err), outside.UsageHint("'autopilot status' shows which one is", "session %s is not enabled", session))
			}
		}
		return k.run(c.Context(), d, asJSON)
	}
	return c
}

// opening says which desk is wanted.
type opening struct {
	create  bool   // makes the state folder of a project that has none
	session string // empty for the one that the environment names, if any
	always  bool   // settings that are broken are left out
}

// openDesk is the desk of the project that the command was started in.
func openDesk(ctx context.Context, std outside.Stdio, o opening) (completion.Desk, error) {
	if folder := std.Getenv(launch.DeskVar); folder != "" && o.session == "" {
		if o.create {
			return completion.Desk{}, outside.UsageHint("leave it to the supervisor; a person can do it from another shell",
				"this session is run by autopilot, which decides by itself when it may stop")
		}
		return completion.OpenDesk(folder)
	}
	p, err := job.SetUp(ctx, std, nil)
	var d completion.Desk
	if err == nil {
		d, err = p.Desk(std, o.create)
	}
	if err != nil && o.always {
		bare, failed := job.SetUpBare(ctx, std)
		if failed != nil {
			return d, failed
		}
		warn(std, "the settings are left out: "+err.Error())
		d, err = bare.Desk(std, o.create)
	}
	if o.session != "" {
		d.Session = o.session
	}
	return d, err
}

// warn says what went wrong beside what was asked for.
func warn(std outside.Stdio, words string) {
	if words != "" {
		fmt.Fprintf(std.Err, "autopilot: warning: %s\n", words)
	}
}

// hooked reports whether a Stop hook of ours is in the settings that Claude Code reads
// for this repository.
func hooked(d completion.Desk) bool {
	for _, name := range []string{
		filepath.Join(d.Place.Repo, ".claude", "settings.json"), filepath.Join(d.Place.Repo, ".claude", "settings.local.json"),
		filepath.Join(d.Place.Config, "settings.json"),
	} {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), "hook stop") {
			return true
		}
	}
	return false
}

// Refusal is what a desk refuses, for a person to put right.
func Refusal(err error) error {
	if err == nil {
		return nil
	}
	code := outside.ExitUsage
	if _, io := errors.AsType[*fs.PathError](err); io {
		code = 1 // a record could not be read or written
	}
	return &outside.Error{Code: code, Err: err, Way: outside.HintOf(err)}
}

// Commands are all commands of persistent completion.
func Commands(std outside.Stdio) []*cobra.Command {
	return []*cobra.Command{
		enableCommand(std), disableCommand(std), resetCommand(std), checkCommand(std), logCommand(std),
		learnCommand(std), historyCommand(std), predictCommand(std), tasksCommand(std), initCommand(std), mcpCommand(std),
	}
}

func enableCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "enable", short: "Send a Claude Code session on until all its tasks are done", writes: true,
		long: "Start persistent completion for a Claude Code session: whenever it wants to stop while tasks remain, its\nStop hook ('autopilot init' installs it) sends it on, within the limits that 'autopilot config' shows.\nInside a session it is for that session; elsewhere for the one that is on in this repository, or for the\nnext one that stops there. Each enabling starts a fresh count. No other session is ever held.",
		run: func(ctx context.Context, d completion.Desk, asJSON bool) error {
			s, err := d.Enable(ctx, time.Now())
			if err != nil {
				return Refusal(err)
			}
			if asJSON {
				return std.JSON(s)
			}
			whom := "for session " + s.SessionID
			if s.Waiting {
				whom = "for the next session that stops here"
			}
			warn(std, s.Warning)
			if !hooked(d) {
				warn(std, "no Stop hook of autopilot is in the settings of this repository: 'autopilot init' writes it")
			}
			return std.Say("Autopilot enabled %s (max %d iterations, %d min timeout)\n", whom, s.MaxIterations, s.TimeoutMinutes)
		},
	}.command(std)
}

func disableCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "disable", short: "Let the Claude Code session stop when it wants to", writes: true, known: true, always: true,
		long: "End persistent completion: inside a session for that one, elsewhere for every session of this repository.\nIt may stop from now on; what is counted stays visible in 'status'.",
		run: func(ctx context.Context, d completion.Desk, asJSON bool) error {
			s, err := d.Disable(ctx, time.Now())
			if err != nil {
				return Refusal(err)
			}
			if asJSON {
				return std.JSON(s)
			}
			warn(std, s.Warning)
			return std.Say("Autopilot disabled after %d iterations\n", s.Iterations)
		},
	}.command(std)
}

func resetCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "reset", short: "Start the count of iterations and the timer again", writes: true,
		long: "Set the iterations, the stall counter and the history of persistent completion to nothing and restart its\ntimer. Whether it is enabled stays as it is.",
		run: func(ctx context.Context, d completion.Desk, asJSON bool) error {
			s, err := d.Reset(ctx, time.Now())
			if err != nil {
				return Refusal(err)
			}
			if asJSON {
				return std.JSON(s)
			}
			warn(std, s.Warning)
			return std.Say("Autopilot state reset (iterations=0, timer restarted)\n")
		},
	}.command(std)
}

func checkCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "check", short: "Decide whether the session may stop, as its Stop hook would", writes: true,
		long: "Look at the tasks and decide. A check that says CONTINUE counts as an iteration, and the text it prints\nis what the agent would be told. --json adds the context: what remains, and what earlier work says about\nit. Exits with 0 either way.",
		run: func(ctx context.Context, d completion.Desk, asJSON bool) error {
			dec, err := d.Check(ctx, time.Now())
			switch {
			case err != nil:
				return Refusal(err)
			case asJSON:
				about, err := d.Context(ctx)
				if err != nil {
					return Refusal(err)
				}
				return std.JSON(struct {
					completion.Decision
					Context completion.ReEngagement `json:"context"`
				}{dec, about})
			case dec.AllowStop:
				return std.Say("%s\n", dec.Reason)
			}
			return std.Say("CONTINUE: %s\n\n%s\n", dec.Reason, dec.ContinueWith)
		},
	}.command(std)
}

func logCommand(std outside.Stdio) *cobra.Command {
	var last int
	var clear bool
	return deskCommand{
		use: "log", short: "Show the events of persistent completion",
		long: "Show what happened: enabled, re-engaging, stall-warning, all-tasks-complete and so on, with their numbers.",
		flags: func(c *cobra.Command) {
			c.Flags().IntVar(&last, "last", 0, "only the last `N` events; 0 is all")
			c.Flags().BoolVar(&clear, "clear", false, "empty the log")
		},
		run: func(_ context.Context, d completion.Desk, asJSON bool) error {
			if last < 0 {
				return outside.Usage("--last %d is out of range: 0 or more", last)
			}
			if clear {
				if err := d.ClearLog(); err != nil {
					return err
				}
				if asJSON {
					return std.JSON([]completion.Event{})
				}
				return std.Say("Autopilot log cleared\n")
			}
			events, err := d.Log(last)
			if err != nil {
				return err
			}
			if asJSON {
				return std.JSON(events)
			}
			var b strings.Builder
			for _, e := range events {
				writeEvent(&b, e)
			}
			if len(events) == 0 {
				b.WriteString("no events yet\n")
			}
			return std.Say("%s", b.String())
		},
	}.command(std)
}

// writeEvent writes an event as one line for a person.
func writeEvent(b *strings.Builder, e completion.Event) {
	ms, _ := strconv.ParseInt(fmt.Sprint(e["ts"]), 10, 64)
	fmt.Fprintf(b, "[%s] %v", time.UnixMilli(ms).Local().Format(time.TimeOnly), e["event"])
	for _, k := range slices.Sorted(maps.Keys(e)) {
		if k != "ts" && k != "event" {
			fmt.Fprintf(b, " %s=%v", k, e[k])
		}
	}
	b.WriteString("\n")
}

func learnCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "learn", short: "Show what earlier work in this repository teaches",
		long: "Sum up all episodes: one is kept of every piece of work that was finished or given up, by every run and by\npersistent completion. Shows how many succeeded, what they and the failures had in common, and what follows.",
		run: func(_ context.Context, d completion.Desk, asJSON bool) error {
			l, err := d.Learn()
			if err != nil {
				return err
			}
			if asJSON {
				return std.JSON(l)
			}
			return std.Say("%s", learnedText(l))
		},
	}.command(std)
}

func learnedText(l episode.Learned) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d episodes: %d succeeded, %d failed, %d with more than one step; mean reward %.2f, confidence %.2f\n",
		l.Episodes, l.Successes, l.Failures, l.Trajectories, l.AvgReward, l.Confidence)
	for _, list := range []struct {
		title    string
		patterns []episode.Pattern
	}{{"in successes", l.Patterns}, {"in failures", l.FailurePatterns}} {
		for _, p := range list.patterns {
			fmt.Fprintf(&b, "  %-13s %-30s %4dx, mean reward %.2f\n", list.title, p.Pattern, p.Frequency, p.AvgReward)
		}
	}
	for _, r := range l.Recommendations {
		fmt.Fprintf(&b, "  - %s\n", r)
	}
	return b.String()
}

func historyCommand(std outside.Stdio) *cobra.Command {
	var query string
	limit := 10
	return deskCommand{
		use: "history", short: "Find earlier work that is like what you describe",
		flags: func(c *cobra.Command) {
			c.Flags().StringVar(&query, "query", "", "`WORDS` that describe the work")
			c.Flags().IntVar(&limit, "limit", limit, "at most `N` episodes")
		},
		long: "Find episodes by similarity of their words, the nearest first.",
		run: func(_ context.Context, d completion.Desk, asJSON bool) error {
			switch {
			case strings.TrimSpace(query) == "":
				return outside.UsageHint(`autopilot history --query "the parser"`, "history needs --query")
			case limit < 1:
				return outside.Usage("--limit %d is out of range: 1 or more", limit)
			}
			found, err := d.History(query, limit)
			if err != nil {
				return err
			}
			if asJSON {
				return std.JSON(found)
			}
			var b strings.Builder
			for _, m := range found {
				fmt.Fprintf(&b, "%s  %-12s reward %.2f  %d iterations  %s\n", m.At.Local().Format(time.DateTime), m.Status, m.Reward, m.Iterations, m.Task)
				if m.Critique != "" {
					fmt.Fprintf(&b, "    %s\n", m.Critique)
				}
			}
			if len(found) == 0 {
				b.WriteString("no episode is like that\n")
			}
			return std.Say("%s", b.String())
		},
	}.command(std)
}

func predictCommand(std outside.Stdio) *cobra.Command {
	return deskCommand{
		use: "predict", short: "Say which task to take up next",
		long: "Choose, among the tasks that can be done now, the one whose like went best so far. The confidence grows\nwith the number of similar episodes; without any it is 0 and the first task is named.",
		run: func(ctx context.Context, d completion.Desk, asJSON bool) error {
			p, err := d.Predict(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return std.JSON(p)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "Action: %s\nConfidence: %.2f (%s)\nRemaining: %d tasks\n", p.Action, p.Confidence, p.Reason, p.Remaining)
			for _, a := range p.Alternatives {
				fmt.Fprintf(&b, "Or: %s (expected reward %.2f)\n", a.Action, a.Reward)
			}
			return std.Say("%s", b.String())
		},
	}.command(std)
}
