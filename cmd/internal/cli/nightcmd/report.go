package nightcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/morning"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/report"
	"autopilot/metrics/statedir"
)

func reportCommand(std outside.Stdio) *cobra.Command {
	var html, state bool
	var file string
	c := &cobra.Command{
		Use: "report [RUN]", Short: "The report of a run: what was done, what it cost, what a person has to do now", Args: arg.AtMost(1),
		Long: "Print the report of a run, the last one unless RUN names another, as Markdown or with --html as one page that\nneeds nothing from the network. --state prints the run as the state of a session, in JSON. A file named with -o is\nreplaced as a whole; its folder has to be there.",
	}
	c.Flags().BoolVar(&html, "html", false, "as an HTML page, with plots")
	c.Flags().BoolVar(&state, "state", false, "as the state of a session, in JSON")
	c.Flags().StringVarP(&file, "output", "o", "", "write it to `FILE` instead")
	c.RunE = func(c *cobra.Command, args []string) error {
		if html && state {
			return outside.Usage("--html and --state are two forms; choose one")
		}
		p, n, err := place(c.Context(), std, false)
		if err != nil {
			return err
		}
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		r, err := morning.Find(p, n, id)
		if err != nil {
			return err
		}
		text, err := written(r, html, state, time.Now())
		if err != nil {
			return err
		}
		if file != "" {
			return save(file, text)
		}
		_, err = std.Out.Write(text)
		return err
	}
	return c
}

// written is a run in the form that is wanted.
func written(r morning.Run, html, state bool, now time.Time) ([]byte, error) {
	switch {
	case state:
		var b bytes.Buffer
		err := outside.Stdio{Out: &b}.JSON(r.View(now))
		return b.Bytes(), err
	case html:
		return report.HTML(r.Facts(now))
	}
	return report.Markdown(r.Facts(now)), nil
}

// save writes a file into a folder that is there.
func save(file string, text []byte) error {
	info, err := os.Stat(filepath.Dir(file))
	if err != nil || !info.IsDir() {
		return outside.UsageHint("make it, or name another with -o", "there is no folder %s for the report", filepath.Dir(file))
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return outside.UsageHint("name a file in it with -o", "%s is a folder", file)
	}
	return statedir.Replace(file, text)
}
