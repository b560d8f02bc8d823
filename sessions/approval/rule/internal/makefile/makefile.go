// Package makefile reads the rules and the plain variables of a Makefile, and the recipes
// of a justfile, which look much the same. It reads no other file, and knows no
// conditions and functions.
package makefile

import "strings"

const maxLines = 2000

// File is what was read.
type File struct {
	First   string              // the target that is made where none is named
	Needs   map[string][]string // what has to be made before a target
	Recipes map[string][]string // the lines that make it
	Vars    []Var
	Others  []string // files that it includes
}

// Var is one variable.
type Var struct {
	Name, Value string
	Weak        bool // counts only where nothing else has set it
}

// Parse reads a Makefile, of which it looks at 2,000 lines.
func Parse(s string) File {
	m := File{Needs: map[string][]string{}, Recipes: map[string][]string{}}
	var now []string
	lines := strings.SplitN(strings.ReplaceAll(s, "\\\n", " "), "\n", maxLines+1)
	for _, line := range lines[:min(len(lines), maxLines)] {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			for _, t := range now {
				m.Recipes[t] = append(m.Recipes[t], rest)
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 1 && strings.TrimLeft(words[0], "-s") == "include" {
			m.Others = append(m.Others, words[1:]...)
			continue
		}
		if left, value, ok := strings.Cut(line, "="); ok {
			name := strings.TrimRight(left, ":?+! \t")
			if name != "" && !strings.ContainsAny(name, ": \t") {
				m.Vars = append(m.Vars, Var{name, value, strings.HasSuffix(strings.TrimRight(left, " \t"), "?")})
				continue
			}
		}
		left, right, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(left) == "" {
			continue
		}
		right, recipe, inline := strings.Cut(strings.TrimPrefix(right, ":"), ";")
		now = strings.Fields(left)
		for _, t := range now {
			if m.First == "" && !strings.HasPrefix(t, ".") {
				m.First = t
			}
			m.Needs[t] = append(m.Needs[t], strings.Fields(strings.ReplaceAll(right, "|", " "))...)
			if inline {
				m.Recipes[t] = append(m.Recipes[t], recipe)
			}
		}
	}
	return m
}

// Shell turns $(NAME) into ${NAME} and $$ into $, as the shell will see them. What else
// make would compute becomes the given mark.
func Shell(s, unknown string) string {
	const dollar = "\x01"
	s = strings.ReplaceAll(s, "$$", dollar)
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "$(")
		b.WriteString(before)
		if !ok {
			break
		}
		name, tail, ok := strings.Cut(rest, ")")
		if shell, is := strings.CutPrefix(name, "shell "); is && ok {
			b.WriteString("$(" + shell + ")")
		} else if ok && !strings.ContainsAny(name, " :$") {
			b.WriteString("${" + name + "}")
		} else {
			b.WriteString(unknown)
		}
		s = tail
		if !ok {
			break
		}
	}
	return strings.ReplaceAll(b.String(), dollar, "$")
}

// Just turns a justfile into the same form: recipes are indented by spaces there, and a
// value stands in double braces.
func Just(s, unknown string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		rest := strings.TrimLeft(line, " \t")
		if rest != line && strings.TrimSpace(rest) != "" {
			b.WriteByte('\t')
		} else if name, args, ok := strings.Cut(line, " "); ok && !strings.ContainsAny(name, ":=#[@") && strings.Contains(args, ":") && !strings.Contains(args, ":=") {
			rest = name + ":" + args[strings.LastIndexByte(args, ':')+1:] // parameters of the recipe
		}
		for {
			before, behind, ok := strings.Cut(rest, "{{")
			_, after, closed := strings.Cut(behind, "}}")
			if !ok || !closed {
				break
			}
			rest = before + unknown + after
		}
		b.WriteString(rest)
	}
	return b.String()
}

// Recipe is what makes a target, and what it needs first: those of its own, or those of a
// pattern that it matches, with the piece that matches.
func (m File) Recipe(target string) (needs, lines []string, stem string) {
	if len(m.Recipes[target])+len(m.Needs[target]) > 0 {
		return m.Needs[target], m.Recipes[target], ""
	}
	best := ""
	for pattern := range m.Recipes {
		before, behind, ok := strings.Cut(pattern, "%")
		if ok && len(target) >= len(before)+len(behind) && strings.HasPrefix(target, before) && strings.HasSuffix(target, behind) &&
			(len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, stem = pattern, target[len(before):len(target)-len(behind)]
		}
	}
	return m.Needs[best], m.Recipes[best], stem
}

// Add puts the rules and variables of an included file to those of this one.
func (m *File) Add(other File) {
	if m.First == "" {
		m.First = other.First
	}
	for t, needs := range other.Needs {
		m.Needs[t] = append(m.Needs[t], needs...)
	}
	for t, lines := range other.Recipes {
		m.Recipes[t] = append(m.Recipes[t], lines...)
	}
	m.Vars = append(m.Vars, other.Vars...)
}
