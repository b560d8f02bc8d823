package story

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/metrics/spelling"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

// Bounds. Those of texts are in runes.
const (
	mostStories    = 100
	longestID      = 64
	longestTitle   = 80
	longestGoal    = 8000
	longestCommand = 2000
	longestURL     = 500
	mostCommands   = 16
	mostAfter      = 64
	mostPaths      = 64
	lowestPriority = 9
	mostProblems   = 20 // that are told at once
)

// Find returns the member with an id, to be read or changed in place; nil when there is
// none.
func (c Cohort) Find(id string) *Member {
	if i := slices.IndexFunc(c.Members, func(m Member) bool { return m.ID == id }); i >= 0 {
		return &c.Members[i]
	}
	return nil
}

// Counts says how many members have each status. One that none has is not in it.
func (c Cohort) Counts() map[Status]int {
	out := map[Status]int{}
	for _, m := range c.Members {
		out[m.Status]++
	}
	return out
}

// words are the counts for a person.
func (c Cohort) words() string {
	n := c.Counts()
	var out []string
	for _, s := range []Status{Done, Failed, Person, Stopped, Shut} {
		if n[s] > 0 {
			out = append(out, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	if out == nil {
		return "there are no stories"
	}
	return "of " + fmt.Sprint(len(c.Members)) + ": " + strings.Join(out, ", ")
}

// Folder is the name of the folder below .specweave/increments that a story of kind
// Increment is about: its item in the queue, or else its id.
func (s Story) Folder() string {
	switch {
	case s.Kind != Increment:
		return ""
	case s.Item != "":
		return s.Item
	}
	return s.ID
}

// Check returns what is wrong with each of some stories by itself, and with their ids,
// which are unique without regard to case, since they name folders and branches. What they
// wait for is not looked at: in a cohort a story that waits in vain is shut, while a file
// with one is refused.
func Check(stories []Story) error { return joined(problems(stories), stories) }

// problem is what is wrong with a story; at is where it is in its list.
type problem struct {
	at   int
	fact string
}

func joined(list []problem, stories []Story) error {
	var errs []error
	for _, p := range list {
		if p.at < 0 {
			errs = append(errs, errors.New(p.fact))
			continue
		}
		errs = append(errs, fmt.Errorf("story %d (%s): %s", p.at+1, line(stories[p.at].ID, longestID), p.fact))
	}
	return some(errs)
}

// some joins the first of many errors.
func some(errs []error) error {
	if n := len(errs) - mostProblems; n > 0 {
		errs = append(errs[:mostProblems:mostProblems], fmt.Errorf("and %d more", n))
	}
	return errors.Join(errs...)
}

func problems(stories []Story) []problem {
	if n := len(stories); n > mostStories {
		return []problem{{-1, fmt.Sprintf("%d stories are too many for one cohort: there may be %d", n, mostStories)}}
	}
	var out []problem
	first := map[string]int{}
	for i, s := range stories {
		for _, fact := range s.flaws() {
			out = append(out, problem{i, fact})
		}
		id := strings.ToLower(s.ID)
		if k, twice := first[id]; twice {
			out = append(out, problem{i, fmt.Sprintf("story %d has the id %q already", k+1, line(stories[k].ID, longestID))})
			continue
		}
		first[id] = i
	}
	return out
}

// flaws are what is wrong with a story by itself.
func (s Story) flaws() []string {
	var out []string
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(!safeID(s.ID), "%q is no id: it has letters, digits, '.', '_' and '-', at most %d of them, and can name a branch", line(s.ID, longestID), longestID)
	add(s.Kind != Goal && s.Kind != Increment, "%q is no kind of story", line(string(s.Kind), 40))
	add(s.Kind == Goal && strings.TrimSpace(s.Goal) == "", "the goal is empty")
	add(s.Kind == Increment && s.Goal != "", "an increment has no goal of its own")
	add(s.Kind == Increment && len(s.Verify) > 0, "an increment has its own checks: commands to verify are for goals")
	add(utf8.RuneCountInString(s.Goal) > longestGoal, "the goal has more than %d characters: put them into a file and name it in the goal", longestGoal)
	add(s.Title == "" || line(s.Title, longestTitle) != s.Title, "the title is not one line of at most %d characters", longestTitle)
	add(s.Priority < 0 || s.Priority > lowestPriority, "priority %d is out of range 0..%d", s.Priority, lowestPriority)
	add(len(s.After) > mostAfter, "it waits for %d stories: there may be %d", len(s.After), mostAfter)
	add(len(s.Paths) > mostPaths, "it has %d paths: there may be %d", len(s.Paths), mostPaths)
	add(len(s.Verify) > mostCommands, "it has %d commands to verify: there may be %d", len(s.Verify), mostCommands)
	for _, p := range s.Paths {
		if err := CheckPattern(p); err != nil {
			add(true, "%s", err.Error())
		}
	}
	for _, c := range s.Verify {
		add(strings.TrimSpace(c) == "", "a command to verify is empty")
		add(utf8.RuneCountInString(c) > longestCommand, "the command %q is longer than %d characters", line(c, 60), longestCommand)
		add(gate.Plain(c) != c, "the command %q has control characters", line(c, 60))
		add(logs.Redact(c) != c, "the command %q holds what looks like a secret, and would be written to a file", line(c, 60))
	}
	return out
}

func disorder(stories []Story) []problem {
	at := map[string]int{}
	for i, s := range stories {
		at[s.ID] = i
	}
	ids := make([]string, 0, len(stories))
	for _, s := range stories {
		ids = append(ids, s.ID)
	}
	after := func(id string) []string {
		if i, ok := at[id]; ok {
			return stories[i].After
		}
		return nil
	}
	var out []problem
	told := map[string]bool{}
	for i, s := range stories {
		for _, id := range s.After {
			if _, ok := at[id]; !ok && len(ids) > 0 {
				out = append(out, problem{i, fmt.Sprintf("waits for %q, which is not among the stories; the nearest is %q", line(id, longestID), spelling.Nearest(id, ids))})
			}
		}
		if ring := ringOf(s.ID, after); ring != nil && !told[s.ID] {
			out = append(out, problem{i, "waits for itself: " + ringWords(ring)})
			for _, id := range ring {
				told[id] = true
			}
		}
	}
	return out
}

// ringOf returns the shortest way along dependencies from a story back to it; nil when
// there is none.
func ringOf(start string, after func(id string) []string) []string {
	from := map[string]string{} // the story by which another was reached
	for list := []string{start}; len(list) > 0; list = list[1:] {
		for _, next := range after(list[0]) {
			if next == start {
				way := []string{start}
				for id := list[0]; id != start; id = from[id] {
					way = append(way, id)
				}
				way = append(way, start)
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen {
				from[next] = list[0]
				list = append(list, next)
			}
		}
	}
	return nil
}

func ringWords(ring []string) string {
	const most = 10
	if len(ring) > most {
		return fmt.Sprintf("%s and so on, %d stories in all", strings.Join(ring[:most], " after "), len(ring)-1)
	}
	return strings.Join(ring, " after ")
}

// safeID reports whether an id can name a folder and a branch.
func safeID(id string) bool {
	if id == "" || len(id) > longestID || strings.ContainsFunc(id, func(r rune) bool { return !idRune(r) }) {
		return false
	}
	lower := strings.ToLower(id)
	return id[0] != '.' && id[0] != '-' && !strings.Contains(id, "..") && !strings.HasSuffix(id, ".") && !strings.HasSuffix(lower, ".lock")
}

func idRune(r rune) bool {
	return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r))
}

// line makes one line of bounded length of a foreign text.
func line(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(s)), " ")), n)
}

// paragraphs is a foreign text that keeps its lines.
func paragraphs(s string) string { return strings.TrimSpace(logs.Redact(gate.Plain(s))) }
