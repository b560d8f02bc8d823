package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/release"
)

const (
	program   = "./cmd/autopilot"
	ourModule = "autopilot"
	stampPath = "autopilot/cmd/internal/release/stamp"
)

// builder is one release in the making.
type builder struct {
	options
	origin
	work   string // for what does not become part of it
	folder string // of the version, in the making
}

// build makes the release and returns its sums. The process has to be in the module's
// folder.
func build(ctx context.Context, o options) (sums string, err error) {
	from, err := findOrigin(ctx, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(o.Out, ".making-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b := builder{options: o, origin: from, work: work, folder: filepath.Join(work, "release")}
	if err := os.Mkdir(b.folder, 0o755); err != nil {
		return "", err
	}
	if err := b.shared(ctx); err != nil {
		return "", err
	}
	for _, t := range o.Targets {
		if err := b.one(ctx, t); err != nil {
			return "", fmt.Errorf("build for %s: %w", t, err)
		}
	}
	if sums, err = writeSums(b.folder); err != nil {
		return "", err
	}
	return sums, b.publish()
}

// environ is what the go command has to be told for a target, with everything that could
// make a difference from one machine to the next.
func environ(t target) []string {
	return []string{
		"GOOS=" + t.OS, "GOARCH=" + t.Arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-trimpath -buildvcs=false -mod=readonly", "GOEXPERIMENT=", "GOWORK=off",
	}
}

// shared makes what is the same for all targets: manual pages, completions, install.sh.
func (b builder) shared(ctx context.Context) error {
	native := []string{"GOOS=", "GOARCH=", "GOFLAGS=-buildvcs=false -trimpath"}
	if _, err := output(ctx, native, "go", "run", "./cmd/internal/man", filepath.Join(b.work, "man")); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(b.work, "man", "*.1"))
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := writeGzip(p+".gz", p); err != nil {
			return err
		}
	}
	if err := writeGzip(filepath.Join(b.work, "changelog.gz"), "CHANGELOG.md"); err != nil {
		return err
	}
	root := cli.Root(outside.Stdio{})
	for name, write := range map[string]func(string) error{
		"autopilot.bash": func(f string) error { return root.GenBashCompletionFileV2(f, true) },
		"_autopilot":     root.GenZshCompletionFile,
		"autopilot.fish": func(f string) error { return root.GenFishCompletionFile(f, true) },
	} {
		if err := write(filepath.Join(b.work, name)); err != nil {
			return err
		}
	}
	script, err := os.ReadFile(filepath.Join("scripts", "install.sh"))
	if err != nil {
		return err
	}
	text, err := withURL(string(script), b.URL)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.work, "install.sh"), []byte(text), 0o755)
}

// withURL is install.sh with the URL that it asks when nobody names another.
func withURL(script, url string) (string, error) {
	const line = "\ndefault_url=''\n"
	if strings.Count(script, line) != 1 {
		return "", errors.New("internal error: install.sh has no line for the default URL")
	}
	return strings.Replace(script, line, "\ndefault_url='"+url+"'\n", 1), nil
}

// one makes all there is for a target.
func (b builder) one(ctx context.Context, t target) error {
	name := fmt.Sprintf("autopilot_%s_%s_%s", b.Version, t.OS, t.Arch)
	stage := filepath.Join(b.work, t.OS+"_"+t.Arch)
	if err := os.Mkdir(stage, 0o755); err != nil {
		return err
	}
	binary := filepath.Join(stage, "autopilot")
	if _, err := output(ctx, environ(t), "go", "build", "-ldflags", b.ldflags(t), "-o", binary, program); err != nil {
		return err
	}
	modules, uses, err := findModules(ctx, t)
	if err != nil {
		return err
	}
	text, err := notices(modules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage, "NOTICES"), []byte(text), 0o644); err != nil {
		return err
	}
	bill := bill{Version: b.Version.String(), At: b.Time, Target: t, Modules: modules, Uses: uses}
	if err := bill.check(binary); err != nil {
		return err
	}
	if err := bill.write(filepath.Join(b.folder, name+".cdx.json"), binary); err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(b.folder, name+".tar.gz"), name, b.Time, b.entries(stage)); err != nil {
		return err
	}
	if t.OS != "linux" {
		return nil
	}
	return b.packages(ctx, t, stage)
}

// ldflags stamps the binary. The build ID is fixed and not empty: the UUID of a binary for
// macOS comes from it, and newer systems start none without.
func (b builder) ldflags(t target) string {
	return fmt.Sprintf("-s -w -buildid=autopilot/%[2]s/%[3]s/%[6]s -X %[1]s.version=%[2]s -X %[1]s.commit=%[3]s -X %[1]s.date=%[4]s -X %[1]s.base=%[5]s",
		stampPath, b.Version, b.Commit, b.Time.Format(time.RFC3339), b.URL, t)
}

// entries are the files of an archive.
func (b builder) entries(stage string) []entry {
	all := []entry{
		{Name: "autopilot", File: filepath.Join(stage, "autopilot"), Exec: true},
		{Name: "install.sh", File: filepath.Join(b.work, "install.sh"), Exec: true},
		{Name: "NOTICES", File: filepath.Join(stage, "NOTICES")},
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		all = append(all, entry{Name: name, File: name})
	}
	for _, name := range []string{"autopilot.bash", "_autopilot", "autopilot.fish"} {
		all = append(all, entry{Name: "completions/" + name, File: filepath.Join(b.work, name)})
	}
	pages, _ := filepath.Glob(filepath.Join(b.work, "man", "*.1")) // the pattern is good
	for _, p := range pages {
		all = append(all, entry{Name: "man/man1/" + filepath.Base(p), File: p})
	}
	return all
}

// packages makes the packages for a target. The program that makes them takes all times
// from SOURCE_DATE_EPOCH.
func (b builder) packages(ctx context.Context, t target, stage string) error {
	if len(b.Packages) == 0 {
		return nil
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	others, err := os.ReadFile(filepath.Join(stage, "NOTICES"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage, "copyright"), append(append(licence, '\n'), others...), 0o644); err != nil {
		return err
	}
	env := []string{
		"GOOS=", "GOARCH=", "GOFLAGS=", "PACKAGE_VERSION=" + b.Version.String(), "PACKAGE_ARCH=" + t.Arch,
		"PACKAGE_STAGE=" + stage, "PACKAGE_SHARED=" + b.work, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.Time.Unix()),
	}
	for _, kind := range b.Packages {
		args := append(b.Packager[1:len(b.Packager):len(b.Packager)], "package", "-f", filepath.Join("scripts", "nfpm.yaml"), "-p", kind, "-t", b.folder+"/")
		if _, err := output(ctx, env, b.Packager[0], args...); err != nil {
			return err
		}
	}
	return nil
}

// publish puts what was made where it belongs.
func (b builder) publish() error {
	place := filepath.Join(b.Out, "v"+b.Version.String())
	if err := os.Rename(place, filepath.Join(b.work, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(b.folder, place); err != nil {
		return err
	}
	if b.Version.Pre != "" {
		return nil
	}
	if err := os.Rename(filepath.Join(b.work, "install.sh"), filepath.Join(b.Out, "install.sh")); err != nil {
		return err
	}
	latest := filepath.Join(b.work, release.LatestName)
	if err := os.WriteFile(latest, []byte(b.Version.String()+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(latest, filepath.Join(b.Out, release.LatestName))
}
