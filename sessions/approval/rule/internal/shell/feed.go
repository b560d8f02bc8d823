package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"autopilot/sessions/approval/rule/internal/flow"
	"autopilot/sessions/approval/rule/internal/program"
)

// outputAll is what statements print one after another.
func (w *walker) outputAll(list []*syntax.Stmt) flow.Feed {
	f := flow.Feed{Known: true}
	for _, s := range list {
		f = f.And(w.outputOf(s, w.stdin))
	}
	return f
}

// outputOf is what a statement prints when it reads stdin.
func (w *walker) outputOf(s *syntax.Stmt, stdin func() flow.Feed) flow.Feed {
	if s == nil || s.Cmd == nil {
		if s != nil && len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.RdrIn { // $(< file)
			return w.content(w.literal(s.Redirs[0].Word))
		}
		return flow.Feed{Known: true}
	}
	if !w.step(1) || w.depth > maxDepth {
		return flow.Feed{Source: flow.Unseen}
	}
	in := w.sub()
	in.stdin, in.depth = stdin, w.depth+1
	if len(in.redirectQuietly(s.Redirs)) > 0 {
		return flow.Feed{Known: true}
	}
	return in.output(s.Cmd)
}

// redirectQuietly is redirect without a look at what stands within the words.
func (w *walker) redirectQuietly(list []*syntax.Redirect) []string {
	var out []string
	for _, r := range list {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			s := w.document(r)
			w.stdin = func() flow.Feed { return flow.Feed{Text: s, Known: true} }
		case syntax.WordHdoc:
			s := w.literal(r.Word)
			w.stdin = func() flow.Feed { return made(s + "\n") }
		case syntax.RdrIn:
			f := w.content(w.literal(r.Word))
			w.stdin = func() flow.Feed { return f }
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
			if r.N == nil || r.N.Value == "1" {
				out = append(out, w.literal(r.Word))
			}
		}
	}
	return out
}

// output is what a command prints.
func (w *walker) output(c syntax.Command) flow.Feed {
	switch c := c.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return flow.Feed{Known: true}
		}
		return w.printed(w.fields(c.Args))
	case *syntax.BinaryCmd:
		if c.Op != syntax.Pipe && c.Op != syntax.PipeAll {
			x := w.outputOf(c.X, w.stdin)
			if c.Op == syntax.OrStmt {
				if x.Known && x.Text != "" {
					return x
				}
				return w.outputOf(c.Y, w.stdin)
			}
			w.assumed(c.X)
			return x.And(w.outputOf(c.Y, w.stdin))
		}
		stdin := w.stdin
		list := stages(c)
		for _, s := range list[:len(list)-1] {
			from := stdin
			stdin = once(func() flow.Feed { return w.outputOf(s, from) })
		}
		return w.outputOf(list[len(list)-1], stdin)
	case *syntax.Block:
		return w.outputAll(c.Stmts)
	case *syntax.Subshell:
		return w.outputAll(c.Stmts)
	case *syntax.TimeClause:
		return w.outputOf(c.Stmt, w.stdin)
	case nil:
		return flow.Feed{Known: true}
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.DeclClause, *syntax.FuncDecl:
		return flow.Feed{Known: true}
	}
	return flow.Feed{Source: flow.Unseen}
}

// assumed takes over the folder that a statement changes to.
func (w *walker) assumed(s *syntax.Stmt) {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 1 && c.Args[0].Lit() == "cd" {
		w.chdir(w.fields(c.Args))
	}
}

// printed is what a command prints, by its words.
func (w *walker) printed(args []string) flow.Feed {
	if len(args) == 0 {
		return flow.Feed{Known: true}
	}
	name := path.Base(args[0])
	if len(args) > 1 && args[1] == "completion" {
		return flow.Feed{Known: true} // settings for a shell
	}
	if body, ok := w.funcs[args[0]]; ok {
		in := w.sub()
		in.params, in.given, in.depth = args[1:], true, w.depth+1
		return in.outputOf(body, w.stdin)
	}
	switch name {
	case "echo":
		return made(program.Echo(args[1:]))
	case "printf":
		return w.printf(args[1:])
	case "cat", "tee", "nl", "bat":
		return w.concatenated(name, args[1:])
	case "head", "tail":
		if f := w.concatenated(name, files(args[1:])); f.Known && (w.stdin != nil || len(args) > 1) {
			return cut(name, args[1:], f.Text)
		}
	case "true", ":", "cd", "set", "export", "test", "[", "sleep", "mkdir", "touch", "rm", "cp", "mv":
		return flow.Feed{Known: true}
	case "pwd":
		return made(w.dir)
	case "ssh-agent", "direnv", "pyenv", "rbenv", "nodenv", "goenv", "jenv", "fnm", "opam", "starship", "zoxide", "conda", "micromamba", "mamba",
		"mise", "rtx", "asdf", "minikube", "docker-machine", "dircolors", "keychain", "register-python-argcomplete", "luarocks", "fzf", "atuin":
		return flow.Feed{Known: true} // settings for a shell
	case "git":
		if slices.Contains(args, "--show-toplevel") {
			return made(w.dir)
		}
		if p, ok := program.GitPrints(args, w.dir); ok {
			return made(p)
		}
	case "brew":
		if slices.Contains(args, "shellenv") {
			return flow.Feed{Known: true}
		}
	case "mktemp":
		return flow.Feed{Text: "/tmp/tmp.new", Known: true}
	case "find":
		return found(args)
	case "go":
		if len(args) == 3 && args[1] == "env" && (args[2] == "GOCACHE" || args[2] == "GOMODCACHE") {
			return made("~/.cache/go")
		}
	case "sudo", "command", "env", "exec", "builtin", "nohup", "time":
		if len(args) > 1 && !strings.HasPrefix(args[1], "-") && !strings.Contains(args[1], "=") {
			return w.printed(args[1:])
		}
		fallthrough
	case "which", "type":
		if len(args) > 2 && strings.HasPrefix(args[1], "-") && name != "which" || name == "which" && len(args) > 1 {
			return made(args[len(args)-1])
		}
	case "basename":
		if len(args) == 2 {
			return made(path.Base(args[1]))
		}
	case "dirname":
		if len(args) == 2 {
			return made(path.Dir(args[1]))
		}
	case "realpath", "readlink":
		if len(args) > 1 {
			return made(args[len(args)-1])
		}
	}
	return w.unseen(name, args)
}

// unseen is the output of a command that is not known, with where it comes from.
func (w *walker) unseen(name string, args []string) flow.Feed {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(flags, a) })
	}
	switch name {
	case "curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "w3m", "nc", "ncat", "netcat", "telnet", "ftp", "socat", "dig", "nslookup", "ipfs":
		return flow.Feed{Source: flow.Remote}
	case "base64", "base32", "basenc", "uudecode", "gunzip", "zcat", "bzcat", "xzcat", "zstdcat", "xxd", "gpg", "rev", "tac", "ascii2uni":
		return flow.Feed{Source: flow.Decoded}
	case "openssl", "gzip", "bzip2", "xz", "zstd":
		if has("-d", "-dc", "-D", "--decode", "--decompress", "enc", "base64") {
			return flow.Feed{Source: flow.Decoded}
		}
	case "ssh":
		return flow.Feed{Source: flow.Remote}
	}
	// What passes through a filter stays what it was.
	if w.stdin != nil {
		if f := w.stdin(); !f.Known && (f.Source == flow.Remote || f.Source == flow.Decoded) {
			return f
		} else if f.Known && f.Text != "" && slices.Contains([]string{"tr", "cut", "sed", "awk", "sort", "uniq", "tail", "jq", "yq"}, name) {
			return flow.Feed{Source: flow.Unseen} // a known text that is turned into another
		} else if !f.Known && f.Source == flow.Unseen {
			return f
		}
	}
	if program.LooksUp(name, args) {
		return flow.Feed{Source: flow.Looked}
	}
	if program.Takes(name) {
		if w.stdin != nil && !w.stdin().Known {
			return w.stdin() // of what was looked up
		}
		return flow.Feed{Source: flow.Read}
	}
	return flow.Feed{Source: flow.Unseen}
}

func (w *walker) printf(args []string) flow.Feed {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) > 1 && args[0] == "-v" {
		return flow.Feed{Known: true}
	}
	if len(args) == 0 {
		return flow.Feed{Known: true}
	}
	var b strings.Builder
	for rest := args[1:]; ; {
		out, n, err := expand.Format(nil, args[0], rest)
		if err != nil {
			return flow.Feed{Source: flow.Unseen}
		}
		b.WriteString(out)
		if rest = rest[min(n, len(rest)):]; n == 0 || len(rest) == 0 || b.Len() > maxText {
			break
		}
	}
	return made(b.String())
}

// concatenated is what cat and tee pass on.
func (w *walker) concatenated(name string, args []string) flow.Feed {
	f, any := flow.Feed{Known: true}, false
	for _, a := range args {
		if name == "tee" {
			continue
		}
		if a == "-" || strings.HasPrefix(a, "-") {
			continue
		}
		any = true
		f = f.And(w.content(a))
	}
	if any {
		return f
	}
	if w.stdin == nil {
		return flow.Feed{Known: true}
	}
	return w.stdin()
}

func isInput(p string) bool {
	return p == "/dev/stdin" || p == "/dev/fd/0" || p == "/proc/self/fd/0"
}

// content is what stands in a file: what the text itself has written there, or what is
// there now.
func (w *walker) content(p string) flow.Feed {
	p = flow.Join(w.dir, p)
	if isInput(p) {
		if w.stdin != nil {
			return w.stdin()
		}
		return flow.Feed{Known: true}
	}
	if f, ok := w.files[p]; ok {
		return f
	}
	if !flow.Known(p) {
		return flow.Feed{Source: flow.Unseen}
	}
	if data, ok := w.Files(p); ok && len(data) <= maxText {
		w.step(len(data) / 1024)
		return flow.Feed{Text: string(data), Known: true}
	}
	return flow.Feed{Source: flow.Unseen}
}

// found is what find prints, where it looks for one name.
func found(args []string) flow.Feed {
	roots, pattern, _ := program.Finds(args[1:])
	if pattern == "" {
		pattern = "*"
	}
	var b strings.Builder
	for _, r := range roots {
		b.WriteString(r + "/" + pattern + "\n")
	}
	return flow.Feed{Text: b.String(), Known: true}
}

// files are the arguments of head and tail that name files.
func files(args []string) []string {
	var out []string
	for i, a := range args {
		if !strings.HasPrefix(a, "-") && (i == 0 || args[i-1] != "-n" && args[i-1] != "-c") {
			out = append(out, a)
		}
	}
	return out
}

// cut is what head or tail leave of a text, where they are told a number of lines.
func cut(name string, args []string, s string) flow.Feed {
	n := 10
	for i, a := range args {
		value := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "n")
		if a == "-n" && i+1 < len(args) {
			value = args[i+1]
		} else if !strings.HasPrefix(a, "-") {
			continue
		}
		from, plus := strings.CutPrefix(value, "+")
		count, err := strconv.Atoi(from)
		if err != nil || count < 0 || plus && name == "head" {
			return flow.Feed{Source: flow.Read}
		}
		if n = count; plus {
			n = max(strings.Count(s, "\n")+2-count, 0)
		}
		break
	}
	lines := strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")
	if name == "head" {
		return made(strings.Join(lines[:min(n, len(lines))], ""))
	}
	return made(strings.Join(lines[max(len(lines)-n, 0):], ""))
}
