package schedulecmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// row is a schedule as it is listed.
type row struct {
	schedule.Entry
	When  string          `json:"when"`
	Next  time.Time       `json:"next,omitzero"`
	Last  *nightly.Firing `json:"last"`
	Wrong []string        `json:"wrong"`
}

func listCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "Show the schedules: when next, how the last time ended, what is wrong", Args: arg.None,
		Long: "Show all schedules of this machine's user, whatever folder they belong to. What is wrong comes with it: a unit\nthat is gone or was changed by hand, times at which nothing began.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		h, err := place(std)
		if err != nil {
			return err
		}
		rows, problems := list(c.Context(), h, time.Now())
		if asJSON {
			words := make([]string, len(problems))
			for i, p := range problems {
				words[i] = p.Error()
			}
			return std.JSON(map[string]any{"schedules": rows, "problems": words})
		}
		for _, p := range problems {
			fmt.Fprintf(std.Err, "autopilot: %s\n", screen.Plain(p.Error()))
		}
		if len(rows) == 0 {
			return std.Say("there are no schedules; 'autopilot schedule install' makes one\n")
		}
		var b strings.Builder
		for _, r := range rows {
			b.WriteString(r.text(std.Getenv("HOME")))
		}
		return std.Say("%s", b.String())
	}
	return c
}

// list reads all schedules. A problem is one of a schedule that cannot be read.
func list(ctx context.Context, h host.Host, now time.Time) ([]row, []error) {
	installed, problems := h.List(ctx)
	rows := make([]row, 0, len(installed))
	for _, i := range installed {
		r, err := rowOf(h, i, now)
		if err != nil {
			problems = append(problems, err)
		}
		rows = append(rows, r)
	}
	return rows, problems
}

func rowOf(h host.Host, i host.Installed, now time.Time) (row, error) {
	r := row{Entry: i.Entry, When: i.Entry.Spec.Words(), Next: i.Next, Wrong: []string{}}
	if next, ok := i.Entry.Spec.Next(now); ok && r.Next.IsZero() {
		r.Next = next
	}
	r.Next = r.Next.In(location(i.Entry.Spec))
	again := "; 'autopilot schedule install' makes it anew"
	if i.Orphan {
		r.Wrong = append(r.Wrong, "its entry is gone, and it would start nothing; 'autopilot schedule remove "+i.Entry.Name+"' cleans it up")
	}
	if len(i.Missing) > 0 {
		r.Wrong = append(r.Wrong, "missing: "+strings.Join(i.Missing, ", ")+again)
	}
	if len(i.Changed) > 0 {
		r.Wrong = append(r.Wrong, "changed by hand: "+strings.Join(i.Changed, ", ")+again)
	}
	if len(i.Extra) > 0 {
		r.Wrong = append(r.Wrong, "started in another way as well: "+strings.Join(i.Extra, ", ")+again)
	}
	if !i.Enabled && len(i.Missing) == 0 && !i.Orphan {
		r.Wrong = append(r.Wrong, "it is switched off"+again)
	}
	history, err := nightly.LoadHistory(h.Root, i.Entry.Name)
	if last, ok := nightly.LastFiring(history); ok {
		if last.State == nightly.Begun && !nightly.On(h.Root, i.Entry.Name) {
			last.Why = "it was killed before its end"
			r.Wrong = append(r.Wrong, "the last one was killed before its end")
		}
		r.Last = &last
		if last.State == nightly.Failed || last.State == nightly.Missed {
			r.Wrong = append(r.Wrong, "the last time nothing was started: "+last.Why)
		}
	}
	if n := missed(i.Entry, history, now); n != "" {
		r.Wrong = append(r.Wrong, n)
	}
	return r, err
}

// missed says which times came and went without anybody looking.
func missed(e schedule.Entry, history []nightly.Firing, now time.Time) string {
	d := schedule.Decide(e.Spec, now, nightly.LastTime(history, e.CreatedAt))
	times := d.Missed
	if d.Reason == schedule.Closed || d.Reason == schedule.TooLate || d.Reason == schedule.Late {
		times = append(times, d.Nominal)
	}
	if len(times) == 0 {
		return ""
	}
	return fmt.Sprintf("nothing happened at %s; is what starts schedules on?", moment(times[len(times)-1]))
}

// text is a schedule for a person.
func (r row) text(home string) string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-6s %s\n", what, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
	}
	fmt.Fprintf(&b, "%s  %s (%s)\n", r.Name, r.When, r.Backend)
	if len(r.Args) > 0 {
		line("does", "autopilot %s", quoted(r.Args))
		line("in", "%s", short(r.Dir, home))
	}
	if !r.Next.IsZero() {
		line("next", "%s%s", moment(r.Next), untilWords(r.Spec, r.Next))
	}
	if r.Last != nil {
		line("last", "%s", lastWords(*r.Last, location(r.Spec)))
	}
	for _, w := range r.Wrong {
		line("wrong", "%s", w)
	}
	return b.String()
}

// location is the zone of a spec; the machine's when it is not known.
func location(s schedule.Spec) *time.Location {
	if l, err := time.LoadLocation(s.Zone); err == nil {
		return l
	}
	return time.Local
}

// lastWords says how a time ended.
func lastWords(f nightly.Firing, zone *time.Location) string {
	at := f.Begun
	if at.IsZero() {
		at = f.Nominal
	}
	words := moment(at.In(zone)) + ": " + string(f.State)
	if f.State == nightly.Begun && f.Why == "" {
		words += " and not ended yet"
	}
	if f.Code != nil {
		words += fmt.Sprintf(" with exit status %d", *f.Code)
	}
	if f.State == nightly.Ended {
		words += " after " + f.At.Sub(f.Begun).Round(time.Second).String()
	}
	if f.RunID != "" {
		words += ", run " + f.RunID
	}
	if f.Nominal.IsZero() && !f.Begun.IsZero() {
		words += ", started by a person"
	}
	if f.Why != "" {
		words += ": " + f.Why
	}
	return words
}

// quoted are words as one would type them in a shell.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./:,@%+", r))
		}) {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// short writes the home folder as a tilde.
func short(path, home string) string {
	if below, ok := strings.CutPrefix(path, home+"/"); ok && len(home) > 1 {
		return "~/" + below
	}
	return path
}
