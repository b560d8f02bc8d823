package schedulecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/doctor"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// exitWouldFail is the exit code when something would keep a schedule from its work.
const exitWouldFail = 3

// inspectMost is how long a look from inside may take.
const inspectMost = 5 * time.Minute

// diagnosis is what was found about one schedule.
type diagnosis struct {
	Schedule string           `json:"schedule"`
	How      string           `json:"how"` // the inside was looked at
	OK       bool             `json:"ok"`
	Findings []doctor.Finding `json:"findings"`
}

func doctorCommand(std outside.Stdio, parts Parts) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor [NAME]", Short: "Say now what would fail when it is time", Args: arg.AtMost(1),
		Long: "Check a schedule, or all of them, inside the environment that its runs will have: claude and its login, git, the\nfolders, the command itself; and what starts it: units, time zone, lingering. No session is started and nothing is\nsent to any API. Exit status 3 when something would fail.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		h, err := place(std)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			if _, err := named(h, args[0]); err != nil {
				return err
			}
		}
		installed, problems := h.List(c.Context())
		all := make([]diagnosis, 0, len(installed))
		for _, i := range installed {
			if len(args) == 0 || i.Entry.Name == args[0] {
				all = append(all, diagnose(c.Context(), std, h, i))
			}
		}
		bad := len(problems) > 0 && len(args) == 0
		for _, d := range all {
			bad = bad || !d.OK
		}
		if err := sayDiagnoses(std, all, problems, asJSON); err != nil {
			return err
		}
		if bad {
			return outside.Silent(exitWouldFail)
		}
		return nil
	}
	return c
}

func sayDiagnoses(std outside.Stdio, all []diagnosis, problems []error, asJSON bool) error {
	words := make([]string, len(problems))
	for i, p := range problems {
		words[i] = p.Error()
	}
	if asJSON {
		return std.JSON(map[string]any{"schedules": all, "problems": words})
	}
	for _, w := range words {
		if err := std.Say("BAD  %s\n", w); err != nil {
			return err
		}
	}
	if len(all)+len(problems) == 0 {
		return std.Say("there are no schedules; 'autopilot schedule install' makes one\n")
	}
	for i, d := range all {
		gap := ""
		if i > 0 {
			gap = "\n"
		}
		verdict := "nothing speaks against it"
		if !d.OK {
			verdict = "it would fail"
		}
		if err := std.Say("%s%s (looked at from inside: %s)\n%s%s: %s\n", gap, d.Schedule, d.How, doctor.Text(d.Findings), d.Schedule, verdict); err != nil {
			return err
		}
	}
	return nil
}

// diagnose looks at a schedule from outside and from inside.
func diagnose(ctx context.Context, std outside.Stdio, h host.Host, i host.Installed) diagnosis {
	d := diagnosis{Schedule: i.Entry.Name, OK: true, Findings: fromOutside(ctx, std, h, i)}
	if i.Orphan {
		d.How = "not at all, its entry is gone"
	} else {
		var inside []doctor.Finding
		inside, d.How = fromInside(ctx, i.Entry)
		d.Findings = append(d.Findings, inside...)
	}
	for _, f := range d.Findings {
		d.OK = d.OK && f.OK
	}
	return d
}

// fromOutside looks at what starts a schedule.
func fromOutside(ctx context.Context, std outside.Stdio, h host.Host, i host.Installed) []doctor.Finding {
	e := i.Entry
	now := time.Now()
	r, err := rowOf(h, i, now)
	unit := doctor.Finding{Name: "unit", OK: true, Detail: "installed with " + string(e.Backend)}
	if err == nil && len(i.Missing)+len(i.Changed) > 0 || i.Orphan || !i.Enabled {
		unit.OK, unit.Mend = false, "autopilot schedule install "+e.Name+" ..., or 'autopilot schedule remove "+e.Name+"'"
		unit.Detail = strings.Join(r.Wrong, "; ")
	}
	all := []doctor.Finding{unit}
	if i.Orphan {
		return all
	}
	next := doctor.Finding{Name: "next", OK: true, Detail: fmt.Sprintf("%s (%s)", moment(r.Next), r.When)}
	switch _, err := time.LoadLocation(e.Spec.Zone); {
	case err != nil:
		next.OK, next.Detail, next.Mend = false, err.Error(), "install it again with --zone NAME"
	case r.Next.IsZero():
		next.OK, next.Detail, next.Mend = false, "no further time comes", "install it again"
	}
	all = append(all, next)
	if m := missedSays(r); m != "" {
		all = append(all, doctor.Finding{Name: "last", Detail: m, Mend: "the log says more: " + e.Logs})
	} else if r.Last != nil {
		all = append(all, doctor.Finding{Name: "last", OK: true, Detail: lastWords(*r.Last, location(e.Spec))})
	}
	if e.Backend == schedule.Systemd {
		all = append(all, lingering(ctx, h))
	}
	return append(all, program(std, e))
}

// missedSays is what was missed and has not been said of the unit itself.
func missedSays(r row) string {
	for _, w := range r.Wrong {
		if strings.HasPrefix(w, "nothing happened at") {
			return w
		}
	}
	return ""
}

func lingering(ctx context.Context, h host.Host) doctor.Finding {
	on, known := h.Lingering(ctx)
	switch {
	case !known:
		return doctor.Finding{Name: "lingering", OK: true, Detail: "cannot be told", Mend: "'loginctl enable-linger' keeps timers on when you log out"}
	case !on:
		return doctor.Finding{Name: "lingering", Detail: "off: timers stop when you log out", Mend: "loginctl enable-linger"}
	}
	return doctor.Finding{Name: "lingering", OK: true, Detail: "on: timers go on when you log out"}
}

// program tells whether the program of the entry is there and is this one.
func program(std outside.Stdio, e schedule.Entry) doctor.Finding {
	there, err := os.Stat(e.Program)
	if err != nil {
		return doctor.Finding{Name: "program", Detail: err.Error(), Mend: "install autopilot there, or install the schedule again"}
	}
	f := doctor.Finding{Name: "program", OK: true, Detail: e.Program}
	if this, err := os.Stat(std.Self); err == nil && !os.SameFile(this, there) {
		f.Detail += ", which is not the one that you call now (" + std.Self + ")"
	}
	return f
}

// fromInside has the program look at itself in the environment of the unit: below the user's
// manager where that starts the schedule, else with exactly the variables of the entry.
func fromInside(ctx context.Context, e schedule.Entry) (all []doctor.Finding, how string) {
	ctx, cancel := context.WithTimeout(ctx, inspectMost)
	defer cancel()
	look := []string{e.Program, "schedule", "exec", e.Name, "--check"}
	var why string
	if e.Backend == schedule.Systemd {
		all, err := inspect(exec.CommandContext(ctx, "systemd-run", transient(e, look)...))
		if err == nil {
			return all, "below the user's manager of systemd"
		}
		why = fmt.Sprintf(", since systemd-run does not work here: %v", err)
	}
	cmd := exec.CommandContext(ctx, look[0], look[1:]...)
	cmd.Env, cmd.Dir = e.Environ, "/"
	all, err := inspect(cmd)
	if err != nil {
		f := doctor.Finding{Name: "inside", Detail: "autopilot does not work in the environment of the schedule: " + err.Error(), Mend: "install the schedule again"}
		return []doctor.Finding{f}, "with the variables of the entry alone" + why
	}
	return all, "with the variables of the entry alone" + why
}

// transient are the arguments of systemd-run for a command with the environment of an entry.
func transient(e schedule.Entry, command []string) []string {
	args := []string{"--user", "--pipe", "--wait", "--collect", "--quiet", "--working-directory=/"}
	for _, kv := range e.Environ {
		args = append(args, "--setenv="+kv)
	}
	return append(append(args, "--"), command...)
}

// inspect runs a command that prints findings.
func inspect(cmd *exec.Cmd) ([]doctor.Finding, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var all []doctor.Finding
	if json.Unmarshal(out.Bytes(), &all) == nil && len(all) > 0 {
		return all, nil
	}
	said := strings.Join(strings.Fields(logs.Redact(errs.String())), " ")
	const most = 300
	if len(said) > most {
		said = strings.ToValidUTF8(said[:most], "") + "..."
	}
	if err == nil {
		err = fmt.Errorf("%s did not answer", filepath.Base(cmd.Path))
	}
	if said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return nil, err
}
