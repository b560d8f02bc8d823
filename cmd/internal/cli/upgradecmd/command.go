package upgradecmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/release"
	"autopilot/cmd/internal/release/stamp"
	"autopilot/supervisor"
)

// URLVar is the variable that says where releases are.
const URLVar = "AUTOPILOT_RELEASE_URL"

// patience is how long the check may take.
const patience = 10 * time.Second

// State says how this program stands to the newest release.
type State string

// The states of a check.
const (
	Newest  State = "newest"
	Newer   State = "newer"   // there is a newer one than this
	Ahead   State = "ahead"   // this one comes after the newest release
	Unknown State = "unknown" // this one was built without a version
)

// Answer is what a check found.
type Answer struct {
	State   State  `json:"state"`
	Current string `json:"current"`
	Latest  string `json:"latest"`
	From    string `json:"from"`
}

// Commands are 'version' and 'upgrade'.
func Commands(std outside.Stdio) []*cobra.Command {
	return []*cobra.Command{versionCommand(std), upgradeCommand(std, stamp.Of().Version, stamp.Base())}
}

func versionCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print the version of autopilot", Args: arg.None,
		Long: "Print the version of autopilot. With --json also the commit and its date where they are known, the Go\nversion, and the system that it was built for.",
		RunE: func(*cobra.Command, []string) error {
			b := stamp.Of()
			if asJSON {
				return std.JSON(b)
			}
			return std.Say("autopilot %s\n", b.Version)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func upgradeCommand(std outside.Stdio, current, base string) *cobra.Command {
	var check, asJSON bool
	var from string
	c := &cobra.Command{
		Use: "upgrade --check", Short: "Tell whether a newer version of autopilot is there", Args: arg.None,
		Long: "Tell whether a newer version is there: reads " + release.LatestName + " below --from, below $" + URLVar + ", or below the place\n" +
			"that this program was built to look at, and compares. It only tells; nothing is downloaded or replaced, and\nnothing is asked unless this command is called. What it finds has to be a version; it waits at most 10 seconds.\n\n" +
			"Exit status 0 when this is the newest version or comes after it, or when this program was built without a\nversion; 3 when a newer one is there; 2 when nobody said where to look; 1 when there was no answer.",
		Example: "  autopilot upgrade --check\n  autopilot upgrade --check --json --from URL",
	}
	c.Flags().BoolVar(&check, "check", false, "look whether a newer version is there")
	c.Flags().StringVar(&from, "from", "", "`URL` (https) or folder below which releases are")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, other := range []string{std.Getenv(URLVar), base} {
			if from == "" && !c.Flags().Changed("from") {
				from = other
			}
		}
		if !check {
			return outside.UsageHint(advice(std, from), "upgrade only tells with --check; it replaces nothing")
		}
		answer, err := ask(c.Context(), current, from)
		if err != nil {
			return err
		}
		if asJSON {
			err = std.JSON(answer)
		} else {
			err = std.Say("%s", answer.text(advice(std, from)))
		}
		if err == nil && answer.State == Newer {
			err = outside.Silent(supervisor.ExitFailures)
		}
		return err
	}
	return c
}

// ask finds the newest version and compares.
func ask(ctx context.Context, current, from string) (Answer, error) {
	if from == "" {
		return Answer{}, outside.UsageHint("name it with --from URL or in "+URLVar, "nobody said where releases of autopilot are")
	}
	source, err := release.ParseSource(from)
	if err != nil {
		return Answer{}, outside.UsageHint("want https://..., or a folder", "where releases are: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %d seconds", int(patience.Seconds())))
	defer cancel()
	latest, err := release.Latest(ctx, source)
	if err != nil {
		return Answer{}, err
	}
	return Answer{State: compare(current, latest), Current: current, Latest: latest.String(), From: source.String()}, nil
}

func compare(current string, latest release.Version) State {
	v, err := release.ParseVersion(current)
	if err != nil {
		return Unknown
	}
	switch c := v.Compare(latest); {
	case c < 0:
		return Newer
	case c > 0:
		return Ahead
	}
	return Newest
}

// text is the answer for a person.
func (a Answer) text(advice string) string {
	switch a.State {
	case Newest:
		return fmt.Sprintf("autopilot %s is the newest version\n", a.Current)
	case Ahead:
		return fmt.Sprintf("autopilot %s comes after the newest release, %s\n", a.Current, a.Latest)
	case Unknown:
		return fmt.Sprintf("this autopilot was built without a version (%s); the newest release is %s\n%s\n", a.Current, a.Latest, advice)
	}
	return fmt.Sprintf("autopilot %s is there, this is %s\n%s\n", a.Latest, a.Current, advice)
}
