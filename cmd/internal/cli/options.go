package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/judge"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/spelling"
)

// rawFlag takes the value of an option as it was typed. It is read and checked
// together with the values of all other layers.
type rawFlag struct {
	option config.Option
	raw    []string
}

func (f *rawFlag) String() string { return "" }

// Set keeps the text; a list keeps every text.
func (f *rawFlag) Set(s string) error {
	if !f.option.List {
		f.raw = nil
	}
	f.raw = append(f.raw, s)
	return nil
}

// Type is shown in help.
func (f *rawFlag) Type() string { return "value" }

// addOptions gives a command a flag for every option and returns a function
// that collects what was typed.
func addOptions(c *cobra.Command) func() []config.Value {
	var flags []*rawFlag
	for _, o := range config.Options() {
		f := &rawFlag{option: o}
		help := o.Help
		if o.Bounds != "" {
			help += " (" + o.Bounds + ")"
		}
		if o.Default != "" {
			help += fmt.Sprintf(" [%s]", o.Default)
		}
		flag := c.Flags().VarPF(f, o.Key, "", help)
		if o.Bool {
			flag.NoOptDefVal = "true"
		}
		flag.Hidden = o.Group != "" // 'autopilot config' shows it
		flags = append(flags, f)
	}
	c.Flags().SortFlags = false
	return func() []config.Value {
		var out []config.Value
		for _, f := range flags {
			if c.Flags().Changed(f.option.Key) {
				out = append(out, config.Value{Key: f.option.Key, Raw: f.raw, Origin: "flag --" + f.option.Key})
			}
		}
		return out
	}
}

func nearestFlag(c *cobra.Command, word string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if n := spelling.Meant(word, names); n != "" {
		return fmt.Sprintf("did you mean --%s?", n)
	}
	return "see '" + c.CommandPath() + " --help'"
}

func addSnapshotFlag(c *cobra.Command) {
	c.Flags().String("snapshot", "", "rehearse with the machine's state in `FILE` (as 'probe --snapshot') instead of measuring it")
}

// newJob checks what was typed.
func newJob(c *cobra.Command, std outside.Stdio, flags []config.Value, args, goals []string) (job.Job, error) {
	r := job.Request{Words: args, Goals: goals, Flags: flags}
	if n := c.ArgsLenAtDash(); n >= 0 {
		r.Words, r.Extra = args[:n], args[n:]
	}
	var err error
	if r.Snapshot, err = c.Flags().GetString("snapshot"); err != nil {
		return job.Job{}, err
	}
	j, err := job.New(c.Context(), std, r)
	if err == nil {
		judge.Complete(c.Context(), std, &j)
	}
	return j, err
}
