package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	publicGitHub = "github.com"
	publicGitLab = "gitlab.com"
	gitTime      = 10 * time.Second // for a question to the repository itself
)

// ErrNone matches every [*NoForgeError] in errors.Is.
var ErrNone = &NoForgeError{Why: "there is no GitHub or GitLab"}

// NoForgeError is returned when a repository has no GitHub or GitLab that can be asked: it
// has no remote, the host is not known as one of them, or the program for it is missing.
type NoForgeError struct {
	Why  string
	hint string
}

// Error returns what is missing, without the address of a remote.
func (e *NoForgeError) Error() string { return e.Why }

// Hint returns what a person can do about it, or nothing.
func (e *NoForgeError) Hint() string { return e.hint }

// Is reports whether target is [ErrNone] too.
func (e *NoForgeError) Is(target error) bool { return target == ErrNone }

func none(hint, format string, args ...any) error {
	return &NoForgeError{Why: fmt.Sprintf(format, args...), hint: hint}
}

// Detect finds out which GitHub or GitLab hosts the repository that dir is in: from the
// remote of the default branch, else the one called origin, else the only one. Nothing is
// asked over the network. A host counts as GitHub or GitLab if GH_HOST or GITLAB_HOST names
// it, if it is one of the public ones, or if its name has the word in it; an alias of the
// person's ssh configuration is looked up. When there is none the error is a
// [*NoForgeError]; another one means that git could not be asked.
func Detect(ctx context.Context, dir string, environ []string) (Forge, error) {
	environ = environOf(environ)
	if _, ok := lookPath(environ, "git"); !ok {
		return Forge{}, none(installHint("git"), "git is not installed")
	}
	git := program{name: "git", dir: dir, environ: quietGit(environ), search: environ, limit: gitTime}
	remote, err := pickRemote(ctx, git)
	if err != nil {
		return Forge{}, err
	}
	out, err := git.run(ctx, "look at the remote "+remote, "remote", "get-url", remote)
	if err != nil {
		return Forge{}, err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	at, ok := parseAddress(line)
	if !ok {
		return Forge{}, none("", "the address of the remote %s is not one of GitHub or GitLab", remote)
	}
	kind, host := hosted(ctx, at, environ, git)
	if kind == "" {
		return Forge{}, none("if it is one, name it in GH_HOST or GITLAB_HOST", "%s, where the remote %s is, is not known as a GitHub or GitLab", at.host, remote)
	}
	if kind == GitHub && strings.Count(at.spec, "/") != 1 {
		return Forge{}, none("", "the address of the remote %s has no owner/name", remote)
	}
	if _, ok := lookPath(environ, kind.program()); !ok {
		return Forge{}, none(installHint(kind.program()), "%s is not installed, and %s is asked through it", kind.program(), host)
	}
	return Forge{Kind: kind, Spec: at.spec, Host: host, Remote: remote, Dir: dir, Environ: environ}, nil
}

// pickRemote chooses the remote of a repository.
func pickRemote(ctx context.Context, git program) (string, error) {
	out, err := git.run(ctx, "look at the remotes", "config", "--null", "--get-regexp", `^(remote\..*\.url|branch\..*\.remote)$`)
	if call, ok := errors.AsType[*CallError](err); err != nil && !(ok && call.code == 1) { // 1 is that nothing matches
		return "", err
	}
	var remotes []string
	tracks := map[string]string{} // branch to remote
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if name, ok := between(key, "remote.", ".url"); ok && !slices.Contains(remotes, name) {
			remotes = append(remotes, name)
		} else if name, ok := between(key, "branch.", ".remote"); ok {
			tracks[name] = value
		}
	}
	branches := []string{"main", "master"}
	if head := remoteHead(ctx, git, "origin"); head != "" {
		branches = append([]string{head}, branches...)
	}
	for _, b := range branches {
		if slices.Contains(remotes, tracks[b]) {
			return tracks[b], nil
		}
	}
	switch {
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	case len(remotes) == 1:
		return remotes[0], nil
	case len(remotes) == 0:
		return "", none("", "the repository has no remote")
	}
	return "", none("let the default branch track one of them", "the repository has %d remotes, and none is called origin", len(remotes))
}

// remoteHead is the default branch of a remote as far as the repository knows it, or empty.
func remoteHead(ctx context.Context, git program, remote string) string {
	prefix := "refs/remotes/" + remote + "/"
	out, err := git.run(ctx, "look at the default branch", "symbolic-ref", "--quiet", prefix+"HEAD")
	if err != nil {
		return ""
	}
	name, _ := strings.CutPrefix(strings.TrimSpace(string(out)), prefix)
	return name
}

func between(s, before, after string) (string, bool) {
	s, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, after)
}

// hosted says what a host is, and which host to ask.
func hosted(ctx context.Context, at address, environ []string, git program) (Kind, string) {
	if kind, host := known(at.host, environ); kind != "" {
		return kind, host
	}
	if at.ssh {
		if host := sshHost(ctx, at.host, environ, git); host != "" {
			at.host = host
			if kind, host := known(host, environ); kind != "" {
				return kind, host
			}
		}
	}
	switch {
	case strings.Contains(at.host, "gitlab"):
		return GitLab, at.host
	case strings.Contains(at.host, "github") && !strings.HasSuffix(at.host, "."+publicGitHub): // gists and the like
		return GitHub, at.host
	}
	return "", ""
}

// known says what a host is without guessing.
func known(host string, environ []string) (Kind, string) {
	switch host {
	case named(environ, "GH_HOST"):
		return GitHub, host
	case named(environ, gitlabHosts()...):
		return GitLab, host
	case publicGitHub, "ssh.github.com":
		return GitHub, publicGitHub
	case publicGitLab, "altssh.gitlab.com":
		return GitLab, publicGitLab
	}
	if strings.HasSuffix(host, ".ghe.com") {
		return GitHub, host
	}
	return "", ""
}

// gitlabHosts are the variables by which glab is told its host, the first one that is set.
func gitlabHosts() []string { return []string{"GITLAB_HOST", "GITLAB_URI", "GL_HOST"} }

// named is the host that the first of some variables that is set names, as a name or as an
// address, without port.
func named(environ []string, names ...string) string {
	for _, name := range names {
		if v := variable(environ, name); v != "" {
			if _, rest, ok := strings.Cut(v, "://"); ok {
				v = rest
			}
			host, _, _ := strings.Cut(v, "/")
			host, _ = cutPort(host[strings.LastIndexByte(host, '@')+1:])
			return cleanHost(host)
		}
	}
	return ""
}

// sshHost is the host that the person's ssh configuration has for an alias, or empty.
func sshHost(ctx context.Context, alias string, environ []string, git program) string {
	ssh := program{name: "ssh", dir: git.dir, environ: git.environ, search: environ, limit: gitTime}
	out, err := ssh.run(ctx, "look up "+alias, "-G", alias)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if host, ok := strings.CutPrefix(line, "hostname "); ok {
			return cleanHost(strings.TrimSpace(host))
		}
	}
	return ""
}
