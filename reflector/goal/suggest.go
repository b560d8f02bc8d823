package goal

import (
	"fmt"
	"slices"
	"strings"

	"autopilot/sessions/prompt"
)

// suggestion gives a goal with an end in place of one without. It is made from a
// form of words for the pattern and from the object of the vague verb.
func (r *reading) suggestion() string {
	v := *r.vague
	c := v.clause
	object := c.object()
	switch v.pattern {
	case Ask:
		object = c.words
	case Better:
		if anyWord(object, word.quick) {
			v.pattern = Optimize
		}
		object = object[:beforePraise(object)]
	case Nothing:
		object = nil
	case Learn, Understand, Explore, Research, Carry:
		object = afterLink(object)
	}
	return suggest(v.pattern, c.verb.text, r.phraseOf(object))
}

func (r *reading) issue() string {
	v := r.vague
	if v.pattern == Nothing {
		return why(Nothing)
	}
	return oneLine(fmt.Sprintf("%s The words are %q.", why(v.pattern), prompt.Cut(r.textOf(v.clause), 120)))
}

// afterLink leaves out words such as about and ways before an object.
func afterLink(ws []word) []word {
	for len(ws) > 0 {
		switch ws[0].text {
		case "about", "more", "some", "ways", "options", "up", "on", "of", "out", "for", "better", "good", "at", "expert", "in", "a", "bit", "with", "into":
			ws = ws[1:]
			continue
		}
		break
	}
	return ws
}

// beforePraise gives the number of words before "more readable" and the like.
func beforePraise(ws []word) int {
	n := len(ws)
	for i, w := range ws {
		if i > 0 && praise(w.text) {
			n = i
			break
		}
	}
	for n > 1 {
		switch ws[n-1].text {
		case "more", "much", "look", "looks", "feel", "production", "a", "very", "really", "even":
			n--
			continue
		}
		break
	}
	return n
}

func (w word) quick() bool {
	return slices.Contains([]string{"fast", "faster", "quick", "quicker", "snappier", "performant", "efficient"}, w.text)
}

// phraseOf gives an object as plain words of bounded length; "" when it says
// nothing.
func (r *reading) phraseOf(ws []word) string {
	const most, longest = 8, 60 // words, bytes
	if !anyWord(ws, word.full) || hollow(firstOf(ws)) {
		return ""
	}
	var out []string
	n := 0
	for i, w := range ws {
		s := strings.Join(strings.FieldsFunc(w.raw, func(c rune) bool { return !says(c) && !strings.ContainsRune("-_+#./'’", c) }), " ")
		n += len(s) + 1
		if len(out) == most || n > longest || relative(w.text) && len(out) > 1 || w.text == "and" && begins(ws, i+1) {
			break
		}
		if s = strings.Trim(s, "./'’"); s != "" {
			out = append(out, s)
		}
		if w.tail != "" {
			break
		}
	}
	for len(out) > 1 && function(strings.ToLower(out[len(out)-1])) {
		out = out[:len(out)-1]
	}
	s := strings.Join(out, " ")
	if !strings.ContainsFunc(s, says) {
		return ""
	}
	return s
}

// firstOf gives the first word that is more than a small one.
func firstOf(ws []word) string {
	for _, w := range ws {
		if w.quoted || !function(w.text) {
			return w.text
		}
	}
	return ""
}

// suggest fills the form of words for a pattern. The file comes first, so that
// nothing in the object can hide it.
func suggest(p Pattern, verb, object string) string {
	about, file := object, slug(object)
	if about == "" {
		about, file = "this project", "result"
	}
	file = "docs/" + file + ".md"
	s := ""
	switch p {
	case Learn:
		s = fmt.Sprintf("Write %s, a 5-page guide on %s covering: 1. the terms 2. the steps in their order 3. tools and costs 4. rules and risks 5. figures that show success", file, about)
		if name := language(object); name != "" {
			s = fmt.Sprintf("Write 3 working %s programs in examples/%s, each with a test that passes and a comment that says what it shows", name, slug(name))
		}
	case Ask:
		s = fmt.Sprintf("Write %s with an answer and three reasons for it to the question: %s", file, about)
	case Understand:
		s = fmt.Sprintf("Write %s, a guide on %s with five sections: its purpose, its parts, how they work together, what can go wrong, and three examples that were tried", file, about)
	case Explore:
		if strings.HasPrefix(about, "to ") {
			about = "ways " + about
		}
		s = fmt.Sprintf("Write %s, a table that compares three options for %s by effect, effort and risk, and recommend one of them", file, about)
	case Research:
		s = fmt.Sprintf("Write %s with five findings on %s, each with its source and what follows from it", file, about)
		if plural(about) {
			s = fmt.Sprintf("Create a comparison table of the top 5 %s in %s, with a source for each entry", about, file)
		}
	case Optimize:
		s = optimizing(verb, about, file)
	case Improve, Better:
		s = fmt.Sprintf("Write %s, a list of the five worst faults of %s, each with a check that shows it, and fix them until all five checks pass", file, about)
		if low := strings.ToLower(about); strings.Contains(low, "performance") || strings.Contains(low, "speed") {
			s = optimizing("", about, file)
		}
	case NoObject:
		s = objectless(verb, about, file)
	case Carry:
		s = fmt.Sprintf("Write %s with the three next results for %s, each with a check that tells when it is there, and implement the first of them until its check passes", file, about)
	default:
		s = "Create docs/next.md with the five most useful next steps for this project, each with a check that tells when it is done"
	}
	return prompt.Cut(s, maxSuggestion) + "."
}

// plural reports words such as "AI tools", of which there can be a top five.
func plural(s string) bool {
	last := s[strings.LastIndexByte(s, ' ')+1:]
	return strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !strings.HasPrefix(s, "how ") && !strings.HasPrefix(s, "the ")
}

// optimizing names a figure. Without a noun that is one, time is meant.
func optimizing(verb, about, file string) string {
	figure := "the running time of " + about
	for _, noun := range strings.Fields(strings.ToLower(about)) {
		switch noun {
		case "time", "times", "cost", "costs", "size", "memory", "usage", "latency", "coverage", "consumption", "throughput", "rate", "number", "count":
			figure = about
		case "database", "databases", "query", "queries", "sql", "db":
			figure = "the query time of " + about
		case "performance", "speed":
			figure = "the running time of this project"
		}
	}
	direction := "Reduce"
	switch verb {
	case "increase", "raise", "boost", "grow", "maximize", "maximise":
		direction, figure = "Increase", about
	case "reduce", "lower", "decrease", "shrink", "minimize", "minimise":
		figure = about
	}
	return fmt.Sprintf("%s %s by 20%%, measured before and after by the same command, and write both figures to %s", direction, figure, file)
}

func objectless(verb, about, file string) string {
	switch verb {
	case "fix", "debug", "repair", "resolve", "solve", "address", "handle":
		return "Write a list of the three most serious bugs to docs/bugs.md, each with a test that shows it, and fix them until these tests pass"
	case "refactor", "clean", "clean up", "cleanup", "tidy", "tidy up", "simplify", "restructure", "reorganize", "rework":
		return "Split every function that is longer than 80 lines into shorter ones, with the same tests passing before and after"
	case "test":
		return "Write tests until at least 80% of the lines are covered and all tests pass"
	case "document":
		return "Write an overview in docs/overview.md that describes each package in three sentences"
	}
	return fmt.Sprintf("Write %s with three results for %s, each with a check that tells when it is there, and implement the first of them until its check passes", file, about)
}

// language knows names of programming languages.
func language(object string) string {
	last := object[strings.LastIndexByte(object, ' ')+1:]
	switch strings.ToLower(last) {
	case "python", "go", "golang", "rust", "java", "javascript", "typescript", "ruby", "kotlin", "swift", "c", "c++", "c#", "haskell", "scala", "elixir", "erlang", "lua", "perl", "php", "zig", "bash", "sql", "clojure", "ocaml", "julia", "r", "dart":
		return last
	}
	return ""
}

// slug makes a file name of the words of an object.
func slug(object string) string {
	const most, longest = 3, 40 // words, bytes
	var parts []string
	for _, w := range strings.FieldsFunc(strings.ToLower(object), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		if function(w) || len(parts) == most || len(w) > longest/most {
			continue
		}
		parts = append(parts, w)
	}
	if len(parts) == 0 {
		return "result"
	}
	return strings.Join(parts, "-")
}
