package stamp

import (
	"runtime"
	"runtime/debug"
)

// The linker writes these: -X autopilot/cmd/internal/release/stamp.version=1.2.3. That
// works for variables alone. Nothing in the program changes them.
var (
	version string // without a leading v
	commit  string // in full, with "-dirty" when the tree had changes
	date    string // of the commit, RFC 3339 in UTC
	base    string // where releases are, for upgrade --check
)

// Build is what a binary knows of how it was built. Commit and Date are empty where
// nobody stamped them.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"` // of the commit, not of the day the binary was built: building again gives the same bytes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Of is the build of the running program.
func Of() Build {
	b := Build{Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		return b.with(info)
	}
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

// with fills what was not stamped from what the toolchain noted.
func (b Build) with(info *debug.BuildInfo) Build {
	noted := map[string]string{}
	for _, s := range info.Settings {
		noted[s.Key] = s.Value
	}
	if b.Commit == "" {
		b.Commit = noted["vcs.revision"]
		if b.Commit != "" && noted["vcs.modified"] == "true" {
			b.Commit += "-dirty"
		}
	}
	if b.Date == "" {
		b.Date = noted["vcs.time"]
	}
	switch v := info.Main.Version; {
	case b.Version != "":
	case v != "" && v != "(devel)":
		b.Version = v
	case len(noted["vcs.revision"]) >= 12:
		b.Version = "devel-" + noted["vcs.revision"][:12]
	default:
		b.Version = "devel"
	}
	return b
}

// Base is the folder or URL below which releases are, as it was known when this binary
// was built, or nothing.
func Base() string { return base }
