package nightly_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"autopilot/cmd/internal/nightly"
)

func TestLoadSecrets(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secrets")
	text := "# tokens\n\nCLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-abc=\n  export KEY = 'a b'\nQUOTED=\"x\"\nODD='x\nDOLLAR=$HOME \nEMPTY=\r\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := nightly.LoadSecrets(name)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-abc=", "KEY=a b", "QUOTED=x", "ODD='x", "DOLLAR=$HOME", "EMPTY="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	link := name + ".link"
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	if _, err := nightly.LoadSecrets(link); err != nil {
		t.Errorf("by a symlink: %v", err)
	}
}

func TestLoadSecretsRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("group", "A=1", 0o640)
	write("world", "A=1", 0o604)
	write("written", "A=1", 0o602)
	write("words", "A=1\nhunter2hunter2\n", 0o600)
	write("name", "A=1\nMY-KEY=hunter2hunter2\n", 0o600)
	write("nul", "A=hunter2\x00", 0o600)
	write("long", strings.Repeat("A=hunter2\n", 7000), 0o600)
	if err := unix.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, want string }{
		{"group", "may be used by others (mode 0640)"},
		{"world", "may be used by others (mode 0604)"},
		{"written", "may be used by others (mode 0602)"},
		{"words", "line 2 is not NAME=VALUE"},
		{"name", "line 2 does not begin with the name of a variable"},
		{"nul", "line 1 holds a NUL byte"},
		{"long", "longer than 65536 bytes"},
		{"pipe", "is not a regular file"},
		{"gone", "is not there"},
		{".", "is not a regular file"},
	} {
		_, err := nightly.LoadSecrets(path(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q and no value", tt.file, err, tt.want)
		}
	}
	if _, err := nightly.LoadSecrets("secrets"); err == nil || !strings.Contains(err.Error(), "is a relative path") {
		t.Errorf("a relative path: %v", err)
	}
}

func FuzzParseSecrets(f *testing.F) {
	f.Add("A=1\n# c\nexport B='x'\n")
	f.Add("=")
	f.Fuzz(func(t *testing.T, text string) {
		env, err := nightly.ParseSecrets(text)
		if err != nil {
			return
		}
		for _, kv := range env {
			if name, _, ok := strings.Cut(kv, "="); !ok || name == "" || strings.ContainsAny(name, " \n\x00") || strings.ContainsAny(kv, "\n\x00") {
				t.Errorf("%q from %q", kv, text)
			}
		}
	})
}
