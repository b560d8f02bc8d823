package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

const (
	maxText      = 1 << 20  // bytes of one text
	maxParens    = 200      // parentheses open at once: each costs the parser a lot
	maxSteps     = 6000     // commands, expansions and kilobytes that are looked at
	stepsPerLine = 6        // steps that each line of a text adds
	maxDepth     = 24       // texts and functions within each other
	maxTurns     = 64       // turns of a loop that are walked
	maxChoices   = 32       // combinations of values of variables
	maxValues    = 8        // values that a variable may have
	maxPassed    = 3        // stages of a pipeline that only order what goes through
	maxOther     = 16 << 10 // bytes of a text that is tried as one of another shell
)

// shared is what all texts within one have in common.
type shared struct {
	Options
	steps    int
	most     int             // steps that there may be
	counted  map[string]bool // files that have added to it
	over     bool
	files    map[string]flow.Feed        // what the text itself has written
	open     map[string]bool             // scripts that are being read
	inputs   map[string]func() flow.Feed // what further descriptors read
	programs map[string]string           // files that are a copy of a program, or a link to it
	gitsays  map[string]string
}

// walker reads one text.
type walker struct {
	*shared
	cfg     *expand.Config
	vars    map[string][]expand.Variable
	lenient map[string]bool // variables that have a default in the words that are expanded
	pick    map[string]int  // which of its values a variable has now
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	params  []string // positional parameters
	given   bool     // params are known
	arg0    string
	dir     string
	stdin   func() flow.Feed
	outs    []string
	ins     []string
	next    []string
	fed     []string
	branch  int  // depth of what may or may not run
	loops   int  // loops around that are walked once for all turns
	values  bool // within the value of a variable that a command is given
	depth   int
	away    bool
	file    bool
	code    bool
}

// Read walks a text.
func Read(text string, o Options) {
	w := newWalker(o)
	w.text(text)
}

func newWalker(o Options) *walker {
	if o.Files == nil {
		o.Files = func(string) ([]byte, bool) { return nil, false }
	}
	w := &walker{shared: &shared{Options: o}, dir: o.Dir}
	w.cfg = w.config()
	return w
}

func (w *walker) trouble(kind Trouble, part string) {
	w.Trouble(kind, part, w.file)
}

// step counts work and reports whether there may be more of it.
func (w *walker) step(n int) bool {
	w.steps += n
	if w.steps <= w.most {
		return true
	}
	if !w.over {
		w.over = true
		w.Trouble(Unreadable, "more than can be looked at", w.file)
	}
	return false
}

// sub is a walker for what cannot change the state of this one.
func (w *walker) sub() *walker {
	in := *w
	in.vars, in.aliases, in.funcs = maps.Clone(w.vars), maps.Clone(w.aliases), maps.Clone(w.funcs)
	in.pick, in.lenient = nil, nil
	in.outs, in.ins = slices.Clip(w.outs), slices.Clip(w.ins)
	in.cfg = in.config()
	return &in
}

// text walks a text in the state that holds now.
func (w *walker) text(s string) {
	if w.depth == 0 {
		w.most = maxSteps + stepsPerLine*strings.Count(s, "\n") // plain lines one after another are cheap
	}
	if !w.step(1 + len(s)/1024) {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.depth > maxDepth {
		w.trouble(Unreadable, s)
		return
	}
	f, err := parse(s)
	if err != nil {
		if !w.code {
			w.trouble(Unreadable, s)
		}
		return
	}
	w.stmts(f.Stmts)
}

type tooLarge struct{}

func (tooLarge) Error() string { return "text is too long or nested too deep" }

func parse(s string) (*syntax.File, error) {
	if len(s) > maxText {
		return nil, tooLarge{}
	}
	depth, most := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
			most = max(most, depth)
		case ')', ']':
			depth = max(depth-1, 0)
		}
	}
	if most > maxParens {
		return nil, tooLarge{}
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
	if err != nil && len(s) <= maxOther {
		// The person's shell may be another one.
		if g, bad := syntax.NewParser(syntax.Variant(syntax.LangZsh)).Parse(strings.NewReader(s), ""); bad == nil {
			return g, nil
		}
	}
	return f, err
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s == nil || !w.step(1) {
		return
	}
	stdin, outs, ins, fed := w.stdin, w.outs, w.ins, w.fed
	written := w.redirect(s.Redirs)
	if stays(s.Cmd) {
		stdin = w.stdin
	}
	if s.Cmd == nil {
		w.run(&flow.Command{Dir: w.dir, Out: w.outs, In: w.ins, File: w.file, Away: w.away})
	} else {
		w.command(s.Cmd)
	}
	if len(written) > 0 {
		f := w.output(s.Cmd)
		for p, add := range written {
			w.write(p, f, add)
		}
	}
	w.stdin, w.outs, w.ins, w.fed = stdin, outs, ins, fed
}

// stays reports whether the redirections of a command hold for all that follows.
func stays(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec"
}

// input takes what a redirection gives a command to read.
func (w *walker) input(r *syntax.Redirect, f func() flow.Feed) {
	if r.N == nil || r.N.Value == "0" {
		w.stdin = f
		return
	}
	if w.inputs == nil {
		w.inputs = map[string]func() flow.Feed{}
	}
	w.inputs[r.N.Value] = f
}

// write remembers what the text writes into a file.
func (w *walker) write(p string, f flow.Feed, add bool) {
	if w.files == nil {
		w.files = map[string]flow.Feed{}
	}
	p = flow.Join(w.dir, p)
	if old, ok := w.files[p]; ok && add {
		f = old.And(f)
	}
	w.files[p] = f
}

// redirect takes the redirections of a statement into the state and returns the files
// that are written, with whether the output goes behind what is there.
func (w *walker) redirect(list []*syntax.Redirect) map[string]bool {
	var written map[string]bool
	for _, r := range list {
		w.inner(r.Word)
		if r.Hdoc != nil {
			w.inner(r.Hdoc)
		}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text := w.document(r)
			w.fed = w.uses([]*syntax.Word{r.Hdoc})
			w.input(r, func() flow.Feed { return flow.Feed{Text: text, Known: true} })
		case syntax.WordHdoc:
			text := w.literal(r.Word)
			w.fed = w.uses([]*syntax.Word{r.Word})
			w.input(r, func() flow.Feed { return made(text + "\n") })
		case syntax.RdrIn, syntax.RdrInOut:
			p := w.literal(r.Word)
			w.ins = append(slices.Clip(w.ins), p)
			w.input(r, func() flow.Feed { return w.content(p) })
		case syntax.DplIn:
			if f, ok := w.inputs[r.Word.Lit()]; ok {
				w.stdin = f
			}
		default:
			p := w.literal(r.Word)
			if r.Op == syntax.DplOut && (p == "-" || strings.Trim(p, "0123456789") == "") {
				continue
			}
			w.outs = append(slices.Clip(w.outs), p)
			if written == nil {
				written = map[string]bool{}
			}
			written[p] = r.Op == syntax.AppOut || r.Op == syntax.AppAll
		}
	}
	return written
}

// made is a feed of a text that may hold flow.Marks.
func made(text string) flow.Feed {
	switch strings.TrimSpace(text) {
	case flow.Made:
		return flow.Feed{Source: flow.Unseen}
	case flow.Unset:
		return flow.Feed{Source: flow.Looked}
	case flow.Taken:
		return flow.Feed{Source: flow.Read}
	case flow.Fetched:
		return flow.Feed{Source: flow.Remote}
	}
	return flow.Feed{Text: text, Known: true}
}

func (w *walker) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.BinaryCmd:
		w.binary(c)
	case *syntax.IfClause:
		w.condition(c)
	case *syntax.WhileClause:
		w.loops++
		w.stmts(c.Cond)
		w.maybe(c.Do)
		w.loops--
	case *syntax.ForClause:
		w.loop(c)
	case *syntax.CaseClause:
		w.inner(c.Word)
		for _, item := range w.chosen(c) {
			w.maybe(item.Stmts)
		}
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.sub().stmts(c.Stmts)
	case *syntax.FuncDecl:
		if w.funcs == nil {
			w.funcs = map[string]*syntax.Stmt{}
		}
		if c.Name != nil {
			w.funcs[c.Name.Value] = c.Body
		}
		for _, n := range c.Names {
			w.funcs[n.Value] = c.Body
		}
	case *syntax.DeclClause:
		w.declare(c)
	case *syntax.TimeClause:
		w.stmt(c.Stmt)
	case *syntax.CoprocClause:
		w.stmt(c.Stmt)
	case *syntax.TestDecl:
		w.stmt(c.Body)
	default:
		w.inner(c)
	}
}

// maybe walks what may or may not run.
func (w *walker) maybe(list []*syntax.Stmt) {
	w.branch++
	w.stmts(list)
	w.branch--
}

func (w *walker) condition(c *syntax.IfClause) {
	for ; c != nil; c = c.Else {
		w.stmts(c.Cond)
		yes, known := w.holds(c.Cond)
		if !known || yes {
			w.maybe(c.Then)
		}
		if known && yes {
			return
		}
	}
}

func (w *walker) binary(c *syntax.BinaryCmd) {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		w.pipeline(stages(c))
		return
	}
	// A long chain leans to the left.
	var chain []*syntax.Stmt
	s := &syntax.Stmt{Cmd: c}
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op == syntax.Pipe || b.Op == syntax.PipeAll || len(s.Redirs) > 0 {
			break
		}
		chain = append(chain, b.Y)
		s = b.X
	}
	w.stmt(s)
	w.branch++
	for _, y := range slices.Backward(chain) {
		w.stmt(y)
	}
	w.branch--
}

func stages(c *syntax.BinaryCmd) []*syntax.Stmt {
	var list []*syntax.Stmt
	s := &syntax.Stmt{Cmd: c}
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(s.Redirs) > 0 {
			break
		}
		list = append(list, b.Y)
		s = b.X
	}
	list = append(list, s)
	slices.Reverse(list)
	return list
}

func (w *walker) pipeline(list []*syntax.Stmt) {
	stdin, next := w.stdin, w.next
	before := stdin
	for i, s := range list {
		in := w.sub()
		in.stdin, in.next = before, nil
		if i+1 == len(list) && len(next) > 0 && next[0] == flow.Environment {
			in.next = next
		}
		if i+1 < len(list) {
			in.next = w.reader(list[i+1:])
		}
		in.stmt(s)
		from, own := before, s
		before = once(func() flow.Feed { return w.outputOf(own, from) })
	}
	w.stdin, w.next = stdin, next
}

// once makes a feed that is computed once.
func once(f func() flow.Feed) func() flow.Feed {
	var v flow.Feed
	done := false
	return func() flow.Feed {
		if !done {
			done, v = true, f()
		}
		return v
	}
}

// reader is the command that sees what goes through a pipeline, past those that only
// order it.
func (w *walker) reader(list []*syntax.Stmt) []string {
	for i, s := range list {
		words := w.firstWords(s)
		if len(words) == 1 && words[0] == "xargs" && i+1 == len(list) {
			return w.next
		}
		if i == maxPassed || i+1 == len(list) || len(words) == 0 || !slices.Contains([]string{"sort", "uniq", "cat"}, words[0]) {
			return words
		}
	}
	return nil
}

func (w *walker) firstWords(s *syntax.Stmt) []string {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.fields(c.Args)
	}
	return []string{flow.Unset}
}

func (w *walker) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		w.inner(c.Loop)
		w.maybe(c.Do)
		return
	}
	var items []string
	if iter.InPos.IsValid() {
		for _, item := range iter.Items {
			w.inner(item)
		}
		items = w.fields(iter.Items)
	} else if items = w.params; !w.given {
		items = []string{flow.Unset}
	}
	if len(items) > maxTurns {
		items = append(slices.Clone(items[:maxTurns]), flow.Made)
	}
	if len(items) == 0 {
		items = []string{""}
	}
	for _, item := range items {
		w.set(iter.Name.Value, text(item), false)
		w.maybe(c.Do)
	}
}

// inner walks the statements within words.
func (w *walker) inner(node syntax.Node) {
	if lit, ok := node.(*syntax.Word); ok && (lit == nil || lit.Lit() != "") {
		return
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.quiet().stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			in := w.quiet()
			if n.Op == syntax.CmdOut {
				in.stdin = func() flow.Feed { return flow.Feed{Source: flow.Unseen} }
			}
			in.stmts(n.Stmts)
			return false
		}
		return true
	})
}

// quiet is a walker for a substitution: its output goes into the text.
func (w *walker) quiet() *walker {
	in := w.sub()
	in.outs, in.next, in.depth = nil, []string{flow.Unset}, in.depth+1
	if w.values {
		in.next, in.values = []string{flow.Environment}, false
	}
	return in
}

func (w *walker) call(c *syntax.CallExpr) {
	w.values = len(c.Args) > 0
	for _, a := range c.Assigns {
		w.innerAssign(a)
	}
	w.values = false
	for _, word := range c.Args {
		w.inner(word)
	}
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			w.assign(a)
		}
		return
	}
	w.each(c, func() {
		cmd := &flow.Command{Dir: w.dir, Out: w.outs, In: w.ins, Next: w.next, Fed: w.fed, Away: w.away, File: w.file, Code: w.code, Input: w.stdin}
		for _, a := range c.Assigns {
			if a.Value != nil {
				cmd.Env = append(cmd.Env, a.Name.Value+"="+w.literal(a.Value))
			}
		}
		cmd.Uses = w.uses(c.Args)
		cmd.Args = w.fields(c.Args)
		if len(cmd.Args) > 0 {
			w.named(cmd)
		}
	})
}

func (w *walker) innerAssign(a *syntax.Assign) {
	if a.Value != nil {
		w.inner(a.Value)
	}
	if a.Array != nil {
		w.inner(a.Array)
	}
	if a.Index != nil {
		w.inner(a.Index)
	}
}

// named looks at a command whose name may be one of the text itself.
func (w *walker) named(c *flow.Command) {
	name := c.Args[0]
	if body, ok := w.funcs[name]; ok && w.depth < maxDepth {
		params, given, next := w.params, w.given, w.next
		w.params, w.given, w.next = c.Args[1:], true, c.Next
		w.depth++
		w.stmt(body)
		w.depth--
		w.params, w.given, w.next = params, given, next
		return
	}
	if text, ok := w.aliases[name]; ok {
		delete(w.aliases, name)
		w.text(text + " " + program.Quote(c.Args[1:]))
		w.aliases[name] = text
		return
	}
	w.run(c)
}
