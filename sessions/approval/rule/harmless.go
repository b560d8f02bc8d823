package rule

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
	"autopilot/sessions/approval/rule/internal/table"
)

// free reports whether a command only tells how it is used, or what it would do. That
// counts only for a program that is known to take such a flag itself: a shell, a wrapper or
// a script hands it on to what it runs, and that is looked at for itself.
func free(c *flow.Command) bool {
	name := strings.TrimRight(c.Name(), "0123456789.")
	if len(c.Args) < 2 || !takesFlags(c, name) {
		return false
	}
	isFree := false
	for i, a := range c.Args[1:] {
		if a == "--" {
			break
		}
		if i > 0 && takesValue(c.Args[i]) && a != "--no-dry-run" {
			continue
		}
		flag, value, given := strings.Cut(a, "=")
		if !given && i+2 < len(c.Args) && slices.Contains([]string{"false", "no", "none", "0", "off"}, c.Args[i+2]) {
			given, value = true, c.Args[i+2]
		}
		switch flag {
		case "--help", "-help":
			isFree = isFree || !given
		case "--version", "-version":
			isFree = isFree || i == 0
		case "--no-dry-run":
			return false
		case "--dry-run", "--dryrun", "--noop", "--check", "--syntax-check", "--list-tasks", "--list-hosts", "--dry", "--preview", "--no-deploy", "--sql", "--list":
			if !rehearses(name, flag) {
				continue
			}
			if given && !slices.Contains([]string{"true", "client", "server", "1", "yes"}, value) {
				return false
			}
			isFree = true
		}
	}
	return isFree
}

// takesFlags reports whether a command is a known program, and not one that hands its
// arguments on.
func takesFlags(c *flow.Command, name string) bool {
	_, wraps := program.WrapperOf(name)
	if len(c.Args) > 2 && program.InterpreterOf(name) == "python" && path.Base(c.Args[1]) == "manage.py" {
		return true
	}
	if wraps || program.IsShell(name) || program.InterpreterOf(name) != "" {
		return false
	}
	if name != "git" && name != "autopilot" && len(table.Rows()[name]) == 0 && !slices.Contains([]string{"gcloud", "az", "aws", "rsync"}, name) {
		return false
	}
	ops := argv.Operands(c.Args)
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		return len(ops) > 0 && slices.Contains([]string{"publish", "pub", "unpublish", "deprecate", "dist-tag", "owner", "access", "token", "pack", "version", "npm"}, ops[0])
	case "git":
		args, settings := program.GitArgs(c.Args)
		return len(settings) == 0 && len(args) > 0 && !slices.Contains([]string{"config", "remote", "symbolic-ref", "update-ref", "init"}, args[0])
	case "docker", "podman", "nerdctl", "compose", "docker-compose", "kubectl", "oc", "k", "heroku", "railway":
		if slices.ContainsFunc(ops[:min(len(ops), 3)], func(a string) bool { return a == "run" || a == "exec" || a == "debug" }) {
			return name == "kubectl" && ops[0] == "run" && !slices.Contains(c.Args, "--")
		}
	}
	dir := path.Dir(c.Args[0])
	if dir == "." && !strings.HasPrefix(c.Args[0], "./") {
		return true
	}
	return strings.HasPrefix(dir, "/usr/") || strings.HasPrefix(dir, "/opt/") || dir == "/bin" || dir == "bin" || strings.HasSuffix(dir, "node_modules/.bin") || strings.HasSuffix(dir, "venv/bin")
}

// takesValue reports whether a flag may take what follows it for its value.
func takesValue(flag string) bool {
	if len(flag) < 2 || flag[0] != '-' || strings.Contains(flag, "=") || strings.HasPrefix(flag, "--no-") || strings.HasPrefix(flag, "--dry") {
		return false
	}
	switch flag {
	case "--yes", "-y", "--force", "--clean", "--quiet", "-q", "--verbose", "-v", "--debug", "--prod", "--all", "-A", "--recursive", "-r", "-R", "--json", "--wait",
		"--atomic", "--install", "-i", "--provenance", "--allow-dirty", "--locked", "--workspace", "--workspaces", "--offline", "--auto-approve", "--ignore-scripts",
		"--delete", "--prune", "--snapshot", "--ci", "--once", "--build", "-a", "-az", "-avz", "-av", "--help", "--release", "-u", "--tags", "--quiet-pull":
		return false
	}
	return true
}

// rehearses reports whether a program only tells what it would do where it is given a flag.
func rehearses(name, flag string) bool {
	var names []string
	switch flag {
	case "--dry-run":
		names = []string{
			"npm", "pnpm", "yarn", "bun", "cargo", "kubectl", "oc", "k", "helm", "semantic-release", "release-it", "aws", "wrangler", "firebase", "firebase-tools", "poetry", "uv",
			"mix", "dart", "flutter", "docker", "docker-compose", "argocd", "rclone", "gradle", "gradlew", "composer", "deno", "jsr", "sqlx", "atlas", "supabase", "eksctl", "cap",
			"git", "rsync", "flux",
		}
	case "--dryrun":
		names = []string{"aws", "az"}
	case "--noop":
		names = []string{"puppet"}
	case "--check", "--syntax-check", "--list-tasks", "--list-hosts":
		names = []string{"ansible-playbook", "ansible", "ansible-pull"}
	case "--dry":
		names = []string{"netlify", "netlify-cli", "ntl", "turbo"}
	case "--preview":
		names = []string{"np"}
	case "--no-deploy":
		names = []string{"fly", "flyctl"}
	case "--sql":
		names = []string{"alembic"}
	case "--list":
		names = []string{"kubectl", "oc", "k"}
	}
	return slices.Contains(names, name)
}
