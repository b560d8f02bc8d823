package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Push pushes a branch to the branch of the same name and makes that its upstream.
// Nothing is ever forced, whatever the configuration says, no tags go along, and no
// submodules: that their commits are on a remote is looked at and refused otherwise.
// Protected branches are refused. It takes ten minutes at most, and nothing asks for a
// password.
func (t Tree) Push(ctx context.Context, remote, branch string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit(limit))
	defer cancel()
	if err := t.mayPush(ctx, remote, branch); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	spec := heads + branch + ":" + heads + branch
	out, err := t.act(ctx, action{environ: []string{"GCM_INTERACTIVE=never", "SSH_ASKPASS_REQUIRE=never"}},
		"push", "--porcelain", "--set-upstream", "--no-follow-tags", "--recurse-submodules=check", remote, spec)
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*failure](err)
	if !ok || f.cause != nil {
		return fmt.Errorf("push: %w", err)
	}
	why, rejected := rejection(out, spec)
	switch {
	case !rejected && f.code == 1 && !strings.Contains(out, "submodule"):
		return fmt.Errorf("push: %w", &HookError{Hook: "pre-push", Output: out})
	case !rejected:
		return &problem{words: "push", err: err, way: "see that 'git push' works without questions"}
	case strings.Contains(why, "non-fast-forward") || strings.Contains(why, "fetch first"):
		return &problem{
			words: fmt.Sprintf("push: %s on %s has commits that are not here (%s)", branch, remote, why),
			way:   "it is never forced: fetch, and look at what is there",
		}
	}
	words := fmt.Sprintf("push: %s does not take %s: %s", remote, branch, why)
	if said := said(out); said != "" {
		words += ": " + said
	}
	return &problem{words: words, way: "see the rules of the remote"}
}

func (t Tree) mayPush(ctx context.Context, remote, branch string) error {
	if err := t.fitting(ctx, branch); err != nil {
		return err
	}
	for _, of := range []string{remote, ""} {
		if err := t.allowed(ctx, branch, of); err != nil {
			return err
		}
	}
	exists, err := t.Exists(ctx, branch)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("there is no branch %s, or it has no commit yet", branch)
	}
	remotes, err := t.git(ctx, "remote")
	if err != nil {
		return err
	}
	if remote == "" || strings.HasPrefix(remote, "-") || !set(strings.Split(remotes, "\n"))[remote] {
		return &problem{words: fmt.Sprintf("there is no remote %q", remote), way: "git remote add NAME URL"}
	}
	mirror, err := t.git(ctx, "config", "--type=bool", "--get", "remote."+remote+".mirror")
	if err != nil && exit(err) != 1 {
		return err
	}
	if mirror == "true" {
		return &problem{words: fmt.Sprintf("the remote %s is a mirror: every push to it is forced", remote), way: "use another remote"}
	}
	return nil
}

// rejection finds the line about a refused ref: "!", the refs, and why.
func rejection(out, spec string) (why string, ok bool) {
	for line := range strings.Lines(out) {
		if rest, found := strings.CutPrefix(line, "!\t"+spec+"\t"); found {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// said are the last words of the remote.
func said(out string) string {
	last := ""
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "remote:"); ok && strings.TrimSpace(rest) != "" {
			last = strings.TrimSpace(rest)
		}
	}
	return last
}
