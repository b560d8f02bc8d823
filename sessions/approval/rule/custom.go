package rule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/argv"
	"autopilot/sessions/approval/rule/internal/flow"
)

// custom is a rule of a setting.
type custom struct {
	text  string
	form  string   // command, path or tool
	words []string // patterns
}

const customForms = `"command: WORDS", "path: PATTERN", "tool: PATTERN" or "off: NAME"`

// With is the set with rules of a person's own:
//
//	command: terraform plan    a command that begins with these words, whatever flags
//	                           stand between them; each may be a pattern, as rails db:*
//	path: infra/**             a file that a tool or a command writes or deletes, as a
//	                           path in the work tree; ** stands for any folders, and a
//	                           pattern without '/' for a name in any folder
//	tool: mcp__*__send*        a tool by its name
//	off: publish               switches a built-in rule off; what may never be approved in
//	                           advance stays held
//
// The error names the text, and what is wrong with it.
func (s Set) With(texts []string) (Set, error) {
	s.custom, s.off = slices.Clip(s.custom), slices.Clip(s.off)
	for _, t := range texts {
		form, rest, ok := strings.Cut(t, ":")
		form, rest = strings.TrimSpace(form), strings.TrimSpace(rest)
		bad := func(why string) (Set, error) { return Set{}, fmt.Errorf("rule %q: %s", t, why) }
		if !ok || rest == "" {
			return bad("want " + customForms)
		}
		switch form {
		case "off":
			i := slices.IndexFunc(s.rules, func(r Rule) bool { return r.Name == rest })
			if i < 0 {
				return bad("there is no built-in rule " + rest)
			}
			if s.rules[i].Never {
				return bad(rest + " cannot be switched off")
			}
			s.off = append(s.off, rest)
			continue
		case "command":
			words := strings.Fields(rest)
			if strings.HasPrefix(words[0], "-") {
				return bad("want the name of a command first")
			}
			s.custom = append(s.custom, custom{text: form + ": " + rest, form: form, words: words})
		case "path", "tool":
			if form == "path" {
				rest = strings.TrimPrefix(rest, "./")
			}
			s.custom = append(s.custom, custom{text: form + ": " + rest, form: form, words: []string{rest}})
		default:
			return bad("want " + customForms)
		}
		for _, w := range s.custom[len(s.custom)-1].words {
			if _, err := path.Match(w, ""); err != nil {
				return bad(fmt.Sprintf("%q is not a pattern", w))
			}
		}
	}
	return s, nil
}

func (c custom) holds() string {
	switch c.form {
	case "command":
		return "runs a command that begins with " + strings.Join(c.words, " ")
	case "path":
		return "writes or deletes a file " + c.words[0]
	}
	return "calls a tool " + c.words[0]
}

func (c custom) finding(part string) Finding {
	return Finding{Rule: c.text, Why: c.holds(), Part: oneLine(part)}
}

// custom judges a command by the rules of the person.
func (j *judging) custom(c *flow.Command) {
	for _, r := range j.set.custom {
		if r.form == "command" && argv.Begins(r.words, c.Args) {
			j.add(r.finding(c.Text()))
		}
	}
}

// pathMatches compares a path with a pattern for paths of the work tree.
func pathMatches(pattern, p, dir string) bool {
	if rel, ok := strings.CutPrefix(p, path.Clean(dir)+"/"); ok && !strings.HasPrefix(pattern, "/") {
		p = rel
	}
	if !strings.Contains(pattern, "/") {
		return argv.Globbed(pattern, path.Base(p))
	}
	return partsMatch(strings.Split(pattern, "/"), strings.Split(p, "/"))
}

func partsMatch(pattern, parts []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for len(pattern) > 1 && pattern[1] == "**" {
				pattern = pattern[1:]
			}
			for i := range len(parts) + 1 {
				if partsMatch(pattern[1:], parts[i:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 || !argv.Globbed(pattern[0], parts[0]) {
			return false
		}
		pattern, parts = pattern[1:], parts[1:]
	}
	return len(parts) == 0
}
