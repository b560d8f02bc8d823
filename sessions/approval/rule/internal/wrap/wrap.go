package wrap

import (
	"slices"
	"strings"

	"autopilot/sessions/approval/rule/internal/code"
	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// Kind says what is done with a step.
type Kind string

// Kinds of steps.
const (
	Runs    Kind = "runs"    // Command is run
	Told    Kind = "told"    // Command stands for what is done, and is not looked into
	Shell   Kind = "shell"   // Text is run by a shell in the place of Command
	Perhaps Kind = "perhaps" // Text may be run like that, or be something else
	Input   Kind = "input"   // a shell in the place of Command runs what that reads
)

// Step is one thing that a command does by another.
type Step struct {
	Kind    Kind
	Command *flow.Command
	Text    string
}

// maxTurns bounds the items for each of which a command is run.
const maxTurns = 64

// reading is one command whose steps are collected.
type reading struct {
	c    *flow.Command
	list []Step
}

func (r *reading) add(kind Kind, c *flow.Command, text string) {
	r.list = append(r.list, Step{Kind: kind, Command: c, Text: text})
}

// Steps are what a command runs, in order; false where it is none of those that run
// others, so far as its arguments say.
func Steps(c *flow.Command) ([]Step, bool) {
	r := &reading{c: c}
	ok := r.steps(c.Name())
	return r.list, ok
}

func (r *reading) steps(name string) bool {
	switch name {
	case "xargs":
		r.xargs()
	case "find", "gfind", "fd", "fdfind":
		r.find()
	case "parallel":
		r.parallel()
	case "su", "script", "flock", "nix-shell", "vagrant", "pwsh", "powershell":
		r.textFlag(name)
	case "sed", "gsed":
		r.sed()
	case "tmux", "screen", "hyperfine", "concurrently", "entr", "nodemon", "cargo-watch", "chokidar", "wireit", "at", "batch", "expect", "gcloud", "fly", "flyctl",
		"npm-run-all", "onchange", "osascript", "vim", "vi", "nvim", "ex", "emacs":
		r.texts(name)
	case "kubectl", "oc", "k":
		r.behindDashes()
	default:
		if o, ok := program.WrapperOf(name); ok {
			r.unwrap(r.c, 1, o)
			return true
		}
		return r.subcommand(name, r.c)
	}
	return true
}

func (r *reading) subcommand(name string, c *flow.Command) bool {
	i := 1
	for i < len(c.Args) && strings.HasPrefix(c.Args[i], "-") {
		if slices.Contains([]string{"-H", "--host", "--context", "-c", "--config", "-l", "-f", "--file", "-C", "--directory", "--project", "-p", "--profile", "--env-file"}, c.Args[i]) {
			i++
		}
		i++
	}
	if i >= len(c.Args) {
		return false
	}
	sub := c.Args[i]
	if sub == "compose" {
		return r.subcommand("compose", c.With(append([]string{"compose"}, c.Args[i+1:]...)))
	}
	if name == "go" && sub == "run" {
		r.goRun(c.Args[i+1:])
		return true
	}
	o, ok := program.SubcommandOf(name, sub)
	if !ok {
		return false
	}
	if o.Away {
		rest := program.After(c.Args[i+1:], o)
		if e := flagValue(c.Args, "--entrypoint"); e != "" {
			in := c.With(append([]string{e}, rest...))
			in.Away = true
			r.add(Runs, in, "")
			return true
		}
		r.image(c, i, o)
	}
	r.unwrap(c, i+1, o)
	return true
}

// image takes the arguments of a container whose image is named after its program for
// those of the program.
func (r *reading) image(c *flow.Command, i int, o program.Wrapper) {
	if c.Args[i] == "exec" {
		return
	}
	o.Skip = 0
	rest := program.After(c.Args[i+1:], o)
	if len(rest) < 2 {
		return
	}
	name, _, _ := strings.Cut(rest[0][strings.LastIndexByte(rest[0], '/')+1:], ":")
	switch name {
	case "aws-cli":
		name = "aws"
	case "kubectl", "terraform", "helm", "opentofu", "pulumi", "ansible", "flyway", "liquibase", "rclone":
	default:
		return
	}
	in := c.With(append([]string{name}, rest[1:]...))
	in.Away = true
	r.add(Runs, in, "")
}

// flagValue is the value of a flag with two dashes.
func flagValue(args []string, flag string) string {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			return args[i+1]
		}
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
	}
	return ""
}

// unwrap looks at the command that begins behind the flags of another.
func (r *reading) unwrap(c *flow.Command, from int, o program.Wrapper) {
	name, args := c.Name(), c.Args[from:]
	in := c.With(nil)
	in.Away = c.Away || o.Away
	if in.Away != c.Away {
		in.Dir = flow.Unset
	}
	for i, a := range args { // a text for a shell among the flags
		if (name == "npx" || name == "npm" || name == "nix" || name == "env") && i+1 < len(args) && slices.Contains([]string{"-c", "--call", "-S", "--command"}, a) {
			r.add(Shell, in, strings.Join(args[i+1:], " "))
			return
		}
		if text, ok := strings.CutPrefix(a, "--split-string="); ok || name == "env" && strings.HasPrefix(a, "-S") {
			if !ok {
				text = a[2:]
			}
			r.add(Shell, in, text+" "+program.Quote(args[i+1:]))
			return
		}
	}
	if name == "command" && len(args) > 0 && (args[0] == "-v" || args[0] == "-V") {
		return
	}
	rest := program.After(args, o)
	for len(rest) > 0 {
		n, _, ok := strings.Cut(rest[0], "=")
		if !ok || strings.ContainsAny(n, "/ -") {
			break
		}
		in.Env = append(slices.Clip(in.Env), rest[0])
		rest = rest[1:]
	}
	asks := (name == "sudo" || name == "doas") && slices.ContainsFunc(args, func(a string) bool { return a == "-s" || a == "-i" })
	switch {
	case len(rest) == 0 && c.Input != nil && (o.Text || asks): // a shell, on the other machine perhaps, reads our input
		r.add(Input, in, "")
	case len(rest) == 0:
	case o.Text:
		r.add(Shell, in, strings.Join(rest, " "))
	default:
		in.Args = rest
		if slices.Contains([]string{"npx", "bunx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun"}, name) {
			bin, _, _ := strings.Cut(rest[0][min(1, len(rest[0])):], "@") // a version; a scope begins with one
			in.Args = append([]string{rest[0][:min(1, len(rest[0]))] + bin}, rest[1:]...)
		}
		r.add(Runs, in, "")
	}
}

func (r *reading) parallel() {
	rest := program.After(r.c.Args[1:], program.Wrapper{Values: " -j --jobs -N -n -a --arg-file --joblog --delay --timeout --colsep "})
	items := []string{flow.Made}
	if i := slices.IndexFunc(rest, func(a string) bool { return strings.HasPrefix(a, ":::") }); i >= 0 {
		files := strings.HasPrefix(rest[i], "::::")
		rest, items = rest[:i], rest[i+1:]
		if files && len(items) > 0 {
			items = lines(r.c.Content(items[0]))
		}
	} else if f := r.c.Stdin(); f.Known {
		items = lines(f)
	}
	for _, item := range items[:min(len(items), maxTurns)] {
		s := strings.Join(rest, " ")
		switch {
		case s == "":
			r.add(Shell, r.c, item)
		case strings.Contains(s, "{}"):
			r.add(Shell, r.c, strings.ReplaceAll(s, "{}", item))
		default:
			r.add(Shell, r.c, s+" "+item)
		}
	}
}

// lines are the lines of a text; one that is not known where the text is not.
func lines(f flow.Feed) []string {
	if !f.Known {
		return []string{f.Word()}
	}
	return strings.FieldsFunc(f.Text, func(r rune) bool { return r == '\n' || r == 0 })
}

// textFlag looks at a text for a shell behind a flag.
func (r *reading) textFlag(name string) {
	args := r.c.Args[1:]
	for i, a := range args {
		flag := a == "-c" || a == "--command" || a == "-Command" || a == "--run" || len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c")
		if flag && i+1 < len(args) {
			r.add(Shell, r.c, args[i+1])
			return
		}
		if text, ok := strings.CutPrefix(a, "--command="); ok {
			r.add(Shell, r.c, text)
			return
		}
	}
	switch {
	case name == "script":
		if rest := program.After(args, program.Wrapper{}); len(rest) > 1 {
			r.add(Runs, r.c.With(rest[1:]), "")
		}
	case name == "flock":
		r.unwrap(r.c, 1, program.Wrapper{Values: " -w --wait --timeout -E ", Skip: 1})
	case name == "su" && r.c.Input != nil:
		r.add(Input, r.c, "")
	}
}

// texts looks at every argument that is more than one word, and at what follows.
func (r *reading) texts(name string) {
	c := r.c
	for i, a := range c.Args[1:] {
		text := strings.TrimPrefix(strings.TrimLeft(a, "+:! "), "spawn ")
		if flag, ok := strings.CutPrefix(a, "--command="); ok {
			r.add(Shell, c, flag)
		} else if strings.Contains(text, " ") && !strings.HasPrefix(text, "-") {
			r.add(Perhaps, c, text)
		} else if len(c.Args) > i+2 && (text == "new-session" || text == "-dm" || text == "-dmS") {
			r.add(Runs, c.With(program.After(c.Args[i+2:], program.Wrapper{Values: " -s -n -c -x -y -t "})), "")
		}
	}
	if name == "entr" {
		r.add(Runs, c.With(program.After(c.Args[1:], program.Wrapper{})), "")
	}
	if c.Input != nil && (name == "at" || name == "batch") {
		r.add(Input, c, "")
	}
}

// sed looks at the commands that a script of sed has run.
func (r *reading) sed() {
	for _, a := range r.c.Args[1:] {
		for _, m := range code.SedRuns().FindAllStringSubmatch(a, 8) {
			r.add(Perhaps, r.c, m[1])
		}
	}
}

func (r *reading) behindDashes() {
	i := slices.Index(r.c.Args, "--")
	if i < 0 || !slices.ContainsFunc(r.c.Args[:i], func(a string) bool { return a == "exec" || a == "run" || a == "debug" }) {
		return
	}
	in := r.c.With(r.c.Args[i+1:])
	in.Away, in.Dir = true, flow.Unset
	r.add(Runs, in, "")
}

func (r *reading) goRun(args []string) {
	rest := program.After(args, program.Wrapper{Values: " -tags -ldflags -exec -C -mod -modfile -o "})
	if len(rest) > 0 {
		name, _, _ := strings.Cut(rest[0], "@")
		if strings.HasSuffix(name, ".go") {
			r.c.Content(name) // asked for, so that a change of it is noticed
		}
		r.add(Told, r.c.With(append([]string{name}, rest[1:]...)), "")
	}
}
