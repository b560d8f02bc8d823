package forge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxHooks = 200      // entries of a folder of hooks
	maxHook  = 16 << 20 // bytes of one hook
)

// Pinned is where a push to a remote goes and what it runs on the way, as it was at one
// moment. It holds names and digests, no values: it may be written down. The zero value is
// that of no remote, and nothing can be pushed with it.
type Pinned struct {
	Remote   string            `json:"remote"`
	Address  string            `json:"address"`  // digest of the addresses that are pushed to
	Settings map[string]string `json:"settings"` // digest of the values by key, of the repository's own configuration
	Hooks    map[string]string `json:"hooks"`    // digest by the name of the hook
}

// Pin reads what decides where a push from the repository in dir to a remote goes and
// through which programs, so that [Push] can tell later that it is still so. It is for the
// time before something runs that can write into the repository. It changes nothing.
//
// Of the configuration it takes what belongs to the repository or the worktree, files that
// are included there too, in all but the keys that have no part in a push, such as user.name
// and those of a branch. What stands in the person's configuration or in that of the machine
// is theirs and may change. The address is compared as it is in the end, whatever rewrites
// it. Of the hooks every executable file in their folder counts; what a hook calls does not.
//
// A remote that is not configured is a [*CallError] with the reason [Refused]. Environ is
// nil for that of this process.
func Pin(ctx context.Context, dir, remote string, environ []string) (Pinned, error) {
	op := "pin the push to " + oneLine(remote, maxLabel)
	if !isRemote(remote) {
		return Pinned{}, refuse(op, "", "this is no name of a remote")
	}
	environ = environOf(environ)
	git := program{name: "git", dir: dir, environ: quietGit(environ), search: environ, host: remote, limit: gitTime}
	if err := configured(ctx, git, op, remote); err != nil {
		return Pinned{}, err
	}
	return pin(ctx, git, op, remote)
}

func pin(ctx context.Context, git program, op, remote string) (Pinned, error) {
	list, err := git.run(ctx, op, "config", "--null", "--list", "--show-scope")
	if err != nil {
		return Pinned{}, err
	}
	at, err := git.run(ctx, op, "remote", "get-url", "--push", "--all", remote)
	if err != nil {
		return Pinned{}, err
	}
	folder, err := git.run(ctx, op, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return Pinned{}, err
	}
	path := strings.TrimSuffix(string(folder), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(git.dir, path)
	}
	hooks, err := hookDigests(path)
	if err != nil {
		return Pinned{}, &CallError{Op: op, Reason: Refused, Said: git.clean(fmt.Sprintf("the hooks cannot be read: %v", err)), hint: "look at what core.hooksPath names"}
	}
	settings, err := settingDigests(git, remote, string(list))
	if err != nil {
		return Pinned{}, git.unreadable(op, "%v", err)
	}
	return Pinned{Remote: remote, Address: digest(at), Settings: settings, Hooks: hooks}, nil
}

// settingDigests reads what git config lists, scope and key with value in turn, each with a
// zero byte behind it. A key may hold an address with a password, and is shown without.
func settingDigests(git program, remote, list string) (map[string]string, error) {
	parts := strings.Split(list, "\x00")
	if len(parts)%2 != 1 || parts[len(parts)-1] != "" {
		return nil, errors.New("the list of the settings is cut short")
	}
	values := map[string]*bytes.Buffer{}
	for i := 0; i+1 < len(parts); i += 2 {
		scope, entry := parts[i], parts[i+1]
		key, _, _ := strings.Cut(entry, "\n")
		if scope != "local" && scope != "worktree" || apart(key, remote) {
			continue
		}
		shown := git.clean(key)
		if values[shown] == nil {
			values[shown] = &bytes.Buffer{}
		}
		fmt.Fprintf(values[shown], "%d:%s", len(entry), entry)
	}
	out := make(map[string]string, len(values))
	for key, all := range values {
		out[key] = digest(all.Bytes())
	}
	return out, nil
}

// apart knows the keys, in the form that git lists them in, that have no part in a push of
// one branch to a remote or in what its hooks run, and that daily work changes. All others
// count, those too that nobody has heard of.
func apart(key, remote string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "branch", "user", "author", "committer", "color", "advice", "maintenance", "rerere", "pull", "rebase", "commit", "log", "status", "column", "i18n", "index":
		return true
	case "gc":
		return name != "recentobjectshook"
	case "core":
		return slices.Contains([]string{
			"repositoryformatversion", "bare", "filemode", "symlinks", "ignorecase", "precomposeunicode", "logallrefupdates", "autocrlf", "eol", "safecrlf",
			"untrackedcache", "preloadindex", "quotepath", "abbrev", "commentchar", "whitespace", "sparsecheckout", "sparsecheckoutcone",
		}, name)
	case "extensions":
		return name == "worktreeconfig"
	case "remote":
		other := strings.TrimSuffix(rest, "."+name) != remote
		return name == "gh-resolved" || other && slices.Contains([]string{"url", "fetch", "tagopt", "prune"}, name)
	case "submodule":
		return name == "active" || name == "url"
	case "lfs":
		return name == "repositoryformatversion" || name == "access" || name == "locksverify"
	}
	return false
}

// hookDigests are the digests of the files in a folder that git would run. A folder that is
// not there has none.
func hookDigests(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(entries) > maxHooks {
		return nil, fmt.Errorf("%s has more than %d entries", dir, maxHooks)
	}
	out := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) { // a link to nowhere
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if out[e.Name()], err = fileDigest(path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxHook+1))
	if err == nil && n > maxHook {
		err = fmt.Errorf("%s has more than %d MiB", path, maxHook>>20)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// stillPinned refuses a push when what was pinned is not so any more.
func stillPinned(ctx context.Context, git program, op, remote string, p *Pinned) error {
	if p.Remote != remote {
		return refuse(op, "", "another remote was pinned than this one")
	}
	now, err := pin(ctx, git, op, remote)
	if err != nil {
		return err
	}
	const way = "if it is meant to be so, push the branch by hand, or begin a new run, which takes it as it is; else take it back first"
	if key, how := difference(p.Settings, now.Settings); how != "" {
		return refuse(op, fmt.Sprintf("look at it with 'git config --show-origin --get-all %s': it decides where a push goes or what it runs; ", key)+way,
			"the setting %s of the repository was %s since the push was pinned", key, how)
	}
	if p.Address != now.Address {
		return refuse(op, fmt.Sprintf("look at it with 'git remote get-url --push --all %s'; ", remote)+way,
			"the address that %s is pushed to (remote.%s.url, its pushurl, or what rewrites them) has changed since the push was pinned", remote, remote)
	}
	if name, how := difference(p.Hooks, now.Hooks); how != "" {
		name = git.clean(name)
		return refuse(op, "look at it in the folder that 'git rev-parse --git-path hooks' names; "+way,
			"the hook %s of the repository was %s since the push was pinned", name, how)
	}
	return nil
}

// difference is the first name, in order, that two tables do not agree on.
func difference(before, now map[string]string) (name, how string) {
	names := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(now)))
	slices.Sort(names)
	for _, n := range names {
		old, was := before[n]
		current, is := now[n]
		switch {
		case !was:
			return n, "added"
		case !is:
			return n, "removed"
		case old != current:
			return n, "changed"
		}
	}
	return "", ""
}

// overrides are settings for a pinned push that change nothing of an honest one: what runs
// when the index is looked at, and on the remote where nobody has named another program.
func overrides(ctx context.Context, git program, op, remote string) ([]string, error) {
	out := []string{"-c", "core.fsmonitor=false"}
	key := "remote." + remote + ".receivepack"
	_, err := git.run(ctx, op, "config", "--get-all", key)
	if call, ok := errors.AsType[*CallError](err); ok && call.code == 1 {
		return append(out, "-c", key+"=git-receive-pack"), nil
	}
	return out, err
}
