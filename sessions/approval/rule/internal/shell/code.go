package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"autopilot/sessions/approval/rule/internal/code"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// Bounds of a file of code in which every literal may count, and of any code.
const (
	maxWhole = 8 << 10
	maxCode  = 128 << 10 // bytes of code that are looked at
)

// outputWords are the words of the first command of a text.
func (w *walker) outputWords(f *syntax.File) []string {
	if c, ok := f.Stmts[0].Cmd.(*syntax.CallExpr); ok {
		return w.fields(c.Args)
	}
	return nil
}

// interpreter looks at the code that an interpreter is given.
func (w *walker) interpreter(name string, c *flow.Command) bool {
	language := program.InterpreterOf(name)
	if language == "" {
		return false
	}
	args := c.Args[1:]
	if language == "awk" {
		for i, a := range args {
			if !strings.HasPrefix(a, "-") && (i == 0 || args[i-1] != "-F" && args[i-1] != "-v") {
				w.codeText(language, a, c)
				break
			}
		}
		return true
	}
	for i, a := range args {
		switch {
		case a == "--version" || a == "-V" || a == "-v" && len(args) == 1:
			return true
		case a == "-m" && language == "python" && i+1 < len(args):
			if f := w.content(strings.ReplaceAll(args[i+1], ".", "/") + ".py"); f.Known && !c.Away {
				in := w.within(c)
				in.file = true
				in.codeText(language, f.Text, c)
			}
			w.run(c.With(args[i+1:]))
			return true
		case slices.Contains([]string{"-c", "-e", "--eval", "-p", "--print", "-r", "-E", "-pe", "-ne", "-le", "-lne", "eval"}, a) && i+1 < len(args) && !(a == "-r" && language != "php"):
			if a == "-p" && language != "node" || a == "-c" && language != "python" {
				continue
			}
			w.codeArgument(language, args[i+1], c)
			return true
		case language != "node" && len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, map[string]string{"python": "c", "php": "r"}[language]+"") &&
			(language == "python" || language == "php") && i+1 < len(args):
			w.codeArgument(language, args[i+1], c)
			return true
		case a == "--run" && name == "node" && i+1 < len(args):
			w.packageScript("npm", c.With(append([]string{"npm", "run"}, args[i+1:]...)))
			return true
		case (a == "-r" || a == "--require") && i+1 < len(args), language == "ruby" && strings.HasPrefix(a, "-r."):
			file := strings.TrimPrefix(a, "-r")
			if strings.HasPrefix(a, "--") || file == "" {
				file = args[i+1]
			}
			w.codeFile(language, file, c)
		case a == "-" || a == "/dev/stdin":
			w.codeFeed(language, c)
			return true
		case a == "run" && name == "deno":
		case strings.HasPrefix(a, "http://"), strings.HasPrefix(a, "https://"):
			if name == "deno" {
				w.trouble(Foreign, c.Text())
			}
			return true
		case strings.Contains(a, "node_modules/"):
			w.run(c.With(append([]string{program.OfPackage(a)}, args[i+1:]...)))
			return true
		case !strings.HasPrefix(a, "-"):
			if f, ok := w.files[flow.Join(c.Dir, a)]; ok && !f.Known && (f.Source == flow.Remote || f.Source == flow.Decoded) {
				w.trouble(Foreign, c.Text())
			} else if f := w.content(a); f.Known && !c.Away {
				in := w.within(c)
				in.file = in.file || !ok
				in.codeText(language, f.Text, c)
			}
			return true
		}
	}
	w.codeFeed(language, c)
	return true
}

func (w *walker) codeFeed(language string, c *flow.Command) {
	if c.Input == nil {
		return
	}
	switch f := c.Stdin(); {
	case f.Known:
		w.codeText(language, f.Text, c)
	case f.Source == flow.Remote || f.Source == flow.Decoded:
		w.trouble(Foreign, c.Text())
	default:
		w.trouble(Hidden, c.Text())
	}
}

func (w *walker) codeArgument(language, s string, c *flow.Command) {
	switch {
	case strings.Contains(s, flow.Fetched):
		w.trouble(Foreign, c.Text())
	case strings.Trim(s, flow.Marks) == "":
		w.trouble(Hidden, c.Text())
	default:
		w.codeText(language, s, c)
	}
}

// codeFile looks at a file of code that other code reads and runs.
func (w *walker) codeFile(language, file string, c *flow.Command) {
	p := flow.Join(c.Dir, file)
	f := w.content(p)
	if !f.Known || c.Away || w.open[p] || w.depth > maxDepth {
		return
	}
	if w.open == nil {
		w.open = map[string]bool{}
	}
	w.open[p] = true
	in := w.within(c)
	in.file, in.depth = true, w.depth+1
	in.codeText(language, f.Text, c)
	delete(w.open, p)
}

// codeText looks at the strings of code that may go to a shell.
func (w *walker) codeText(language, s string, c *flow.Command) {
	if len(s) > maxCode {
		return
	}
	if !w.step(1 + len(s)/512) {
		return
	}
	in := w.within(c)
	in.code, in.file = true, w.file
	c = c.With(c.Args)
	c.Code, c.File = true, w.file
	if language == "perl" && code.Replacing().MatchString(s) {
		return
	}
	for _, m := range code.Reading().FindAllStringSubmatch(s, 16) {
		w.codeFile(language, m[1], c)
	}
	written, texts := code.Written(s)
	for i, p := range written {
		w.write(p, flow.Feed{Text: texts[i], Known: true}, false)
	}
	for _, call := range code.Removing().FindAllStringIndex(s, 16) {
		folder, temporary := code.Removed(s, call[1], flow.Unset)
		if !temporary && (!w.file || folder != flow.Unset) {
			in.Visit(c.With([]string{"rm", "-rf", folder}))
		}
	}
	if !code.Running().MatchString(s) && (language != "awk" || !strings.Contains(s, "|")) {
		return
	}
	if !w.file && code.Decoding().MatchString(s) {
		w.trouble(Foreign, c.Text())
	}
	if language != "awk" {
		var whole bool
		if s, whole = code.Handed(s); whole && w.file && len(s) > maxWhole {
			return
		}
	}
	lists, plain := code.Literals(s, flow.Unset)
	for _, text := range plain {
		if strings.ContainsAny(text, " \t") {
			in.sub().text(text)
		}
	}
	for _, words := range lists {
		if fields := strings.Split(words, "\x00"); len(fields) > 1 {
			in.sub().run(c.With(fields))
		}
	}
}
