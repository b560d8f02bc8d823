package rule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/secret"
	"autopilot/sessions/approval/rule/internal/shell"
)

// Names of the built-in rules.
const (
	deploy         = "deploy"
	migrate        = "migrate"
	publish        = "publish"
	forcePush      = "force-push"
	recursive      = "recursive-delete"
	dropData       = "drop-data"
	infrastructure = "infrastructure"
	secrets        = "secrets"
	production     = "production"
	remoteScript   = "remote-script"
	unreadable     = "unreadable"
	protectedFile  = "protected-file"
	outsideTool    = "outside-tool"
	selfApproval   = "self-approval"
)

// builtIn are the rules that hold without a setting.
func builtIn() []Rule {
	return []Rule{
		{Name: deploy, Holds: "puts a version into service", BuiltIn: true},
		{Name: migrate, Holds: "changes the schema of a database", BuiltIn: true},
		{Name: publish, Holds: "gives a package, an image or a release to others", BuiltIn: true},
		{Name: forcePush, Holds: "rewrites or deletes what others have fetched from a repository", Never: true, BuiltIn: true},
		{Name: recursive, Holds: "deletes a folder with all that is in it, other than the output of a build", BuiltIn: true},
		{Name: dropData, Holds: "deletes data or tables of a database", BuiltIn: true},
		{Name: infrastructure, Holds: "changes machines, clusters or services of a cloud", BuiltIn: true},
		{Name: secrets, Holds: "shows, sends or writes a password, a token or a key", BuiltIn: true},
		{Name: production, Holds: "acts on something named production", BuiltIn: true},
		{Name: remoteScript, Holds: "runs a text that comes from a network or is hidden by an encoding", BuiltIn: true},
		{Name: unreadable, Holds: "runs what cannot be read beforehand", BuiltIn: true},
		{Name: protectedFile, Holds: "changes a file that decides what runs on this machine, or what is asked of a person", BuiltIn: true},
		{Name: outsideTool, Holds: "calls a tool of a server whose name says deploy, publish, delete, destroy, drop, migrate, apply or merge", BuiltIn: true},
		{Name: selfApproval, Holds: "decides a gate, or changes the records of the gates", Never: true, BuiltIn: true},
	}
}

// Set is a number of rules. The zero value holds nothing; it is not changed by its
// methods and may be used by several goroutines.
type Set struct {
	rules  []Rule
	custom []custom
	off    []string
	home   string
	guards []string
}

// Default are the built-in rules.
func Default() Set { return Set{rules: builtIn()} }

// Guarding is the set with the folders that no call may write below, because the gates
// are kept there, and with the person's home folder, for which '~' stands in a command.
// All are absolute; an empty home leaves '~' as it is.
func (s Set) Guarding(home string, folders ...string) Set {
	s.home = cmp.Or(home, s.home)
	s.guards = append(slices.Clip(s.guards), folders...)
	return s
}

// Rules lists the rules of the set, the built-in ones first.
func (s Set) Rules() []Rule {
	out := slices.DeleteFunc(slices.Clone(s.rules), func(r Rule) bool { return slices.Contains(s.off, r.Name) })
	for _, c := range s.custom {
		out = append(out, Rule{Name: c.text, Holds: c.holds()})
	}
	return out
}

// maxPart bounds the piece of a call that a finding shows, in bytes.
const maxPart = 160

// judging is one call that is being judged.
type judging struct {
	set      Set
	call     Call
	findings []Finding
	exported []string // NAME=value that the text has exported
	target   string   // what the text has chosen as the place to act on
	sourced  bool     // a file with secrets was read into the shell
	created  []string // folders that the text has made
	disk     Files
}

// maxFindings bounds the findings of one call that are of rules found before.
const maxFindings = 12

func (j *judging) hold(rule, part string, never bool) {
	i := slices.IndexFunc(j.set.rules, func(r Rule) bool { return r.Name == rule })
	if i < 0 || !never && !j.set.rules[i].Never && slices.Contains(j.set.off, rule) {
		return
	}
	j.add(Finding{Rule: rule, Why: j.set.rules[i].Holds, Part: oneLine(part), Never: never || j.set.rules[i].Never})
}

func (j *judging) add(f Finding) {
	known := false
	for i, o := range j.findings {
		if o.Rule == f.Rule && o.Part == f.Part {
			j.findings[i].Never = o.Never || f.Never
			return
		}
		known = known || o.Rule == f.Rule && o.Never == f.Never
	}
	if !known || len(j.findings) < maxFindings {
		j.findings = append(j.findings, f)
	}
}

// holds reports whether a rule has found something.
func (j *judging) holds(rules ...string) bool {
	return slices.ContainsFunc(j.findings, func(f Finding) bool { return slices.Contains(rules, f.Rule) })
}

// oneLine makes a piece of a call one bounded line.
func oneLine(s string) string {
	s = s[:min(len(s), 4*maxPart)]
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= maxPart {
		return s
	}
	return strings.ToValidUTF8(s[:maxPart-len("…")], "") + "…"
}

// Judge says why a call has to wait for a person; it is free where there is no finding.
// Files may be nil, which reads nothing. The findings of the same call are the same,
// in the same order, as long as the files are.
func (s Set) Judge(c Call, files Files) (found []Finding) {
	j := &judging{set: s, call: c, disk: files}
	defer func() {
		if r := recover(); r != nil {
			j.hold(unreadable, "internal error: "+fmt.Sprint(r), false)
			found = j.findings
		}
	}()
	if len(s.rules) == 0 && len(s.custom) == 0 {
		return nil
	}
	switch {
	case c.Tool == "Bash" || c.Tool == "Monitor":
		j.bash(files)
	case writesFile(c.Tool) || c.Tool == "Read" || c.Tool == "Grep":
		j.fileTool()
	case strings.HasPrefix(c.Tool, "mcp__"):
		j.outside(files)
	case c.Tool != "Task" && c.Tool != "Agent" && c.Tool != "Skill" && c.Tool != "SlashCommand" && c.Tool != "TodoWrite":
		j.arguments(nil, files)
	}
	for _, r := range s.custom {
		if r.form == "tool" && argv.Globbed(r.words[0], c.Tool) {
			j.add(r.finding(c.Tool))
		}
	}
	return j.findings
}

func (j *judging) bash(files Files) {
	var command string
	in, err := values(j.call.Input)
	if raw, ok := in["command"]; ok && err == nil {
		err = json.Unmarshal(raw, &command)
	}
	if err != nil {
		j.hold(unreadable, "the arguments of the call are not readable", false)
		return
	}
	j.shell(command, files)
}

// values are the arguments of a call. Their names count as they are written: another
// spelling of one is another one.
func values(input json.RawMessage) (map[string]json.RawMessage, error) {
	var in map[string]json.RawMessage
	if len(input) == 0 {
		return nil, errNoInput{}
	}
	err := json.Unmarshal(input, &in)
	return in, err
}

type errNoInput struct{}

func (errNoInput) Error() string { return "there are no arguments" }

// fields are the texts among the arguments of a call.
func fields(input json.RawMessage) (map[string]string, error) {
	in, err := values(input)
	out := map[string]string{}
	for name, raw := range in {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			out[name] = s
		} else if strings.HasSuffix(name, "_path") {
			return nil, errNoInput{}
		}
	}
	return out, err
}

func (j *judging) shell(text string, files Files) {
	shell.Read(text, shell.Options{Dir: j.call.Dir, Files: files, Visit: j.command, Trouble: j.trouble})
}

func (j *judging) trouble(kind shell.Trouble, part string, file bool) {
	switch {
	case kind == shell.Foreign:
		j.hold(remoteScript, part, false)
	case kind == shell.Hidden && file:
		// A script of the repository takes much from its surroundings.
	default:
		j.hold(unreadable, part, false)
	}
}

// command is called for every command of a text, and again for the one within a wrapper.
func (j *judging) command(c *flow.Command) {
	j.guarded(c)
	j.files(c)
	j.custom(c)
	if len(c.Args) == 0 {
		return
	}
	name := c.Name()
	if !flow.Known(name) {
		j.nameless(c)
		return
	}
	switch name {
	case "export", "declare", "typeset", "readonly":
		j.exported = append(j.exported, c.Args[1:]...)
	case "source", ".":
		j.sourced = j.sourced || len(c.Args) > 1 && secret.File(c.Abs(c.Args[1]))
	}
	j.secret(c)
	if free(c) {
		return
	}
	before := len(j.findings)
	if sub, ok := strings.CutPrefix(name, "git-"); ok && sub != "lfs" {
		in := *c
		in.Args = append([]string{"git", sub}, c.Args[1:]...)
		j.git(&in)
	}
	switch name {
	case "git", "hub":
		j.git(c)
	case "rm", "rimraf", "grm", "srm", "shred", "rsync", "dd", "wipefs", "truncate", "mv", "chmod", "chown":
		j.remove(c)
	default:
		if strings.HasPrefix(name, "mkfs") {
			j.remove(c)
		}
	}
	j.made(c)
	j.tables(c)
	j.named(c)
	j.data(c)
	j.excused(c, before)
	j.production(c, len(j.findings) > before)
}

// nameless judges a command whose name is not known.
func (j *judging) nameless(c *flow.Command) {
	switch {
	case strings.Contains(c.Args[0], flow.Fetched):
		j.hold(remoteScript, c.Text(), false)
	case c.File || c.Code:
		return
	case strings.Contains(c.Args[0], flow.Made), strings.HasPrefix(c.Args[0], flow.Taken) && !strings.Contains(c.Args[0], "/"):
		j.hold(unreadable, c.Text(), false)
	}
	if slices.ContainsFunc(c.Uses, func(name string) bool { return strings.Contains(name, "DEPLOY") || strings.Contains(name, "PUBLISH") }) {
		j.hold(unreadable, strings.Join(c.Uses, " ")+" "+c.Text(), false)
	}
	// A variable from outside may be any program: hold what no harmless one understands.
	for _, name := range []string{"git", "rm", "kubectl", "terraform", "npm", "helm"} {
		in := *c
		in.Args = append([]string{name}, c.Args[1:]...)
		try := &judging{set: Set{rules: builtIn()}, call: j.call, disk: j.disk}
		try.command(&in)
		if len(c.Args) > 1 && try.holds(forcePush, recursive, infrastructure, publish) {
			j.hold(unreadable, c.Text(), false)
			return
		}
	}
}
