package rule

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/label"
	"autopilot/sessions/approval/rule/internal/program"
	"autopilot/sessions/approval/rule/internal/secret"
)

// outside judges a tool of a server by its name, by a command among its arguments, and by
// the records of the gates where its arguments name them.
func (j *judging) outside(files Files) {
	server, tool, _ := strings.Cut(strings.TrimPrefix(j.call.Tool, "mcp__"), "__")
	words := label.Words(tool)
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	if server == "autopilot" {
		if has("approve", "deny", "gate", "gates") {
			j.hold(selfApproval, j.call.Tool, true)
		}
		return
	}
	looks := len(words) > 0 && slices.Contains([]string{"get", "list", "search", "find", "read", "describe", "show", "view", "fetch", "count", "check"}, words[0])
	draws := has("drag", "shadow", "memory", "dropdown") || server == "memory"
	if !looks && !draws && has("deploy", "publish", "delete", "destroy", "drop", "migrate", "deploys", "deletes") {
		j.hold(outsideTool, j.call.Tool, false)
		if has("deploy", "migrate", "destroy", "drop") && (has("production", "prod", "prd") || label.Named(server)) {
			j.hold(production, j.call.Tool, true)
		}
	}
	if has("apply", "merge", "migration") && !looks {
		j.hold(outsideTool, j.call.Tool, false)
	}
	j.arguments(words, files)
	var in map[string]any
	if json.Unmarshal(j.call.Input, &in) != nil {
		return
	}
	if !looks && slices.ContainsFunc(j.set.guards, func(g string) bool { return mentions(in, g) }) {
		j.hold(selfApproval, j.call.Tool, true)
	}
	for _, key := range []string{"path", "file_path", "filename", "file", "destination", "target", "uri"} {
		p, ok := in[key].(string)
		if !ok || p == "" || strings.ContainsAny(p, " \n") {
			continue
		}
		p = flow.Join(j.call.Dir, strings.TrimPrefix(p, "file://"))
		switch {
		case looks && has("file", "files", "resource") && secret.File(j.tilde(p)):
			j.hold(secrets, p, false)
		case !looks && has("write", "edit", "create", "move", "delete", "remove", "append", "patch", "save", "update", "replace", "insert"):
			j.written(p)
		}
	}
}

// arguments judges a command, a statement or code among the arguments of a tool; words are
// those of its name.
func (j *judging) arguments(words []string, files Files) {
	var in map[string]any
	if json.Unmarshal(j.call.Input, &in) != nil {
		return
	}
	before := len(j.findings)
	for _, key := range []string{"command", "cmd", "script", "cli_command", "args", "keys"} {
		text, ok := in[key].(string)
		if list, is := in[key].([]any); is {
			var parts []string
			for _, e := range list {
				s, _ := e.(string)
				parts = append(parts, s)
			}
			text, ok = program.Quote(parts), true
		}
		if ok && text != "" {
			j.shell(text, files)
		}
	}
	runs := j.call.Tool == "PowerShell" || slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"run", "exec", "execute", "shell", "bash", "command", "terminal", "script", "sh", "process"}, w)
	})
	if !runs { // what is no text for a shell cannot be read as one
		j.findings = append(j.findings[:before:before], slices.DeleteFunc(slices.Clone(j.findings[before:]), func(f Finding) bool { return f.Rule == unreadable })...)
	}
	if code, ok := in["code"].(string); ok {
		j.shell("python3 -c "+program.Quote([]string{code}), files)
	}
	for _, key := range []string{"sql", "query", "statement", "queries"} {
		text, _ := in[key].(string)
		if dropsData(text) || alters().MatchString(text) && slices.ContainsFunc(words, func(w string) bool { return w == "sql" || w == "query" || w == "execute" || w == "migration" }) {
			j.hold(dropData, text, false)
		}
		if slices.Contains(words, "sql") && text != "" && !onlyAsks(text) {
			j.hold(outsideTool, j.call.Tool, false)
		}
	}
}

// onlyAsks reports whether a statement begins like one that changes nothing.
func onlyAsks(s string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimLeft(s, " (\n\t")), " ")
	return slices.Contains([]string{"select", "show", "explain", "with", "describe", "desc", "pragma", "values"}, first)
}

var alters = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\balter\s+(table|database|schema|role|user|type|view)\b`)
})

// mentions reports whether a text within a value holds a piece.
func mentions(v any, piece string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, piece)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, piece) })
	case map[string]any:
		for _, e := range v {
			if mentions(e, piece) {
				return true
			}
		}
	}
	return false
}
