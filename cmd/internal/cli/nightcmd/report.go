package nightcmd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/morning"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/report"
	"autopilot/metrics/report/digest"
	"autopilot/metrics/spelling"
	"autopilot/metrics/statedir"
)

// Forms of a report.
const (
	formMarkdown = "md"
	formHTML     = "html"
	formJSON     = "json"
)

// reportFlags are the flags of the command.
type reportFlags struct {
	format, since    string
	html, state, all bool
	file             string
}

func reportCommand(std outside.Stdio) *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use: "report [RUN | --since TIME]", Short: "The report of a run, or of all since a time: what was done, proof, cost, what a person has to do now", Args: arg.AtMost(1),
		Long:    "Print the report of a run, the last one unless RUN names another, or with --since a digest of all runs of this\nrepository that have ended since then: what was done, what proves it, what it has cost, why runs stopped, and what\nneeds a person now, with the commands to go on. --format md is text, html is one page with plots that needs nothing\nfrom the network, json has a schema_version. --state prints a run as the state of a session, in JSON. A file named\nwith -o is replaced as a whole; its folder has to be there.",
		Example: "  autopilot report\n  autopilot report --html -o report.html\n  autopilot report --since 36h\n  autopilot report --since 7d --all-projects --format json\n  autopilot report --since 2026-11-01 --format html -o week.html",
	}
	c.Flags().StringVar(&f.format, "format", formMarkdown, "`FORM`: md, html or json")
	c.Flags().BoolVar(&f.html, "html", false, "short for --format html")
	c.Flags().StringVar(&f.since, "since", "", "a digest of the runs that ended since `TIME`: 7d, 36h, a day (2026-11-01) or a moment")
	c.Flags().BoolVar(&f.all, "all-projects", false, "with --since: of all repositories on this machine")
	c.Flags().BoolVar(&f.state, "state", false, "as the state of a session, in JSON")
	c.Flags().StringVarP(&f.file, "output", "o", "", "write it to `FILE` instead")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.check(c.Flags().Changed("format"), c.Flags().Changed("since"), args); err != nil {
			return err
		}
		text, err := f.text(c.Context(), std, strings.Join(args, ""), time.Now())
		if err != nil {
			return err
		}
		if f.file != "" {
			return save(f.file, text)
		}
		_, err = std.Out.Write(text)
		return err
	}
	return c
}

// check refuses what does not go together.
func (f *reportFlags) check(formatGiven, sinceGiven bool, args []string) error {
	forms := []string{formMarkdown, formHTML, formJSON}
	switch {
	case !slices.Contains(forms, f.format):
		return outside.UsageHint(nearestForm(f.format, forms), "--format takes md, html or json, got %q", f.format)
	case f.html && formatGiven && f.format != formHTML:
		return outside.Usage("--html and --format %s are two forms; choose one", f.format)
	case f.html && f.state:
		return outside.Usage("--html and --state are two forms; choose one")
	case f.state && formatGiven:
		return outside.Usage("--format and --state are two forms; choose one")
	case sinceGiven && len(args) > 0:
		return outside.UsageHint("leave out one of the two", "a run and --since exclude each other: a digest is about all runs since then")
	case sinceGiven && f.state:
		return outside.Usage("--state is about one run, and --since about several")
	case f.all && !sinceGiven:
		return outside.UsageHint("as in 'autopilot report --since 7d --all-projects'", "--all-projects is for a digest and wants --since")
	case sinceGiven && f.since == "":
		return outside.UsageHint(sinceHint, "--since is empty")
	}
	if f.html {
		f.format = formHTML
	}
	return nil
}

const sinceHint = "as in --since 7d, --since 36h or --since 2026-11-01"

// nearestForm names the form that was probably meant.
func nearestForm(word string, forms []string) string {
	word = strings.ToLower(strings.TrimSpace(word))
	others := map[string]string{"markdown": formMarkdown, "text": formMarkdown, "txt": formMarkdown, "htm": formHTML, "page": formHTML}
	if n := others[word]; n != "" {
		return fmt.Sprintf("did you mean --format %s?", n)
	}
	if n := spelling.Meant(word, forms); n != "" {
		return fmt.Sprintf("did you mean --format %s?", n)
	}
	return "see 'autopilot report --help'"
}

// text is what is asked for in its form.
func (f *reportFlags) text(ctx context.Context, std outside.Stdio, run string, now time.Time) ([]byte, error) {
	if f.since != "" {
		return f.digest(ctx, std, now)
	}
	p, n, err := place(ctx, std, false)
	if err != nil {
		return nil, err
	}
	r, err := morning.Find(p, n, run)
	if err != nil {
		return nil, err
	}
	switch {
	case f.state:
		var b bytes.Buffer
		err := outside.Stdio{Out: &b}.JSON(r.View(now))
		return b.Bytes(), err
	case f.format == formHTML:
		return report.HTML(r.Facts(now))
	case f.format == formJSON:
		return report.JSON(r.Facts(now))
	}
	return report.Markdown(r.Facts(now)), nil
}

// digest is about all runs since a time.
func (f *reportFlags) digest(ctx context.Context, std outside.Stdio, now time.Time) ([]byte, error) {
	since, err := morning.ParseSince(f.since, now)
	if err != nil {
		return nil, outside.UsageHint(sinceHint, "--since: %v", err)
	}
	var facts digest.Facts
	if f.all {
		facts, err = morning.DigestOfAll(ctx, std, since, now)
	} else {
		p, n, perr := place(ctx, std, false)
		if perr != nil {
			return nil, perr
		}
		facts = morning.DigestOf(p, n, since, now)
	}
	if err != nil {
		return nil, err
	}
	switch f.format {
	case formHTML:
		return digest.HTML(facts)
	case formJSON:
		return digest.JSON(facts)
	}
	return digest.Markdown(facts), nil
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
