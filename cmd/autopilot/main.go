// Command autopilot supervises Claude Code from outside: it decides whether
// another session may start, runs it, watches it, ends it and writes it down.
package main

import (
	"os"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
)

func main() { os.Exit(cli.Main(os.Args[1:], outside.System())) }
