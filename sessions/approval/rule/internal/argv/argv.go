package argv

import (
	"path"
	"slices"
	"strings"
)

// Begins reports whether a command begins with the words: its name, then its arguments
// in order, where flags, and what may be the value of one, are passed over. A word may be
// a pattern, or several with '|' between them.
func Begins(words, args []string) bool {
	if len(args) == 0 || !anyOf(words[0], path.Base(args[0])) {
		return false
	}
	return follows(words[1:], args[1:], args, false)
}

// follows matches what is left of the words with what is left of the arguments; value
// says that the first of them may belong to the flag in front of it.
func follows(words, left, args []string, value bool) bool {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if !HasFlag(args, words[0]) { // a flag may stand anywhere
			return false
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return true
	}
	for i, a := range left {
		if len(a) > 1 && a[0] == '-' {
			value = !strings.Contains(a, "=") && a != "--"
			continue
		}
		if anyOf(words[0], a) && follows(words[1:], left[i+1:], args, false) {
			return true
		}
		if !value {
			return false
		}
		value = false
	}
	return false
}

func anyOf(pattern, word string) bool {
	for p := range strings.SplitSeq(pattern, "|") {
		if p == word || strings.ContainsAny(p, "*?[") && Globbed(p, word) {
			return true
		}
	}
	return false
}

// Globbed matches a pattern in which '*' stands for anything.
func Globbed(pattern, word string) bool {
	if pattern == "*" {
		return true
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(word, "/", "\x01"))
	return ok && err == nil
}

// HasFlag reports whether one of the flags of a pattern stands among the arguments, alone,
// with a value, or, for one letter, within several.
func HasFlag(args []string, pattern string) bool {
	for flag := range strings.SplitSeq(pattern, "|") {
		for _, a := range args[1:] {
			if a == "--" {
				break
			}
			if a == flag || strings.HasPrefix(a, flag+"=") {
				return true
			}
			if len(flag) == 2 && len(a) > 2 && a[0] == '-' && a[1] != '-' && !strings.Contains(a, "=") && strings.Contains(a[1:], flag[1:]) {
				return true
			}
		}
	}
	return false
}

// Operands are the arguments that are no flags.
func Operands(args []string) []string {
	var out []string
	only := false
	for _, a := range args[min(1, len(args)):] {
		switch {
		case only || len(a) < 2 || a[0] != '-':
			out = append(out, a)
		case a == "--":
			only = true
		}
	}
	return out
}

// ValueOf is the value of a flag, behind it or joined to it.
func ValueOf(args []string, flags ...string) (string, bool) {
	for i, a := range args {
		for _, f := range flags {
			if a == f && i+1 < len(args) {
				return args[i+1], true
			}
			if v, ok := strings.CutPrefix(a, f+"="); ok {
				return v, true
			}
			if len(f) == 2 && len(a) > 2 && strings.HasPrefix(a, f) {
				return a[2:], true
			}
		}
	}
	return "", false
}

// WithoutValues are the arguments without the flags that are named and what belongs to
// them.
func WithoutValues(args []string, flags ...string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if slices.Contains(flags, args[i]) {
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

// HasPrefix reports whether an argument begins like this.
func HasPrefix(args []string, prefix string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, prefix) })
}

// Abbreviates reports whether a flag is one of the given ones or the beginning of one that
// git takes for it.
func Abbreviates(flag string, full ...string) bool {
	flag, _, _ = strings.Cut(flag, "=")
	return slices.ContainsFunc(full, func(f string) bool {
		return f == flag || len(flag) > 3 && flag != "--pr" && strings.HasPrefix(f, flag)
	})
}

// Into are the paths that files may be put at by a command that takes them in front of the
// place where they go: that place, or below it.
func Into(ops []string) []string {
	if len(ops) < 2 {
		return nil
	}
	to := ops[len(ops)-1]
	out := []string{to}
	for _, from := range ops[:len(ops)-1] {
		out = append(out, path.Join(to, path.Base(from)))
	}
	return out
}
