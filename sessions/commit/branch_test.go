package commit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/sessions/commit"
)

func TestProtected(t *testing.T) {
	t.Parallel()
	w := work(t)
	for remote, branch := range map[string]string{"origin": "prod", "other": "release/next", "a/b": "deep"} {
		w.git("update-ref", "refs/remotes/"+remote+"/"+branch, "HEAD")
		w.git("symbolic-ref", "refs/remotes/"+remote+"/HEAD", "refs/remotes/"+remote+"/"+branch)
	}
	always := []string{"develop", "main", "master"}
	for _, tc := range []struct {
		remote, initial string
		want            []string
	}{
		{"origin", "", append(always, "prod", "trunk")},
		{"other", "", append(always, "release/next", "trunk")},
		{"nowhere", "", append(always, "trunk")},
		{"", "stem", append([]string{"deep"}, append(always, "prod", "release/next", "stem", "trunk")...)},
	} {
		if tc.initial != "" {
			w.git("config", "init.defaultBranch", tc.initial)
		}
		got, err := w.Protected(t.Context(), tc.remote)
		if err != nil {
			t.Fatal(err)
		}
		same(t, tc.remote, got, tc.want)
	}
}

func TestIsProtected(t *testing.T) {
	t.Parallel()
	names := []string{"main", "Release/Next"}
	for branch, want := range map[string]bool{"main": true, "MAIN": true, "release/next": true, "mai": false, "main/x": false, "": false} {
		if got := commit.IsProtected(names, branch); got != want {
			t.Errorf("IsProtected(%q) = %v", branch, got)
		}
	}
}

func TestMakeAndSwitch(t *testing.T) {
	t.Parallel()
	w := work(t)
	first := w.head()
	w.write("a", "two\n")
	w.make("a")
	w.write("b", "the person's\n")
	w.write("untracked", "x\n")
	if err := w.Make(t.Context(), "task/1", ""); err != nil {
		t.Fatal(err)
	}
	same(t, "status", w.status(), " M b\n?? untracked")
	branch, head, err := w.Current(t.Context())
	if branch != "task/1" || head != w.git("rev-parse", "work") || err != nil {
		t.Errorf("Current = %q, %q, %v", branch, head, err)
	}
	if err := w.Make(t.Context(), "older", first); err != nil {
		t.Fatal(err)
	}
	same(t, "older", w.head(), first)
	if err := w.Switch(t.Context(), "task/1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Detach(t.Context(), "older"); err != nil {
		t.Fatal(err)
	}
	if branch, head, err := w.Current(t.Context()); branch != "" || head != first || err != nil {
		t.Errorf("Current of a detached HEAD = %q, %q, %v", branch, head, err)
	}
	for branch, want := range map[string]bool{"older": true, "task/1": true, "task": false, "nope": false, "": false, "..": false} {
		if got, err := w.Exists(t.Context(), branch); got != want || err != nil {
			t.Errorf("Exists(%q) = %v, %v", branch, got, err)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("branch", "-m", "main", "old")
	w.git("branch", "taken")
	w.git("switch", "-q", "-c", "previous")
	w.git("switch", "-q", "work")
	for _, tc := range []struct{ name, from, words string }{
		{"main", "", "main is a default branch"},
		{"Master", "", "Master is a default branch"},
		{"taken", "", "exists already"},
		{"", "", "no name for a branch"},
		{"-f", "", "no name for a branch"},
		{"-", "", "no name for a branch"},
		{"@{-1}", "", "no name for a branch"},
		{"HEAD", "", "no name for a branch"},
		{"head", "", "no name for a branch"}, // the same file where case does not count
		{"@", "", "no name for a branch"},
		{"@{upstream}", "", "no name for a branch"},
		{"--", "", "no name for a branch"},
		{"refs/heads/x", "", "no name for a branch"},
		{"a b", "", "no name for a branch"},
		{"a..b", "", "no name for a branch"},
		{"a.lock", "", "no name for a branch"},
		{"taken/x", "", "there is a branch taken"},
		{"new", "nope", `no commit "nope"`},
		{"new", "--force", `no commit "--force"`},
		{"new", "^work", `no commit "^work"`},
	} {
		err := w.Make(t.Context(), tc.name, tc.from)
		if err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("Make(%q, %q): %v, want an error with %q", tc.name, tc.from, err, tc.words)
		}
	}
	same(t, "branches", w.git("branch", "--format=%(refname:short)"), "old\nprevious\ntaken\nwork")
	same(t, "branch", w.git("branch", "--show-current"), "work")
	if err := w.Make(t.Context(), "main", ""); err != nil {
		if _, ok := errors.AsType[*commit.ProtectedError](err); !ok {
			t.Errorf("Make(main): %v, want a *ProtectedError", err)
		}
	}
}

// Nothing of the person's is lost, and nothing half switched.
func TestSwitchLosesNothing(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.write("fresh", "committed\n")
	w.write("ignored.log", "committed\n")
	w.make("a", "fresh", "ignored.log")
	w.git("switch", "-q", "--create", "old-main", "main")
	w.write(".git/info/exclude", "*.log\n")
	for name, mine := range map[string]string{"a": "the person's\n", "fresh": "untracked\n", "ignored.log": "ignored\n"} {
		w.write(name, mine)
		err := w.Switch(t.Context(), "work")
		if err == nil || hint(err) == "" || !strings.Contains(err.Error(), "overwritten") {
			t.Errorf("%s: Switch: %v, want it to be refused", name, err)
		}
		if err := w.Make(t.Context(), "another", "work"); err == nil {
			t.Errorf("%s: Make succeeds", name)
		}
		if err := w.Detach(t.Context(), "work"); err == nil {
			t.Errorf("%s: Detach succeeds", name)
		}
		same(t, "branch", w.git("branch", "--show-current"), "old-main")
		same(t, name, w.read(name), mine)
		if name == "a" {
			w.git("checkout", "-q", "a")
		} else {
			w.remove(name)
		}
	}
	if ok, err := w.Exists(t.Context(), "another"); ok || err != nil {
		t.Errorf("Exists(another) = %v, %v", ok, err)
	}
	if err := w.Switch(t.Context(), "nope"); err == nil {
		t.Error("Switch to no branch succeeds")
	}
	if err := w.Switch(t.Context(), "-"); err == nil {
		t.Error("Switch to the branch before succeeds")
	}
	w.git("tag", "work", "main") // of the same name as the branch
	w.hook("post-checkout", "exit 1")
	if err := w.Switch(t.Context(), "work"); err != nil {
		t.Errorf("Switch with a hook that fails when it is done: %v", err)
	}
	same(t, "a", w.read("a"), "two\n")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("branch", "prod")
	w.git("update-ref", "refs/remotes/origin/prod", "HEAD")
	w.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/prod")
	w.git("branch", "elsewhere")
	w.git("worktree", "add", "-q", filepath.Join(t.TempDir(), "tree"), "elsewhere")
	w.git("switch", "-qc", "done")
	w.write("a", "two\n")
	w.git("commit", "-qam", "not merged")
	w.git("switch", "-q", "work")
	for name, words := range map[string]string{
		"main": "default branch", "prod": "default branch", "work": "checked out", "elsewhere": "checked out", "nope": "not found", "-r": "no name", "": "no name", "@": "no name",
	} {
		if err := w.Delete(t.Context(), name); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("Delete(%q): %v, want an error with %q", name, err, words)
		}
	}
	if err := w.Delete(t.Context(), "done"); err != nil {
		t.Error(err)
	}
	same(t, "branches", w.git("for-each-ref", "--format=%(refname:short)", "refs/heads/"), "elsewhere\nmain\nprod\nwork")
}

func TestConflict(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		w := work(t)
		w.git("branch", "master")
		w.git("branch", "a/b/c")
		if packed {
			w.git("pack-refs", "--all")
		}
		for name, want := range map[string]string{
			"master/task-1": "master", "master/x/y": "master", "a": "a/b/c", "a/b": "a/b/c", "a/b/c/d": "a/b/c",
			"a/b/d": "", "a/bb": "", "a/b/cc": "", "masters/x": "", "master": "", "x": "", "ünï/x": "",
		} {
			got, err := w.Conflict(t.Context(), name)
			if got != want || err != nil {
				t.Errorf("Conflict(%s) = %q, %v, want %q; packed %v", name, got, err, want, packed)
			}
			// Git is the judge.
			_, err = w.try("branch", name, "main")
			if exists := name == "master"; !exists && (err != nil) != (want != "") {
				t.Errorf("git branch %s: %v, and Conflict = %q", name, err, want)
			}
			if err == nil {
				w.git("branch", "-D", name)
			}
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("branch", "-m", "main", "other")
	w.git("switch", "-q", "other")
	w.write("a", "theirs\n")
	w.git("commit", "-qam", "theirs")
	w.write("a", "theirs again\n")
	w.git("commit", "-qam", "theirs again")
	w.git("switch", "-q", "work")
	w.write("a", "ours\n")
	w.git("commit", "-qam", "ours")
	same(t, "busy", w.Busy(), "")
	patch := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(patch, []byte(w.git("format-patch", "--stdout", "-1", "other")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		want string
		do   []string
		undo []string
	}{
		{"a merge", []string{"merge", "other"}, []string{"merge", "--abort"}},
		{"a rebase", []string{"rebase", "other"}, []string{"rebase", "--abort"}},
		{"a rebase", []string{"rebase", "--apply", "other"}, []string{"rebase", "--abort"}},
		{"am", []string{"am", patch}, []string{"am", "--abort"}},
		{"a cherry-pick", []string{"cherry-pick", "other"}, []string{"cherry-pick", "--abort"}},
		{"a cherry-pick", []string{"cherry-pick", "main..other", "--"}, []string{"cherry-pick", "--abort"}},
		{"a revert", []string{"revert", "--no-edit", "HEAD", "HEAD~"}, []string{"revert", "--abort"}},
		{"a bisect", []string{"bisect", "start"}, []string{"bisect", "reset"}},
		{"a resolution of unmerged files", []string{"stash", "pop"}, []string{"reset", "-q", "--hard"}},
	} {
		switch tc.do[0] {
		case "revert":
			w.git("commit", "-q", "--allow-empty", "-m", "between")
			w.write("a", "and more\n")
			w.git("commit", "-qam", "more")
			tc.do = []string{"revert", "--no-edit", "HEAD~2"}
		case "stash":
			w.write("a", "stashed\n")
			w.git("stash")
			w.write("a", "in the way\n")
			w.git("commit", "-qam", "in the way")
		case "cherry-pick":
			w.git("update-ref", "refs/heads/main", "other~2")
		}
		branch := w.git("branch", "--show-current")
		out, _ := w.try(tc.do...)
		if got := w.Busy(); got != tc.want {
			t.Errorf("Busy in git %v = %q, want %q; git says %s", tc.do, got, tc.want, out)
		}
		if tc.do[0] != "rebase" { // there no branch is checked out
			head := w.head()
			_, err := w.Commit(t.Context(), commit.Commit{Branch: branch, Message: "m", Files: []string{"a"}})
			contains(t, err, tc.want)
			same(t, "HEAD", w.head(), head)
		}
		w.git(tc.undo...)
		same(t, "busy afterwards", w.Busy(), "")
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	w := work(t)
	first := w.head()
	w.write("one", "x\n")
	second := w.make("one")
	w.git("checkout", "-q", "--detach", first)
	w.write("two", "x\n")
	w.git("add", "two")
	w.git("commit", "-qm", "other")
	other := w.head()
	for _, tt := range []struct {
		commit, part string
		want         bool
	}{{second, first, true}, {second, second, true}, {first, second, false}, {other, second, false}} {
		if got, err := w.Contains(t.Context(), tt.commit, tt.part); got != tt.want || err != nil {
			t.Errorf("Contains(%.7s, %.7s) = %v, %v; want %v", tt.commit, tt.part, got, err, tt.want)
		}
	}
	if _, err := w.Contains(t.Context(), first, "0123456789012345678901234567890123456789"); err == nil {
		t.Error("a commit that is not there is no error")
	}
}
