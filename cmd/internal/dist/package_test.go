package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// packageVar holds the command that makes packages; without it these tests are skipped.
const packageVar = "AUTOPILOT_PACKAGE_TEST"

// must runs a command in a folder and returns what it prints.
func must(t *testing.T, dir string, environ []string, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), environ...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// copyTree makes a repository with all sources at a commit of a known time.
func copyTree(t *testing.T, to string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(must(t, root, nil, "git", "ls-files", "-z", "-co", "--exclude-standard"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if name == "" || errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	date := []string{"GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	must(t, to, date, "git", "init", "-q")
	must(t, to, date, "git", "add", "-A")
	must(t, to, date, "git", "-c", "user.name=someone", "-c", "user.email=someone@example.com", "commit", "-qm", "all")
}

// tree is all there is below a folder, with modes and sums, without what the package tools
// keep for themselves.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if name == "var/lib" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// made is a release that was built for this test.
type made struct {
	out, folder, commit string
}

func TestPackage(t *testing.T) {
	packager := os.Getenv(packageVar)
	if packager == "" {
		t.Skip("part of 'make package-test'")
	}
	if runtime.GOOS != "linux" {
		t.Fatal("packages are tested on linux")
	}
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(work, "first"), filepath.Join(work, "the second")
	copyTree(t, first)
	must(t, work, nil, "git", "clone", "-q", first, second)
	tool := filepath.Join(work, "dist")
	must(t, first, []string{"GOFLAGS=-buildvcs=false"}, "go", "build", "-trimpath", "-ldflags=-s", "-o", tool, "./cmd/internal/dist")
	build := func(dir string, environ []string, mask string) {
		t.Helper()
		args := []string{"-c", "umask " + mask + ` && exec "$@"`, "sh", tool, "-version", "1.2.3", "-out", filepath.Join(dir, ".cache", "dist"), "-targets", "linux/" + runtime.GOARCH, "-packager", packager}
		must(t, dir, environ, "sh", args...)
	}
	build(first, nil, "022")
	build(second, []string{"TZ=Asia/Tokyo", "LC_ALL=C", "USER=someone"}, "077")
	m := made{out: filepath.Join(first, ".cache", "dist"), commit: strings.TrimSpace(must(t, first, nil, "git", "rev-parse", "HEAD"))}
	m.folder = filepath.Join(m.out, "v1.2.3")

	other := filepath.Join(second, ".cache", "dist", "v1.2.3")
	one, two := must(t, m.folder, nil, "sha256sum", "--", "SHA256SUMS"), must(t, other, nil, "sha256sum", "--", "SHA256SUMS")
	if one != two {
		t.Errorf("two folders, two releases:\n%s\n%s", read(t, m.folder, "SHA256SUMS"), read(t, other, "SHA256SUMS"))
	}
	for _, folder := range []string{m.folder, other} {
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 5 {
			t.Errorf("%s has %v, %v; want an archive, its bill, two packages and sums", folder, files, err)
		}
		must(t, folder, nil, "sha256sum", "-c", "--strict", "SHA256SUMS")
	}
	t.Run("archive", m.testArchive)
	t.Run("install.sh", m.testInstaller)
	t.Run("deb", m.testDeb)
	t.Run("rpm", m.testRPM)
	t.Run("scripts", func(t *testing.T) {
		must(t, first, nil, "shellcheck", "scripts/install.sh", "scripts/tools.sh", "scripts/claude-cli.sh")
	})
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (m made) testArchive(t *testing.T) {
	name := "autopilot_1.2.3_linux_" + runtime.GOARCH
	names := list(t, read(t, m.folder, name+".tar.gz"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	all := strings.Join(names, "\n")
	for _, want := range []string{
		"755 " + name + "/autopilot ", "755 " + name + "/install.sh ", "644 " + name + "/LICENSE ", "644 " + name + "/README.md ",
		"644 " + name + "/CHANGELOG.md ", "644 " + name + "/NOTICES ", "644 " + name + "/man/man1/autopilot.1 ", "644 " + name + "/man/man1/autopilot-run.1 ",
		"644 " + name + "/completions/autopilot.bash ", "644 " + name + "/completions/_autopilot ", "644 " + name + "/completions/autopilot.fish ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the archive has no %s", want)
		}
	}
	dir := t.TempDir()
	must(t, dir, nil, "tar", "-xzf", filepath.Join(m.folder, name+".tar.gz"))
	program := filepath.Join(dir, name, "autopilot")
	var got map[string]string
	if err := json.Unmarshal([]byte(must(t, dir, nil, program, "version", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"version": "1.2.3", "commit": m.commit, "date": "2026-01-02T03:04:05Z", "go": runtime.Version(), "os": "linux", "arch": runtime.GOARCH}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("version --json (-want +got):\n%s", diff)
	}
	if text := must(t, dir, nil, program, "upgrade", "--check", "--from", m.out); text != "autopilot 1.2.3 is the newest version\n" {
		t.Errorf("upgrade --check says %q", text)
	}
	data := read(t, program)
	for _, path := range []string{filepath.Dir(filepath.Dir(m.out)), strings.TrimSpace(must(t, dir, nil, "go", "env", "GOMODCACHE"))} {
		if bytes.Contains(data, []byte(path)) {
			t.Errorf("the binary has the path %s in it", path)
		}
	}
	bill := read(t, m.folder, name+".cdx.json")
	checkBill(t, bill)
	if sum := fmt.Sprintf("%x", sha256.Sum256(data)); !bytes.Contains(bill, []byte(sum)) {
		t.Error("the bill of materials is not that of the binary")
	}
	must(t, filepath.Join(dir, name, "completions"), nil, "bash", "-n", "autopilot.bash")
	lint(t, filepath.Join(dir, name, "man", "man1"))
}

// lint has every manual page of a folder, compressed or not, read by mandoc.
func lint(t *testing.T, folder string) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(folder, "*.1*"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d manual pages in %s, %v", len(pages), folder, err)
	}
	for _, p := range pages {
		data := read(t, p)
		if strings.HasSuffix(p, ".gz") {
			zip, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(zip); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), "mandoc", "-Tlint", "-Werror")
		c.Stdin = bytes.NewReader(data)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p, err, out)
		}
	}
}

func (m made) testInstaller(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home, "AUTOPILOT_RELEASE_URL=" + m.out}
	before := tree(t, home)
	must(t, home, environ, "dash", filepath.Join(m.out, "install.sh"))
	program := filepath.Join(home, ".local", "bin", "autopilot")
	if text := must(t, home, environ, program, "version"); text != "autopilot 1.2.3\n" {
		t.Errorf("it says %q", text)
	}
	installed := filepath.Join(home, ".local", "share", "autopilot", "install.sh")
	c := exec.CommandContext(t.Context(), program, "upgrade")
	c.Env = environ
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "to upgrade: sh "+installed+" --prefix "+home+"/.local --from "+m.out) {
		t.Errorf("upgrade says %q, %v", out, err)
	}
	must(t, home, environ, "dash", installed, "--uninstall")
	if diff := cmp.Diff(before, tree(t, home)); diff != "" {
		t.Errorf("after uninstalling (-before +after):\n%s", diff)
	}
}

// scratch is a folder that stands for the root of a system.
func scratch(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"usr/bin/other", "usr/share/man/man1/other", "usr/share/doc/other/copyright", "usr/share/licenses/other/LICENSE", "var/lib/dpkg/status"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// asRoot runs a command as root, or as what looks like root to it.
func asRoot(t *testing.T, name string, args ...string) string {
	t.Helper()
	words := append([]string{name}, args...)
	if os.Geteuid() != 0 {
		words = append([]string{"unshare", "--map-root-user"}, words...)
	}
	return must(t, "", []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "LC_ALL=C"}, words[0], words[1:]...)
}

// cycle installs a package, looks at what it brought, and removes it.
func cycle(t *testing.T, install, remove func(root string), files ...string) {
	t.Helper()
	root := scratch(t)
	before := tree(t, root)
	install(root)
	for _, name := range append(files, "usr/share/man/man1/autopilot-run.1.gz", "usr/share/bash-completion/completions/autopilot",
		"usr/share/fish/vendor_completions.d/autopilot.fish", "usr/share/doc/autopilot/README.md") {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != 0o644 || info.Size() == 0 {
			t.Errorf("%s: %v, %v; want a file with mode 644", name, info, err)
		}
	}
	if text := must(t, root, nil, filepath.Join(root, "usr/bin/autopilot"), "version"); text != "autopilot 1.2.3\n" {
		t.Errorf("it says %q", text)
	}
	lint(t, filepath.Join(root, "usr/share/man/man1"))
	remove(root)
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("after removing (-before +after):\n%s", diff)
	}
}

func (m made) testDeb(t *testing.T) {
	file := filepath.Join(m.folder, "autopilot_1.2.3-1_"+runtime.GOARCH+".deb")
	about := must(t, "", nil, "dpkg-deb", "-I", file)
	for _, want := range []string{" Package: autopilot\n", " Version: 1.2.3-1\n", " Architecture: " + runtime.GOARCH + "\n", " Recommends: git\n", " Maintainer: ", " Description: "} {
		if !strings.Contains(about, want) {
			t.Errorf("dpkg-deb -I says\n%s\nwant %q in it", about, want)
		}
	}
	for _, script := range []string{"preinst", "postinst", "prerm", "postrm", "conffiles"} {
		if strings.Contains(about, script) {
			t.Errorf("the package has a %s", script)
		}
	}
	if listed := must(t, "", nil, "dpkg-deb", "-c", file); strings.Count(listed, "\n") != strings.Count(listed, " root/root ") {
		t.Errorf("not all is root's:\n%s", listed)
	}
	dpkg := func(action, what string) func(string) {
		return func(root string) { asRoot(t, "dpkg", "--root="+root, "--log=/dev/null", action, what) }
	}
	cycle(t, dpkg("--install", file), dpkg("--purge", "autopilot"),
		"usr/share/zsh/vendor-completions/_autopilot", "usr/share/doc/autopilot/copyright", "usr/share/doc/autopilot/changelog.gz")
}

func (m made) testRPM(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	file := filepath.Join(m.folder, "autopilot-1.2.3-1."+arch+".rpm")
	got := must(t, "", nil, "rpm", "-qp", "--nosignature", "--queryformat", "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDTIME} %{BUILDHOST}\n", file)
	if want := "autopilot 1.2.3 1 " + arch + " MIT 1767323045 localhost\n"; got != want {
		t.Errorf("rpm -qp says %q, want %q", got, want)
	}
	if scripts := must(t, "", nil, "rpm", "-qp", "--nosignature", "--scripts", "--triggers", file); strings.TrimSpace(scripts) != "" {
		t.Errorf("the package has scripts:\n%s", scripts)
	}
	must(t, "", nil, "rpm", "-K", "--nosignature", file)
	rpm := func(args ...string) func(string) {
		return func(root string) {
			asRoot(t, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm", "--force-debian"}, args...)...)
		}
	}
	cycle(t, rpm("--install", "--nosignature", file), rpm("--erase", "autopilot"),
		"usr/share/zsh/site-functions/_autopilot", "usr/share/licenses/autopilot/LICENSE", "usr/share/licenses/autopilot/NOTICES", "usr/share/doc/autopilot/CHANGELOG.md")
}
