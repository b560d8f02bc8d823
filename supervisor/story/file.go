package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

const maxFile = 1 << 20 // bytes

// ParseFile reads stories from YAML, and so from JSON: a list of them, or a mapping with
// stories, a list. Each is a mapping with these keys:
//
//	goal       what is to be reached, in words
//	increment  instead of a goal: a folder below .specweave/increments, which is the id too
//	id         names the story; made from the title or the goal when it is not there
//	title      one line; the beginning of the goal when it is not there
//	after      ids of stories that have to be done before
//	paths      patterns of what it may change, see [CheckPattern]
//	verify     commands that must succeed
//	priority   1 is done first, 9 late, and 0, or none, last
//
// after, paths and verify are lists, or one text. The error names what is wrong, up to 20
// things at once, each with the file's name and the line: unknown keys, what [Check]
// refuses, and dependencies that are missing or go in a ring. The file has at most 1 MiB.
func ParseFile(data []byte, name string) ([]Story, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has %d bytes: there may be %d", name, len(data), maxFile)
	}
	r := &reader{}
	nodes, err := r.list(data)
	if err != nil {
		return nil, fmt.Errorf("read stories from %s: %w", name, err)
	}
	stories, flawed := make([]Story, 0, len(nodes)), map[int]bool{}
	for i, node := range nodes {
		before := len(r.flaws)
		stories = append(stories, r.story(node))
		flawed[i] = len(r.flaws) > before
	}
	christen(stories)
	for _, p := range append(problems(stories), disorder(stories)...) {
		if !flawed[p.at] { // whose other problems may come from the first
			r.fail(nodes[p.at], "%s: %s", line(stories[p.at].ID, longestID), p.fact)
		}
	}
	if len(r.flaws) == 0 {
		return stories, nil
	}
	slices.SortStableFunc(r.flaws, func(a, b flaw) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, 0, len(r.flaws))
	for _, f := range r.flaws {
		errs = append(errs, fmt.Errorf("%s:%d: %s", name, f.line, f.fact))
	}
	return nil, some(errs)
}

// christen gives ids and titles to stories without.
func christen(stories []Story) {
	taken := ids{}
	for _, s := range stories {
		taken.reserve(s.ID)
	}
	for i := range stories {
		s := &stories[i]
		if s.Title == "" {
			first, _, _ := strings.Cut(s.Goal, "\n")
			s.Title = line(cmp.Or(first, s.ID, slug("")), longestTitle)
		}
		if s.ID == "" {
			s.ID = taken.unique(slug(s.Title))
		}
	}
}
