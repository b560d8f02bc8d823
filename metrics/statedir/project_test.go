package statedir

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("a", 300)
	tests := []struct{ path, want string }{
		{"/home/me/app", "-home-me-app"},
		{"/home/me/app/", "-home-me-app"},
		{"/home/me/../you/my app.v2_x", "-home-you-my-app.v2_x"},
		{"/a/b-c", "-a-b-c"},
		{"/a/b/c", "-a-b-c"},
		{"/süß", "-s--"},
		{"/", "-"},
		{"", "-"},
		{"..", "-"},
		{long, "-" + strings.Repeat("a", 170) + "-" + shortHash(long)},
	}
	for _, tt := range tests {
		if got := Slug(tt.path); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestSlugIsAlwaysAFolderName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^-[A-Za-z0-9._-]{0,179}$`)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.String().Draw(t, "path")
		if got := Slug(path); !valid.MatchString(got) {
			t.Fatalf("Slug(%q) = %q", path, got)
		}
	})
}

func TestLongSlugsDiffer(t *testing.T) {
	t.Parallel()
	a, b := Slug("/"+strings.Repeat("a", 300)+"1"), Slug("/"+strings.Repeat("a", 300)+"2")
	if a == b {
		t.Errorf("both have %q", a)
	}
}

func TestOpenProject(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "state", "autopilot")
	p, err := OpenProject(root, "/no/such/tree")
	if err != nil {
		t.Fatal(err)
	}
	want := Project{Path: "/no/such/tree", Dir: filepath.Join(root, "projects", "-no-such-tree")}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Fatal(diff)
	}
	if got, want := read(t, filepath.Join(p.Dir, "project.json")), "{\n  \"path\": \"/no/such/tree\"\n}\n"; got != want {
		t.Errorf("project.json = %q, want %q", got, want)
	}
	for _, dir := range []string{root, filepath.Dir(p.Dir), p.Dir} {
		if got := mode(t, dir); got != 0o700 {
			t.Errorf("mode of %s = %v, want 0700", dir, got)
		}
	}
	again, err := OpenProject(root, "/no/such/../such/tree/")
	if err != nil || again != want {
		t.Errorf("second OpenProject = %v, %v, want the same", again, err)
	}
}

func TestOpenProjectCollision(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	first, err := OpenProject(root, "/a/b-c")
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenProject(root, "/a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	if want := first.Dir + "-" + shortHash("/a/b/c"); second.Dir != want {
		t.Errorf("second folder = %s, want %s", second.Dir, want)
	}
	// The second keeps its folder also when the plain name has become free.
	if err := os.RemoveAll(first.Dir); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenProject(root, "/a/b/c"); err != nil || again != second {
		t.Errorf("OpenProject = %v, %v, want %v", again, err, second)
	}
}

func TestOpenProjectFollowsSymlinks(t *testing.T) {
	t.Parallel()
	root, dir := t.TempDir(), t.TempDir()
	tree, link := filepath.Join(dir, "tree"), filepath.Join(dir, "link")
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("tree", link); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"", "not-there-yet/deeper"} {
		a, err := OpenProject(root, filepath.Join(tree, sub))
		if err != nil {
			t.Fatal(err)
		}
		b, found, err := FindProject(root, filepath.Join(link, sub))
		if err != nil || !found || a != b {
			t.Errorf("through the link: %v, %v, %v, want %v", b, found, err, a)
		}
	}
}

func TestOpenProjectTakesRemnant(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "projects", "-a-b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := OpenProject(root, "/a/b")
	if err != nil || p.Dir != dir {
		t.Errorf("OpenProject = %v, %v, want folder %s", p, err, dir)
	}
}

func TestFindProjectCreatesNothing(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if p, found, err := FindProject(root, "/a"); found || err != nil {
		t.Errorf("FindProject = %v, %v, %v, want none", p, found, err)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("root exists: %v", err)
	}
	if _, err := OpenProject(root, "/a"); err != nil {
		t.Fatal(err)
	}
	before := names(t, filepath.Join(root, "projects"))
	if p, found, err := FindProject(root, "/b"); found || err != nil {
		t.Errorf("FindProject = %v, %v, %v, want none", p, found, err)
	}
	if diff := cmp.Diff(before, names(t, filepath.Join(root, "projects"))); diff != "" {
		t.Error(diff)
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if list, err := Projects(root); list != nil || err != nil {
		t.Errorf("Projects of nothing = %v, %v", list, err)
	}
	var want []Project
	for _, path := range []string{"/a", "/b"} {
		p, err := OpenProject(root, path)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, p)
	}
	broken, nobody := filepath.Join(root, "projects", "-broken"), filepath.Join(root, "projects", "-nobody")
	for _, dir := range []string{broken, nobody} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(broken, "project.json"), "{", 0o600)
	list, err := Projects(root)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), filepath.Join(broken, "project.json")) {
		t.Errorf("error = %v, want the broken file's name", err)
	}
	if _, err := OpenProject(root, "/broken"); err == nil {
		t.Error("OpenProject took a folder whose owner cannot be read")
	}
}

func TestProjectFolders(t *testing.T) {
	t.Parallel()
	p := Project{Path: "/x", Dir: "/s/-x"}
	tests := []struct{ got, want string }{
		{p.RunsDir(), "/s/-x/runs"},
		{p.LocksDir(), "/s/-x/locks"},
		{p.RunDir("01JD-a.b_c"), "/s/-x/runs/01JD-a.b_c"},
		{p.RunDir("../../etc"), "/s/-x/runs/..-..-etc"},
		{p.RunDir(".."), "/s/-x/runs/--"},
		{p.RunDir(""), "/s/-x/runs/-"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// All these paths have the same slug; every process must get the same folder for
// the same path, and another one for another path.
func TestOpenProjectRace(t *testing.T) {
	t.Parallel()
	paths := []string{"/a/b-c", "/a/b/c", "/a-b/c", "/a-b-c"}
	for range 5 {
		root := t.TempDir()
		dirs := make(map[string]string) // by path
		owners := make(map[string]string)
		var procs []*process
		for i := range paths {
			args := append([]string{root}, paths[i:]...)
			procs = append(procs, start(t, "projects", append(args, paths[:i]...)...))
		}
		for _, p := range procs {
			for scan := bufio.NewScanner(p.out); scan.Scan(); {
				path, dir, _ := strings.Cut(scan.Text(), "\t")
				if old, ok := dirs[path]; ok && old != dir {
					t.Errorf("%s has %s and %s", path, old, dir)
				}
				if old, ok := owners[dir]; ok && old != path {
					t.Errorf("%s belongs to %s and %s", dir, old, path)
				}
				dirs[path], owners[dir] = dir, path
			}
			if err := p.cmd.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		if len(dirs) != len(paths) {
			t.Fatalf("opened %v", dirs)
		}
	}
}

func TestOpenProjectGoroutines(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var wg sync.WaitGroup
	got := make([]Project, 16)
	for i := range got {
		wg.Go(func() {
			p, err := OpenProject(root, []string{"/a/b", "/a-b"}[i%2])
			if err != nil {
				t.Error(err)
			}
			got[i] = p
		})
	}
	wg.Wait()
	for i, p := range got {
		if p != got[i%2] {
			t.Errorf("%d: %v, want %v", i, p, got[i%2])
		}
	}
	if got[0].Dir == got[1].Dir {
		t.Errorf("two paths share %s", got[0].Dir)
	}
}
