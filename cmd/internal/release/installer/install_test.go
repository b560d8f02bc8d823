package installer

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInstallAndUninstall(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.put("a home/.local/bin/mine", "mine", 0o755)
		w.put("a home/.local/share/man/man1/mine.1", "mine", 0o644)
		before := w.tree(w.home)
		w.release("1.2.3", good("1.2.3"))
		w.want(w.install(), 0, "autopilot 1.2.3 is at "+w.home+"/.local/bin/autopilot\n", w.home+"/.local/bin is not on your PATH")

		after := w.tree(w.home)
		for name, mode := range map[string]string{
			"bin/autopilot": "-rwxr-xr-x", "share/autopilot/install.sh": "-rwxr-xr-x", "share/autopilot/manifest": "-rw-r--r--",
			"share/doc/autopilot/LICENSE": "-rw-r--r--", "share/doc/autopilot/README.md": "-rw-r--r--",
			"share/man/man1/autopilot.1": "-rw-r--r--", "share/man/man1/autopilot-run.1": "-rw-r--r--",
			"share/bash-completion/completions/autopilot": "-rw-r--r--", "share/zsh/site-functions/_autopilot": "-rw-r--r--",
			"share/fish/vendor_completions.d/autopilot.fish": "-rw-r--r--",
		} {
			if got := after[".local/"+name]; !strings.HasPrefix(got, mode+" ") {
				w.Errorf("%s is %q, want %s", name, got, mode)
			}
			delete(after, ".local/"+name)
		}
		for name, was := range before {
			if after[name] != was {
				w.Errorf("%s is %q, was %q", name, after[name], was)
			}
			delete(after, name)
		}
		for name, is := range after {
			if !strings.HasPrefix(is, "d") {
				w.Errorf("%s was installed too", name)
			}
		}

		once := w.tree(w.home)
		w.want(w.install(), 0)
		if diff := cmp.Diff(once, w.tree(w.home)); diff != "" {
			w.Errorf("a second time makes a difference:\n%s", diff)
		}
		w.want(w.run("--uninstall"), 0, "removed from "+w.home+"/.local")
		if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
			w.Errorf("after uninstalling (-before +after):\n%s", diff)
		}
		w.want(w.run("--uninstall"), 0, "nothing to remove")
	})
}

func TestPrefixThatWasNotThere(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		broken := good("1.2.3")
		broken[0].text = "#!/bin/sh\nexit 1\n"
		w.release("1.2.3", broken)
		before := w.tree(w.home)
		w.want(w.install("--prefix", "a home/to a"), 1, "does not run here")
		if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
			w.Errorf("it was refused, and left:\n%s", diff)
		}
		w.release("1.2.3", good("1.2.3"))
		w.env = []string{"AUTOPILOT_RELEASE_URL=" + w.site}
		w.path = w.home + "/to a/bin:" + w.path
		got := w.run("--prefix", "a home/to a", "--version=v1.2.3")
		w.want(got, 0, "autopilot 1.2.3 is at "+w.home+"/to a/bin/autopilot\n")
		if strings.Contains(got.err, "PATH") {
			w.Errorf("the folder is on PATH, and it says:\n%s", got.err)
		}
		w.want(w.run("--prefix="+w.home+"/to a", "--uninstall"), 0)
		if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
			w.Errorf("after uninstalling (-before +after):\n%s", diff)
		}
	})
}

// A folder may hold the files of one release, as somebody downloads them.
func TestFlatFolder(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.release("1.2.3", good("1.2.3"))
		w.site += "/v1.2.3"
		w.want(w.install(), 0, "autopilot 1.2.3 is at ")
		w.want(w.install("--version", "1.2.4"), 1, "does not have one line for autopilot_1.2.4_")
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	name := archiveName("2.0.0")
	file, sums := "releases/v2.0.0/"+name+".tar.gz", "releases/v2.0.0/SHA256SUMS"
	with := func(items ...item) func(*world) {
		return func(w *world) { w.release("2.0.0", append(good("2.0.0"), items...)) }
	}
	remove := func(path string) func(*world) {
		return func(w *world) {
			if err := os.Remove(filepath.Join(w.root, path)); err != nil {
				w.Fatal(err)
			}
		}
	}
	sum := func(text string) func(*world) { return func(w *world) { w.put(sums, text, 0o644) } }
	tests := []struct {
		name  string
		spoil func(*world)
		want  string
	}{
		// The first six are tested always.
		{"wrong sum", sum(strings.Repeat("0", 64) + "  " + name + ".tar.gz\n"), "is not what SHA256SUMS says"},
		{"a program of another version", func(w *world) {
			items := good("2.0.0")
			items[0].text = good("1.0.0")[0].text
			w.release("2.0.0", items)
		}, "does not run here, or is not version 2.0.0"},
		{"no sums", remove(sums), "they have no SHA256SUMS"},
		{"a path above", with(item{name: "../evil", text: "evil"}), "a path that leads elsewhere"},
		{"a symbolic link", with(item{name: name + "/man/evil", kind: '2', link: "/"}), "links or devices"},
		{"two lines for it", sum(strings.Repeat(strings.Repeat("0", 64)+"  "+name+".tar.gz\n", 2)), "does not have one line for"},
		{"archive cut short", func(w *world) { w.put(file, "\x1f\x8b", 0o644) }, "is not what SHA256SUMS says"},
		{"archive cut short, with its sum", func(w *world) {
			data := w.pack(good("2.0.0"))
			data = data[:len(data)/2]
			w.put(file, string(data), 0o644)
			w.put(sums, fmt.Sprintf("%x  %s.tar.gz\n", sha256.Sum256(data), name), 0o644)
		}, "is damaged"},
		{"no archive", remove(file), "there is no v2.0.0/" + name + ".tar.gz"},
		{"no line for it", sum(strings.Repeat("0", 64) + "  x" + name + ".tar.gz\n"), "does not have one line for"},
		{"half a sum", sum("0123abc  " + name + ".tar.gz\n"), "is no sum"},
		{"a sum that is none", sum(strings.Repeat("x", 64) + "  " + name + ".tar.gz\n"), "is no sum"},
		{"latest is a page", func(w *world) { w.put("releases/latest.txt", "<html>\n", 0o644) }, "latest.txt does not name a version"},
		{"latest leads elsewhere", func(w *world) { w.put("releases/latest.txt", "1.0.0/../../v2.0.0", 0o644) }, "latest.txt does not name a version"},
		{"latest has two lines", func(w *world) { w.put("releases/latest.txt", "2.0.0\n1.0.0\n", 0o644) }, "latest.txt does not name a version"},
		{"latest is large", func(w *world) { w.put("releases/latest.txt", strings.Repeat("1", 300), 0o644) }, "too large"},
		{"latest is empty", func(w *world) { w.put("releases/latest.txt", "", 0o644) }, "latest.txt does not name a version"},
		{"a path above, from within", with(item{name: name + "/man/../../../evil", text: "evil"}), "a path that leads elsewhere"},
		{"an absolute path", with(item{name: "/evil", text: "evil"}), "a path that leads elsewhere"},
		{"another folder", with(item{name: "evil", text: "evil"}), "a path that leads elsewhere"},
		{"a folder with the beginning of its name", with(item{name: name + "evil/x", text: "evil"}), "a path that leads elsewhere"},
		{"a path with a line end", with(item{name: name + "/x\n/evil", text: "evil"}), "a path that leads elsewhere"},
		{"a link in place of the program", with(item{name: name + "/autopilot", kind: '2', link: "/bin/sh"}), "links or devices"},
		{"a hard link", with(item{name: name + "/evil", kind: '1', link: name + "/LICENSE"}), "links or devices"},
		{"a pipe", with(item{name: name + "/evil", kind: '6'}), "links or devices"},
		{"no program", func(w *world) { w.release("2.0.0", good("2.0.0")[1:]) }, "has no autopilot in it"},
		{"a program of another machine", func(w *world) {
			items := good("2.0.0")
			items[0].text = "\x7fELF of another machine"
			w.release("2.0.0", items)
		}, "does not run here"},
	}
	if !full() {
		tests = tests[:6]
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inShells(t, func(w *world) {
				w.release("1.0.0", good("1.0.0"))
				w.want(w.install(), 0)
				before := w.tree(w.home)
				w.release("2.0.0", good("2.0.0"))
				tt.spoil(w)
				got := w.install()
				w.want(got, 1, tt.want)
				if strings.ContainsAny(got.err, "\x1b\x00") {
					w.Errorf("it repeats control characters: %q", got.err)
				}
				if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
					w.Errorf("what was installed before has changed:\n%s", diff)
				}
				for path := range w.tree(w.root) {
					if filepath.Base(path) == "evil" {
						w.Errorf("%s was written", path)
					}
				}
			})
		})
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		before := w.tree(w.home)
		old := append(good("1.0.0"), item{name: archiveName("1.0.0") + "/man/man1/autopilot-old.1", text: "gone later", mode: 0o644})
		w.release("1.0.0", old)
		w.want(w.install(), 0)
		w.release("1.1.0", good("1.1.0"))
		w.want(w.install(), 0, "autopilot 1.1.0 is at ")
		after := w.tree(w.home)
		if _, ok := after[".local/share/man/man1/autopilot-old.1"]; ok {
			w.Error("a page that the new version does not have is left")
		}
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(good("1.1.0")[0].text))); !strings.HasSuffix(after[".local/bin/autopilot"], want) {
			w.Error("the program is not the new one")
		}
		w.want(w.install("--version", "1.0.0"), 0, "autopilot 1.0.0 is at ")
		// The copy that was installed removes itself too.
		w.want(w.run("--uninstall"), 0)
		if diff := cmp.Diff(before, w.tree(w.home)); diff != "" {
			w.Errorf("after uninstalling (-before +after):\n%s", diff)
		}
	})
}

func TestUpgradeUnderARunningProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	inShells(t, func(w *world) {
		for _, version := range []string{"1.0.0", "1.1.0"} {
			items := good(version)
			items[0].text = string(program)
			w.release(version, items)
		}
		w.env = []string{versionVar + "=1.0.0"}
		w.want(w.install("--version", "1.0.0"), 0)
		path := filepath.Join(w.home, ".local", "bin", "autopilot")
		running := exec.CommandContext(w.Context(), path, "repeat")
		running.Env = w.env
		in, err := running.StdinPipe()
		if err != nil {
			w.Fatal(err)
		}
		out, err := running.StdoutPipe()
		if err != nil {
			w.Fatal(err)
		}
		if err := running.Start(); err != nil {
			w.Fatal(err)
		}
		lines := bufio.NewReader(out)
		answers := func(text string) {
			w.Helper()
			if _, err := io.WriteString(in, text+"\n"); err != nil {
				w.Fatal(err)
			}
			if got, err := lines.ReadString('\n'); err != nil || got != text+"\n" {
				w.Fatalf("the running program answers %q, %v", got, err)
			}
		}
		answers("before")
		was, err := os.Stat(path)
		if err != nil {
			w.Fatal(err)
		}
		w.env = []string{versionVar + "=1.1.0"}
		w.want(w.install(), 0, "autopilot 1.1.0 is at ")
		answers("after")
		if is, err := os.Stat(path); err != nil || os.SameFile(was, is) {
			w.Errorf("the file of the running program was written into (%v)", err)
		}
		if err := in.Close(); err != nil {
			w.Fatal(err)
		}
		if err := running.Wait(); err != nil {
			w.Error(err)
		}
	})
}
