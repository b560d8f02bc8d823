package shell

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/makefile"
	"autopilot/sessions/approval/rule/internal/program"
)

// script reads a file that a command runs. How is "source" for one that runs in the
// state that holds now, "shell" for one that a shell is given, else the file says by
// itself what runs it.
func (w *walker) script(c *flow.Command, file string, args []string, how string) {
	p := flow.Join(c.Dir, file)
	f, own := w.files[p]
	if isInput(p) && c.Input != nil {
		f, own = c.Stdin(), true
	}
	if !own {
		if c.Away || !flow.Known(p) {
			if strings.Contains(p, flow.Fetched) {
				w.trouble(Foreign, c.Text())
			}
			return
		}
		data, ok := w.Files(p)
		if !ok || strings.IndexByte(string(data[:min(len(data), 512)]), 0) >= 0 {
			return
		}
		f = flow.Feed{Text: string(data), Known: true}
	}
	kind := program.KindOf(f.Text, p, how)
	if f.Known && kind == "" || w.open[p] {
		return
	}
	if w.open == nil {
		w.open = map[string]bool{}
	}
	w.open[p] = true
	defer delete(w.open, p)
	if !w.counted[p] {
		if w.counted == nil {
			w.counted = map[string]bool{}
		}
		w.counted[p] = true
		w.most += stepsPerLine * strings.Count(f.Text, "\n")
	}
	in := w
	if how != "source" {
		in = w.within(c)
		in.vars, in.funcs = nil, nil
	}
	file0, params, given := in.file, in.params, in.given
	if in.file = in.file || !own; how != "source" || len(args) > 0 {
		in.params, in.given = args, true
	}
	switch {
	case !f.Known || kind == "shell":
		in.feed(f, c)
	default:
		in.codeText(kind, f.Text, c)
	}
	in.file, in.params, in.given = file0, params, given
}

// target looks at what runs a named script of a project: npm run, make.
func (w *walker) target(name string, c *flow.Command) bool {
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		w.packageScript(name, c)
	case "make", "gmake", "bmake", "just":
		w.makeTargets(c)
	default:
		return false
	}
	return true
}

func (w *walker) packageScript(manager string, c *flow.Command) {
	dir, args := c.Dir, c.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if a := args[0]; (a == "--prefix" || a == "-C" || a == "--cwd" || a == "--dir" || a == "-w" || a == "--workspace" || a == "--filter" || a == "-F") && len(args) > 1 {
			if a != "-w" && a != "--workspace" && a != "--filter" && a != "-F" {
				dir = flow.Join(dir, args[1])
			}
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	script := args[0]
	switch {
	case script == "run" || script == "run-script" || script == "workspace":
		args = args[1:]
		for len(args) > 0 && strings.HasPrefix(args[0], "-") {
			args = args[1:]
		}
		if script == "workspace" && len(args) > 0 {
			args = args[1:]
		}
		if len(args) == 0 {
			return
		}
		script = args[0]
	case manager == "npm" && !slices.Contains([]string{"test", "t", "start", "stop", "restart"}, script):
		return
	}
	args = handedOn(manager, args[1:])
	data, ok := w.Files(path.Join(dir, "package.json"))
	if f, own := w.files[path.Join(dir, "package.json")]; own && f.Known {
		data, ok = []byte(f.Text), true
	}
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if ok && json.Unmarshal(data, &pkg) == nil {
		if w.open == nil {
			w.open = map[string]bool{}
		}
		for _, s := range []string{"pre" + script, script, "post" + script} {
			text, ok := pkg.Scripts[s]
			key := dir + "\x00" + s
			if !ok || w.open[key] {
				continue
			}
			if s == script {
				text += " " + program.Quote(args)
			}
			w.open[key] = true
			in := w.within(c)
			in.dir, in.file = dir, true
			in.text(text)
			delete(w.open, key)
		}
		if _, ok := pkg.Scripts[script]; ok {
			return
		}
	}
	if manager != "npm" && c.Args[1] == script { // a program of a dependency
		w.run(c.With(append([]string{script}, args...)))
	}
}

// handedOn are the arguments that a manager of packages gives to a script.
func handedOn(manager string, args []string) []string {
	i := slices.Index(args, "--")
	var out []string
	for k, a := range args {
		own := manager == "npm" && strings.HasPrefix(a, "-") && (i < 0 || k < i)
		if k != i && !own {
			out = append(out, a)
		}
	}
	return out
}

// makeTargets walks the recipes of the targets that make is asked for.
func (w *walker) makeTargets(c *flow.Command) {
	dir, file := c.Dir, ""
	var targets, given []string
	var own *makefile.File
	in := w.within(c)
	args := c.Args[1:]
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case (a == "-C" || a == "--directory" || a == "--working-directory" || a == "-d") && i+1 < len(args):
			i++
			dir = flow.Join(dir, args[i])
		case (a == "-f" || a == "--file" || a == "--makefile" || a == "--justfile") && i+1 < len(args):
			i++
			file = args[i]
		case slices.Contains([]string{"-n", "--dry-run", "--just-print", "--version", "--list", "-l", "--summary", "--show", "--help"}, a):
			return
		case strings.HasPrefix(a, "--eval="), (a == "-E" || a == "--eval") && i+1 < len(args):
			text := strings.TrimPrefix(a, "--eval=")
			if text == a {
				i++
				text = args[i]
			}
			m := makefile.Parse(text)
			own = &m
		case strings.HasPrefix(a, "-"):
		case strings.Contains(a, "="):
			n, v, _ := strings.Cut(a, "=")
			given = append(given, n)
			in.set(n, text(v), false)
		default:
			targets = append(targets, a)
		}
	}
	m, name, ok := w.makefile(c, dir, file)
	if own != nil {
		own.Add(m)
		m, ok = *own, true
	}
	if !ok {
		return
	}
	in.dir, in.file = dir, own == nil
	in.set("MAKE", text("make"), false)
	in.set("RM", text("rm -f"), false)
	for _, v := range m.Vars {
		if !slices.Contains(given, v.Name) && !(v.Weak && in.has(v.Name)) {
			in.set(v.Name, text(in.made(v.Value)), false)
		}
	}
	if len(targets) == 0 && m.First != "" {
		targets = []string{m.First}
	}
	key := flow.Join(dir, name) + "\x00" + strings.Join(targets, " ")
	if w.open[key] {
		return
	}
	if w.open == nil {
		w.open = map[string]bool{}
	}
	w.open[key] = true
	for _, t := range targets {
		in.recipes(m, t, map[string]bool{})
	}
	delete(w.open, key)
}

// makefile reads the file that make or just would take, with those that it includes.
func (w *walker) makefile(c *flow.Command, dir, file string) (m makefile.File, name string, ok bool) {
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	just := c.Name() == "just"
	if just {
		names = []string{"justfile", "Justfile", ".justfile"}
	}
	if file != "" {
		names = []string{file}
	}
	for _, n := range names {
		f := w.content(flow.Join(dir, n))
		if (n == "-" || isInput(n)) && c.Input != nil {
			f = c.Stdin()
		}
		if !f.Known {
			continue
		}
		if just {
			return makefile.Parse(makefile.Just(f.Text, flow.Unset)), n, true
		}
		m = makefile.Parse(f.Text)
		for _, other := range m.Others[:min(len(m.Others), maxValues)] {
			if f := w.content(flow.Join(dir, other)); f.Known {
				m.Add(makefile.Parse(f.Text))
			}
		}
		return m, n, true
	}
	return m, "", false
}

// made is a text of a Makefile with its variables.
func (w *walker) made(s string) string {
	f, err := parse(`"` + strings.ReplaceAll(makefile.Shell(s, flow.Unset), `"`, `\"`) + `"`)
	if err != nil || len(f.Stmts) != 1 {
		return strings.TrimSpace(s)
	}
	if parts := w.outputWords(f); len(parts) == 1 {
		return strings.TrimSpace(parts[0])
	}
	return strings.TrimSpace(s)
}

// recipes walks what makes a target, and first what it needs.
func (w *walker) recipes(m makefile.File, target string, seen map[string]bool) {
	if seen[target] || !w.step(1) {
		return
	}
	seen[target] = true
	needs, lines, stem := m.Recipe(target)
	for _, n := range needs {
		w.recipes(m, strings.ReplaceAll(n, "%", stem), seen)
	}
	for _, line := range lines {
		line = strings.NewReplacer("$@", target, "$*", stem).Replace(line)
		w.sub().text(strings.TrimLeft(makefile.Shell(line, flow.Unset), "@-+ \t"))
	}
}
