package stamp

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWith(t *testing.T) {
	t.Parallel()
	noted := func(version string, kv ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(kv); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return info
	}
	const revision, when = "0123456789abcdef", "2026-01-02T03:04:05Z"
	tests := []struct {
		name    string
		stamped Build
		info    *debug.BuildInfo
		want    Build
	}{
		{"nothing is known", Build{}, noted("(devel)"), Build{Version: "devel"}},
		{
			"of a work tree",
			Build{},
			noted("", "vcs.revision", revision, "vcs.time", when, "vcs.modified", "true"),
			Build{Version: "devel-0123456789ab", Commit: revision + "-dirty", Date: when},
		},
		{
			"installed as a module",
			Build{},
			noted("v1.2.3", "vcs.revision", revision, "vcs.modified", "false"),
			Build{Version: "v1.2.3", Commit: revision},
		},
		{
			"stamped",
			Build{Version: "1.2.3", Commit: "abc", Date: "then"},
			noted("v9.9.9", "vcs.revision", revision, "vcs.time", when),
			Build{Version: "1.2.3", Commit: "abc", Date: "then"},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.stamped.with(tt.info)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	got := Of()
	if got.Version == "" || got.Go != runtime.Version() || got.OS != runtime.GOOS || got.Arch != runtime.GOARCH {
		t.Errorf("Of() = %+v", got)
	}
	if Base() != "" {
		t.Errorf("a test knows of releases at %s", Base())
	}
}
