package nightly

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/doctor"
	"autopilot/cmd/internal/outside"
)

func TestWithFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, want []string
	}{
		{[]string{"run", "--claude", "/opt/claude", "a goal", "--use-api-key", "--max-sessions=3"}, []string{"AUTOPILOT_CLAUDE=/opt/claude", "AUTOPILOT_MAX_SESSIONS=3", "AUTOPILOT_USE_API_KEY=true", "HOME=/h"}},
		{[]string{"run", "--use-api-key=false", "--", "--claude", "/not/ours"}, []string{"AUTOPILOT_CLAUDE=/old", "AUTOPILOT_USE_API_KEY=false", "HOME=/h"}},
		{[]string{"run", "--allowed-tools", "Bash", "--allowed-tools", "Edit", "--goal", "--claude"}, []string{"AUTOPILOT_ALLOWED_TOOLS=Bash,Edit", "AUTOPILOT_CLAUDE=", "HOME=/h"}},
	} {
		got := withFlags([]string{"HOME=/h", "AUTOPILOT_CLAUDE=/old"}, tt.args)
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", tt.args, diff)
		}
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	kept := t.TempDir()
	if err := os.WriteFile(filepath.Join(kept, ".credentials.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in := doctor.Finding{Name: "login", OK: true, Detail: "by claude.ai"}
	for _, tt := range []struct {
		name   string
		f      doctor.Finding
		env    []string
		goos   string
		ok     bool
		detail string
		token  bool // a token is what mends it
	}{
		{"logged in", in, []string{"HOME=" + home}, "linux", true, "by claude.ai", false},
		{"not logged in", doctor.Finding{Name: "login", Detail: "not logged in", Mend: "log in"}, []string{"HOME=" + home}, "linux", false, "not logged in", true},
		{"cannot be told", doctor.Finding{Name: "login", OK: true, Detail: "cannot be told without a request"}, []string{"HOME=" + home}, "linux", true, "cannot be told", true},
		{"in the keychain", in, []string{"HOME=" + home}, "darwin", false, "cannot be read from launchd or cron", true},
		{"in a file", in, []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + kept}, "darwin", true, "by claude.ai", false},
		{"by a token", doctor.Finding{Name: "login", OK: true, Detail: "by CLAUDE_CODE_OAUTH_TOKEN"}, []string{"HOME=" + home, "CLAUDE_CODE_OAUTH_TOKEN=x"}, "darwin", true, "by CLAUDE_CODE_OAUTH_TOKEN", false},
	} {
		got := login(tt.f, outside.Stdio{Environ: tt.env}, tt.goos)
		if got.OK != tt.ok || !strings.Contains(got.Detail, tt.detail) || strings.Contains(got.Mend, "setup-token") != tt.token || strings.Contains(got.Mend, "--env-file") != tt.token {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "", filepath.Join(dir, "a", "b"): "", file: "is not a folder", filepath.Join(file, "a"): "not a directory",
	} {
		f := writable("logs", path)
		if f.OK != (want == "") || !strings.Contains(f.Detail, want) || f.OK != (f.Mend == "") {
			t.Errorf("%s: %+v, want %q", path, f, want)
		}
	}
	if os.Geteuid() == 0 {
		return // root may write everywhere
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if f := writable("logs", filepath.Join(dir, "a")); f.OK {
		t.Errorf("%+v", f)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 3, 29, 6, 0, 0, 0, time.FixedZone("CEST", 7200))
	for _, tt := range []struct {
		args  []string
		until time.Time
		want  []string
	}{
		{[]string{"run", "goal", "--", "-x"}, until, []string{"run", "--until", "2026-03-29T06:00:00+02:00", "goal", "--", "-x"}},
		{[]string{"resume"}, until, []string{"resume", "--until", "2026-03-29T06:00:00+02:00"}},
		{[]string{"run"}, time.Time{}, []string{"run"}},
		{[]string{"sync"}, until, []string{"sync"}},
	} {
		if diff := cmp.Diff(tt.want, Bounded(tt.args, tt.until)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}
