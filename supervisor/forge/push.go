package forge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// pushTime bounds a push when nothing else was said: hooks may run the tests.
const pushTime = 10 * time.Minute

// PushOptions are what a push needs beside the branch.
type PushOptions struct {
	Environ  []string      // nil for that of this process
	Defaults []string      // branches that are never pushed, beside main, master and the remote's own default
	Timeout  time.Duration // 0 is 10 minutes
	// Pinned, if there is one, is what [Pin] has read before: a push that would go elsewhere,
	// or run something else on the way, is refused.
	Pinned *Pinned
}

// Push pushes a branch of the repository in dir to the branch of the same name of a remote
// and lets it track that. It is never forced and takes no tags and no submodules along; the
// hooks of the repository run. A default branch, a name that is none, and a remote that is
// not configured are refused before anything is done. If the remote's branch has commits
// that ours lacks, the error is a [*CallError] with the reason [Diverged]. To push what is
// there already does nothing.
//
// With o.Pinned a setting, an address or a hook that is not as it was pinned makes it a
// [*CallError] with the reason [Refused] that names it, and nothing is pushed. What changes
// in the moment between that look and the push is not seen: whoever could change it must
// have ended.
func Push(ctx context.Context, dir, remote, branch string, o PushOptions) error {
	op := fmt.Sprintf("push %s to %s", oneLine(branch, maxLabel), oneLine(remote, maxLabel))
	if !isBranch(branch) {
		return refuse(op, "", "%q is no name of a branch", oneLine(branch, maxLabel))
	}
	if !isRemote(remote) {
		return refuse(op, "", "this is no name of a remote")
	}
	o.Environ = environOf(o.Environ)
	if o.Timeout <= 0 {
		o.Timeout = pushTime
	}
	git := program{name: "git", dir: dir, environ: quietGit(o.Environ), search: o.Environ, host: remote, limit: gitTime}
	defaults := append([]string{"main", "master", remoteHead(ctx, git, remote)}, o.Defaults...)
	if slices.ContainsFunc(defaults, func(d string) bool { return strings.EqualFold(strings.TrimPrefix(d, "refs/heads/"), branch) }) {
		return refuse(op, "push a branch of its own, and propose it from there", "it is a default branch, which is never pushed")
	}
	if err := configured(ctx, git, op, remote); err != nil {
		return err
	}
	var args []string
	if o.Pinned != nil {
		if err := stillPinned(ctx, git, op, remote, o.Pinned); err != nil {
			return err
		}
		var err error
		if args, err = overrides(ctx, git, op, remote); err != nil {
			return err
		}
	}
	git.limit = o.Timeout
	ref := "refs/heads/" + branch
	out, err := git.start(ctx, op, append(args,
		"push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules", "--set-upstream", remote, ref+":"+ref))
	return pushFailure(git, err, string(out.stdout), out.stderr)
}

// configured refuses a remote that the repository does not know: git would take its name for
// a folder.
func configured(ctx context.Context, git program, op, remote string) error {
	_, err := git.run(ctx, op, "config", "--get-all", "remote."+remote+".url")
	if call, ok := errors.AsType[*CallError](err); ok && call.code == 1 {
		return refuse(op, "", "there is no remote of that name")
	}
	return err
}

// refuse is the error of what is not done at all.
func refuse(op, hint, format string, args ...any) error {
	return &CallError{Op: op, Reason: Refused, Said: fmt.Sprintf(format, args...), hint: hint}
}

// pushFailure says what the end of a push means. In its porcelain form git writes a line of
// flag, names and summary for each branch; the flag of one that was not taken is '!'.
func pushFailure(git program, err error, stdout, stderr string) error {
	call, ok := errors.AsType[*CallError](err)
	if !ok || call.code == 0 {
		return err
	}
	for line := range strings.Lines(stdout) {
		parts := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(parts) != 3 || parts[0] != "!" {
			continue
		}
		call.Said = git.clean(parts[2])
		switch {
		case strings.HasPrefix(parts[2], "[rejected]"):
			call.Reason = Diverged
			call.hint = "the remote's branch has commits that this one has not: fetch them and rebase onto them or merge them; nothing is pushed by force"
		case strings.HasPrefix(parts[2], "[remote rejected]"):
			call.Reason = Refused
			call.hint = "the remote or a hook of it does not take the branch"
			for said := range strings.Lines(stderr) {
				if words, ok := strings.CutPrefix(said, "remote: "); ok && strings.TrimSpace(words) != "" {
					call.Said = git.clean(parts[2] + ": " + words)
					break
				}
			}
		}
		return call
	}
	return call
}

var remoteForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]{0,99}$`)
})

func isRemote(name string) bool {
	return remoteForm().MatchString(name) && !strings.Contains(name, "..")
}

// isBranch reports whether a name can be that of a branch and of nothing else, by the rules
// of git-check-ref-format(1).
func isBranch(name string) bool {
	if name == "" || len(name) > 200 || name == "@" || name == "HEAD" || name[0] == '-' || strings.HasPrefix(name, "refs/") || !utf8.ValidString(name) {
		return false
	}
	if strings.IndexFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`~^:?*[\`, c) }) >= 0 {
		return false
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	})
}
