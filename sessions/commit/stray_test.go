package commit_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/metrics/testprogram"
	"autopilot/sessions/commit"
)

// person is what a script needs to act as somebody in another terminal.
const person = "unset GIT_INDEX_FILE GIT_DIR GIT_WORK_TREE; "

// astray wants the error of a commit that was not made on work, and returns it.
func astray(t *testing.T, err error) commit.BranchError {
	t.Helper()
	b, ok := errors.AsType[*commit.BranchError](err)
	if !ok || b.Commit == "" {
		t.Fatalf("error %v, want a *BranchError about a commit", err)
	}
	return *b
}

// dirty makes changes of a person beside those that are committed, and returns the
// index and the status.
func (w tree) dirty() (staged, status string) {
	w.t.Helper()
	w.write("b", "the person's\n")
	w.git("add", "b")
	w.write("a", "staged\n")
	w.git("add", "a")
	w.write("a", "two\n")
	w.write("new", "new\n")
	w.remove("c")
	return w.staged(), w.status()
}

// The branch is switched while hooks run, by somebody or by the hook itself.
func TestNoCommitStaysOnAnotherBranch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hook, script, have string
		back               []string
	}{
		"early":                      {"pre-commit", person + "git switch -q main", "main", []string{"main"}},
		"a person switches":          {"commit-msg", person + "git switch -q main", "main", []string{"main"}},
		"the hook moves HEAD":        {"commit-msg", "git symbolic-ref HEAD refs/heads/main", "main", []string{"main"}},
		"the hook before moves HEAD": {"prepare-commit-msg", "git symbolic-ref HEAD refs/heads/main", "main", []string{"main"}},
		"and adds to the message":    {"commit-msg", "git symbolic-ref HEAD refs/heads/main; echo Change-Id: 1 >>$1", "main", []string{"main"}},
		"and writes another message": {"commit-msg", "git symbolic-ref HEAD refs/heads/main; echo other >$1", "main", []string{"main"}},
		"to a new branch":            {"commit-msg", person + "git switch -qc other", "other", []string{"other"}},
		"to none":                    {"commit-msg", person + "git switch -q --detach", "", []string{"HEAD"}},
		"there and back":             {"post-commit", "git symbolic-ref HEAD refs/heads/work", "work", []string{"main"}},
		"and fails when it is done":  {"post-commit", "kill -9 $PPID", "main", []string{"main"}},
		"and another branch has it":  {"post-commit", person + "git branch copy", "main", []string{"copy", "main"}},
		"and a second name for it":   {"post-commit", person + "git symbolic-ref refs/heads/alias refs/heads/main", "main", []string{"main"}},
		"the hook refuses as well":   {"commit-msg", person + "git switch -q main; exit 1", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			head := w.head()
			if tc.hook == "post-commit" {
				w.hook("commit-msg", person+"git switch -q main")
			}
			staged, status := w.dirty()
			w.hook(tc.hook, tc.script)
			sha, err := w.Commit(t.Context(), one("a", "new", "c"))
			switch b, ok := errors.AsType[*commit.BranchError](err); {
			case ok && name == "early" && b.Commit == "": // git was not told to commit any more
			case name == "the hook refuses as well":
				same(t, "error", err.Error(), "commit: the work tree is on branch main, not on work")
			default:
				b := astray(t, err)
				same(t, "error", b, commit.BranchError{Want: "work", Have: tc.have, Commit: b.Commit, Back: tc.back})
				contains(t, err, b.Commit, "taken back from "+strings.Join(tc.back, ", "))
				if h := hint(err); !strings.Contains(h, "nothing is lost") || !strings.Contains(h, "git switch work") {
					t.Errorf("hint = %q", h)
				}
				same(t, "the commit is kept", w.git("show", b.Commit+":new"), "new")
			}
			same(t, "id", sha, "")
			same(t, "commits", w.git("rev-list", "--all", "HEAD", "^"+head), "")
			same(t, "main", w.git("rev-parse", "main"), head)
			same(t, "index", w.staged(), staged)
			same(t, "status", w.status(), status)
			w.tidy()

			for _, h := range []string{"commit-msg", tc.hook} {
				if err := os.Remove(filepath.Join(w.GitDir, "hooks", h)); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
			}
			w.git("switch", "-q", "work")
			same(t, "files of the next", w.shown(w.make("a", "new", "c")), "M a\nD c\nA new")
			same(t, "status", w.status(), "M  b")
		})
	}
}

// The same with a branch that has another commit: git itself refuses it.
func TestAnotherTip(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("commit", "-q", "--allow-empty", "-m", "second")
	main := w.git("rev-parse", "main")
	_, status := w.dirty()
	w.hook("pre-commit", person+"git switch -q main")
	_, err := w.Commit(t.Context(), one("a", "new"))
	b, ok := errors.AsType[*commit.BranchError](err)
	if !ok || b.Commit != "" {
		t.Errorf("Commit: %v, want a *BranchError without a commit", err)
	}
	same(t, "main", w.git("rev-parse", "main"), main)
	same(t, "status", w.status(), status)
}

// The branch is switched between the last look and the moment at which git reads HEAD:
// before the look that is made when git runs, which holds it off, or after that one.
func TestSwitchedBeforeGitBegins(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []bool{false, true} {
		for _, wait := range []string{"", "SEEN"} {
			w := work(t)
			if ahead {
				w.git("switch", "-q", "main")
				w.git("commit", "-q", "--allow-empty", "-m", "ahead")
				w.git("switch", "-q", "work")
			}
			main := w.git("rev-parse", "main")
			staged, status := w.dirty()
			dir := t.TempDir()
			script := strings.NewReplacer("WAIT", wait, "GIT", git, "DIR", dir, "RECORD", w.GitDir+"/autopilot-commit/commit.json").Replace(`#!/bin/sh
await() { n=0; while ! [ -e $1 ] && [ $n -lt 500 ]; do sleep 0.02; n=$((n+1)); done; }
case " $* " in
*' commit --quiet '*)
	[ -z "WAIT" ] || await DIR/seen
	GIT symbolic-ref HEAD refs/heads/main
	touch DIR/switched ;;
*' symbolic-ref --quiet HEAD '*)
	[ -n "WAIT" ] || ! [ -e RECORD ] || await DIR/switched ;;
*' rev-parse --verify --quiet HEAD^{commit} '*)
	if [ -e RECORD ]; then GIT "$@"; n=$?; touch DIR/seen; exit $n; fi ;;
esac
exec GIT "$@"`)
			testprogram.Write(t, filepath.Join(dir, "git"), []byte(script))
			w.Environ = append(w.Environ, "PATH="+dir+":"+os.Getenv("PATH"))
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(w.Environ, asked+"="+w.dir)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			words := "the work tree is on branch main, not on work"
			if wait != "" {
				words = "taken back from main"
			}
			if !strings.Contains(string(out), words) {
				t.Errorf("ahead %v: Commit = %s, want %q", ahead, out, words)
			}
			same(t, "main", w.git("rev-parse", "main"), main)
			same(t, "index", w.staged(), staged)
			same(t, "status", w.status(), status)
		}
	}
}

// The first commit has no parent: its branch is one without a commit again.
func TestFirstCommitAstray(t *testing.T) {
	t.Parallel()
	w := bare(t)
	w.git("symbolic-ref", "HEAD", "refs/heads/work")
	w.write("a", "one\n")
	w.write("b", "one\n")
	w.git("add", "b")
	w.hook("commit-msg", "git symbolic-ref HEAD refs/heads/main")
	_, err := w.Commit(t.Context(), one("a"))
	same(t, "taken back from", astray(t, err).Back, []string{"main"})
	same(t, "branches", w.git("for-each-ref"), "")
	same(t, "status", w.status(), "A  b\n?? a")
	w.tidy()
}

// Somebody has built on the commit, or changed it: it is named and left.
func TestAstrayAndBuiltUpon(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"built upon": person + "git commit -q --allow-empty -m more",
		"changed":    "unset GIT_INDEX_FILE; git add b; git commit -q --amend --no-edit",
	} {
		w := work(t)
		w.write("b", "the person's\n")
		w.write("a", "two\n")
		w.hook("commit-msg", person+"git symbolic-ref HEAD refs/heads/main")
		w.hook("post-commit", `[ -n "$AGAIN" ] || { export AGAIN=1; `+script+"; }")
		sha, err := w.Commit(t.Context(), one("a"))
		b := astray(t, err)
		same(t, name+": branches that have it", b.Left, []string{"main"})
		contains(t, err, b.Commit, "could not be taken back from main", b.Why)
		if h := hint(err); !strings.Contains(h, "by hand") || !strings.Contains(h, b.Commit) {
			t.Errorf("%s: hint = %q", name, h)
		}
		same(t, name+": id", sha, "")
		if _, err := w.try("merge-base", "--is-ancestor", b.Commit, "main"); err != nil {
			t.Errorf("%s: %s is not on main any more", name, b.Commit)
		}
		w.tidy()
	}
}

// A ref that cannot be moved now is tried again by whoever comes next.
func TestAstrayAndLocked(t *testing.T) {
	t.Parallel()
	w := work(t)
	head := w.head()
	staged, status := w.dirty()
	lock := filepath.Join(w.GitDir, "refs", "heads", "main.lock")
	w.hook("commit-msg", "git symbolic-ref HEAD refs/heads/main")
	w.hook("post-commit", "touch "+lock)
	_, err := w.Commit(t.Context(), one("a", "new"))
	b := astray(t, err)
	same(t, "branches that have it", b.Left, []string{"main"})
	contains(t, err, "main.lock")
	_, _, err = w.Find(t.Context(), "work", "", "Mark: 1")
	same(t, "still there", astray(t, err).Left, []string{"main"})
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.Find(t.Context(), "work", "", "Mark: 1")
	same(t, "taken back", astray(t, err), commit.BranchError{Want: "work", Have: "main", Commit: b.Commit, Back: []string{"main"}})
	same(t, "main", w.git("rev-parse", "main"), head)
	same(t, "index", w.staged(), staged)
	same(t, "status", w.status(), status)
	w.tidy()
}

// Somebody switches when the commit is made: it counts, and the index is left to the
// other branch.
func TestSwitchedAfterwards(t *testing.T) {
	t.Parallel()
	w := work(t)
	head := w.head()
	w.write("b", "the person's\n")
	w.git("add", "b")
	w.write("a", "two\n")
	w.write("new", "new\n")
	w.remove("c")
	staged, status := w.staged(), w.status()
	w.hook("post-commit", person+"git switch -q main")
	sha, err := w.Commit(t.Context(), one("a", "c"))
	b, ok := errors.AsType[*commit.BranchError](err)
	if !ok || sha == "" {
		t.Fatalf("Commit = %q, %v, want an id and a *BranchError", sha, err)
	}
	same(t, "error", *b, commit.BranchError{Want: "work", Have: "main"})
	contains(t, err, sha, "was made")
	same(t, "work", w.git("rev-parse", "work"), sha)
	same(t, "main", w.git("rev-parse", "main"), head)
	same(t, "index", w.staged(), staged)
	same(t, "status", w.status(), status)
	w.tidy()
}

// We are killed, the person switches while git is still in its hook.
func TestKilledAndAstray(t *testing.T) {
	t.Parallel()
	for _, next := range []string{"Find", "Commit"} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			head := w.head()
			at := filepath.Join(t.TempDir(), "here")
			w.hook("pre-commit", "touch "+at+"; while [ -e "+at+" ]; do sleep 0.02; done")
			staged, status := w.dirty()
			w.killed(at, w.told)
			w.git("switch", "-q", "main")
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			again := func() (sha string, err error) {
				if next == "Find" {
					sha, _, err = w.Find(t.Context(), "work", "", "Mark: 1")
					return sha, err
				}
				return w.Commit(t.Context(), one("a"))
			}
			sha, err := again()
			b := astray(t, err)
			same(t, "error", b, commit.BranchError{Want: "work", Have: "main", Commit: b.Commit, Back: []string{"main"}})
			same(t, "id", sha, "")
			same(t, "commits", w.git("rev-list", "--all", "HEAD", "^"+head), "")
			same(t, "index", w.staged(), staged)
			same(t, "status", w.status(), status)
			w.tidy()
			sha, err = again()
			same(t, "id at the second time", sha, "")
			if b, ok := errors.AsType[*commit.BranchError](err); ok && b.Commit != "" || next == "Find" && err != nil {
				t.Errorf("it is said again: %v", err)
			}
		})
	}
}

// What a person has committed stays, however much it is like ours.
func TestKilledAndCommittedByHand(t *testing.T) {
	t.Parallel()
	// It comes to the kill when the commit is on record: before that nothing is lost.
	dead := "us=$(ps -o ppid= -p $PPID); until [ -e .git/autopilot-commit/commit.json ]; do sleep 0.02; done; touch HERE; kill -9 $us $PPID"
	for name, tc := range map[string]struct {
		hook string
		do   [][]string
	}{
		"the same files":     {"pre-commit", [][]string{{"switch", "-q", "main"}, {"add", "a", "new"}, {"commit", "-qm", "by hand", "--no-verify"}}},
		"a merge":            {"post-commit", [][]string{{"stash", "-uq"}, {"switch", "-q", "main"}, {"merge", "-q", "work"}}},
		"a cherry-pick":      {"post-commit", [][]string{{"stash", "-uq"}, {"switch", "-q", "main"}, {"cherry-pick", "work"}}},
		"another message":    {"post-commit", [][]string{{"branch", "-f", "main"}, {"add", "a", "new"}, {"commit", "-q", "--amend", "-m", "by hand"}, {"branch", "copy"}}},
		"a rebase, a backup": {"post-commit", [][]string{{"branch", "copy"}, {"stash", "-uq"}, {"switch", "-q", "main"}, {"rm", "-q", "c"}, {"commit", "-qm", "more"}, {"rebase", "-q", "main", "work"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			at := filepath.Join(t.TempDir(), "here")
			w.hook(tc.hook, strings.ReplaceAll(dead, "HERE", at))
			w.write("a", "two\n")
			w.write("new", "new\n")
			w.killed(at)
			for _, h := range []string{"pre-commit", "post-commit"} {
				_ = os.Remove(filepath.Join(w.GitDir, "hooks", h))
			}
			if name == "a rebase, a backup" { // and nothing says where the branch was
				w.git("config", "core.logAllRefUpdates", "false")
				w.remove(".git/logs")
			}
			for _, args := range tc.do {
				w.git(args...)
			}
			refs := w.git("for-each-ref", "refs/heads/")
			_, _, err := w.Find(t.Context(), "work", "", "Mark: 1")
			if err != nil {
				t.Error(err)
			}
			same(t, "branches", w.git("for-each-ref", "refs/heads/"), refs)
			w.tidy()
		})
	}
}
