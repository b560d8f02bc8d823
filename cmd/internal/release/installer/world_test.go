package installer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	fullVar    = "AUTOPILOT_PACKAGE_TEST" // set by 'make package-test'
	versionVar = "INSTALLER_TEST_VERSION" // makes the test binary an autopilot of that version
)

// TestMain lets the test binary be the program that is installed: it prints its version, or
// repeats lines until its input ends.
func TestMain(m *testing.M) {
	version := os.Getenv(versionVar)
	switch {
	case version == "" || len(os.Args) < 2 || os.Args[1] != "version" && os.Args[1] != "repeat":
		os.Exit(m.Run())
	case os.Args[1] == "version":
		fmt.Println("autopilot", version)
		os.Exit(0)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(in.Text())
	}
	os.Exit(0)
}

// full reports whether everything is tested, and nothing may be missing.
func full() bool { return os.Getenv(fullVar) != "" }

// need is the path of a tool.
func need(t *testing.T, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Fatalf("%s is missing; 'make package-test' installs it where it can", tool)
	}
	return path
}

// shells are the shells to run the script in.
func shells(t *testing.T) [][]string {
	t.Helper()
	if !full() {
		return [][]string{{need(t, "sh")}}
	}
	return [][]string{{need(t, "dash")}, {need(t, "busybox"), "sh"}, {need(t, "bash"), "--posix"}}
}

// inShells runs a test in each shell.
func inShells(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, shell := range shells(t) {
		t.Run(filepath.Base(shell[0]), func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, shell))
		})
	}
}

// world is a home, a folder of releases and a shell.
type world struct {
	*testing.T
	shell  []string
	script string
	root   string // all of it
	home   string
	site   string
	path   string
	env    []string
}

func newWorld(t *testing.T, shell []string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, shell: shell, root: root, home: filepath.Join(root, "a home"), site: filepath.Join(root, "releases"), path: os.Getenv("PATH")}
	for _, dir := range []string{w.home, w.site, filepath.Join(root, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if w.script, err = filepath.Abs(filepath.Join("..", "..", "..", "..", "scripts", "install.sh")); err != nil {
		t.Fatal(err)
	}
	return w
}

// ran is what the script said and how it ended.
type ran struct {
	out, err string
	code     int
}

// install runs the script with the folder of releases, below the home.
func (w *world) install(args ...string) ran {
	w.Helper()
	return w.run(append([]string{"--from", w.site}, args...)...)
}

// run runs the script, and sees to it that it leaves no temporary file.
func (w *world) run(args ...string) ran {
	w.Helper()
	got := w.start(w.command(args...))
	w.noLitter()
	return got
}

func (w *world) command(args ...string) *exec.Cmd {
	words := append(append(w.shell[1:len(w.shell):len(w.shell)], w.script), args...)
	c := exec.CommandContext(w.Context(), w.shell[0], words...)
	c.Dir = w.root
	c.Env = append([]string{"PATH=" + w.path, "HOME=" + w.home, "TMPDIR=" + filepath.Join(w.root, "tmp")}, w.env...)
	return c
}

func (w *world) start(c *exec.Cmd) ran {
	w.Helper()
	var out, words bytes.Buffer
	c.Stdout, c.Stderr = &out, &words
	err := c.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		w.Fatal(err)
	}
	return ran{out.String(), words.String(), c.ProcessState.ExitCode()}
}

func (w *world) noLitter() {
	w.Helper()
	for name := range w.tree(w.root) {
		if strings.HasPrefix(name, "tmp/") || strings.HasPrefix(filepath.Base(name), ".autopilot.") {
			w.Errorf("%s is left", name)
		}
	}
}

// want checks how a run ended and what it said.
func (w *world) want(got ran, code int, words ...string) {
	w.Helper()
	if got.code != code {
		w.Errorf("exit status %d, want %d; it said:\n%s", got.code, code, got.err)
	}
	for _, word := range words {
		if !strings.Contains(got.err, word) {
			w.Errorf("it said:\n%swant %q in it", got.err, word)
		}
	}
	if got.out != "" {
		w.Errorf("it printed %q", got.out)
	}
}

// tree is all there is below a folder: mode, and the sum of a file or the target of a link.
func (w *world) tree(root string) map[string]string {
	w.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[name] += fmt.Sprintf(" %x", sha256.Sum256(data))
		} else if link, err := os.Readlink(path); err == nil {
			all[name] += " " + link
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// put writes a file below the world's folder.
func (w *world) put(name, text string, mode os.FileMode) {
	w.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.Fatal(err)
	}
}

// item is a member of an archive. Without a type it is a file.
type item struct {
	name, text, link string
	mode             int64
	kind             byte
}

// archiveName is the archive of a version for this machine.
func archiveName(version string) string {
	return fmt.Sprintf("autopilot_%s_%s_%s", version, runtime.GOOS, runtime.GOARCH)
}

// good is what the archive of a version has in it.
func good(version string) []item {
	top := archiveName(version) + "/"
	return []item{
		{name: top + "autopilot", text: "#!/bin/sh\necho autopilot " + version + "\n", mode: 0o755},
		{name: top + "install.sh", text: "# of " + version, mode: 0o755},
		{name: top + "LICENSE", text: "licence", mode: 0o644},
		{name: top + "README.md", text: "read me of " + version, mode: 0o644},
		{name: top + "man/man1/autopilot.1", text: "page", mode: 0o644},
		{name: top + "man/man1/autopilot-run.1", text: "page of run", mode: 0o644},
		{name: top + "completions/autopilot.bash", text: "bash", mode: 0o600},
		{name: top + "completions/_autopilot", text: "zsh", mode: 0o644},
		{name: top + "completions/autopilot.fish", text: "fish", mode: 0o644},
	}
}

// pack makes an archive.
func (w *world) pack(items []item) []byte {
	w.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)
	for _, i := range items {
		h := tar.Header{Name: i.name, Mode: i.mode, Size: int64(len(i.text)), Linkname: i.link, Typeflag: i.kind, Format: tar.FormatGNU}
		if i.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := out.WriteHeader(&h); err != nil {
			w.Fatal(err)
		}
		if _, err := out.Write([]byte(i.text)); err != nil {
			w.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		w.Fatal(err)
	}
	return b.Bytes()
}

// release puts a version into the folder of releases and makes it the newest.
func (w *world) release(version string, items []item) {
	w.Helper()
	data := w.pack(items)
	folder := "releases/v" + version + "/"
	w.put(folder+archiveName(version)+".tar.gz", string(data), 0o644)
	w.put(folder+"SHA256SUMS", fmt.Sprintf("%064d  other.tar.gz\n%x  %s.tar.gz\n", 0, sha256.Sum256(data), archiveName(version)), 0o644)
	w.put("releases/latest.txt", version+"\n", 0o644)
}
