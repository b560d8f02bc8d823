package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/release"
)

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-version", "v1.2.3", "-out", "o", "-targets", "linux/arm64", "-packages", "deb", "-packager", "go run x@v1", "-url", "https://example.com/r/"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(o.Version, o.Out, o.Targets, o.Packages, o.Packager, o.URL)
	if want := "1.2.3 o [linux/arm64] [deb] [go run x@v1] https://example.com/r\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if o, err = parse([]string{"-version", "1.2.3", "-out", "o", "-packages", ""}, io.Discard); err != nil || len(o.Targets) != 4 || len(o.Packages) != 0 {
		t.Errorf("got %+v, %v; want four targets and no packages", o, err)
	}
	for want, args := range map[string][]string{
		"no version":           {"-out", "o"},
		"not a version":        {"-out", "o", "-version", "1.2"},
		"no folder":            {"-version", "1.2.3"},
		"no argument is taken": {"-version", "1.2.3", "-out", "o", "x"},
		"not one of linux":     {"-version", "1.2.3", "-out", "o", "-targets", "plan9/amd64"},
		"neither deb nor rpm":  {"-version", "1.2.3", "-out", "o", "-packages", "apk"},
		"-packager is empty":   {"-version", "1.2.3", "-out", "o", "-packager", " "},
		"plain http":           {"-version", "1.2.3", "-out", "o", "-url", "http://example.com"},
		"not a URL":            {"-version", "1.2.3", "-out", "o", "-url", "/srv/releases"},
		"not a URL that":       {"-version", "1.2.3", "-out", "o", "-url", "https://example.com/;id"},
	} {
		if _, err := parse(args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", args, err, want)
		}
	}
	if _, err := parse([]string{"-h"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

// files puts files into a new folder.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestArchive(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	make := func(backwards bool) []byte {
		dir := files(t, map[string]string{"program": "run me", "page": "read me"})
		entries := []entry{
			{Name: "man/man1/p.1", File: filepath.Join(dir, "page")},
			{Name: "p", File: filepath.Join(dir, "program"), Exec: true},
			{Name: "man/x", File: filepath.Join(dir, "page")},
		}
		if backwards {
			slices.Reverse(entries)
		}
		out := filepath.Join(dir, "out.tar.gz")
		if err := writeArchive(out, "top", at, entries); err != nil {
			t.Fatal(err)
		}
		if err := writeArchive(out, "top", at, entries); !errors.Is(err, os.ErrExist) {
			t.Errorf("an archive is written over: %v", err)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data := make(false)
	if !bytes.Equal(data, make(true)) {
		t.Error("another folder and order give other bytes")
	}
	got := list(t, data, at)
	want := []string{"755 top/", "755 top/man/", "755 top/man/man1/", "644 top/man/man1/p.1 read me", "644 top/man/x read me", "755 top/p run me"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if err := writeArchive(filepath.Join(t.TempDir(), "x"), "top", at, []entry{{Name: "a", File: filepath.Join(t.TempDir(), "missing")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// list is mode, name and content of all members, which all have to be root's and of a time.
func list(t *testing.T, data []byte, at time.Time) []string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !zip.ModTime.IsZero() || zip.Name != "" {
		t.Errorf("the gzip header has time %v and name %q", zip.ModTime, zip.Name)
	}
	var all []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(r, 64))
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(at) {
			t.Errorf("%s is of user %d, group %d and %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%o %s %s", h.Mode, h.Name, text)))
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a": "text", "b/a": "text"})
	for _, name := range []string{"a", "b/a"} {
		if err := writeGzip(filepath.Join(dir, name+".gz"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	one, errOne := sumOf(filepath.Join(dir, "a.gz"))
	two, errTwo := sumOf(filepath.Join(dir, "b", "a.gz"))
	if err := errors.Join(errOne, errTwo); err != nil || one != two {
		t.Errorf("%s and %s, %v; want the same", one, two, err)
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"b": "", "a": "abc"})
	got, err := writeSums(dir)
	// The sums of nothing and of "abc" stand in FIPS 180.
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS")); err != nil || string(data) != want {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// listed is what the go command prints for a program with two modules, one of which has a
// licence of its own for a folder.
func listed(dir string) string {
	line := func(f ...string) string { return strings.Join(f, "\t") + "\n" }
	return line("fmt", dir+"/go/src/fmt", stdlib, "", dir+"/go", "", "io") +
		line("io", dir+"/go/src/io", stdlib, "", dir+"/go", "", "") +
		line("example.com/b", dir+"/b", "example.com/b", "v2.0.0+incompatible", dir+"/b", "h1:b", "fmt") +
		line("example.com/A/x/y", dir+"/a/x/y", "example.com/A", "v1.0.0", dir+"/a", "h1:a", "example.com/b fmt") +
		line("autopilot/cmd/autopilot", dir+"/cmd", ourModule, "", dir, "", "example.com/A/x/y fmt autopilot/other") +
		line("autopilot/other", dir+"/other", ourModule, "", dir, "", "io")
}

func licences(t *testing.T) string {
	t.Helper()
	return files(t, map[string]string{
		"go/LICENSE": "of Go", "a/LICENSE": "of A\r\n", "a/x/LICENCE.txt": "of x", "a/x/license.go": "package x", "a/z/LICENSE": "unused",
		"a/x/y/f": "", "b/COPYING": "of A", "b/NOTICE": "names", "go/src/fmt/f": "", "go/src/io/f": "", "cmd/f": "", "other/f": "",
	})
}

func TestModulesAndNotices(t *testing.T) {
	t.Parallel()
	dir := licences(t)
	all, uses, err := readModules(listed(dir), "1.26.0")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, fmt.Sprint(m.Path, " ", m.Version, " ", m.Sum, " ", m.Uses))
	}
	want := []string{"example.com/A v1.0.0 h1:a [example.com/b stdlib]", "example.com/b v2.0.0+incompatible h1:b [stdlib]", "stdlib 1.26.0  []"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/A", "stdlib"}, uses); diff != "" {
		t.Errorf("the program uses (-want +got):\n%s", diff)
	}
	text, err := notices(all)
	if err != nil {
		t.Fatal(err)
	}
	rule := "\n" + strings.Repeat("-", 78) + "\n"
	wantText := "autopilot contains code of others. These are their licences and notices.\n" +
		rule + "example.com/A v1.0.0\nexample.com/b v2.0.0+incompatible\n\nof A\n" + rule + "example.com/A v1.0.0\n\nof x\n" +
		rule + "example.com/b v2.0.0+incompatible\n\nnames\n" + rule + "stdlib 1.26.0\n\nof Go\n"
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(dir, "go", "LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, err := notices(all); err == nil || !strings.Contains(err.Error(), "stdlib 1.26.0 has no licence") {
		t.Errorf("a module without a licence: %v", err)
	}
	if _, _, err := readModules("half a line\n", ""); err == nil {
		t.Error("what the go command does not print is read")
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	all, uses, err := readModules(listed(licences(t)), "1.26.0")
	if err != nil {
		t.Fatal(err)
	}
	b := bill{Version: "1.2.3+x", At: time.Unix(1_700_000_000, 0).UTC(), Target: target{"linux", "arm64"}, Modules: all, Uses: uses}
	dir := files(t, map[string]string{"program": "abc"})
	for _, name := range []string{"1", "2"} {
		if err := b.write(filepath.Join(dir, name), filepath.Join(dir, "program")); err != nil {
			t.Fatal(err)
		}
	}
	one, errOne := os.ReadFile(filepath.Join(dir, "1"))
	two, errTwo := os.ReadFile(filepath.Join(dir, "2"))
	if errOne != nil || errTwo != nil || !bytes.Equal(one, two) {
		t.Error("it is not the same the second time")
	}
	checkBill(t, one)
	var got cdxBill
	if err := json.Unmarshal(one, &got); err != nil {
		t.Fatal(err)
	}
	refs := map[string]string{"example.com/A": "pkg:golang/example.com/a@v1.0.0", "example.com/b": "pkg:golang/example.com/b@v2.0.0%2Bincompatible", "stdlib": "pkg:golang/stdlib@1.26.0"}
	for _, c := range got.Components {
		if c.PURL != refs[c.Name] || c.Ref != c.PURL {
			t.Errorf("%s is %s and %s, want %s", c.Name, c.PURL, c.Ref, refs[c.Name])
		}
		delete(refs, c.Name)
	}
	if len(refs) > 0 {
		t.Errorf("missing: %v", refs)
	}
	program := "pkg:generic/autopilot@1.2.3%2Bx?arch=arm64&os=linux"
	want := []cdxDependency{
		{Ref: program, DependsOn: []string{"pkg:golang/example.com/a@v1.0.0", "pkg:golang/stdlib@1.26.0"}},
		{Ref: "pkg:golang/example.com/a@v1.0.0", DependsOn: []string{"pkg:golang/example.com/b@v2.0.0%2Bincompatible", "pkg:golang/stdlib@1.26.0"}},
		{Ref: "pkg:golang/example.com/b@v2.0.0%2Bincompatible", DependsOn: []string{"pkg:golang/stdlib@1.26.0"}},
		{Ref: "pkg:golang/stdlib@1.26.0"},
	}
	if diff := cmp.Diff(want, got.Dependencies); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	b.Modules[0].Version = "v1.0.1"
	if b.cdx("x").SerialNumber == got.SerialNumber {
		t.Error("another content has the same serial number")
	}
}

// checkBill checks what the schema of CycloneDX 1.6 requires of the parts that are used.
func checkBill(t *testing.T, data []byte) {
	t.Helper()
	var b map[string]any
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	matches := func(what string, value any, pattern string) {
		t.Helper()
		if s, ok := value.(string); !ok || !regexp.MustCompile(pattern).MatchString(s) {
			t.Errorf("%s is %#v, want a text like %s", what, value, pattern)
		}
	}
	matches("bomFormat", b["bomFormat"], `^CycloneDX$`)
	matches("specVersion", b["specVersion"], `^1\.6$`)
	matches("serialNumber", b["serialNumber"], `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	if n, ok := b["version"].(float64); !ok || n < 1 {
		t.Errorf("version is %v", b["version"])
	}
	meta, _ := b["metadata"].(map[string]any)
	matches("timestamp", meta["timestamp"], `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	program, _ := meta["component"].(map[string]any)
	hashes, _ := program["hashes"].([]any)
	for _, h := range hashes {
		matches("hash", h.(map[string]any)["alg"], `^SHA-256$`)
		matches("hash", h.(map[string]any)["content"], `^[0-9a-f]{64}$`)
	}
	components, _ := b["components"].([]any)
	if len(hashes) != 1 || len(components) == 0 {
		t.Errorf("%d sums of the program and %d components", len(hashes), len(components))
	}
	known := map[string]bool{}
	for _, c := range append(components, any(program)) {
		c, _ := c.(map[string]any)
		matches("type", c["type"], `^(application|library)$`)
		matches("name", c["name"], `.`)
		matches("purl", c["purl"], `^pkg:(golang|generic)/[^ @]+@[^ @+]+$`)
		ref, _ := c["bom-ref"].(string)
		if ref == "" || known[ref] {
			t.Errorf("bom-ref %q is empty or there twice", ref)
		}
		known[ref] = true
	}
	dependencies, _ := b["dependencies"].([]any)
	for _, d := range dependencies {
		d := d.(map[string]any)
		on, _ := d["dependsOn"].([]any)
		for _, ref := range append(on, d["ref"]) {
			if ref, _ := ref.(string); !known[ref] {
				t.Errorf("a dependency names %q, which is not there", ref)
			}
		}
	}
	if len(dependencies) != len(known) {
		t.Errorf("%d of %d have their dependencies", len(dependencies), len(known))
	}
}

func TestBillIsOfTheBinary(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := (bill{}).check(self); err == nil || !strings.Contains(err.Error(), "the list of packages does not") {
		t.Errorf("a module that is missing in the list: %v", err)
	}
	if err := (bill{Modules: []module{{Path: "example.com/x", Version: "v1.0.0"}}}).check(self); err == nil || !strings.Contains(err.Error(), "example.com/x") {
		t.Errorf("a module that is not in the binary: %v", err)
	}
}

func TestURLOfTheInstaller(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := withURL(string(script), "https://example.com/r")
	if err != nil || strings.Count(got, "\ndefault_url='https://example.com/r'\n") != 1 {
		t.Errorf("%v; the script is %.300s", err, got)
	}
	if same, err := withURL(string(script), ""); err != nil || same != string(script) {
		t.Errorf("without a URL the script is another, %v", err)
	}
	if _, err := withURL("echo", ""); err == nil {
		t.Error("a script without the line is taken")
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	o, err := findOrigin(t.Context(), "1700000000")
	if err != nil || !o.Time.Equal(time.Unix(1_700_000_000, 0)) || o.Time.Location() != time.UTC {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, epoch := range []string{"yesterday", "-1", "1.5"} {
		if _, err := findOrigin(t.Context(), epoch); err == nil {
			t.Errorf("SOURCE_DATE_EPOCH=%s is taken", epoch)
		}
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	publish := func(version, text string) {
		t.Helper()
		v, err := release.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(out, ".making-1")
		for name, text := range map[string]string{"release/file": text, "install.sh": "script of " + version} {
			path := filepath.Join(work, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		b := builder{options: options{Version: v, Out: out}, work: work, folder: filepath.Join(work, "release")}
		if err := errors.Join(b.publish(), os.RemoveAll(work)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, text string) {
		t.Helper()
		if data, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(data) != text {
			t.Errorf("%s has %q, %v; want %q", name, data, err, text)
		}
	}
	publish("1.2.3", "first")
	publish("1.2.3", "second")
	want("v1.2.3/file", "second")
	publish("1.3.0-rc.1", "candidate")
	want("v1.3.0-rc.1/file", "candidate")
	want("latest.txt", "1.2.3\n")
	want("install.sh", "script of 1.2.3")
}
