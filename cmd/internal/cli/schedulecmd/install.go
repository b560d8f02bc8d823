package schedulecmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/spelling"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// wanted is a schedule as it was typed.
type wanted struct {
	request schedule.Request
	name    string
	args    []string
	overlap string
	backend string
	envFile string
	env     []string
}

func installCommand(std outside.Stdio, parts Parts) *cobra.Command {
	var w wanted
	var yes, dry bool
	c := &cobra.Command{
		Use: "install [NAME] (--at TIME... | --window FROM-UNTIL | --cron TEXT) [flags] [-- COMMAND...]", Short: "Install or replace a schedule",
		Long: "Install a schedule for this folder. What follows -- is the command of this program that it starts, run when\nnothing follows: run, resume, report, sync or gc, with its flags. NAME is the folder's unless given.\n\n" +
			"What the schedule will need is checked now, with the environment that it will have. The change is shown, and\nmade when a person agrees or with --yes. A schedule of that name is replaced.",
		Example: "  autopilot schedule install nightly --window 22:00-06:00 --days mon-fri -- run \"make the tests pass\" --max-sessions 10\n" +
			"  autopilot schedule install --at 7:00 --days weekdays -- report\n  autopilot schedule install --cron '30 1 * * sat,sun' --until 09:00 --zone Europe/Berlin --yes",
	}
	f := c.Flags()
	f.StringArrayVar(&w.request.At, "at", nil, "`TIME` of day at which it begins, 22:00; may be repeated")
	f.StringVar(&w.request.Days, "days", "", "`DAYS` on which it begins: mon-fri, sat,sun, daily, weekdays, weekends [daily]")
	f.StringVar(&w.request.Cron, "cron", "", "the times as the five fields of crontab, or @daily and the like")
	f.StringVar(&w.request.Window, "window", "", "`FROM-UNTIL`, such as 22:00-06:00: --at and --until in one")
	f.StringVar(&w.request.Until, "until", "", "`TIME` of day by which it has to be over")
	f.StringVar(&w.request.Zone, "zone", "", "time `ZONE` of the times, such as Europe/Berlin [that of this machine]")
	f.StringVar(&w.overlap, "on-overlap", string(schedule.Skip), "skip or wait, when another run is on in this work tree")
	f.StringVar(&w.backend, "backend", string(schedule.Auto), "auto, systemd, launchd or cron")
	f.StringVar(&w.envFile, "env-file", "", "absolute path of a `FILE` of NAME=VALUE lines, mode 0600, with what is secret")
	f.StringArrayVar(&w.env, "env", nil, "a further variable, `NAME=VALUE`, or NAME with the value that it has now; may be repeated")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&dry, "dry-run", false, "check and show; change nothing")
	f.SortFlags = false
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := nightcmd.ByPerson(c.Context(), std, "schedule install"); err != nil {
			return err
		}
		if err := w.split(args, c.ArgsLenAtDash()); err != nil {
			return err
		}
		h, err := place(std)
		if err != nil {
			return err
		}
		e, left, err := w.entry(c.Context(), std, h, parts)
		if err != nil {
			return err
		}
		return install(c.Context(), std, h, e, choice{left: left, yes: yes, dry: dry})
	}
	return c
}

// commands are those of the program that a schedule may start.
func commands() []string { return []string{"run", "resume", "report", "sync", "gc"} }

// split takes the words apart at the dash.
func (w *wanted) split(args []string, dash int) error {
	words := args
	w.args = []string{"run"}
	if dash >= 0 {
		words = args[:dash]
		if dash < len(args) {
			w.args = slices.Clone(args[dash:])
		}
	}
	switch {
	case len(words) > 1:
		return outside.UsageHint("put -- before the command: autopilot schedule install NAME --at 22:00 -- run \"GOAL\"", "schedule install takes one name, got %q as well", words[1])
	case len(words) == 1:
		w.name = words[0]
	}
	if !slices.Contains(commands(), w.args[0]) {
		way := "it is one of " + strings.Join(commands(), ", ")
		if n := spelling.Meant(w.args[0], commands()); n != "" {
			way = fmt.Sprintf("did you mean %s?", n)
		}
		return outside.UsageHint(way, "%q is no command that a schedule can start", w.args[0])
	}
	return checkFlags(w.args)
}

// option is the variable that stands for a flag of a run, or nothing.
func option(flag string) string {
	for _, o := range config.Options() {
		if flag == "--"+o.Key {
			return o.Env()
		}
	}
	return ""
}

// checkFlags refuses flags that mean something else in a schedule.
func checkFlags(args []string) error {
	for i, a := range args[1:] {
		flag, value, given := strings.Cut(a, "=")
		if !given && i+2 < len(args) {
			value = args[i+2]
		}
		if name := option(flag); name != "" && nightly.Secret(name, value) {
			return outside.UsageHint("put "+name+"=... into a file of mode 0600 and name it with --env-file", "%s may hold a secret, and everybody on the machine can read the arguments of a program", flag)
		}
		switch flag {
		case "--":
			return nil // the rest is for claude
		case "--until":
			return outside.UsageHint("put --until before --, as a time of day", "--until of the command would stand against that of the schedule")
		case "--dry-run":
			return outside.Usage("a schedule with --dry-run would start nothing")
		case "--dir":
			return outside.UsageHint("autopilot -C DIR schedule install ...", "a schedule belongs to the folder that it is installed in, got %s", flag)
		}
		if strings.HasPrefix(a, "-C") {
			return outside.UsageHint("autopilot -C DIR schedule install ...", "a schedule belongs to the folder that it is installed in, got -C")
		}
	}
	return nil
}

// entry checks all that can be checked and makes the entry. Left names the variables that
// look like secrets and are not in it.
func (w *wanted) entry(ctx context.Context, std outside.Stdio, h host.Host, parts Parts) (e schedule.Entry, left []string, err error) {
	e = schedule.Entry{Version: schedule.Version, Name: w.name, Overlap: schedule.Overlap(w.overlap), Program: std.Self, Args: w.args, EnvFile: w.envFile, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	if e.Overlap != schedule.Skip && e.Overlap != schedule.Wait {
		return e, nil, outside.UsageHint("skip leaves the time out, wait begins when the other run has ended", "--on-overlap %q is not known", w.overlap)
	}
	if e.Backend, err = w.chooseBackend(ctx, h); err != nil {
		return e, nil, err
	}
	if e.Spec, err = schedule.Parse(w.request, h.Zone); err != nil {
		return e, nil, refusal(err)
	}
	if e.Dir, err = folder(ctx, e.Args); err != nil {
		return e, nil, err
	}
	if e.Name == "" {
		e.Name = nameOf(e.Dir)
	}
	if err := schedule.CheckName(e.Name); err != nil {
		return e, nil, refusal(err)
	}
	e.Logs = filepath.Join(filepath.Dir(host.EntryFile(h.Root, e.Name)), "logs")
	if e.Environ, left, err = nightly.Environment(std.Environ, w.env); err != nil {
		return e, nil, err
	}
	var secrets []string
	if e.EnvFile != "" {
		if secrets, err = nightly.LoadSecrets(e.EnvFile); err != nil {
			return e, nil, err
		}
	}
	left = slices.DeleteFunc(left, func(name string) bool {
		return slices.ContainsFunc(secrets, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
	inside := std
	inside.Environ, inside.Dir, inside.Args = nightly.Inside(nil, e.Environ, secrets), e.Dir, e.Args
	inside.TTY, inside.InTTY, inside.OutTTY = false, false, false
	if nightly.Starts(e.Args) {
		claude, err := nightly.Claude(ctx, inside, e.Args)
		if err != nil {
			return e, nil, err
		}
		e.Environ = nightly.WithClaude(e.Environ, claude)
		inside.Environ = nightly.Inside(nil, e.Environ, secrets)
	}
	if err := parts.Check(ctx, inside, e.Args); err != nil {
		return e, nil, err
	}
	return e, left, refusal(e.Check())
}

// chooseBackend is what the schedule is to be started by.
func (w *wanted) chooseBackend(ctx context.Context, h host.Host) (schedule.Backend, error) {
	programs := map[schedule.Backend]string{schedule.Systemd: "systemctl", schedule.Launchd: "launchctl", schedule.Cron: "crontab"}
	b := schedule.Backend(w.backend)
	if b == schedule.Auto {
		found, why := h.Detect(ctx)
		if found == "" {
			return "", outside.UsageHint("install cron, or run the user's manager of systemd", "nothing on this machine starts programs by the clock: %s", why)
		}
		return found, nil
	}
	program, known := programs[b]
	if !known {
		return "", outside.UsageHint("it is auto, systemd, launchd or cron", "--backend %q is not known", w.backend)
	}
	if _, err := exec.LookPath(program); err != nil {
		return "", outside.UsageHint("leave --backend out, and what is there is taken", "%s is not on this machine: there is no %s in PATH", b, program)
	}
	if b == schedule.Systemd {
		if _, err := h.Run(ctx, nil, program, "--user", "show-environment"); err != nil {
			return "", &outside.Error{Code: outside.ExitUsage, Err: fmt.Errorf("your systemd does not answer: %w", err), Way: "leave --backend out, and what is there is taken"}
		}
	}
	return b, nil
}

// folder is the work tree that the command was started in, where this process goes: what
// is relative in the command is relative to it.
func folder(ctx context.Context, args []string) (string, error) {
	r, err := job.FindRepo(ctx)
	if err != nil {
		if nightly.Starts(args) {
			return "", err
		}
		return os.Getwd()
	}
	if err := os.Chdir(r.Top); err != nil {
		return "", outside.Usage("go to the work tree: %v", err)
	}
	return r.Top, nil
}

// nameOf makes the name of a schedule out of that of a folder.
func nameOf(dir string) string {
	const most = 40
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	name = strings.Trim(name, "-_")
	if len(name) > most {
		name = strings.TrimRight(name[:most], "-_")
	}
	if name == "" {
		return "nightly"
	}
	return name
}

// choice is how a change is agreed to, and what is said about it.
type choice struct {
	left     []string
	yes, dry bool
}

// install shows the change, makes it when it is agreed to, and says what comes of it.
func install(ctx context.Context, std outside.Stdio, h host.Host, e schedule.Entry, ch choice) error {
	if before, err := h.Load(e.Name); err == nil {
		same := e
		same.CreatedAt = before.CreatedAt
		if change, err := h.Plan(ctx, same); err == nil && change.Empty() {
			return std.Say("schedule %s is installed like this already\n%s", e.Name, outlook(ctx, h, same, time.Now()))
		}
	}
	change, err := h.Plan(ctx, e)
	if err != nil {
		return refusal(err)
	}
	if err := std.Say("%s", change.Diff()); err != nil {
		return err
	}
	if len(ch.left) > 0 {
		fmt.Fprintf(std.Err, "autopilot: not taken over, because they look like secrets: %s; --env-file FILE holds what is needed of them\n", strings.Join(ch.left, ", "))
	}
	if ch.dry {
		return std.Say("nothing was changed; schedule %s would be installed with %s\n%s", e.Name, e.Backend, outlook(ctx, h, e, time.Now()))
	}
	if err := agree(ctx, std, "Install schedule "+e.Name+"?", ch.yes); err != nil {
		return err
	}
	if err := h.Apply(ctx, change); err != nil {
		return refusal(err)
	}
	return std.Say("schedule %s is installed with %s\n%s", e.Name, e.Backend, outlook(ctx, h, e, time.Now()))
}

// agree asks a person at the terminal; without one --yes is needed.
func agree(ctx context.Context, std outside.Stdio, question string, yes bool) error {
	if yes {
		return nil
	}
	if !std.Asks() {
		return outside.UsageHint("--yes makes the change that was shown", "nobody is there to agree to the change; nothing was changed")
	}
	answer, err := std.Ask(ctx, question+" [y/N] ")
	if err != nil {
		return err
	}
	if answer != "y" && answer != "Y" && answer != "yes" {
		return outside.Usage("nothing was changed")
	}
	return nil
}

// timesTold is how many of the next times are told.
const timesTold = 3

// outlook says in words what will happen, and what a person has to do for it.
func outlook(ctx context.Context, h host.Host, e schedule.Entry, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Spec.Words())
	for range timesTold {
		t, ok := e.Spec.Next(now)
		if !ok {
			break
		}
		fmt.Fprintf(&b, "  %s%s\n", moment(t), untilWords(e.Spec, t))
		now = t
	}
	fmt.Fprintf(&b, "log: %s\n", nightly.LogFile(e.Logs, e.Name))
	for _, w := range warnings(ctx, h, e) {
		fmt.Fprintf(&b, "note: %s\n", w)
	}
	fmt.Fprintf(&b, "'autopilot schedule doctor %s' checks it as the unit would run it; 'autopilot schedule run-now %s' starts it\n", e.Name, e.Name)
	return b.String()
}

// warnings are what stands in the way of an entry as long as a person does nothing.
func warnings(ctx context.Context, h host.Host, e schedule.Entry) []string {
	switch e.Backend {
	case schedule.Systemd:
		if on, known := h.Lingering(ctx); known && !on {
			return []string{"lingering is off for you: timers stop when you log out; 'loginctl enable-linger' keeps them on"}
		}
	case schedule.Launchd:
		return []string{"launchd starts it while you are logged in; a login of claude in the keychain may not open then: 'claude setup-token' and --env-file"}
	}
	return nil
}

// moment is a time in words, with its zone.
func moment(t time.Time) string { return t.Format("Mon 2 Jan 2006 15:04 MST") }

func untilWords(s schedule.Spec, t time.Time) string {
	end, ok := s.End(t)
	if !ok {
		return ""
	}
	return ", over by " + end.Format("Mon 15:04 MST")
}
