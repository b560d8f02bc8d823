package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	slugLength = 50
	tagLength  = 100
	idLength   = 50
	// partLength is what a file system takes as a name, in bytes, less what git puts
	// behind it while it writes.
	partLength = 240
)

// Branch is the name of the branch of a task, from a pattern with {tag}, {id} and
// {slug}; the slug is made from the title. Tag and id are put in lower case. Whatever
// git does not take in a name becomes a hyphen, and where there is no slug or no tag,
// what joined it is left out.
func Branch(pattern, tag, id, title string) string {
	name := strings.NewReplacer(
		"{tag}", strings.ToLower(cutName(tag, tagLength)),
		"{id}", strings.ToLower(cutName(strings.ReplaceAll(id, "/", "-"), idLength)),
		"{slug}", hyphened(title, slugLength),
	).Replace(pattern)
	return sound(name)
}

// cutName bounds a text in bytes, at a character.
func cutName(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// sound makes a name that git accepts for a branch.
func sound(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part = soundPart(part); part != "" {
			parts = append(parts, part)
		}
	}
	switch out := strings.Join(parts, "/"); out {
	case "", "@":
		return "task"
	case "HEAD", "head":
		return "task-head"
	default:
		return out
	}
}

func soundPart(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("._+@", r) {
			r = '-'
		}
		if r == last && (r == '-' || r == '.') {
			continue
		}
		b.WriteRune(r)
		last = r
	}
	out := b.String()
	for {
		next := strings.Trim(cutName(out, partLength), "-._")
		if n := len(next) - len(".lock"); n >= 0 && strings.EqualFold(next[n:], ".lock") {
			next = next[:n]
		}
		if next == out {
			return out
		}
		out = next
	}
}

// CheckPattern says what is wrong with the pattern of names of branches. It takes
// {tag}, {id} and {slug}, of which {id} must be there, and beside them what git takes in
// a name.
func CheckPattern(pattern string) error {
	if err := checkPlaceholders(pattern, []string{"{tag}", "{id}", "{slug}"}, "{id}"); err != nil {
		return err
	}
	example := strings.NewReplacer("{tag}", "tag", "{id}", "1", "{slug}", "title").Replace(pattern)
	if got := sound(example); got != example {
		return fmt.Errorf("%q makes names such as %s, which is no good name of a branch; %s would be one", pattern, example, got)
	}
	return nil
}

// Flat is the same name with its first folder joined to what follows by a hyphen: git
// does not take a/b where there is a branch a.
func Flat(branch string) string { return strings.Replace(branch, "/", "-", 1) }
