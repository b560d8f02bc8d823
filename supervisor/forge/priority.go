package forge

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

const leastUrgent = 9

// priority is that of the most urgent label, from 1; 0 when none tells of it. Numbers count
// from 0 in labels: p0 is 1, and so are "critical" and the like; p1 and "high" are 2, p2 and
// "medium" 3, p3 and "low" 4.
func priority(labels []string) int {
	best := 0
	for _, l := range labels {
		if p := labelPriority(strings.ToLower(strings.TrimSpace(l))); p != 0 && (best == 0 || p < best) {
			best = p
		}
	}
	return best
}

func labelPriority(label string) int {
	if m := numbered().FindStringSubmatch(label); m != nil {
		n, _ := strconv.Atoi(m[1])
		return min(n+1, leastUrgent)
	}
	if m := worded().FindStringSubmatch(label); m != nil {
		switch m[1] + m[2] {
		case "critical", "critical-urgent", "urgent", "blocker", "highest", "immediate":
			return 1
		case "high", "important", "important-soon", "major":
			return 2
		case "medium", "normal", "moderate", "important-longterm":
			return 3
		case "low", "minor", "backlog":
			return 4
		case "lowest", "trivial":
			return 5
		}
	}
	return 0
}

var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:p[-:/ ]?|prio(?:rity)?[-_ :/=]*p?)(\d)$`)
})

var worded = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:prio(?:rity)?[-_ :/=]+([a-z-]+)|([a-z]+)[-_ ]prio(?:rity)?)$`)
})
