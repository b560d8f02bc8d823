package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

const (
	versionTimeout = 20 * time.Second
	// minClaude is the oldest CLI that has every flag a session needs;
	// testedClaude is the oldest that the tests run with.
	minClaude    = "2.1.0"
	testedClaude = "2.1.197"
)

// parseVersion finds the version in the answer to --version, or nothing.
func parseVersion(out string) string {
	return regexp.MustCompile(`\b\d+\.\d+\.\d+\b`).FindString(out)
}

// olderThan compares two versions of three numbers.
func olderThan(v, than string) bool {
	form := regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)`)
	a, b := form.FindStringSubmatch(v), form.FindStringSubmatch(than)
	if a == nil || b == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		x, errX := strconv.Atoi(a[i])
		y, errY := strconv.Atoi(b[i])
		if errX != nil || errY != nil {
			return false
		}
		if x != y {
			return x < y
		}
	}
	return false
}

func versionCommand(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of autopilot", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "autopilot %s\n", version())
			return err
		},
	}
}
