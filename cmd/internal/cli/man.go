package cli

import (
	"os"
	"time"

	"autopilot/cmd/internal/outside"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages from the same texts as --help. The date is
// fixed, so that building twice gives the same bytes.
func manCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into DIR", Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return outside.UsageHint("autopilot man ./man", "man takes the folder to write to")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return outside.Usage("make folder: %v", err)
			}
			date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			root := newRoot(std)
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Title: "AUTOPILOT", Section: "1", Source: "autopilot", Manual: "autopilot", Date: &date}, args[0])
		},
	}
}
