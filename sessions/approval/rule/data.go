package rule

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/code"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
)

// data judges what is said to a database.
func (j *judging) data(c *flow.Command) {
	name := c.Name()
	if name == "wrangler" && slices.Contains(c.Args, "d1") && !argv.HasFlag(c.Args, "--local") {
		name = "sqlite"
	}
	if !isDatabase(name) {
		j.models(c)
		return
	}
	ops := argv.Operands(c.Args)
	if name == "redis-cli" || name == "valkey-cli" {
		said := argv.Operands(argv.WithoutValues(c.Args, "-h", "-p", "-a", "-n", "-u", "-s", "--user", "--pass"))
		if len(said) > 0 && slices.Contains([]string{"FLUSHALL", "FLUSHDB", "SHUTDOWN"}, strings.ToUpper(said[0])) {
			j.hold(dropData, c.Text(), false)
		}
	}
	if strings.HasPrefix(name, "sqlite3") && len(ops) > 0 && ops[0] == ":memory:" {
		return
	}
	for i, a := range c.Args[1:] {
		file := ""
		switch prev := c.Args[i]; {
		case prev == "-f" || prev == "--file" || prev == "-i":
			file = a
		case strings.HasPrefix(a, "--file="):
			file = a[len("--file="):]
		case strings.HasPrefix(a, ".read "):
			file = strings.TrimSpace(a[len(".read "):])
		}
		if file != "" {
			if f := c.Content(file); f.Known && dropsData(f.Text) {
				j.hold(dropData, c.Text(), false)
			}
		}
		if dropsData(a) || changesAll(a) {
			j.hold(dropData, a, false)
		}
	}
	if c.Piped() {
		if f := c.Stdin(); f.Known && dropsData(f.Text) {
			j.hold(dropData, f.Text, false)
		} else if !f.Known && (f.Source == flow.Remote || f.Source == flow.Decoded) {
			j.hold(remoteScript, c.Text(), false)
		}
	}
}

func isDatabase(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "psql", "pgcli", "mysql", "mariadb", "mycli", "sqlite", "litecli", "mongosh", "mongo", "redis-cli", "valkey-cli", "cqlsh", "clickhouse-client", "clickhouse", "duckdb",
		"sqlcmd", "bq", "usql", "cockroach", "snowsql", "influx", "turso", "sqlplus", "tsql", "surreal", "neo4j", "cypher-shell", "libsql", "spanner-cli":
		return true
	}
	return false
}

var (
	destructive = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(drop\s+(table|database|schema|view|materialized\s+view|index|type|column|role|user|keyspace|collection|sequence|constraint|owned|tablespace)` +
			`|delete\s+from|truncate(\s+table)?\s+["\w` + "`" + `\[]|detach\s+delete|flushall|flushdb)` +
			`|\.\s*(drop|dropDatabase|deleteMany|deleteOne|remove|drop_collection|dropIndexes|delete_many)\s*\(`)
	})
	testDatabase = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bdrop\s+database\s+(if\s+exists\s+)?["` + "`" + `]?(\w+_)?(test|tests|tmp)(_\w+)?\b`)
	})
	everyRow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bupdate\s+[\w".]+\s+set\b`) })
	comments = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`) })
	literals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`'(?:[^']|'')*'`) })
	dynamic  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(execute|prepare|do|sp_executesql|exec)\b`) })
)

var deletesAll = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(delete_all|destroy_all|drop_table|truncate_tables?)\b|\.all\(\)\.delete\(|\.objects\.[^\n]*\.delete\(\)`)
})

// models judges code that is run within an application, by what it says to its database.
func (j *judging) models(c *flow.Command) {
	ops := argv.Operands(c.Args)
	if len(ops) == 0 || !slices.Contains([]string{"runner", "r", "console", "c", "shell", "shell_plus", "tinker", "dbshell"}, ops[0]) && (len(ops) < 2 || ops[1] != "shell" && ops[1] != "dbshell") {
		return
	}
	texts := c.Args[1:]
	if f := c.Stdin(); c.Piped() && f.Known {
		texts = append(slices.Clip(texts), f.Text)
	}
	for _, s := range texts {
		if deletesAll().MatchString(s) || dropsData(s) {
			j.hold(dropData, s, false)
		}
	}
}

// dropsData reports whether a statement deletes data. Comments are taken out, and texts
// too where nothing can run them.
func dropsData(s string) bool {
	if len(s) < 8 || !strings.ContainsAny(s, " .\t\n*") && !strings.Contains(s, "(") {
		return false
	}
	s = comments().ReplaceAllString(s, " ")
	s = testDatabase().ReplaceAllString(s, " ")
	if !dynamic().MatchString(s) {
		s = literals().ReplaceAllString(s, "''")
	}
	return destructive().MatchString(s)
}

// changesAll reports whether a statement changes every row of a table.
func changesAll(s string) bool {
	for part := range strings.SplitSeq(s, ";") {
		if everyRow().MatchString(part) && !strings.Contains(strings.ToLower(part), "where") {
			return true
		}
	}
	return false
}

// production judges whether a command acts on something named production. Changes says
// that another rule holds the command.
func (j *judging) production(c *flow.Command, changes bool) {
	acts := changes && j.holds(deploy, migrate, infrastructure, dropData)
	name := c.Name()
	reaches := isDatabase(name)
	switch name {
	case "ssh", "scp", "sftp", "rsync", "mosh", "pg_restore", "pg_dump", "mysqldump", "mongodump", "mongorestore", "rails", "heroku", "cap":
		reaches = true
	case "kubectl", "oc", "k":
		ops := argv.Operands(argv.WithoutValues(c.Args, "-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user"))
		reaches = len(ops) > 0 && slices.Contains([]string{"exec", "cp", "attach", "debug"}, ops[0])
	}
	if !acts && !reaches {
		return
	}
	part := ""
	for _, a := range c.Args[1:] {
		if !strings.ContainsAny(a, " \t\n") && label.Named(a) {
			part = a
		}
	}
	for _, e := range slices.Concat(j.exported, c.Env) {
		n, v, _ := strings.Cut(e, "=")
		if n != "NODE_ENV" && n != "BUILD_ENV" && n != "MIX_ENV_BUILD" && label.Named(v) && !strings.ContainsAny(v, " \n") {
			part = e
		}
	}
	if reaches && part == "" {
		for _, name := range c.Uses {
			if label.Named(name) {
				part = name
			}
		}
	}
	if part == "" && acts && j.target != "" && label.Named(j.target) {
		part = j.target
	}
	if part != "" {
		j.hold(production, c.Text(), acts)
	}
}

var (
	asksDatabase = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\.\s*(execute|executescript|query|raw|exec_driver_sql)\s*\(`)
	})
	asksWeb = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(requests|httpx|axios|session|client)\s*\.\s*(post|put|patch|delete)\s*\(|method["']?\s*:\s*["'](post|put|patch|delete)`)
	})
)

// dataCode judges code that says something to a database, or asks another machine for a
// change.
func (j *judging) dataCode(text string) {
	database := asksDatabase().MatchString(text) && !strings.Contains(text, "sqlite") && !strings.Contains(text, ":memory:")
	web := asksWeb().MatchString(text)
	if !database && !web {
		return
	}
	_, plain := code.Literals(text, flow.Unset)
	for _, s := range plain {
		if database && dropsData(s) {
			j.hold(dropData, s, false)
		}
		if web && strings.Contains(s, "://") && label.Named(s) {
			j.hold(production, s, true)
		}
	}
}
