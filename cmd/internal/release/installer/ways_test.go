package installer

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUninstallRemovesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	const program, manifest = "a home/.local/bin/autopilot", "a home/.local/share/autopilot/manifest"
	inShells(t, func(w *world) {
		w.release("1.0.0", good("1.0.0"))
		w.want(w.install(), 0)
		w.put(program, "something of the user", 0o755)
		w.put("a home/.local/share/doc/autopilot/notes", "mine", 0o644)
		w.want(w.run("--uninstall"), 0, "kept, because it was changed since: "+filepath.Join(w.root, program))
		want := map[string]bool{
			".local": true, ".local/bin": true, ".local/bin/autopilot": true,
			".local/share": true, ".local/share/doc": true, ".local/share/doc/autopilot": true, ".local/share/doc/autopilot/notes": true,
		}
		got := map[string]bool{}
		for name := range w.tree(w.home) {
			got[name] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("left (-want +got):\n%s", diff)
		}
		for _, line := range []string{
			strings.Repeat("0", 64) + "  ../../victim", "dir ../..", strings.Repeat("0", 64) + "  /etc/passwd", "half", "dir a//b", "dir a b",
		} {
			w.put("victim", "", 0o644)
			w.put(manifest, "# autopilot 1.0.0\n"+line+"\n", 0o644)
			before := w.tree(w.root)
			w.want(w.run("--uninstall"), 1, "is damaged: nothing was removed")
			if diff := cmp.Diff(before, w.tree(w.root)); diff != "" {
				w.Errorf("%q removes something:\n%s", line, diff)
			}
		}
	})
}

func TestWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.release("1.0.0", good("1.0.0"))
		w.put("a home/.local/bin/autopilot", "built by hand", 0o755)
		before := w.tree(w.home)
		w.want(w.install(), 1, ".local/bin/autopilot was not put there by this script; --force replaces it")
		if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
			w.Errorf("it was refused, and there is a difference:\n%s", diff)
		}
		w.want(w.install("--force"), 0)

		// A link is replaced itself, not what it leads to.
		w.put("elsewhere", "elsewhere", 0o644)
		link := filepath.Join(w.home, ".local", "bin", "autopilot")
		if err := os.Remove(link); err != nil {
			w.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(w.root, "elsewhere"), link); err != nil {
			w.Fatal(err)
		}
		w.want(w.install("--force"), 0)
		if data, err := os.ReadFile(filepath.Join(w.root, "elsewhere")); err != nil || string(data) != "elsewhere" {
			w.Errorf("what a link leads to is now %q (%v)", data, err)
		}
		w.put("other/bin/autopilot/x", "", 0o644)
		w.want(w.install("--force", "--prefix", filepath.Join(w.root, "other")), 1, "other/bin/autopilot is a folder")
	})
}

func TestPrefixThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.release("1.0.0", good("1.0.0"))
		w.put("file", "", 0o644)
		before := w.tree(w.root)
		w.want(w.install("--prefix", filepath.Join(w.root, "file", "below")), 1, "cannot make the folder")
		if diff := cmp.Diff(before, w.tree(w.root)); diff != "" {
			w.Errorf("a prefix that cannot be made changes something:\n%s", diff)
		}

		// Root may write everywhere; then somebody else has to try.
		locked := filepath.Join(w.root, "locked")
		if err := os.MkdirAll(filepath.Join(locked, "share"), 0o755); err != nil {
			w.Fatal(err)
		}
		script, err := os.ReadFile(w.script)
		if err != nil {
			w.Fatal(err)
		}
		w.put("install.sh", string(script), 0o755)
		w.script = filepath.Join(w.root, "install.sh")
		for dir, mode := range map[string]os.FileMode{filepath.Dir(w.root): 0o755, w.root: 0o755, locked: 0o555, w.root + "/tmp": 0o777} {
			if err := os.Chmod(dir, mode); err != nil {
				w.Fatal(err)
			}
		}
		c := w.command("--from", w.site, "--prefix", locked)
		if os.Geteuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		before = w.tree(w.root)
		w.want(w.start(c), 1, "cannot make the folder "+locked)
		w.noLitter()
		if diff := cmp.Diff(before, w.tree(w.root)); diff != "" {
			w.Errorf("a prefix that cannot be written changes something:\n%s", diff)
		}
	})
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"nobody said where":       {},
		"--from needs a value":    {"--from"},
		"--prefix needs a value":  {"--from", ".", "--prefix", ""},
		"what is --purge?":        {"--purge"},
		"what is 1.2.3?":          {"1.2.3"},
		"such as 1.2.3":           {"--from", ".", "--version", "../1.2.3"},
		"number of seconds":       {"--from", ".", "--timeout", "1;id"},
		"a line end":              {"--from", ".", "--prefix", "a\nb"},
		"plain http to another":   {"--from", "http://192.0.2.1/x"},
		"http to another machine": {"--from", "http://127.example.com"},
		"to another machine":      {"--from", "http://localhost.example.com"},
		"another machine, want":   {"--from", "http://[::1].example.com/"},
		"no name or password":     {"--from", "http://127.0.0.1@192.0.2.1/"},
		"password in the URL":     {"--from", "https://me:hidden@192.0.2.1/"},
		"ftp is no scheme":        {"--from", "ftp://127.0.0.1/"},
		"a URL without a host":    {"--from", "https:///x"},
		"a character in the URL":  {"--from", "https://192.0.2.1/$(id)"},
		"that does not belong":    {"--from", "https://192.0.2.1/?a"},
	}
	for want, args := range tests {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			inShells(t, func(w *world) {
				before := w.tree(w.root)
				got := w.run(args...)
				w.want(got, 2, want, "see 'install.sh --help'")
				if strings.Contains(got.err, "hidden") {
					w.Errorf("it repeats the password: %s", got.err)
				}
				if diff := cmp.Diff(before, w.tree(w.root)); diff != "" {
					w.Errorf("it changes something:\n%s", diff)
				}
			})
		})
	}
	inShells(t, func(w *world) {
		if got := w.run("--help"); got.code != 0 || !strings.HasPrefix(got.out, "usage: install.sh ") {
			w.Errorf("--help: %+v", got)
		}
		w.want(w.run("--from", "missing"), 1, "there is no folder missing")
	})
}

// Whoever pipes the script from a server may get half of it.
func TestHalfAScriptDoesNothing(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.release("1.0.0", good("1.0.0"))
		w.env = []string{"AUTOPILOT_RELEASE_URL=" + w.site}
		whole, err := os.ReadFile(w.script)
		if err != nil {
			w.Fatal(err)
		}
		before := w.tree(w.root)
		cut := func(n int) ran {
			c := exec.CommandContext(w.Context(), w.shell[0], w.shell[1:]...)
			c.Dir, c.Env, c.Stdin = w.root, w.command().Env, strings.NewReader(string(whole[:n]))
			return w.start(c)
		}
		last, step := len(strings.TrimRight(string(whole), "\n")), 1009
		if full() {
			step = 257
		}
		for n := 0; n < last; n++ {
			if n < last-20 && n%step != 0 {
				continue
			}
			if got := cut(n); got.out != "" {
				w.Errorf("the first %d of %d bytes print %q", n, last, got.out)
			}
			if diff := cmp.Diff(before, w.tree(w.root)); diff != "" {
				w.Fatalf("the first %d of %d bytes do something:\n%s", n, last, diff)
			}
		}
		w.want(cut(last), 0, "autopilot 1.0.0 is at ")
	})
}

func TestPlatform(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, system, machine, translated string
		code                              int
		want                              string
	}{
		{"linux on arm", "Linux", "aarch64", "", 1, "autopilot_1.0.0_linux_arm64.tar.gz"},
		{"linux on intel", "Linux", "x86_64", "", 1, "autopilot_1.0.0_linux_amd64.tar.gz"},
		{"mac on arm", "Darwin", "arm64", "0", 1, "autopilot_1.0.0_darwin_arm64.tar.gz"},
		{"mac on intel", "Darwin", "x86_64", "0", 1, "autopilot_1.0.0_darwin_amd64.tar.gz"},
		{"mac on an older intel", "Darwin", "x86_64", "", 1, "autopilot_1.0.0_darwin_amd64.tar.gz"},
		{"mac under Rosetta", "Darwin", "x86_64", "1", 1, "autopilot_1.0.0_darwin_arm64.tar.gz"},
		{"another system", "FreeBSD", "amd64", "", 1, "no releases for FreeBSD"},
		{"a small machine", "Linux", "armv7l", "", 1, "no releases for Linux on armv7l"},
		{"an old machine", "Linux", "i686", "", 1, "no releases for Linux on i686"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, []string{need(t, "sh")})
			w.put("releases/v1.0.0/SHA256SUMS", "\n", 0o644)
			w.put("releases/latest.txt", "1.0.0\n", 0o644)
			w.put("bin/uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo "+tt.system+" || echo "+tt.machine+"\n", 0o755)
			w.put("bin/sysctl", "#!/bin/sh\n[ -n '"+tt.translated+"' ] && [ \"$*\" = '-n sysctl.proc_translated' ] && echo "+tt.translated+"\n", 0o755)
			w.path = filepath.Join(w.root, "bin") + ":" + w.path
			w.want(w.install(), tt.code, tt.want)
		})
	}
}

func TestSumsNeedATool(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the tools that are left here are those of linux")
	}
	sh := need(t, "sh")
	summer := need(t, "sha256sum")
	tests := []struct{ name, tool, script, want string }{
		{"none", "", "", "sha256sum, shasum or openssl is missing"},
		{"shasum", "shasum", `[ "$*" = "-a 256" ] && exec ` + summer, ""},
		{"openssl", "openssl", `[ "$*" = "dgst -sha256 -r" ] && ` + summer + ` | sed 's/ .*/ *stdin/'`, ""},
		{"one that fails", "sha256sum", "exit 1", "cannot compute the sum"},
		{"one that prints nothing", "sha256sum", "exit 0", "is not what SHA256SUMS says"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, []string{sh})
			w.release("1.0.0", good("1.0.0"))
			bin := filepath.Join(w.root, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, tool := range strings.Fields("awk cat chmod cp find grep gzip head mkdir mktemp mv rm rmdir sed tail tar tr uname wc") {
				if err := os.Symlink(need(t, tool), filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.tool != "" {
				w.put("bin/"+tt.tool, "#!"+sh+"\n"+tt.script+"\n", 0o755)
			}
			w.path = bin
			if tt.want == "" {
				w.want(w.install(), 0, "autopilot 1.0.0 is at ")
				w.want(w.run("--uninstall"), 0)
				return
			}
			w.want(w.install(), 1, tt.want)
			if left := w.tree(w.home); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
		})
	}
}
