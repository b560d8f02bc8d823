package rule

import (
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/table"
)

// tables judges a command by what is known of its program.
func (j *judging) tables(c *flow.Command) {
	name := strings.TrimRight(c.Name(), "0123456789.")
	args := append([]string{name}, c.Args[1:]...)
	if name == "cargo" && len(args) > 1 && strings.HasPrefix(args[1], "+") {
		args = slices.Delete(args, 1, 2) // the version of the tools
	}
	if e := len(c.Next) > 0 && c.Next[0] == flow.Environment; e && (name == "gh" || name == "gcloud" || name == "op") {
		return // a token for the command that needs it
	}
	for _, e := range table.Rows()[name] {
		if argv.Begins(e.Words, args) && !table.Harmless(name, args) {
			j.hold(e.Rule, c.Text(), false)
		}
	}
	switch name {
	case "gsutil", "rclone", "s3cmd", "s5cmd":
		if table.Stores(name, args) {
			j.hold(infrastructure, c.Text(), false)
		}
	case "gh":
		j.github(c)
	case "docker", "docker-compose", "podman", "nerdctl":
		j.docker(c)
	case "curl", "http", "https", "xh", "wget":
		j.request(c)
	case "aws", "gcloud", "az":
		if table.CloudChanges(name, argv.Operands(argv.WithoutValues(table.Leading(args), "--region", "--profile", "--output", "--endpoint-url", "--query", "--project", "--zone", "--account", "--subscription"))) || name == "gcloud" && table.Stores(name, table.Leading(args)) {
			j.hold(infrastructure, c.Text(), false)
		}
	case "vercel", "now":
		ops := argv.Operands(args)
		if len(ops) == 0 || argv.HasFlag(args, "--prod") {
			j.hold(deploy, c.Text(), false)
		}
	case "kubectl", "oc", "k":
		if ops := argv.Operands(args); len(ops) > 1 && (slices.Contains(ops, "use-context") || slices.Contains(ops, "current-context") && ops[1] == "set") {
			j.target = ops[len(ops)-1]
		}
	case "kind", "minikube", "k3d", "ctlptl":
		if ops := argv.Operands(args); len(ops) > 0 && (ops[0] == "create" || ops[0] == "start") {
			j.target = name + "-local"
		}
	case "terraform", "tofu":
		if ops := argv.Operands(args); len(ops) > 2 && ops[0] == "workspace" {
			j.target = ops[2]
		}
	case "kubectx", "kubens":
		if ops := argv.Operands(args); len(ops) > 0 {
			j.target = ops[0]
		}
	}
	// A program that a computed word tells what to do.
	if !c.File && !c.Code && len(args) > 1 && strings.ContainsAny(args[1], flow.Made+flow.Fetched+flow.Taken) && slices.Contains([]string{"git", "kubectl", "helm", "terraform", "npm", "docker", "aws"}, name) {
		j.hold(unreadable, c.Text(), false)
	}
}
