package install

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is a repository by relative path: the content of files after their mode,
// where links lead, and "folder" for folders.
type tree map[string]string

func readTree(t testing.TB, root string) tree {
	t.Helper()
	out := tree{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel] = info.Mode().String()
		case info.Mode()&os.ModeSymlink != 0:
			link, err := os.Readlink(name)
			out[rel] = "-> " + link
			return err
		case !info.Mode().IsRegular():
			out[rel] = info.Mode().String()
		default:
			data, err := os.ReadFile(name)
			out[rel] = info.Mode().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// place is a repository with a state folder beside it.
type place struct {
	t testing.TB
	Options
}

func newPlace(t testing.TB) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t, Options{Repo: filepath.Join(base, "repo"), Command: "autopilot", Record: filepath.Join(base, "state", "p", "installed.json")}}
	if err := os.Mkdir(p.Repo, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.Repo, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// replace edits a file as a person does.
func (p *place) replace(name, old, with string) {
	p.t.Helper()
	text := p.read(name)
	if !strings.Contains(text, old) {
		p.t.Fatalf("%s does not hold %q:\n%s", name, old, text)
	}
	p.write(name, strings.Replace(text, old, with, 1))
}

func (p *place) exists(name string) bool {
	_, err := os.Lstat(p.path(name))
	return err == nil
}

func (p *place) plan() Changes {
	p.t.Helper()
	c, err := Plan(p.Options)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) planUninstall() Changes {
	p.t.Helper()
	c, err := PlanUninstall(p.Options)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) apply(c Changes) Changes {
	p.t.Helper()
	if err := c.Apply(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) init() Changes      { p.t.Helper(); return p.apply(p.plan()) }
func (p *place) uninstall() Changes { p.t.Helper(); return p.apply(p.planUninstall()) }

func (p *place) forget() {
	p.t.Helper()
	if err := os.Remove(p.Record); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) link(name, to string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(to, p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) chmod(name string, mode os.FileMode) {
	p.t.Helper()
	if err := os.Chmod(p.path(name), mode); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.Chmod(p.path(name), 0o755) }) // for the one who removes the folder
}

func (p *place) same(what string, want tree) {
	p.t.Helper()
	if diff := cmp.Diff(want, readTree(p.t, p.Repo)); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}
