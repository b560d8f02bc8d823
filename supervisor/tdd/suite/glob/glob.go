package glob

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxAlternatives = 256  // that the braces of a pattern stand for; further ones never match
	maxPattern      = 1000 // bytes; a longer pattern matches nothing
)

// Match reports whether a slash-separated path fits a glob: ? is a character and * any
// number of them, both without the slash, ** as a part of its own is any number of
// folders, [ab], [a-z] and [!a] are one of, or none of, some characters, {a,b} is one
// of several patterns, \ takes the meaning from the character behind it. A pattern
// without a slash is held against the last part of the path. What is not well-formed
// stands for itself.
func Match(pattern, name string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	name = path.Clean(name)
	left := maxAlternatives
	return slices.ContainsFunc(expand(strings.TrimPrefix(pattern, "./"), &left), func(p string) bool {
		if !strings.Contains(p, "/") {
			return p == "**" || parts([]string{p}, []string{path.Base(name)})
		}
		return parts(strings.Split(p, "/"), strings.Split(name, "/"))
	})
}

// expand returns the patterns that a pattern with braces stands for.
func expand(pattern string, left *int) []string {
	begin, end, commas := braces(pattern)
	if begin < 0 {
		if *left--; *left < 0 {
			return nil
		}
		return []string{pattern}
	}
	var all []string
	from := begin + 1
	for _, to := range append(commas, end) {
		all = append(all, expand(pattern[:begin]+pattern[from:to]+pattern[end+1:], left)...)
		from = to + 1
		if *left <= 0 {
			break
		}
	}
	return all
}

// braces finds the first list in braces and the commas between its parts. One without
// a comma stands for itself.
func braces(p string) (begin, end int, commas []int) {
	for start := 0; start < len(p); start++ {
		if p[start] == '\\' {
			start++
			continue
		}
		if p[start] != '{' {
			continue
		}
		commas = nil
		depth := 0
		for i := start; i < len(p); i++ {
			switch p[i] {
			case '\\':
				i++
			case '{':
				depth++
			case '}':
				depth--
			case ',':
				if depth == 1 {
					commas = append(commas, i)
				}
			}
			if depth == 0 {
				if len(commas) == 0 {
					break
				}
				return start, i, commas
			}
		}
	}
	return -1, 0, nil
}

// parts holds the parts of a pattern against those of a path. Each way to get to a
// pair of parts is gone once.
func parts(pattern, name []string) bool {
	fits := make([]bool, len(name)+1) // for the pattern so far, whether it takes the path up to there
	fits[0] = true
	for _, p := range pattern {
		next := make([]bool, len(name)+1)
		for i := range fits {
			switch {
			case p == "**":
				next[i] = fits[i] || i > 0 && next[i-1]
			case i > 0 && fits[i-1]:
				next[i] = part(p, name[i-1])
			}
		}
		fits = next
	}
	return fits[len(name)]
}

// part holds one part of a pattern against one part of a path. On a mismatch it goes
// back to the last star only, which is enough.
func part(p, s string) bool {
	pi, si, star, mark := 0, 0, -1, 0
	for si < len(s) {
		if pi < len(p) && p[pi] == '*' {
			star, mark = pi, si
			pi++
			continue
		}
		if pn, sn, ok := one(p[pi:], s[si:]); ok {
			pi, si = pi+pn, si+sn
			continue
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[mark:])
		mark += n
		pi, si = star+1, mark
	}
	return strings.Trim(p[pi:], "*") == ""
}

// one holds the first character of a pattern against that of a text, and returns how
// long both are.
func one(p, s string) (pn, sn int, ok bool) {
	if p == "" {
		return 0, 0, false
	}
	c, sn := utf8.DecodeRuneInString(s)
	switch p[0] {
	case '?':
		return 1, sn, true
	case '[':
		if n, in := class(p, c); n > 0 {
			return n, sn, in
		}
	case '\\':
		if len(p) > 1 {
			w, n := utf8.DecodeRuneInString(p[1:])
			return 1 + n, sn, w == c
		}
	}
	w, n := utf8.DecodeRuneInString(p)
	return n, sn, w == c
}

// class reads a list of characters in brackets. Its length is 0 when it has no end.
func class(p string, c rune) (n int, in bool) {
	i := 1
	not := i < len(p) && (p[i] == '!' || p[i] == '^')
	if not {
		i++
	}
	for first := true; i < len(p); first = false {
		if p[i] == ']' && !first {
			return i + 1, in != not
		}
		low, size := utf8.DecodeRuneInString(p[i:])
		i += size
		high := low
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			high, size = utf8.DecodeRuneInString(p[i+1:])
			i += 1 + size
		}
		in = in || low <= c && c <= high
	}
	return 0, false
}
