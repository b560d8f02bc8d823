package story

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of patterns.
const (
	longestPattern   = 250 // bytes
	mostAlternatives = 64  // that the braces of one pattern stand for
)

// CheckPattern refuses what is no pattern of paths below the repository.
//
// A pattern is written with slashes, from the top of the repository. In it stand * for any
// part of a name, ? for one character, [a-z] and [^a-z] for one character of a set, {a,b}
// for either, a part ** for any number of folders, and a backslash in front of what is meant as it
// is. A pattern whose last part has none of these means what is below it too: src/api
// stands for that file, or for all in that folder. So does one that ends in a slash.
func CheckPattern(p string) error {
	_, err := parsePattern(p)
	return err
}

// Overlap reports whether a path may exist that is in both sets of patterns. An empty set
// holds every path, and so does one with a pattern that [CheckPattern] refuses. It never
// misses a path in common, and may see one where there is none: names that differ by the
// case of their letters count as the same, since on some disks they are, and what would take
// too long to compare is taken to overlap.
func Overlap(a, b []string) bool { return areaOf(a).meets(areaOf(b)) }

// Inside reports whether a file, given by its path below the repository, is in a set of
// patterns. An empty set holds every file. What is not below the repository is in none,
// and a pattern that [CheckPattern] refuses holds nothing. Here the case of letters counts.
func Inside(paths []string, file string) bool {
	file = path.Clean(file)
	if path.IsAbs(file) || file == "." || file == ".." || strings.HasPrefix(file, "../") {
		return false
	}
	if len(paths) == 0 {
		return true
	}
	for _, p := range paths {
		forms, err := parsePattern(p)
		if err == nil && slices.ContainsFunc(forms, func(f form) bool { return doublestar.MatchUnvalidated(f.text, file) }) {
			return true
		}
	}
	return false
}

// Patterns splits a list of patterns at the commas that are not within braces, sets, or
// behind a backslash. What is between them is not checked.
func Patterns(list string) []string {
	var out []string
	add := func(p string) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	depth, from := 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case '[':
			i = max(i, setEnd(list, i))
		case '{':
			depth++
		case '}':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				add(list[from:i])
				from = i + 1
			}
		}
	}
	add(list[from:])
	return out
}

// area is a set of patterns that was read.
type area struct {
	all   bool
	forms []form
}

func areaOf(patterns []string) area {
	a := area{all: len(patterns) == 0}
	for _, p := range patterns {
		forms, err := parsePattern(p)
		a.all = a.all || err != nil
		a.forms = append(a.forms, forms...)
	}
	return a
}

func (a area) meets(b area) bool {
	if a.all || b.all {
		return true
	}
	e := effort(mostEffort)
	return slices.ContainsFunc(a.forms, func(x form) bool {
		return slices.ContainsFunc(b.forms, func(y form) bool { return e.formsMeet(x, y) })
	})
}

func parsePattern(p string) ([]form, error) {
	switch {
	case strings.TrimSpace(p) == "":
		return nil, errors.New("a pattern is empty")
	case len(p) > longestPattern:
		return nil, fmt.Errorf("the pattern %q is longer than %d bytes", line(p, 60), longestPattern)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return nil, fmt.Errorf("the pattern %q has characters that no path should have", line(p, 60))
	case p[0] == '/' || p[0] == '~':
		return nil, fmt.Errorf("the pattern %q does not begin at the top of the repository", p)
	case p[0] == '!':
		return nil, fmt.Errorf("the pattern %q would take paths out, which patterns here cannot", p)
	case !doublestar.ValidatePattern(p):
		return nil, fmt.Errorf("the pattern %q is malformed", p)
	}
	whole := p
	if strings.HasSuffix(p, "/") {
		whole = p + "**"
	}
	texts, ok := expand(whole, nil)
	if !ok {
		return nil, fmt.Errorf("the braces of the pattern %q stand for more than %d patterns", p, mostAlternatives)
	}
	forms := make([]form, 0, len(texts))
	for _, text := range texts {
		f, err := parseForm(text)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q %w", p, err)
		}
		forms = append(forms, f)
	}
	return forms, nil
}

// expand appends what a well-formed pattern with braces stands for, unless that is too
// much.
func expand(p string, out []string) ([]string, bool) {
	open := -1
	depth, from := 0, 0
	var alternatives []string
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i = max(i, setEnd(p, i))
		case '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case ',':
			if depth == 1 {
				alternatives = append(alternatives, p[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			for _, a := range append(alternatives, p[from:i]) {
				var ok bool
				if out, ok = expand(p[:open]+a+p[i+1:], out); !ok {
					return nil, false
				}
			}
			return out, true
		}
	}
	return append(out, p), len(out) < mostAlternatives
}

// setEnd returns where the set that begins at an index ends; -1 when it does not.
func setEnd(p string, at int) int {
	i := at + 1
	if i < len(p) && (p[i] == '^' || p[i] == '!') {
		i++
	}
	for ; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case ']':
			return i
		}
	}
	return -1
}
