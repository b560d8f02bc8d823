package rule

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/secret"
)

// github judges what gh asks of a repository on the network.
func (j *judging) github(c *flow.Command) {
	ops := argv.Operands(argv.WithoutValues(c.Args, "-R", "--repo", "--hostname", "-X", "--method", "-H", "--header", "-f", "-F", "--field", "--raw-field", "-q", "--jq", "--input", "-t", "--template", "--cache"))
	if len(ops) < 2 {
		return
	}
	switch ops[0] + " " + ops[1] {
	case "workflow run":
		for _, a := range c.Args[3:] {
			lower := strings.ToLower(a)
			base := strings.TrimSuffix(path.Base(lower), path.Ext(lower))
			if base == "cd" || slices.ContainsFunc([]string{"deploy", "release", "publish", "rollout"}, func(w string) bool { return strings.Contains(lower, w) }) {
				j.hold(deploy, c.Text(), false)
			}
			if label.Named(a) {
				j.hold(production, c.Text(), true)
			}
		}
	case "pr merge":
		if argv.HasFlag(c.Args, "--admin") {
			j.hold(infrastructure, c.Text(), false)
		}
	case "repo sync":
		if argv.HasFlag(c.Args, "--force") {
			j.hold(forcePush, c.Text(), true)
		}
	case "gist create":
		if argv.HasFlag(c.Args, "-p|--public") {
			j.hold(publish, c.Text(), false)
		}
		for _, p := range ops[2:] {
			if secret.File(c.Abs(p)) {
				j.hold(secrets, c.Text(), false)
			}
		}
	}
	if ops[0] == "api" {
		j.githubAPI(c, ops[1])
	}
}

// githubAPI judges a request by its method and its path.
func (j *judging) githubAPI(c *flow.Command, p string) {
	method, given := argv.ValueOf(c.Args, "-X", "--method")
	if !given {
		method = "GET"
		if argv.HasFlag(c.Args, "-f|-F|--field|--raw-field|--input") {
			method = "POST"
		}
	}
	if p == "graphql" {
		if slices.ContainsFunc(c.Args, func(a string) bool {
			return strings.Contains(a, "mutation") && !strings.Contains(a, "addComment") && !strings.Contains(a, "resolveReviewThread")
		}) {
			j.hold(infrastructure, c.Text(), false)
		}
		return
	}
	if strings.EqualFold(method, "GET") || strings.EqualFold(method, "HEAD") {
		return
	}
	p, _, _ = strings.Cut(strings.Trim(p, "/"), "?")
	parts := strings.Split(p, "/")
	last := parts[len(parts)-1]
	talk := slices.ContainsFunc(parts, func(s string) bool {
		return slices.Contains([]string{"comments", "reviews", "reactions", "labels", "assignees", "requested_reviewers", "check-runs", "statuses", "notifications", "markdown"}, s)
	})
	about := slices.Contains(parts, "pulls") || slices.Contains(parts, "issues")
	switch {
	case last == "dispatches" || last == "deployments":
		j.hold(deploy, c.Text(), false)
	case talk, about && last != "merge" && !strings.EqualFold(method, "DELETE"):
	default:
		j.hold(infrastructure, c.Text(), false)
	}
}

// docker judges what deletes volumes, and what acts on another machine.
func (j *judging) docker(c *flow.Command) {
	ops := argv.Operands(argv.WithoutValues(c.Args, "-H", "--host", "-c", "--context", "-f", "--file", "-p", "--project-name", "--env-file", "--profile", "-l", "--log-level"))
	if c.Name() == "docker-compose" {
		ops = append([]string{"compose"}, ops...)
	}
	has := func(words ...string) bool { return len(ops) >= len(words) && slices.Equal(ops[:len(words)], words) }
	switch {
	case has("compose", "down") && argv.HasFlag(c.Args, "-v|--volumes"), has("system", "prune") && argv.HasFlag(c.Args, "--volumes"):
		j.hold(dropData, c.Text(), false)
	case has("volume", "rm") && len(ops) > 2 && !slices.ContainsFunc(ops[2:], func(v string) bool { return !label.ForTests(v) }):
		j.findings = slices.DeleteFunc(j.findings, func(f Finding) bool { return f.Rule == dropData && f.Part == oneLine(c.Text()) })
	case has("context", "use") && len(ops) > 2:
		j.target = ops[2]
		return
	}
	if !slices.ContainsFunc(ops[:min(len(ops), 2)], func(o string) bool {
		return slices.Contains([]string{"up", "down", "restart", "stop", "start", "rm", "kill", "run", "exec", "deploy", "rmi"}, o)
	}) {
		return
	}
	place := ""
	for _, flag := range []string{"-H", "--host", "-c", "--context", "-f", "--file", "-p", "--project-name"} {
		if v, ok := argv.ValueOf(c.Args, flag); ok && (flag != "-p" && flag != "-f" || slices.Contains(c.Args[1:], "compose") || c.Name() == "docker-compose") {
			place += " " + v
		}
	}
	if label.Named(place) || label.Named(j.target) || slices.ContainsFunc(slices.Concat(j.exported, c.Env), func(e string) bool {
		return (strings.HasPrefix(e, "DOCKER_HOST=") || strings.HasPrefix(e, "DOCKER_CONTEXT=")) && label.Named(e)
	}) {
		j.hold(production, c.Text(), true)
	}
}

// request judges a request that changes something on another machine.
func (j *judging) request(c *flow.Command) {
	for _, name := range c.Uses {
		if strings.Contains(name, "DEPLOY") && (strings.Contains(name, "HOOK") || strings.Contains(name, "URL")) {
			j.hold(deploy, c.Text(), false)
		}
	}
	method, given := argv.ValueOf(c.Args, "-X", "--request", "--method")
	sends := argv.HasFlag(c.Args, "-d|--data|--data-raw|--data-binary|--json|-F|--form|-T|--upload-file|--post-data|--post-file") && !argv.HasFlag(c.Args, "-G|--get")
	if !given && sends {
		method = "POST"
	}
	if c.Name() != "curl" && c.Name() != "wget" && len(c.Args) > 2 {
		method = c.Args[1]
	}
	if !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, strings.ToUpper(method)) || label.Local(c.Args) {
		return
	}
	for i, a := range c.Args[1:] {
		if prev := c.Args[i]; !strings.Contains(a, "://") || prev == "-d" || prev == "-H" || strings.HasPrefix(prev, "--data") {
			continue
		}
		a, _, _ = strings.Cut(a, "?")
		if label.Named(a) {
			j.hold(production, c.Text(), true)
		}
		for part := range strings.SplitSeq(strings.ToLower(a), "/") {
			if slices.Contains([]string{"deploy", "deploys", "deployments", "build_hooks", "dispatches"}, part) {
				j.hold(deploy, c.Text(), false)
			}
		}
	}
}
