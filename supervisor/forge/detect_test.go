package forge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/metrics/testprogram"
	"autopilot/supervisor/forge"
)

// tools is a folder with links to programs of the machine and with empty stand-ins.
func tools(t *testing.T, links []string, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range links {
		if err := os.Symlink("/usr/bin/"+name, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, body := range scripts {
		testprogram.Write(t, filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"))
	}
	return dir
}

// sshConfig stands in for ssh: it knows one alias of each kind.
const sshConfig = `[ "$1" = -G ] && [ $# = 2 ] || exit 97
case "$2" in
work) echo "user git"; echo "hostname github.com" ;;
tunnel) echo "hostname ssh.github.com"; echo "port 443" ;;
github-private) echo "hostname gitlab.com" ;;
code) echo "hostname gitlab.example.com" ;;
*) echo "hostname $2" ;;
esac`

func TestDetectReadsAddresses(t *testing.T) {
	t.Parallel()
	const hub, lab = forge.GitHub, forge.GitLab
	path := tools(t, []string{"git"}, map[string]string{"gh": "exit 97", "glab": "exit 97", "ssh": sshConfig})
	for _, c := range []struct {
		url  string
		vars []string
		kind forge.Kind // empty when there is none
		host string
		spec string
	}{
		{url: "https://github.com/acme/shop", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "https://github.com/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "https://github.com/acme/shop.git/", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "HTTPS://WWW.GitHub.com/Acme/Shop.git", kind: hub, host: "github.com", spec: "Acme/Shop"},
		{url: "https://someone:ghp_0123456789abcdef@github.com/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "https://some%40one:p@ss:word@github.com/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "https://github.com:443/acme/shop", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "git@github.com:acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "github.com:acme/shop", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "git@github.com:/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "org-123@github.com:acme/shop.js.git", kind: hub, host: "github.com", spec: "acme/shop.js"},
		{url: "ssh://git@github.com/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "ssh://git@ssh.github.com:443/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "git+ssh://git@github.com/acme/shop", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "git://github.com/acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "acme@acme.ghe.com:acme/shop.git", kind: hub, host: "acme.ghe.com", spec: "acme/shop"},
		{url: "https://github.example.com/acme/shop.git", kind: hub, host: "github.example.com", spec: "acme/shop"},
		{url: "https://code.example.com/acme/shop", vars: []string{"GH_HOST=code.example.com"}, kind: hub, host: "code.example.com", spec: "acme/shop"},
		{url: "git@work:acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},
		{url: "git@tunnel:acme/shop.git", kind: hub, host: "github.com", spec: "acme/shop"},

		{url: "https://gitlab.com/acme/shop.git", kind: lab, host: "gitlab.com", spec: "acme/shop"},
		{url: "https://oauth2:glpat-0123456789abcdef0123@gitlab.com/acme/web/front/shop.git", kind: lab, host: "gitlab.com", spec: "acme/web/front/shop"},
		{url: "git@gitlab.com:acme/web/shop.git", kind: lab, host: "gitlab.com", spec: "acme/web/shop"},
		{url: "ssh://git@altssh.gitlab.com:443/acme/shop.git", kind: lab, host: "gitlab.com", spec: "acme/shop"},
		{url: "ssh://git@gitlab.example.com:2222/acme/web/shop.git", kind: lab, host: "gitlab.example.com", spec: "acme/web/shop"},
		{url: "[git@gitlab.example.com:2222]:acme/shop.git", kind: lab, host: "gitlab.example.com", spec: "acme/shop"},
		{url: "git@[gitlab.example.com:2222]:acme/shop.git", kind: lab, host: "gitlab.example.com", spec: "acme/shop"},
		{url: "https://gitlab.example.com:8443/acme/shop", kind: lab, host: "gitlab.example.com", spec: "acme/shop"},
		{url: "https://code.example.com/acme/shop", vars: []string{"GITLAB_HOST=https://code.example.com:8443/"}, kind: lab, host: "code.example.com", spec: "acme/shop"},
		{url: "https://code.example.com/acme/shop", vars: []string{"GL_HOST=code.example.com"}, kind: lab, host: "code.example.com", spec: "acme/shop"},
		{url: "git@code:acme/shop.git", kind: lab, host: "gitlab.example.com", spec: "acme/shop"},
		{url: "git@github-private:acme/shop.git", kind: lab, host: "gitlab.com", spec: "acme/shop"}, // the configuration knows better than the name

		{url: "https://code.example.com/acme/shop"},
		{url: "https://bitbucket.org/acme/shop.git"},
		{url: "https://github.com/acme"},
		{url: "https://github.com/acme/shop/extra"},
		{url: "https://gist.github.com/acme/0123456789abcdef"},
		{url: "https://github.com/acme/../shop"},
		{url: "https://github.com/-acme/shop"},
		{url: "https://github.com/acme/shop?x=1"},
		{url: "https:///acme/shop"},
		{url: "/srv/git/acme/shop.git"},
		{url: "../shop"},
		{url: "file:///srv/git/acme/shop.git"},
		{url: "C:/git/acme/shop"},
		{url: "ext::sh -c github.com/acme/shop"},
		{url: "https://someone:ghp_0123456789abcdef/secret@github.com/acme/shop"},
		{url: "https://someone:hunter2hunter2@code.example.com/acme/shop"},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			git(t, dir, "config", "remote.origin.url", c.url)
			got, err := forge.Detect(t.Context(), dir, append(append(quietEnviron(), "PATH="+path), c.vars...))
			if c.kind == "" {
				if !errors.Is(err, forge.ErrNone) {
					t.Fatalf("got %+v and the error %v, want that there is none", got, err)
				}
				for _, secret := range []string{"ghp_", "secret", "hunter2", "someone"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error tells a credential: %v", err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != c.kind || got.Host != c.host || got.Spec != c.spec || got.Remote != "origin" || got.Dir != dir {
				t.Errorf("got %s %s %s (remote %s, in %s)", got.Kind, got.Host, got.Spec, got.Remote, got.Dir)
			}
		})
	}
}

func TestDetectChoosesTheRemote(t *testing.T) {
	t.Parallel()
	path := tools(t, []string{"git"}, map[string]string{"gh": "exit 97", "ssh": sshConfig})
	remote := func(name string) []string {
		return []string{"config", "remote." + name + ".url", "https://github.com/" + name + "/shop"}
	}
	for name, c := range map[string]struct {
		setup [][]string
		want  string // empty when there is none
	}{
		"origin":                           {[][]string{remote("other"), remote("origin")}, "origin"},
		"the one of the default branch":    {[][]string{remote("origin"), remote("upstream"), {"config", "branch.main.remote", "upstream"}}, "upstream"},
		"the default branch by the remote": {[][]string{remote("origin"), remote("upstream"), {"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"}, {"config", "branch.trunk.remote", "upstream"}, {"config", "branch.main.remote", "origin"}}, "upstream"},
		"not the one of another branch":    {[][]string{remote("origin"), remote("fork"), {"config", "branch.feature.remote", "fork"}}, "origin"},
		"the branch tracks a local one":    {[][]string{remote("origin"), {"config", "branch.main.remote", "."}}, "origin"},
		"the branch's remote is gone":      {[][]string{remote("origin"), {"config", "branch.main.remote", "gone"}}, "origin"},
		"the only one":                     {[][]string{remote("upstream")}, "upstream"},
		"a name with dots":                 {[][]string{remote("my.remote")}, "my.remote"},
		"several and no origin":            {[][]string{remote("a"), remote("b")}, ""},
		"none":                             {nil, ""},
		"an address that is rewritten":     {[][]string{{"config", "remote.origin.url", "gh:origin/shop"}, {"config", "url.https://github.com/.insteadOf", "gh:"}}, "origin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			for _, args := range c.setup {
				git(t, dir, args...)
			}
			// What a hook of git has in its environment is about another repository.
			got, err := forge.Detect(t.Context(), dir, append(quietEnviron(), "PATH="+path, "GIT_DIR=/nonexistent"))
			if c.want == "" {
				if _, ok := errors.AsType[*forge.NoForgeError](err); !ok {
					t.Fatalf("got %+v and the error %v, want that there is none", got, err)
				}
				return
			}
			if err != nil || got.Remote != c.want || got.Spec != c.want+"/shop" {
				t.Errorf("got %s %s and the error %v, want %s", got.Remote, got.Spec, err, c.want)
			}
		})
	}
}

func TestDetectMissesPrograms(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	git(t, dir, "config", "remote.origin.url", "https://gitlab.com/acme/shop")
	// A program in the repository is none of the person's, however PATH leads there.
	testprogram.Write(t, filepath.Join(dir, "glab"), []byte("#!/bin/sh\n"))
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, want, hint string
	}{
		"no git":  {t.TempDir(), "git is not installed", "install git"},
		"no glab": {".:" + relative + ":" + tools(t, []string{"git"}, map[string]string{"gh": ""}) + "::", "glab is not installed", "glab auth login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := forge.Detect(t.Context(), dir, append(quietEnviron(), "PATH="+c.path))
			none, ok := errors.AsType[*forge.NoForgeError](err)
			if !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(none.Hint(), c.hint) {
				t.Errorf("got the error %v", err)
			}
		})
	}
}

func TestDetectOutsideOfARepository(t *testing.T) {
	t.Parallel()
	_, err := forge.Detect(t.Context(), t.TempDir(), quietEnviron())
	if !errors.Is(err, forge.ErrNone) {
		t.Errorf("got the error %v", err)
	}
	_, err = forge.Detect(t.Context(), filepath.Join(t.TempDir(), "gone"), quietEnviron())
	if err == nil || errors.Is(err, forge.ErrNone) {
		t.Errorf("a folder that is not there: got the error %v, want one that says that git could not be asked", err)
	}
}
