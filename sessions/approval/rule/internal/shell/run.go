package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// run looks at a command and at those that it would run.
func (w *walker) run(c *flow.Command) {
	if !w.step(1) {
		return
	}
	c.Reads = w.content
	w.Visit(c)
	if len(c.Args) == 0 || w.depth > maxDepth {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for _, e := range c.Env {
		if key, text, _ := strings.Cut(e, "="); program.RunsCommand(key) {
			w.inShell(text, c)
		}
	}
	name := c.Name()
	if program, ok := w.programs[flow.Join(c.Dir, c.Args[0])]; ok && program != name {
		w.run(c.With(append([]string{program}, c.Args[1:]...)))
		return
	}
	switch {
	case !flow.Known(name):
		return
	case w.builtin(name, c), w.shell(name, c), w.interpreter(name, c), w.wrapper(name, c), w.target(name, c):
		return
	}
	if strings.Contains(c.Args[0], "/") {
		w.script(c, c.Args[0], c.Args[1:], "")
	}
}

// builtin does what the shell's own commands change in the state.
func (w *walker) builtin(name string, c *flow.Command) bool {
	args := c.Args[1:]
	switch name {
	case "cd", "pushd":
		w.chdir(c.Args)
	case "popd":
		w.dir = flow.Unset
	case "set":
		if i := slices.Index(args, "--"); i >= 0 {
			w.params, w.given = args[i+1:], true
		}
	case "shift":
		n := 1
		if len(args) > 0 {
			n, _ = strconv.Atoi(args[0])
		}
		w.params = w.params[min(max(n, 0), len(w.params)):]
	case "unset":
		for _, a := range args {
			delete(w.vars, a)
		}
	case "alias":
		for _, a := range args {
			if n, value, ok := strings.Cut(a, "="); ok {
				if w.aliases == nil {
					w.aliases = map[string]string{}
				}
				w.aliases[n] = value
			}
		}
	case "hash":
		if len(args) > 2 && args[0] == "-p" {
			if w.aliases == nil {
				w.aliases = map[string]string{}
			}
			w.aliases[args[2]] = program.Quote(args[1:2])
		}
	case "read":
		w.read(args)
	case "mapfile", "readarray":
		if len(args) > 0 {
			w.set(args[len(args)-1], text(flow.Made), false)
		}
	case "printf":
		if len(args) > 2 && args[0] == "-v" {
			w.set(args[1], text(w.printf(args[2:]).Word()), w.branch > 0)
		}
	case "eval":
		w.hidden(strings.Join(args, " "), c)
	case "trap":
		if len(args) > 1 && !strings.HasPrefix(args[0], "-") {
			w.hidden(args[0], c)
		}
	case "source", ".":
		if len(args) > 0 {
			w.script(c, args[0], args[1:], "source")
		}
	case "tee":
		for _, a := range args {
			if !strings.HasPrefix(a, "-") {
				w.write(a, c.Stdin(), false)
			}
		}
	case "curl", "wget":
		w.fetched(c)
	case "cp", "mv", "ln", "install":
		w.copied(args)
	default:
		return false
	}
	return true
}

func (w *walker) chdir(args []string) {
	to := "~"
	for _, a := range args[1:] {
		if a == "-" {
			to = flow.Unset
		} else if !strings.HasPrefix(a, "-") {
			to = a
			break
		}
	}
	w.dir = flow.Join(w.dir, to)
}

func (w *walker) read(args []string) {
	value := flow.Feed{Source: flow.Unseen}
	if w.stdin != nil {
		value = w.stdin()
	}
	var names []string
	for i := 0; i < len(args); i++ {
		switch {
		case slices.Contains([]string{"-d", "-i", "-n", "-N", "-p", "-t", "-u"}, args[i]):
			i++
		case !strings.HasPrefix(args[i], "-"):
			names = append(names, args[i])
		}
	}
	if !value.Known {
		for _, n := range names {
			w.set(n, text(value.Word()), false)
		}
		return
	}
	// A loop reads every line.
	more := false
	for line := range strings.Lines(value.Text) {
		fields := strings.Fields(line)
		for i, n := range names {
			switch {
			case i == len(names)-1:
				w.set(n, text(strings.Join(fields[min(i, len(fields)):], " ")), more)
			case i < len(fields):
				w.set(n, text(fields[i]), more)
			}
		}
		more = true
	}
}

// fetched notes where a download goes.
func (w *walker) fetched(c *flow.Command) {
	for _, p := range program.Downloads(c.Name(), c.Args[1:]) {
		w.write(p, flow.Feed{Source: flow.Remote}, false)
	}
}

// copied notes that one file is now what another was.
func (w *walker) copied(args []string) {
	var paths []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			paths = append(paths, a)
		}
	}
	if len(paths) == 2 && flow.Known(paths[0]) && paths[0] != paths[1] {
		if w.programs == nil {
			w.programs = map[string]string{}
		}
		w.programs[flow.Join(w.dir, paths[1])] = path.Base(paths[0])
	}
	if len(paths) == 2 {
		if f := w.content(paths[0]); f.Known || w.written(paths[0]) {
			w.write(paths[1], f, false)
			w.write(path.Join(paths[1], path.Base(paths[0])), f, false)
		}
	}
}

func (w *walker) written(p string) bool {
	_, ok := w.files[flow.Join(w.dir, p)]
	return ok
}

// hidden walks a text that a command evaluates in the state that holds now.
func (w *walker) hidden(s string, c *flow.Command) {
	switch {
	case strings.Contains(s, flow.Fetched):
		w.trouble(Foreign, c.Text())
	case strings.Trim(s, flow.Marks+" \n;") == "" && s != "":
		w.trouble(Hidden, c.Text())
	default:
		w.text(s)
	}
}

// feed walks a text that flows into a shell.
func (w *walker) feed(f flow.Feed, c *flow.Command) {
	switch {
	case f.Known:
		w.hidden(f.Text, c)
	case f.Source == flow.Remote || f.Source == flow.Decoded:
		w.trouble(Foreign, c.Text())
	default:
		w.trouble(Hidden, c.Text())
	}
}

// within is a walker for a shell of its own.
func (w *walker) within(c *flow.Command) *walker {
	in := w.sub()
	in.away, in.dir, in.stdin, in.next, in.outs, in.ins = c.Away, c.Dir, c.Input, c.Next, c.Out, c.In
	in.branch, in.params, in.given = 0, nil, true
	for _, e := range c.Env {
		if n, v, ok := strings.Cut(e, "="); ok {
			in.set(n, text(v), false)
		}
	}
	return in
}

// shell reads what a shell is given: a text, a script, or its input.
func (w *walker) shell(name string, c *flow.Command) bool {
	if !program.IsShell(name) {
		return false
	}
	w.before(c)
	command, fromInput, checks := false, false, false
	args := c.Args[1:]
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		a := args[0]
		args = args[1:]
		switch {
		case a == "--":
		case a == "--rcfile" || a == "--init-file":
			if len(args) > 0 {
				w.within(c).script(c, args[0], nil, "shell")
			}
			args = args[min(1, len(args)):]
			continue
		case a == "-o" || a == "+o" || a == "-O" || a == "+O":
			args = args[min(1, len(args)):]
			continue
		case a == "--version":
			return true
		case a == "--command":
			command = true
		case strings.HasPrefix(a, "--") || a[0] == '+':
			continue
		default:
			command = command || strings.Contains(a, "c")
			fromInput = fromInput || strings.Contains(a, "s")
			checks = checks || a == "-n"
			if strings.HasSuffix(a, "o") {
				args = args[min(1, len(args)):]
			}
			continue
		}
		if a == "--" {
			break
		}
	}
	in := w.within(c)
	switch {
	case checks:
	case command:
		if len(args) > 0 {
			in.params = args[min(2, len(args)):]
			if len(args) > 1 {
				in.arg0 = args[1]
			}
			in.hidden(args[0], c)
		}
	case fromInput || len(args) == 0 || args[0] == "-" || args[0] == "/dev/stdin":
		in.params = args
		if c.Input != nil {
			in.stdin = nil // what is left of the script, which the commands in it do not read
			in.feed(c.Stdin(), c)
		}
	default:
		in.script(c, args[0], args[1:], "shell")
	}
	return true
}

// before looks at the file that a shell reads first by its environment.
func (w *walker) before(c *flow.Command) {
	for _, name := range []string{"BASH_ENV", "ENV"} {
		file := ""
		if w.has(name) {
			file = env{w}.Get(name).Str
		}
		for _, e := range c.Env {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				file = v
			}
		}
		if file != "" && (name == "BASH_ENV" || strings.Contains(file, "/")) {
			w.within(c).script(c, file, nil, "shell")
		}
	}
}

// text of a shell of another command, such as that of ssh.
func (w *walker) inShell(s string, c *flow.Command) { w.within(c).hidden(s, c) }
