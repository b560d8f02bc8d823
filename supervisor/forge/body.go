package forge

import (
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"autopilot/sessions/prompt"
)

const (
	maxAfter         = 100
	maxAnnouncements = 1000
	maxPaths         = 100
	maxPattern       = 256 // runes
	// maxNegation is how far in front of a keyword, in bytes, a "not" is looked for.
	maxNegation = 60
)

// parseBody reads what an issue says of itself in its text, which is Markdown: the issues
// that it waits for and the paths that it changes. A dependency is announced by words such
// as "Blocked by" or "Depends on", followed by references on the same line, or by a list of
// them below. Code, comments, struck text, items of task lists, references to other
// repositories and what is announced with a "not" do not count.
func parseBody(body string, f Forge, own int) (after []int, paths []string) {
	r := refReader{f: f, own: own}
	listed := false // a heading or a colon announced a list
	next := false   // and did so on the line before
	for line := range prose(body) {
		plain := marker().ReplaceAllString(line, "")
		if m := pathsLine().FindStringSubmatch(plain); m != nil {
			paths = append(paths, splitPatterns(m[1])...)
			continue
		}
		item := plain != line
		plain = struck().ReplaceAllString(codeSpan().ReplaceAllString(plain, "`"), " ")
		switch {
		case listed && line == "":
			next = false
		case listed && (item || next) && r.read(plain) > 0:
		default:
			next = r.announced(plain)
			listed = next || listed && item
		}
	}
	return r.found, paths[:min(len(paths), maxPaths)]
}

// prose yields the lines of a text that are neither code nor comment nor items of a task
// list, without the marks of a quotation and white space around them.
func prose(body string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fence, comment := "", false
		for line := range strings.Lines(body) {
			for line = strings.TrimSpace(line); strings.HasPrefix(line, ">"); {
				line = strings.TrimSpace(line[1:])
			}
			if fence != "" {
				if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
					fence = ""
				}
				continue
			}
			if !comment {
				if fence = opensFence(marker().ReplaceAllString(line, "")); fence != "" {
					continue
				}
			}
			line, comment = uncomment(line, comment)
			if taskItem().MatchString(line) {
				continue
			}
			if !yield(strings.TrimSpace(line)) {
				return
			}
		}
	}
}

// opensFence returns the shortest fence that closes the code that a line opens, or nothing.
func opensFence(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return strings.Repeat(mark, n)
		}
	}
	return ""
}

// uncomment takes comments out of a line. Open says whether the line begins within one.
func uncomment(line string, open bool) (string, bool) {
	var b strings.Builder
	for {
		mark := "<!--"
		if open {
			mark = "-->"
		}
		before, after, found := strings.Cut(line, mark)
		if !open {
			b.WriteString(before)
		}
		if !found {
			return b.String(), open
		}
		line, open = after, !open
	}
}

// refReader collects the issues that a text refers to.
type refReader struct {
	f     Forge
	own   int
	found []int
	// announcements counts the keywords: a text that consists of them takes too long to read.
	announcements int
}

// announced collects the references that a line announces, and reports whether it announces
// a list.
func (r *refReader) announced(line string) bool {
	words := keyword().FindAllStringIndex(line, -1)
	for i, at := range words {
		if r.announcements++; r.announcements > maxAnnouncements {
			return false
		}
		if negated().MatchString(line[max(0, at[0]-maxNegation):at[0]]) {
			continue
		}
		rest := line[at[1]:]
		if r.read(rest) == 0 && i == len(words)-1 && strings.Trim(rest, " :*_#") == "" {
			return true
		}
	}
	return false
}

// read collects the references at the beginning of a text, and returns how many there are.
func (r *refReader) read(s string) int {
	n := 0
	for {
		s = s[len(separators().FindString(s)):]
		m := reference().FindStringSubmatch(s)
		if m == nil {
			return n
		}
		n++
		s = s[len(m[0]):]
		switch link, at, spec, number := m[1], m[2], m[3], m[4]; {
		case link != "":
			r.add(r.f.numberOf(link))
		case at != "":
			r.add(r.f.numberOf(at))
		case spec == "" || strings.EqualFold(spec, r.f.Spec):
			i, _ := strconv.Atoi(number)
			r.add(i)
		}
	}
}

func (r *refReader) add(number int) {
	if number > 0 && number != r.own && len(r.found) < maxAfter && !slices.Contains(r.found, number) {
		r.found = append(r.found, number)
	}
}

// numberOf is the number of the issue of this repository at an address, or 0.
func (f Forge) numberOf(address string) int {
	u, err := url.Parse(strings.TrimRight(address, ".,;:!?*_"))
	if err != nil || cleanHost(u.Hostname()) != f.Host {
		return 0
	}
	path := strings.TrimPrefix(u.Path, "/")
	if len(path) <= len(f.Spec) || !strings.EqualFold(path[:len(f.Spec)], f.Spec) {
		return 0
	}
	parts := strings.Split(strings.TrimPrefix(path[len(f.Spec):], "/-"), "/")
	if len(parts) < 3 || parts[0] != "" {
		return 0
	}
	switch kind := parts[1]; {
	case kind == "issues", kind == "work_items" && f.Kind == GitLab, kind == "pull" && f.Kind == GitHub:
		n, err := strconv.Atoi(parts[2])
		if err != nil || n > 1<<31-1 {
			return 0
		}
		return n
	}
	return 0
}

// splitPatterns splits at commas, but for those between braces.
func splitPatterns(s string) []string {
	var out []string
	depth, begin := 0, 0
	take := func(p string) {
		if p = strings.Trim(p, " \t`\"'"); p != "" {
			out = append(out, prompt.Cut(p, maxPattern))
		}
	}
	for i, c := range s {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth = max(0, depth-1)
		case c == ',' && depth == 0:
			take(s[begin:i])
			begin = i + 1
		}
	}
	take(s[begin:])
	return out
}

var marker = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[-*+]|\d{1,9}[.)])\s+`)
})

var taskItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\](?:\s|$)`)
})

var codeSpan = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`+[^`]*`+")
})

var struck = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`~~.*?~~`)
})

var pathsLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:\*\*|__)?paths(?:\*\*|__)?\s*:(?:\*\*|__)?\s*(.*)$`)
})

var keyword = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\b|_)(?:blocked[ _-](?:by|on)|depend(?:s|ing|ent)?[ _-](?:up)?on)(?:\b|_)`)
})

// negated matches the end of what stands in front of a keyword that does not count.
var negated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\bnot|\bno longer|\bnever|n['\x{2019}]t)[\s*_-]+(?:\pL+[\s*_-]+)?$`)
})

// separators matches what may stand between references.
var separators = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:[\s,;:&+*_()<>\[\]]|(?:and|or|the|both|also|issues?|prs?|pull requests?|tickets?|tasks?|stor(?:y|ies)|epics?)\b)*`)
})

// reference matches a Markdown link, an address, or a number with or without repository.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[^\[\]]{0,200}\]\((https?://[^\s<>()]+)\)|(https?://[^\s<>()\[\]]+)|([\w.-]+(?:/[\w.-]+)+)?#(\d{1,9})\b)`)
})
