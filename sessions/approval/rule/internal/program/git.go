package program

import (
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
)

// GitArgs are the arguments of a git command without the options in front of its
// subcommand, with those that set something of the configuration.
func GitArgs(args []string) (rest, settings []string) {
	i := 1
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		switch a := args[i]; {
		case a == "-c" && i+1 < len(args):
			settings = append(settings, args[i+1])
			i++
		case a == "-C" || a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--exec-path" || a == "--super-prefix" || a == "--attr-source":
			i++
		case strings.HasPrefix(a, "--config-env="):
			settings = append(settings, strings.TrimPrefix(a, "--config-env=")+flow.Unset)
		case a == "--config-env":
			settings = append(settings, args[min(i+1, len(args)-1)]+flow.Unset)
			i++
		}
		i++
	}
	return args[min(i, len(args)):], settings
}
