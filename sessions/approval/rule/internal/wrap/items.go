package wrap

import (
	"path"
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// xargs looks at the command that xargs runs with what it reads.
func (r *reading) xargs() {
	args := r.c.Args[1:]
	rest := program.After(args, program.Wrapper{Values: " -I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file -J -R "})
	replace, file := xargsFlags(args[:len(args)-len(rest)])
	if len(rest) == 0 {
		return
	}
	feed := r.c.Stdin()
	if file != "" {
		feed = r.c.Content(file)
	}
	var items []string
	switch {
	case feed.Known && replace != "":
		items = lines(feed)
	case feed.Known:
		items = strings.FieldsFunc(feed.Text, func(r rune) bool { return strings.ContainsRune(" \t\n\x00\"'", r) })
	case feed.Source == flow.Looked || feed.Source == flow.Read:
		items = []string{flow.Unset}
	default:
		items = []string{flow.Made}
	}
	items = items[:min(len(items), maxTurns)]
	if replace == "" {
		in := r.c.With(slices.Concat(rest, items))
		in.Input = nil
		r.add(Runs, in, "")
		if file == "" && len(in.Args) > 1 && deletes(rest[0]) {
			r.all(in, in.Args[1:])
		}
		return
	}
	for _, item := range items {
		one := slices.Clone(rest)
		for i := range one {
			one[i] = strings.ReplaceAll(one[i], replace, strings.TrimSpace(item))
		}
		in := r.c.With(one)
		in.Input = nil
		r.add(Runs, in, "")
		if deletes(rest[0]) {
			r.all(in, one[1:])
		}
	}
}

// xargsFlags are the text that stands for an item, and the file that items come from.
func xargsFlags(args []string) (replace, file string) {
	for i, a := range args {
		switch {
		case (a == "-I" || a == "--replace" || a == "-J") && i+1 < len(args):
			replace = args[i+1]
		case strings.HasPrefix(a, "-I") && len(a) > 2:
			replace = a[2:]
		case a == "-i":
			replace = "{}"
		case (a == "-a" || a == "--arg-file") && i+1 < len(args):
			file = args[i+1]
		case strings.HasPrefix(a, "--arg-file="):
			file = a[len("--arg-file="):]
		}
	}
	return replace, file
}

// deletes reports whether a program deletes the files it is given.
func deletes(name string) bool {
	switch path.Base(name) {
	case "rm", "unlink", "shred", "grm":
		return true
	}
	return false
}

// all tells of many files that are deleted one by one as of their folder.
func (r *reading) all(c *flow.Command, args []string) {
	r.add(Told, c.With(append([]string{"rm", "-r"}, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })...)), "")
}

func (r *reading) find() {
	c := r.c
	roots, pattern, from := program.Finds(c.Args[1:])
	if c.Name() == "fd" || c.Name() == "fdfind" {
		roots, pattern, from = []string{"."}, "", 0
		for _, a := range c.Args[1:] {
			if strings.HasPrefix(a, "-") && len(a) > 2 || a == "-x" || a == "-X" {
				break
			}
			if strings.HasPrefix(a, "*") {
				pattern = a
			}
		}
	}
	var items []string
	for _, root := range roots {
		name := pattern
		if name == "" {
			name = "*"
		}
		items = append(items, strings.TrimSuffix(root, "/")+"/"+name)
	}
	args := c.Args[1+from:]
	empty := slices.Contains(args, "-empty")
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-delete":
			if !empty {
				r.all(c, items)
			}
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			rest := args[i+1:]
			end := slices.IndexFunc(rest, func(a string) bool { return a == ";" || a == "+" })
			if end < 0 {
				end = len(rest)
			}
			i += end
			words := placed(rest[:end], items)
			r.add(Runs, c.With(words), "")
			if len(rest) > 0 && deletes(rest[0]) && !empty {
				r.all(c, items)
			}
		}
	}
}

// placed puts the items where a command has braces, and behind it where it has none.
func placed(words, items []string) []string {
	var out []string
	for _, word := range words {
		if word == "{}" {
			out = append(out, items...)
			continue
		}
		out = append(out, strings.ReplaceAll(word, "{}", strings.Join(items, " ")))
	}
	return out
}
