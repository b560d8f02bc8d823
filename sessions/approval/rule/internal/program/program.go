// Package program holds what is known of programs by their names: which of them run
// another command and how their arguments are read, which are shells or interpreters,
// which only look something up, which files they write, and which settings of git decide
// what runs.
package program

import (
	"path"
	"slices"
	"strings"
)

// Wrapper says how the arguments of a command that runs another are read.
type Wrapper struct {
	Values string // flags that take a value, between spaces
	Skip   int    // arguments in front of the command
	Text   bool   // the rest is one text for a shell
	Away   bool   // it runs on another machine or in a container
}

// WrapperOf knows the programs whose arguments are a command.
func WrapperOf(name string) (Wrapper, bool) {
	switch name {
	case "sudo":
		return Wrapper{Values: " -u -g -h -p -C -D -r -t -T -U -R --user --group --chdir --host --prompt "}, true
	case "doas":
		return Wrapper{Values: " -u -C "}, true
	case "env":
		return Wrapper{Values: " -u -C --unset --chdir -P "}, true
	case "nohup", "setsid", "command", "builtin", "unbuffer", "caffeinate", "busybox", "toybox", "fakeroot", "corepack", "winpty",
		"proxychains", "proxychains4", "torsocks", "firejail", "eatmydata", "pkexec", "noglob", "nocorrect", "bwrap":
		return Wrapper{}, true
	case "exec":
		return Wrapper{Values: " -a "}, true
	case "time", "gtime":
		return Wrapper{Values: " -f -o --format --output "}, true
	case "timeout", "gtimeout":
		return Wrapper{Values: " -s -k --signal --kill-after ", Skip: 1}, true
	case "nice":
		return Wrapper{Values: " -n --adjustment "}, true
	case "ionice":
		return Wrapper{Values: " -c -n -p -P -u "}, true
	case "chrt", "taskset", "chroot", "retry":
		return Wrapper{Skip: 1}, true
	case "stdbuf", "gstdbuf":
		return Wrapper{Values: " -i -o -e --input --output --error "}, true
	case "strace", "ltrace", "valgrind", "perf", "gdb":
		return Wrapper{Values: " -o -e -p -s -u -E -a -P -b "}, true
	case "unshare", "nsenter", "systemd-run", "cpulimit", "prlimit", "runuser", "setpriv", "rlwrap":
		return Wrapper{Values: " -p -u -t --unit --property -l -g --uid --gid "}, true
	case "dotenv", "env-cmd", "cross-env", "npx", "bunx", "uvx", "pipx":
		return Wrapper{Values: " -e -f -p --package --from --with --python -c --call --file --spec "}, true
	case "watch":
		return Wrapper{Values: " -n --interval -d ", Text: true}, true
	case "ssh", "autossh", "mosh":
		return Wrapper{Values: " -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -M ", Skip: 1, Text: true, Away: true}, true
	}
	return Wrapper{}, false
}

// SubcommandOf knows the programs one of whose commands runs a command.
func SubcommandOf(name, sub string) (Wrapper, bool) {
	switch name + " " + sub {
	case "uv run":
		return Wrapper{Values: " --with --python -p --extra --group --env-file --directory --project --index-url --with-requirements --package "}, true
	case "uv tool", "pipx run", "hatch run", "conda run", "mamba run", "micromamba run":
		return Wrapper{Values: " -n --name -p --prefix --spec "}, true
	case "poetry run", "pipenv run", "pdm run", "rye run", "bundle exec", "mise exec", "mise x", "doppler run", "op run", "infisical run", "dotenvx run",
		"npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "bun x", "lerna exec", "nix develop", "nix shell", "devbox run", "volta run",
		"railway run", "asdf exec", "rbenv exec", "pyenv exec", "bisect run", "heroku run", "fnm exec", "teller run", "sops exec-env", "rustup run":
		return Wrapper{Values: " -p --package -c --command --project --config --env-file -f -a --app -e --env --scope -r --remote "}, true
	case "aws-vault exec", "direnv exec", "chamber exec", "nvm exec", "n exec":
		return Wrapper{Values: " -d --duration ", Skip: 1}, true
	case "docker exec", "podman exec", "compose exec", "docker-compose exec", "nerdctl exec":
		return Wrapper{Values: " -e --env -u --user -w --workdir --env-file --index --detach-keys ", Skip: 1, Away: true}, true
	case "docker run", "podman run", "nerdctl run", "docker create", "compose run", "docker-compose run":
		return Wrapper{Values: " -e --env -u --user -w --workdir --env-file -v --volume -p --publish --name --network --net --entrypoint --mount -h " +
			"--hostname -l --label -m --memory --cpus --platform --add-host --restart --gpus --shm-size --ulimit --tmpfs --device --cap-add --dns ", Skip: 1, Away: true}, true
	}
	return Wrapper{}, false
}

// After is what follows the flags and the arguments in front of a command.
func After(args []string, o Wrapper) []string {
	i := 0
	for i < len(args) && len(args[i]) > 1 && args[i][0] == '-' {
		a := args[i]
		i++
		if a == "--" {
			break
		}
		short := len(a) > 2 && a[1] != '-' && strings.Contains(o.Values, " -"+a[len(a)-1:]+" ")
		if strings.Contains(o.Values, " "+a+" ") || short {
			i++
		}
	}
	i += o.Skip
	if i < len(args) && args[i] == "--" {
		i++
	}
	return args[min(i, len(args)):]
}

// LooksUp names programs whose output is a path, a name, a number or a date.
func LooksUp(name string, args []string) bool {
	switch name {
	case "which", "type", "find", "ls", "mktemp", "date", "nproc", "uname", "hostname", "whoami", "id", "arch", "getconf", "tty", "uuidgen", "stat",
		"dirname", "basename", "realpath", "readlink", "pwd", "wc", "seq", "du", "df", "ps", "pgrep", "lsof", "jobs", "expr", "test",
		"fd", "brew", "xcode-select", "rustc", "sysctl",
		"git", "go", "npm", "yarn", "pnpm", "cargo", "docker", "kubectl", "gh", "nvm", "tput",
		"pg_config", "pkg-config", "llvm-config", "gem", "bundle", "rbenv", "pyenv", "mise", "asdf", "command", "free", "locale":
		return true
	}
	return len(args) > 1 && (args[1] == "--version" || args[1] == "-v" || args[1] == "--prefix" || args[1] == "-V")
}

// Takes names programs whose output is a piece of the text that they read.
func Takes(name string) bool {
	switch name {
	case "head", "tail", "sort", "uniq", "grep", "egrep", "rg", "cut", "tr", "awk", "sed", "xargs", "jq", "yq":
		return true
	}
	return false
}

// IsShell reports whether a program is a shell.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash":
		return true
	}
	return false
}

// InterpreterOf is the language that a program runs.
func InterpreterOf(name string) string {
	name = strings.TrimRight(name, "0123456789.")
	switch name {
	case "python", "pypy", "ipython":
		return "python"
	case "node", "nodejs", "deno", "tsx", "ts-node":
		return "node"
	case "ruby", "perl", "php", "lua", "luajit":
		return name
	case "awk", "gawk", "mawk", "nawk":
		return "awk"
	}
	return ""
}

// Finds reads the arguments of find: where it looks, the name it looks for, and the
// index of the first argument that is no place.
func Finds(args []string) (roots []string, pattern string, from int) {
	for from < len(args) && (args[from] == "-H" || args[from] == "-L" || args[from] == "-P") {
		from++
	}
	for from < len(args) && !strings.HasPrefix(args[from], "-") && args[from] != "(" && args[from] != "!" {
		roots = append(roots, args[from])
		from++
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	names := 0
	for i := from; i+1 < len(args); i++ {
		switch args[i] {
		case "-name", "-iname":
			if names++; i > 0 && (args[i-1] == "!" || args[i-1] == "-not") {
				names = 2
			}
			pattern = args[i+1]
		case "-o", "-or", ",":
			names = 2
		}
	}
	if names != 1 {
		pattern = ""
	}
	return roots, pattern, from
}

// KindOf is the language of a file: "shell", the name of an interpreter, or nothing.
func KindOf(text, file, how string) string {
	if how != "" {
		return "shell"
	}
	first, _, _ := strings.Cut(text, "\n")
	if rest, ok := strings.CutPrefix(first, "#!"); ok {
		for _, word := range slices.Backward(strings.Fields(rest)) {
			if name := path.Base(word); IsShell(name) {
				return "shell"
			} else if InterpreterOf(name) != "" {
				return InterpreterOf(name)
			}
		}
		return ""
	}
	switch path.Ext(file) {
	case ".sh", ".bash", ".zsh", ".command":
		return "shell"
	case ".py":
		return "python"
	case ".js", ".mjs", ".cjs", ".ts":
		return "node"
	case "":
		return "shell" // a text without a first line of that kind is run by the shell
	}
	return ""
}

// GitAlias finds an alias in the text of a configuration of git.
func GitAlias(config, name string) (string, bool) {
	section := ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(line)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "[alias]" && strings.EqualFold(strings.TrimSpace(key), name) {
			return strings.Trim(strings.TrimSpace(value), `"`), true
		}
	}
	return "", false
}

// Downloads are the files that curl or wget may write, by its arguments.
func Downloads(name string, args []string) []string {
	var out []string
	for i, a := range args {
		behind := i+1 < len(args) && args[i+1] != "-"
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && (strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") && name == "wget")
		switch {
		case behind && (short || a == "--output" || a == "--output-document"):
			out = append(out, args[i+1])
		case strings.HasPrefix(a, "--output="):
			out = append(out, a[len("--output="):])
		case strings.Contains(a, "/"):
			out = append(out, path.Base(a))
		}
	}
	return out
}

// RunsCommand knows the variables and the settings of git whose value is run.
func RunsCommand(name string) bool {
	switch strings.ToLower(name) {
	case "git_ssh_command", "git_editor", "editor", "visual", "pager", "git_pager", "git_external_diff", "git_sequence_editor", "git_askpass", "manpager", "prompt_command",
		"core.pager", "core.editor", "core.sshcommand", "core.askpass", "sequence.editor", "diff.external", "credential.helper", "core.fsmonitor", "gpg.program":
		return true
	}
	return false
}

// OfPackage is the program that a file of an installed package is.
func OfPackage(p string) string {
	_, p, _ = strings.Cut(p, "node_modules/")
	if rest, ok := strings.CutPrefix(p, ".bin/"); ok {
		return rest
	}
	parts := strings.Split(p, "/")
	if strings.HasPrefix(p, "@") && len(parts) > 1 {
		return parts[1]
	}
	return parts[0]
}
