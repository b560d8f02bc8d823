package label

import (
	"slices"
	"strings"
	"unicode"

	"autopilot/sessions/approval/rule/internal/flow"
)

// Named reports whether a word speaks of production.
func Named(word string) bool {
	words := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	for i, w := range words {
		if w != "prod" && w != "production" && w != "prd" {
			continue
		}
		if i+1 < len(words) && words[i+1] == "like" {
			continue
		}
		if i == 0 || !slices.Contains([]string{"non", "not", "pre", "no", "like", "fake", "mock", "un"}, words[i-1]) {
			return true
		}
	}
	return false
}

// ForTests reports whether a name speaks of tests or of something temporary.
func ForTests(name string) bool {
	if Named(name) || strings.ContainsAny(name, " \n") {
		return false
	}
	if strings.HasPrefix(name, "/tmp/") || name == ":memory:" || strings.HasSuffix(name, "/tmp.new") {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "test" || w == "tests" || w == "testing" || w == "tmp" || w == "testdb"
	})
}

// Database is the name of a database in an address of one; what is no address stays.
func Database(s string) string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return s
	}
	rest, _, _ = strings.Cut(rest, "?")
	return rest[strings.IndexByte(rest, '/')+1:]
}

// Local reports whether a request goes to this machine, or to one beside it that has a
// name without a dot, such as a container.
func Local(args []string) bool {
	return slices.ContainsFunc(args[1:], func(a string) bool {
		_, rest, ok := strings.Cut(a, "://")
		if !ok {
			rest = a
		}
		host, _, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		if strings.HasPrefix(host, "[::1]") || host == "::1" {
			return true
		}
		host, _, _ = strings.Cut(host, ":")
		return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") || host == "0.0.0.0" ||
			ok && host != "" && !strings.Contains(host, ".") && flow.Known(host) && !Named(host)
	})
}

// Words are the words of a tool's name: divided by marks, or by capitals.
func Words(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
