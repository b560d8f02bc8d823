package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// scratch makes a folder with a repository, a script for the stand-in, a green
// machine and an environment, for tests that start the program themselves.
func scratch(t *testing.T, script string) (base, repo string, env []string) {
	t.Helper()
	base = t.TempDir()
	repo = filepath.Join(base, "repo")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"standin": script, "green.json": greenMachine} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + os.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"STANDIN_SCRIPT=" + filepath.Join(base, "standin"),
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=s", "-c", "user.email=s@example.org", "commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = repo, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return base, repo, env
}
