package increment

import (
	"fmt"
	"slices"
	"strings"
)

// next are the statuses that may follow one.
func next(status string) []string {
	switch status {
	case Planning:
		return []string{Active, Backlog, Abandoned}
	case Active:
		return []string{ReadyForReview, Paused, Backlog, Abandoned}
	case Backlog:
		return []string{Active, Planning, Abandoned}
	case Paused:
		return []string{Active, ReadyForReview, Abandoned}
	case ReadyForReview:
		return []string{Completed, Active, Abandoned}
	case Completed:
		return []string{Active, Abandoned}
	case Abandoned:
		return []string{Active}
	}
	return nil
}

// Legal is nil when SpecWeave allows an increment to change from one status to another,
// else an error that wraps [ErrIllegal] and says which changes there are. To stay as it
// is is no change. Both statuses are read as in metadata.json, planned for planning too.
func Legal(from, to string) error {
	from, to = known(from), known(to)
	for _, s := range []string{from, to} {
		if !slices.Contains(Statuses(), s) {
			return fmt.Errorf("%w: %q is not a status; there are %s", ErrIllegal, s, strings.Join(Statuses(), ", "))
		}
	}
	if !slices.Contains(next(from), to) {
		return fmt.Errorf("%w: from %s to %s; from %s there is %s", ErrIllegal, from, to, from, strings.Join(next(from), ", "))
	}
	return nil
}

// PathTo returns the statuses through which an increment gets from one to another in as
// few legal changes as possible, the last of them to. None of those between gives the
// increment up or finishes it. It is empty when both are the same or no status.
func PathTo(from, to string) []string {
	from, to = known(from), known(to)
	paths := [][]string{{from}}
	seen := []string{from}
	for len(paths) > 0 && from != to {
		path := paths[0]
		paths = paths[1:]
		for _, s := range next(path[len(path)-1]) {
			step := append(slices.Clone(path), s)
			if s == to {
				return step[1:]
			}
			if !slices.Contains(seen, s) && s != Abandoned && s != Completed {
				seen = append(seen, s)
				paths = append(paths, step)
			}
		}
	}
	return nil
}

// known reads a status: SpecWeave writes planned where it means planning.
func known(status string) string {
	s := strings.ReplaceAll(strings.ToLower(word(status)), "-", "_")
	if s == "planned" {
		return Planning
	}
	return s
}
