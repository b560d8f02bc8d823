package table

import (
	"path"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/argv"
)

// Entry is one row: a command that a rule holds.
type Entry struct {
	Rule  string   // its name
	Words []string // patterns, the first of the name
}

// Rows are the table by the names of the programs.
var Rows = sync.OnceValue(func() map[string][]Entry {
	m := map[string][]Entry{}
	for line := range strings.Lines(programs) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		for name := range strings.SplitSeq(words[1], "|") {
			name = strings.TrimSuffix(path.Base(name), "*")
			m[name] = append(m[name], Entry{words[0], append([]string{name}, words[2:]...)})
		}
	}
	return m
})

// Harmless knows the forms of a command of the table that change nothing.
func Harmless(name string, args []string) bool {
	switch name {
	case "goreleaser":
		return argv.HasFlag(args, "--snapshot|--skip-publish|--skip")
	case "ansible":
		v, _ := argv.ValueOf(args, "-m", "--module-name")
		return v == "ping" || v == "setup" || v == "debug"
	case "ansible-playbook":
		return argv.HasFlag(args, "--check|-C|--syntax-check|--list-tasks|--list-hosts")
	case "semantic-release", "release-it":
		return argv.HasFlag(args, "-d|--dry-run|--ci=false")
	case "claude", "claude-code":
		mode, ok := argv.ValueOf(args, "--permission-mode")
		return ok && mode != "bypassPermissions" && !argv.HasFlag(args, "--dangerously-skip-permissions|--allow-dangerously-skip-permissions|--settings")
	case "docker-compose", "podman":
		return argv.HasFlag(args, "-f|--file|-q|--quiet|--services|--images|--profiles|--no-interpolate|--volumes|--hash")
	case "pg_restore":
		return argv.HasFlag(args, "-l|--list")
	case "vault":
		return len(args) > 2 && args[1] == "kv" && !slices.Contains([]string{"put", "patch", "delete", "destroy", "get", "rollback"}, args[2])
	case "npm", "pnpm":
		ops := argv.Operands(args)
		return len(ops) > 1 && (ops[0] == "owner" || ops[0] == "access" || ops[0] == "token") && slices.Contains([]string{"ls", "list", "get"}, ops[1])
	case "vercel":
		ops := argv.Operands(args)
		return len(ops) > 1 && (ops[1] == "ls" || ops[1] == "list")
	case "fly", "flyctl":
		ops := argv.Operands(args)
		return len(ops) > 1 && (ops[1] == "list" || ops[1] == "show")
	case "kubectl", "oc", "k":
		// Names of secrets, not what is in them.
		ops := argv.Operands(args)
		if len(ops) > 0 && ops[0] == "get" {
			_, out := argv.ValueOf(args, "-o", "--output")
			return !out
		}
		if len(ops) > 2 && ops[0] == "cp" {
			return !strings.Contains(ops[len(ops)-1], ":") // to this machine
		}
	case "docker":
		return argv.HasFlag(args, "--push=false") || slices.Contains(args, "config") && argv.HasFlag(args, "-f|--file|-q|--quiet|--services|--images|--profiles|--no-interpolate|--volumes|--hash")
	case "op":
		ops := argv.Operands(args)
		return len(ops) > 1 && ops[0] == "item" && ops[1] == "list"
	case "gsutil", "mc", "skaffold":
		return argv.HasFlag(args, "--render-only")
	}
	return false
}

// Leading takes off the flags in front of the first operand, each with a value, other than
// those that are known to have none.
func Leading(args []string) []string {
	i := 1
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		a := args[i]
		i++
		if !strings.Contains(a, "=") && !strings.HasPrefix(a, "--no-") && a != "--debug" && a != "--quiet" && a != "-q" && a != "--version" && a != "--help" {
			i++
		}
	}
	return append([]string{args[0]}, args[min(i, len(args)):]...)
}

// Stores reports whether a call of a program for stored objects writes or deletes some.
func Stores(name string, args []string) bool {
	ops := argv.Operands(argv.WithoutValues(args, "-o", "-h", "--config", "--profile", "--endpoint-url", "--transfers"))
	if name == "gcloud" {
		if len(ops) < 2 || ops[0] != "storage" {
			return false
		}
		ops = ops[1:]
	}
	if len(ops) < 2 || argv.HasFlag(args, "--dry-run") {
		return false
	}
	to := ops[len(ops)-1]
	remote := strings.Contains(to, "://") || name == "rclone" && strings.Contains(to, ":")
	switch ops[0] {
	case "rm", "rb", "del", "purge", "delete", "deletefile", "rmdirs", "cleanup":
		return true
	case "cp", "mv", "rsync", "sync", "put", "copy", "move", "copyto", "moveto":
		return remote && !strings.Contains(to, "localhost")
	}
	return false
}

// CloudChanges reports whether a call of a cloud's program changes something there.
func CloudChanges(name string, ops []string) bool {
	if len(ops) < 2 {
		return false
	}
	verbs := "create delete update deploy add remove set reset start stop restart import submit patch apply enable disable purge upload promote resize " +
		"move replace invoke execute publish attach detach call drain failover migrate rollback undelete clone restore swap up kill abandon deprecate schedule flush bulk"
	switch name {
	case "aws":
		if ops[0] == "s3" {
			if slices.Contains([]string{"rm", "rb", "mb", "mv", "website"}, ops[1]) {
				return true
			}
			return (ops[1] == "cp" || ops[1] == "sync") && strings.HasPrefix(ops[len(ops)-1], "s3://")
		}
		if ops[0] == "configure" || ops[0] == "sso" || ops[0] == "sts" {
			return false
		}
		verb, _, _ := strings.Cut(ops[1], "-")
		return slices.Contains(strings.Fields(verbs+" put terminate run reboot modify associate disassociate send register deregister revoke authorize "+
			"release allocate copy batch admin rotate cancel change rebuild tag untag merge scale transact write exec"), verb) &&
			ops[1] != "batch-get-item" && ops[1] != "batch-get-image" && !strings.HasPrefix(ops[1], "batch-get") && !strings.HasPrefix(ops[1], "start-query")
	case "gcloud":
		if ops[0] == "config" || ops[0] == "auth" || ops[0] == "components" || ops[0] == "help" {
			return false
		}
	case "az":
		if ops[0] == "account" || ops[0] == "login" || ops[0] == "configure" || ops[0] == "config" || ops[0] == "extension" || ops[0] == "bicep" {
			return false
		}
	}
	for _, op := range ops[:min(len(ops), 5)] {
		verb, _, _ := strings.Cut(op, "-")
		if slices.Contains(strings.Fields(verbs), verb) {
			return true
		}
	}
	return false
}
