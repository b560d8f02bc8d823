package rule

import (
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
)

// inTests reports whether a command works on a database of tests: by its environment, or
// by the name of the database.
func (j *judging) inTests(c *flow.Command) bool {
	for _, e := range slices.Concat(j.exported, c.Env, c.Args[1:]) {
		name, value, ok := strings.Cut(strings.TrimLeft(e, "-"), "=")
		if !ok {
			continue
		}
		switch name {
		case "RAILS_ENV", "RACK_ENV", "MIX_ENV", "NODE_ENV", "APP_ENV", "DJANGO_SETTINGS_MODULE", "FLASK_ENV", "DATABASE_URL", "PGDATABASE", "settings", "env", "environment", "dbname", "database", "url":
			if label.ForTests(label.Database(value)) {
				return true
			}
		}
	}
	name := strings.TrimRight(c.Name(), "0123456789.")
	if !isDatabase(name) && !slices.Contains([]string{"dropdb", "goose", "migrate", "alembic", "dbmate", "sqlx", "psqldef", "pg_restore", "mysqladmin"}, name) {
		return false
	}
	if slices.ContainsFunc(c.Args[1:], label.Named) {
		return false
	}
	for i, a := range c.Args[1:] {
		prev := c.Args[i]
		flag := strings.HasPrefix(prev, "-") && !slices.Contains([]string{"-d", "--dbname", "--database", "-database", "-D", "--if-exists", "-url", "--url", "--db"}, prev)
		switch {
		case strings.HasPrefix(a, "-") || strings.HasSuffix(a, ".sql") || strings.HasSuffix(a, ".ini"):
		case strings.Contains(a, "://"), !flag, name == "psql" && i > 0 && !slices.Contains([]string{"-c", "-f", "-h", "-p", "-v", "--command", "--file", "--host", "--port"}, prev) && slices.Contains(argv.Operands(c.Args), a) && prev != "-U":
			if label.ForTests(label.Database(a)) {
				return true
			}
		}
	}
	return false
}

// inLocalCluster reports whether a command acts on a cluster of this machine.
func (j *judging) inLocalCluster(c *flow.Command) bool {
	if !slices.Contains([]string{"kubectl", "oc", "k", "helm", "helmfile", "kustomize", "skaffold"}, c.Name()) {
		return false
	}
	context, ok := argv.ValueOf(c.Args, "--context", "--kube-context")
	if !ok {
		context = j.target
	}
	for _, local := range []string{"kind", "minikube", "k3d", "docker-desktop", "colima", "rancher-desktop", "orbstack", "ctlptl"} {
		if context == local || strings.HasPrefix(context, local+"-") {
			return !label.Named(context)
		}
	}
	return false
}

// excused takes back what was found of a command since, where it works on what is there
// for tests only.
func (j *judging) excused(c *flow.Command, since int) {
	var rules []string
	if j.inTests(c) {
		rules = append(rules, migrate, dropData)
	}
	if j.inLocalCluster(c) {
		rules = append(rules, infrastructure)
	}
	if len(rules) == 0 || since > len(j.findings) {
		return
	}
	kept := slices.Clone(j.findings[:since])
	for _, f := range j.findings[since:] {
		if !slices.Contains(rules, f.Rule) {
			kept = append(kept, f)
		}
	}
	j.findings = kept
}
