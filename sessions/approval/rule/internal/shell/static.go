package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"autopilot/sessions/approval/rule/internal/flow"
)

// chosen are the arms of a case statement that can be reached: all of them where it is
// not known what it looks at.
func (w *walker) chosen(c *syntax.CaseClause) []*syntax.CaseItem {
	if w.loops > 0 {
		return c.Items
	}
	var out []*syntax.CaseItem
	all := false
	w.each(c.Word, func() {
		word := w.literal(c.Word)
		if !flow.Known(word) || all {
			all = true
			return
		}
		through := false
		for _, item := range c.Items {
			may, sure := w.matches(item, word)
			if !may && !through {
				continue
			}
			if !slices.Contains(out, item) {
				out = append(out, item)
			}
			through = item.Op != syntax.Break
			if sure && !through {
				return
			}
		}
	})
	if all {
		return c.Items
	}
	return out
}

// matches reports whether an arm may be, and whether it surely is, the one for a word.
func (w *walker) matches(item *syntax.CaseItem, word string) (may, sure bool) {
	for _, p := range item.Patterns {
		pattern := p.Lit()
		if pattern == "" {
			pattern = w.literal(p)
		}
		if !flow.Known(pattern) || strings.ContainsAny(pattern, `\@(+!`) {
			may = true
			continue
		}
		hide := func(s string) string { return strings.ReplaceAll(s, "/", "\x01") }
		if ok, err := path.Match(hide(pattern), hide(word)); ok || err != nil {
			return true, err == nil
		}
	}
	return may, false
}

// holds says how a condition turns out that compares two known words.
func (w *walker) holds(cond []*syntax.Stmt) (yes, known bool) {
	if w.loops > 0 || len(cond) != 1 || cond[0].Negated || len(cond[0].Redirs) > 0 {
		return false, false
	}
	var x, y *syntax.Word
	op := ""
	switch c := cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		args := c.Args
		if n := len(args); n == 5 && args[0].Lit() == "[" && args[4].Lit() == "]" {
			args = args[:4]
		}
		if len(args) != 4 || args[0].Lit() != "[" && args[0].Lit() != "test" || len(c.Assigns) > 0 {
			return false, false
		}
		x, op, y = args[1], args[2].Lit(), args[3]
	case *syntax.TestClause:
		b, ok := c.X.(*syntax.BinaryTest)
		if !ok {
			return false, false
		}
		l, okL := b.X.(*syntax.Word)
		r, okR := b.Y.(*syntax.Word)
		if !okL || !okR {
			return false, false
		}
		x, op, y = l, b.Op.String(), r
	default:
		return false, false
	}
	if op != "=" && op != "==" && op != "!=" || w.several(x) || w.several(y) {
		return false, false
	}
	a, b := w.literal(x), w.literal(y)
	if !flow.Known(a+b) || strings.ContainsAny(b, "*?[") {
		return false, false
	}
	return (a == b) == (op != "!="), true
}

// several reports whether a word may be one of several.
func (w *walker) several(word *syntax.Word) bool {
	more := false
	params(word, func(p *syntax.ParamExp) { more = more || len(w.vars[p.Param.Value]) > 1 })
	return more
}
