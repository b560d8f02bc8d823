package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/release"
)

// target is a system that is built for.
type target struct{ OS, Arch string }

func (t target) String() string { return t.OS + "/" + t.Arch }

// options say what is built.
type options struct {
	Version  release.Version
	Out      string // the folder that the release comes into
	Targets  []target
	Packages []string // deb, rpm
	Packager []string // the command that makes packages
	URL      string   // where releases will be; may be empty
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(outside.ExitUsage)
	}
	sums, err := build(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
	fmt.Print(sums)
}

// parse reads the command line.
func parse(args []string, messages io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("dist", flag.ContinueOnError)
	f.SetOutput(messages)
	version := f.String("version", "", "version of the release, such as 1.2.3")
	targets := f.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems to build for")
	packages := f.String("packages", "deb,rpm", "packages to make for linux; may be empty")
	packager := f.String("packager", "nfpm", "command that makes packages")
	f.StringVar(&o.Out, "out", "", "folder for the release")
	f.StringVar(&o.URL, "url", "", "URL below which releases will be; it becomes the default of install.sh and of 'upgrade --check'")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	v, err := release.ParseVersion(*version)
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("no argument is taken, got %q", f.Arg(0))
	case *version == "":
		return o, errors.New("no version is given; want one such as 1.2.3")
	case err != nil:
		return o, fmt.Errorf("-version %q: %w", *version, err)
	case o.Out == "":
		return o, errors.New("no folder is given for the release: -out")
	}
	o.Version = v
	if o.URL != "" {
		if s, err := release.ParseSource(o.URL); err != nil {
			return o, fmt.Errorf("-url: %w", err)
		} else if o.URL = s.String(); !plainURL(o.URL) {
			return o, fmt.Errorf("-url %q: not a URL that a shell and the linker take as it is", o.URL)
		}
	}
	if o.Targets, err = parseTargets(*targets); err != nil {
		return o, err
	}
	for p := range strings.SplitSeq(*packages, ",") {
		if p != "" && p != "deb" && p != "rpm" {
			return o, fmt.Errorf("-packages: %q is neither deb nor rpm", p)
		}
		if p != "" {
			o.Packages = append(o.Packages, p)
		}
	}
	if o.Packager = strings.Fields(*packager); len(o.Packages) > 0 && len(o.Packager) == 0 {
		return o, errors.New("-packager is empty")
	}
	return o, nil
}

// plainURL reports whether text is a URL made of characters that install.sh takes.
func plainURL(text string) bool {
	odd := strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune("./:_~%+,=[]-", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return odd < 0 && strings.Contains(text, "://")
}

func parseTargets(text string) ([]target, error) {
	var all []target
	for word := range strings.SplitSeq(text, ",") {
		system, arch, _ := strings.Cut(word, "/")
		if !slices.Contains([]string{"linux", "darwin"}, system) || !slices.Contains([]string{"amd64", "arm64"}, arch) {
			return nil, fmt.Errorf("-targets: %q is not one of linux and darwin with amd64 or arm64", word)
		}
		all = append(all, target{system, arch})
	}
	return all, nil
}
