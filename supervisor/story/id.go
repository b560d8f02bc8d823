package story

import (
	"strconv"
	"strings"
)

// ids gives out ids that are unique without regard to case.
type ids map[string]bool

func (taken ids) reserve(id string) { taken[strings.ToLower(id)] = true }

// unique returns an id that is as wanted, or with a number behind it.
func (taken ids) unique(wanted string) string {
	id := wanted
	for n := 2; taken[strings.ToLower(id)] || !safeID(id); n++ {
		tail := "-" + strconv.Itoa(n)
		id = strings.TrimRight(wanted[:min(len(wanted), longestID-len(tail))], ".-_") + tail
	}
	taken.reserve(id)
	return id
}

// slug makes an id of words.
func slug(words string) string {
	const longest = 40
	var b strings.Builder
	for _, w := range strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 0x80 }) {
		w = strings.Map(func(r rune) rune {
			if r >= 0x80 {
				return -1
			}
			return r
		}, w)
		if w == "" {
			continue
		}
		if b.Len() > 0 {
			if b.Len()+1+len(w) > longest {
				break
			}
			b.WriteByte('-')
		}
		b.WriteString(w[:min(len(w), longest)])
	}
	if b.Len() == 0 {
		return "story"
	}
	return b.String()
}

// safe makes an id of one that others gave, with as much of it as can stay. What it ends in
// may still be refused; unique sees to that.
func safe(id string) string {
	id = strings.Map(func(r rune) rune {
		if idRune(r) {
			return r
		}
		return '-'
	}, id)
	for strings.Contains(id, "..") {
		id = strings.ReplaceAll(id, "..", ".")
	}
	id = strings.TrimLeft(id, ".-")
	id = strings.TrimRight(id[:min(len(id), longestID)], ".")
	if strings.Trim(id, "-_.") == "" {
		return "story"
	}
	return id
}
