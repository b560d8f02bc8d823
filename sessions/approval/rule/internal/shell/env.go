package shell

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"autopilot/sessions/approval/rule/internal/flow"
)

const maxValue = 32 << 10 // bytes of one value

// env is the walker as an environment of variables.
type env struct{ w *walker }

func (w *walker) config() *expand.Config {
	return &expand.Config{
		Env: env{w},
		CmdSubst: func(out io.Writer, c *syntax.CmdSubst) error {
			_, err := io.WriteString(out, w.quiet().outputAll(c.Stmts).Word())
			return err
		},
		ProcSubst: func(p *syntax.ProcSubst) (string, error) {
			if p.Op != syntax.CmdIn {
				return "/dev/null", nil
			}
			name := "/dev/fd/" + strconv.Itoa(100+len(w.files))
			w.write(name, w.quiet().outputAll(p.Stmts), false)
			return name, nil
		},
	}
}

func text(s string) expand.Variable {
	if len(s) > maxValue {
		s = flow.Made
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: s}
}

func list(s []string) expand.Variable {
	return expand.Variable{Set: true, Kind: expand.Indexed, List: s}
}

// Each is not needed: nothing is run.
func (env) Each(func(string, expand.Variable) bool) {}

// Set takes the value of ${name:=value}.
func (e env) Set(name string, v expand.Variable) error {
	e.w.set(name, v, false)
	return nil
}

// Get is the value of a variable, a mark where the text does not set it.
func (e env) Get(name string) expand.Variable {
	w := e.w
	if values := w.vars[name]; len(values) > 0 {
		return values[min(w.pick[name], len(values)-1)]
	}
	switch name {
	case "IFS":
		return expand.Variable{}
	case "HOME":
		return text("~")
	case "PWD":
		return text(w.dir)
	case "TMPDIR":
		return text("/tmp")
	case "?", "UID", "EUID":
		return text("0")
	case "$", "!", "RANDOM", "PPID", "LINENO", "SECONDS":
		return text("7")
	case "SHELL", "BASH":
		return text("bash")
	case "0":
		return text(cmp.Or(w.arg0, "bash"))
	case "#":
		return text(strconv.Itoa(len(w.params)))
	case "@", "*":
		if w.given {
			return list(w.params)
		}
		return list([]string{flow.Unset})
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		return text("~" + user)
	}
	if n, err := strconv.Atoi(name); err == nil && w.given {
		if n <= len(w.params) {
			return text(w.params[n-1])
		}
		return expand.Variable{}
	}
	if w.lenient[name] {
		return expand.Variable{}
	}
	return text(flow.Unset)
}

// scan notes which variables of the words have a default.
func (w *walker) scan(words []*syntax.Word) {
	w.lenient = nil
	for _, word := range words {
		if word == nil || word.Lit() != "" {
			continue
		}
		params(word, func(p *syntax.ParamExp) {
			if hasDefault(p) {
				if w.lenient == nil {
					w.lenient = map[string]bool{}
				}
				w.lenient[p.Param.Value] = true
			}
		})
	}
}

// params calls f for the variables of a node that are not within a substitution.
func params(node syntax.Node, f func(*syntax.ParamExp)) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			if n.Param != nil {
				f(n)
			}
		}
		return true
	})
}

func hasDefault(p *syntax.ParamExp) bool {
	if p.Exp == nil {
		return false
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return true
	}
	return false
}

// uses names the variables whose values the words hold.
func (w *walker) uses(words []*syntax.Word) []string {
	var names []string
	for _, word := range words {
		if word == nil || word.Lit() != "" {
			continue
		}
		params(word, func(p *syntax.ParamExp) {
			alternate := p.Exp != nil && (p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull)
			if !p.Length && !alternate {
				names = append(names, p.Param.Value)
			}
			if p.Excl {
				names = append(names, env{w}.Get(p.Param.Value).Str)
			}
		})
	}
	return names
}

// has reports whether the text gives a variable a value.
func (w *walker) has(name string) bool { return len(w.vars[name]) > 0 }

// fields are words as a command gets them.
func (w *walker) fields(words []*syntax.Word) []string {
	plain := make([]string, 0, len(words))
	for _, word := range words {
		lit := word.Lit()
		if lit == "" || strings.ContainsAny(lit, "\\~{") {
			return w.expand(words)
		}
		plain = append(plain, lit)
	}
	return plain
}

func (w *walker) expand(words []*syntax.Word) []string {
	w.scan(words)
	out, err := expand.Fields(w.cfg, words...)
	if err != nil {
		out = nil
		for _, word := range words {
			one, err := expand.Fields(w.cfg, word)
			if err != nil {
				one = []string{flow.Made}
			}
			out = append(out, one...)
		}
	}
	size := 0
	for i := range out {
		size += len(out[i])
	}
	w.step(1 + size/1024 + len(out)/256)
	return out
}

func (w *walker) literal(word *syntax.Word) string {
	if word == nil {
		return ""
	}
	w.scan([]*syntax.Word{word})
	s, err := expand.Literal(w.cfg, unescaped(word))
	if err != nil {
		return flow.Made
	}
	w.step(len(s) / 1024)
	return s
}

// unescaped is a word in which no backslash stands outside of quotes.
func unescaped(word *syntax.Word) *syntax.Word {
	has := func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.Contains(lit.Value, `\`)
	}
	if !slices.ContainsFunc(word.Parts, has) {
		return word
	}
	parts := slices.Clone(word.Parts)
	for i, p := range parts {
		if !has(p) {
			continue
		}
		var b strings.Builder
		for s := p.(*syntax.Lit).Value; s != ""; s = s[1:] {
			if s[0] == '\\' && len(s) > 1 {
				if s = s[1:]; s[0] == '\n' {
					continue
				}
			}
			b.WriteByte(s[0])
		}
		parts[i] = &syntax.SglQuoted{Value: b.String()}
	}
	return &syntax.Word{Parts: parts}
}

// document is the text of a here-document.
func (w *walker) document(r *syntax.Redirect) string {
	if r.Hdoc == nil {
		return ""
	}
	var s string
	if r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), `\`) {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				s += lit.Value
			}
		}
	} else {
		w.scan([]*syntax.Word{r.Hdoc})
		var err error
		if s, err = expand.Document(w.cfg, r.Hdoc); err != nil {
			return flow.Made
		}
	}
	w.step(len(s) / 1024)
	if r.Op == syntax.DashHdoc {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		s = strings.Join(lines, "\n")
	}
	return s
}

// each calls f for every combination of values that the variables of a node may have.
func (w *walker) each(node syntax.Node, f func()) {
	var names []string
	params(node, func(p *syntax.ParamExp) {
		if n := p.Param.Value; len(w.vars[n]) > 1 && !slices.Contains(names, n) {
			names = append(names, n)
		}
	})
	if len(names) == 0 {
		f()
		return
	}
	// Another call within f may choose for itself.
	old, counts := w.pick, make([]int, len(names))
	for i, n := range names {
		counts[i] = len(w.vars[n])
	}
	defer func() { w.pick = old }()
	at := make([]int, len(names))
	for range maxChoices {
		w.pick = map[string]int{}
		for i, n := range names {
			w.pick[n] = at[i]
		}
		f()
		i := 0
		for ; i < len(at); i++ {
			if at[i]++; at[i] < counts[i] {
				break
			}
			at[i] = 0
		}
		if i == len(at) {
			return
		}
	}
	if !w.file { // a script of the repository may have many options
		w.trouble(Unreadable, "too many values of "+strings.Join(names, ", "))
	}
}

// set gives a variable a value, beside those it may have already where it is not
// certain that this one is given.
func (w *walker) set(name string, v expand.Variable, more bool) {
	if w.vars == nil {
		w.vars = map[string][]expand.Variable{}
	}
	if !more {
		w.vars[name] = []expand.Variable{v}
		return
	}
	values := w.vars[name]
	if slices.ContainsFunc(values, func(o expand.Variable) bool {
		return o.Kind == v.Kind && o.Str == v.Str && slices.Equal(o.List, v.List) && len(o.Map)+len(v.Map) == 0
	}) {
		return
	}
	if len(values) >= maxValues {
		v = text(flow.Made)
		values = values[:maxValues-1]
	}
	w.vars[name] = append(slices.Clip(values), v)
}

func (w *walker) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked && a.Value == nil && a.Array == nil {
		return
	}
	name := a.Name.Value
	first := w.branch == 0
	w.each(a, func() {
		w.set(name, w.value(a), !first)
		first = false
	})
}

// value is what an assignment gives.
func (w *walker) value(a *syntax.Assign) expand.Variable {
	name := a.Name.Value
	var old expand.Variable
	if w.has(name) {
		old = env{w}.Get(name)
	}
	switch {
	case a.Array != nil:
		var items []string
		if a.Append {
			items = slices.Clip(old.List)
		}
		dict := map[string]string{}
		for _, e := range a.Array.Elems {
			if e.Value == nil {
				continue
			}
			if key := w.index(e.Index); key != "" && strings.Trim(key, "0123456789") != "" {
				dict[key] = w.literal(e.Value)
				continue
			}
			items = append(items, w.fields([]*syntax.Word{e.Value})...)
		}
		if len(dict) > 0 {
			return expand.Variable{Set: true, Kind: expand.Associative, Map: dict}
		}
		return list(items)
	case a.Index != nil:
		return w.element(old, w.index(a.Index), w.literal(a.Value))
	}
	value := w.literal(a.Value)
	switch {
	case a.Append && old.Kind == expand.Indexed:
		return list(append(slices.Clip(old.List), value))
	case a.Append:
		return text(old.Str + value)
	}
	return text(value)
}

// element is an array with one more element.
func (w *walker) element(old expand.Variable, key, value string) expand.Variable {
	n, err := strconv.Atoi(key)
	if err != nil {
		dict := map[string]string{key: value}
		for k, v := range old.Map {
			if k != key {
				dict[k] = v
			}
		}
		return expand.Variable{Set: true, Kind: expand.Associative, Map: dict}
	}
	items := slices.Clone(old.List)
	if n < 0 || n > 256 {
		return text(flow.Made)
	}
	for len(items) <= n {
		items = append(items, "")
	}
	items[n] = value
	return list(items)
}

func (w *walker) index(x syntax.ArithmExpr) string {
	if word, ok := x.(*syntax.Word); ok {
		return w.literal(word)
	}
	return ""
}

func (w *walker) declare(c *syntax.DeclClause) {
	for _, a := range c.Args {
		w.values = c.Variant.Value == "export" && a.Naked
		w.innerAssign(a)
		w.values = false
		w.assign(a)
		if a.Naked && a.Value != nil && a.Name == nil {
			name, value, ok := strings.Cut(w.literal(a.Value), "=")
			if ok && syntax.ValidName(name) {
				w.set(name, text(value), w.branch > 0)
			}
		}
	}
	if c.Variant.Value != "export" && c.Variant.Value != "declare" {
		return
	}
	args := []string{c.Variant.Value}
	for _, a := range c.Args {
		switch {
		case a.Name != nil && a.Value != nil:
			args = append(args, a.Name.Value+"="+w.literal(a.Value))
		case a.Naked && a.Value != nil:
			args = append(args, w.literal(a.Value))
		}
	}
	w.run(&flow.Command{Args: args, Dir: w.dir, Out: w.outs, Next: w.next, Away: w.away, File: w.file})
}
