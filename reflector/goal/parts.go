package goal

import (
	"slices"
	"strings"
)

// part is a milestone before it is cut to its bounds.
type part struct {
	first, last *word
	verb        bool
	item        bool
}

// parts gives the parts of a goal: items of lists and clauses with a verb. The
// titles and words that lead to a list are none, unless intros is set.
func (r *reading) parts(intros bool) []part {
	var out []part
	follows := false // the last clause was taken, so one that is joined to it may be added
	for i := range r.clauses {
		c := &r.clauses[i]
		if c.section != tasks {
			follows = false
			continue
		}
		p := part{first: &c.words[0], last: &c.words[len(c.words)-1], verb: c.verb.class != noVerb, item: c.item}
		for k := 1; k < len(c.words) && joint(p.first.text); k++ {
			p.first = &c.words[k]
		}
		if follows && (c.joined || c.item && !c.starts && !p.verb) {
			before := &out[len(out)-1]
			before.last, before.verb = p.last, before.verb || p.verb
			continue
		}
		follows = !(c.negated && !c.item) && (intros || !c.intro && !c.title)
		if follows {
			out = append(out, p)
		}
	}
	return out
}

// tasks gives the parts that are tasks. When a verb or a list was found, sentences
// without a verb that is known are context.
func (r *reading) tasks() []part {
	all := r.parts(false)
	if len(all) == 0 {
		all = r.parts(true)
	}
	known := func(p part) bool { return p.verb || p.item }
	if !slices.ContainsFunc(all, known) {
		return all
	}
	return slices.DeleteFunc(all, func(p part) bool { return !known(p) })
}

// milestones gives the parts with the first file in each.
func (r *reading) milestones(tasks []part) []Milestone {
	out := []Milestone{}
	k := 0
	for _, p := range tasks {
		if len(out) == maxMilestones {
			break
		}
		m := Milestone{Text: r.span(p.first, p.last)}
		for k < len(r.found) && r.found[k].at < p.first.start {
			k++
		}
		if k < len(r.found) && r.found[k].at <= p.last.end {
			m.File = r.found[k].path
		}
		if m.Text != "" {
			out = append(out, m)
		}
	}
	return out
}

// size follows the formula of Analysis.Size.
func (r *reading) size(tasks int) int {
	n := max(1, tasks, len(r.known))
	return min(maxSize, n+2*min(maxBroad, r.broad))
}

// criterionOf tells whether a clause states when it is reached, and of which kind
// that is.
func criterionOf(c *clause) (Kind, bool) {
	if c.negated {
		return Metric, faultless(c.words)
	}
	if metric(c) {
		return Metric, true
	}
	if command(c.words) {
		return Command, true
	}
	return State, state(c)
}

// faultless reports words such as "without any warnings".
func faultless(ws []word) bool {
	const far = 4 // words
	if ws[0].text != "without" {
		return false
	}
	return anyWord(ws[:min(far, len(ws))], func(w word) bool { return fault(w.text) })
}

func fault(s string) bool {
	return slices.Contains([]string{"warning", "warnings", "error", "errors", "failure", "failures", "finding", "findings", "violation", "violations", "vulnerability", "vulnerabilities", "todo", "todos", "regressions", "duplicates"}, s)
}

// metric reports a figure to be reached: a percentage, or a number after a word of
// comparison.
func metric(c *clause) bool {
	for i, w := range c.words {
		if w.quoted || w.text == "" {
			continue
		}
		if i > 0 && fault(w.text) && none(c.words[i-1].text) {
			return true
		}
		if i > 0 && (w.text == "half" || w.text == "third" || w.text == "quarter") && (c.words[i-1].text == "by" || c.words[i-1].text == "a" && i > 1 && c.words[i-2].text == "by") {
			return true
		}
		if (w.text == "twice" || w.text == "times") && i+1 < len(c.words) && c.words[i+1].text == "as" {
			return true
		}
		if i > 0 && (w.text == "percent" || w.text == "%") && figure(c.words[i-1].text) {
			return true
		}
		if figure(w.text) && compared(c, i) {
			return true
		}
	}
	return false
}

func none(s string) bool { return s == "no" || s == "zero" || s == "0" || s == "any" }

// figure reports a number with or without a unit.
func figure(s string) bool {
	s = strings.TrimLeft(s, "<>=≤≥~$€")
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

// compared reports whether the number at i is one to be reached.
func compared(c *clause, i int) bool {
	w := c.words[i]
	if strings.HasSuffix(w.text, "%") || strings.ContainsAny(w.text[:1], "<>=") || strings.HasPrefix(w.text, "≤") || strings.HasPrefix(w.text, "≥") {
		return true
	}
	if strings.HasSuffix(w.text, "x") && strings.Trim(w.text, "0123456789.x") == "" {
		return true
	}
	if i == 0 {
		return false
	}
	switch c.words[i-1].text {
	case "under", "below", "above", "least", "most", "than", "within", "<", ">", "<=", ">=", "≤", "≥", "exceed", "exceeds", "reach", "reaches", "max", "maximum":
		return true
	case "to", "by", "over", "at":
		return c.verb.class == endless && c.verb.pattern == Optimize
	}
	return false
}

// command reports a test, a build or a named command that has to pass.
func command(ws []word) bool {
	const far = 8 // words between what runs and how it ends
	runs, broken := -far-1, -far-1
	for i, w := range ws {
		switch {
		case w.quoted && strings.ContainsRune(w.raw, ' ') || runnable(w.text):
			runs = i
			if i-broken <= 3 {
				return true
			}
		case w.text == "failing" || w.text == "broken" || w.text == "flaky" || w.text == "red":
			broken = i
		case passes(w.text):
			if i-runs <= far && (w.text != "work" || i-runs <= 2) {
				return true
			}
		case (w.text == "exit" || w.text == "exits") && i+1 < len(ws):
			for _, v := range ws[i+1 : min(len(ws), i+4)] {
				if v.text == "0" || v.text == "zero" {
					return true
				}
			}
		}
	}
	return false
}

func runnable(s string) bool {
	return slices.Contains([]string{"test", "tests", "suite", "build", "builds", "ci", "pipeline", "linter", "lint", "checks", "vet", "typecheck", "tsc", "mypy", "pytest", "eslint", "clippy", "golangci-lint", "staticcheck", "benchmark", "benchmarks", "workflow", "testsuite", "unittests"}, s)
}

func passes(s string) bool {
	return slices.Contains([]string{"pass", "passes", "passing", "succeed", "succeeds", "green", "compile", "compiles", "clean", "happy", "work"}, s)
}

// state reports something that can be looked at: after so that and until, with
// must and should, or with a form such as "are gone". It must name something of
// its own.
func state(c *clause) bool {
	if !anyWord(c.words, word.specific) {
		return false
	}
	if c.purpose || c.verb.text == "make sure" || c.verb.text == "ensure" || c.verb.text == "verify" {
		own := 0
		for _, w := range c.words[:min(40, len(c.words))] {
			if w.specific() && single(w.text).class != endless && w.text != "make" && w.text != "ensure" && w.text != "verify" && w.text != "until" {
				own++
			}
		}
		return own > 0
	}
	all := false
	for i, w := range c.words {
		switch w.text {
		case "must", "should", "shall":
			if i > 0 && c.verb.class == noVerb && c.words[i-1].specific() && anyWord(c.words[i+1:], word.specific) {
				return true
			}
		case "gone", "removed", "fixed", "resolved", "closed", "merged", "empty", "documented", "deleted", "covered", "implemented", "migrated", "exists", "exist", "finished", "deployed", "installed", "replaced", "passing", "done":
			if i > 0 && ended(c.words[:i]) {
				return true
			}
		case "longer":
			if i > 0 && c.words[i-1].text == "no" {
				return true
			}
		case "every", "each", "all":
			all = true
		case "has", "have", "names", "is", "are", "carries":
			if all && c.verb.class == noVerb && anyWord(c.words[i+1:], word.specific) {
				return true
			}
		}
	}
	return false
}

// ended reports whether a form of be stands shortly before.
func ended(ws []word) bool {
	for _, w := range ws[max(0, len(ws)-3):] {
		switch w.text {
		case "is", "are", "be", "gets", "been", "has", "have":
			return true
		}
	}
	last := ws[len(ws)-1]
	return pathOf(last) != ""
}
