package goal

import (
	"fmt"
	"strings"
	"unicode"

	"autopilot/sessions/prompt"
)

// Kind says how a criterion can be checked.
type Kind string

// Values of Kind.
const (
	File    Kind = "file"    // a file is there
	Command Kind = "command" // a command, a test or a build passes
	Metric  Kind = "metric"  // a figure is reached
	State   Kind = "state"   // something can be looked at
)

// Measurable reports whether a machine can check criteria of this kind.
func (k Kind) Measurable() bool { return k == File || k == Command || k == Metric }

// Term is a part of a goal that has no end. Start and End are offsets of bytes:
// Text is Goal[Start:End].
type Term struct {
	Text    string  `json:"text"`
	Pattern Pattern `json:"pattern"`
	Start   int     `json:"start"`
	End     int     `json:"end"`
	Why     string  `json:"why"`
}

// Criterion is one condition of success, in the words of the goal. File is set
// for Kind File only.
type Criterion struct {
	Text string `json:"text"`
	Kind Kind   `json:"kind"`
	File string `json:"file,omitempty"`
}

// Milestone is a part of a goal. File is the first of the Deliverables in it.
type Milestone struct {
	Text string `json:"text"`
	File string `json:"file,omitempty"`
}

// Analysis is what the words of a goal say about it.
type Analysis struct {
	Goal      string `json:"goal"` // as given
	Ambiguous bool   `json:"is_ambiguous"`
	// Confidence is the number of different patterns among Terms divided by six, at
	// most 1, and 0 when the goal is not ambiguous. One match is 0.17: a small
	// figure does not mean that the verdict is doubtful.
	Confidence float64 `json:"confidence"`
	// Terms are there also when something else in the goal makes up for them.
	Terms []Term `json:"ambiguous_terms"`
	// Criteria are those that the goal states. When there are none the goal itself
	// is the only one.
	Criteria   []Criterion `json:"success_criteria"`
	Milestones []Milestone `json:"milestones"`
	// Deliverables are the relative paths of files and folders that the goal asks
	// to be created or changed, as written, without repetition.
	Deliverables []string `json:"deliverables"`
	// Suggestion is a goal that is not ambiguous, Issue one sentence that says what
	// is missing. Both are empty when the goal is not ambiguous.
	Suggestion string `json:"suggestion,omitempty"`
	Issue      string `json:"issue,omitempty"`
	// Size is a rough measure, 1..100, to compare goals with each other: the larger
	// of the numbers of parts and of deliverables, at least 1, and 2 more for each
	// word of breadth outside quotations (all, every, each, whole, entire, everything,
	// everywhere), counting three of them at most.
	Size int `json:"size"`
}

// Bounds of an analysis. What exceeds a list's bound is left out.
const (
	maxTerms        = 20
	maxCriteria     = 30
	maxMilestones   = 50
	maxDeliverables = 50
	maxText         = 300  // runes of a criterion, a milestone or an issue
	maxSuggestion   = 1000 // runes
	maxTerm         = 120  // bytes, more or less: a term ends at a word
	maxSize         = 100
	maxBroad        = 3
)

// Analyse says what the words of a goal say about it. It never fails.
func Analyse(text string) Analysis {
	a := Analysis{Goal: text, Terms: []Term{}, Criteria: []Criterion{}, Milestones: []Milestone{}, Deliverables: []string{}, Size: 1}
	if strings.IndexFunc(text, says) < 0 {
		a.Ambiguous, a.Confidence = true, share(1)
		a.Terms = append(a.Terms, Term{Pattern: Empty, Why: why(Empty)})
		a.Suggestion, a.Issue = suggest(Empty, "", ""), why(Empty)
		return a
	}
	r := read(text)
	a.Terms, a.Criteria, a.Deliverables = r.terms, r.criteria, r.files
	tasks := r.tasks()
	a.Milestones, a.Size = r.milestones(tasks), r.size(len(tasks))
	if r.ambiguous() {
		a.Ambiguous = true
		a.Confidence = share(different(a.Terms))
		a.Suggestion, a.Issue = r.suggestion(), r.issue()
	}
	return a
}

func says(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// certain is how many different patterns make the verdict as certain as can be.
const certain = 6

func share(patterns int) float64 { return min(1, float64(patterns)/certain) }

func different(terms []Term) int {
	seen := map[Pattern]bool{}
	for _, t := range terms {
		seen[t.Pattern] = true
	}
	return len(seen)
}

// Question is what a person is asked about an ambiguous goal: what is wrong, the
// suggestion, and three choices, A, B and C. It is empty when the goal is not
// ambiguous.
func (a Analysis) Question() string {
	if !a.Ambiguous {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "It is not clear when this goal would be reached: %q\n\n%s\n", oneLine(a.Goal), a.Issue)
	if t := a.shownTerms(); t != "" {
		fmt.Fprintf(&b, "Without an end: %s.\n", t)
	}
	b.WriteString("Say which result shows success, which files are there in the end, or which figure or command tells that it is done.\n\n")
	fmt.Fprintf(&b, "Suggestion: %s\n\n", a.Suggestion)
	b.WriteString("A) use the suggestion\nB) say it in other words\nC) go on as it is with a time limit (the goal may not be reached)\n")
	return b.String()
}

func (a Analysis) shownTerms() string {
	const shown = 5
	var out []string
	for _, t := range a.Terms {
		if t.Text != "" && len(out) < shown {
			out = append(out, fmt.Sprintf("%q", oneLine(t.Text)))
		}
	}
	return strings.Join(out, ", ")
}

// oneLine makes a text fit for one line of bounded length.
func oneLine(s string) string {
	const most = 4 * maxText // bytes that can matter
	if len(s) > 4*most {
		s = strings.ToValidUTF8(s[:4*most], "")
	}
	return prompt.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), maxText)
}
