// Package arg checks the arguments of commands.
package arg

import (
	"strings"

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

// Exactly wants as many words as are named, and says what is missing.
func Exactly(names ...string) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return outside.UsageHint("see 'autopilot "+below(c)+" --help'", "%s needs %s", below(c), names[len(args)])
		}
		return AtMost(len(names))(c, args)
	}
}

// AtMost refuses what comes behind n words.
func AtMost(n int) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return outside.UsageHint("see 'autopilot "+below(c)+" --help'", "%s does not take %q", below(c), args[n])
		}
		return nil
	}
}

// below is the path of a command without the program's name.
func below(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") }
