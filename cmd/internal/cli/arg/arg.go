// Package arg checks the arguments of commands.
package arg

import (
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
)

// None refuses arguments by name.
func None(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return outside.UsageHint("see 'autopilot "+c.Name()+" --help'", "%s takes no argument, got %q", c.Name(), args[0])
	}
	return nil
}
