package keep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestApplyRemovesAndCompresses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("old", 100))
	young := f.run(t, f.project, state("young", 20))
	going := f.run(t, f.project, state("going", 100, resumable))
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	outside := files(t, f.tree)
	before, kept := files(t, young), files(t, going)

	done := f.apply(t, Policy{Days: 30, Runs: 0, CompressAfter: 7 * day})
	var got []string
	var freed int64
	for _, d := range done {
		if d.Err != nil || d.Skipped != "" {
			t.Errorf("%+v", d)
		}
		got = append(got, string(d.Action)+" "+d.RunID)
		freed += d.Freed
	}
	if diff := cmp.Diff([]string{"remove old", "compress young"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"going", "last", "young"}, names(t, f.project.RunsDir())); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if freed < 40_000 {
		t.Errorf("%d bytes were freed", freed)
	}
	if diff := cmp.Diff(kept, files(t, going)); diff != "" {
		t.Errorf("the run that can be continued was touched:\n%s", diff)
	}
	if diff := cmp.Diff(before, unpackedFiles(t, young)); diff != "" {
		t.Errorf("what was compressed is not what it was:\n%s", diff)
	}
	for _, name := range []string{"sessions/5f3a/stderr.log.gz", "sessions/5f3a/answer.txt.gz", "sessions/5f3a/result.json", "activity.jsonl"} {
		info, err := os.Lstat(filepath.Join(young, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(young, "sessions/5f3a/stderr.log")); err == nil {
		t.Error("the original is still there")
	}
	after := files(t, f.tree)
	delete(after, ".git/autopilot.lock")
	if diff := cmp.Diff(outside, after); diff != "" {
		t.Errorf("the work tree was touched:\n%s", diff)
	}
	if again := f.apply(t, Policy{Days: 30, Runs: 0, CompressAfter: 7 * day}); len(again) != 0 {
		t.Errorf("a second gc has something to do: %+v", again)
	}
}

func TestApplyDoesOnlyWhatWasShownAndStillHolds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, id := range []string{"a", "b", "last"} {
		f.run(t, f.project, state(id, 100))
	}
	f.current(t, f.project, "last")
	shown := f.plan(t, Policy{Days: 30})
	f.run(t, f.project, state("c", 100)) // nobody was told of this one
	f.run(t, f.project, state("b", 100, resumable))
	done, err := Apply(t.Context(), f.options(Policy{Days: 30}), shown, noon())
	if err != nil {
		t.Fatal(err)
	}
	if len(done) != 2 || done[0].Skipped != "" || done[1].Skipped == "" {
		t.Errorf("done: %+v", done)
	}
	if diff := cmp.Diff([]string{"b", "c", "last"}, names(t, f.project.RunsDir())); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestSymlinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	precious := filepath.Join(filepath.Dir(f.tree), "precious")
	whole, err := json.Marshal(state("own", 100))
	if err != nil {
		t.Fatal(err)
	}
	put(t, precious, map[string]string{"state.json": string(whole), "stderr.log": strings.Repeat("x\n", 9000), "cap.json": "{}"})
	want := files(t, precious)
	f.current(t, f.project, "last")
	f.run(t, f.project, state("last", 1))
	link := func(to, name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		_ = os.RemoveAll(name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	file := f.run(t, f.project, state("file", 100))
	link(filepath.Join(precious, "stderr.log"), filepath.Join(file, "sessions/5f3a/stderr.log"))
	folder := f.run(t, f.project, state("folder", 20))
	link(precious, filepath.Join(folder, "sessions/5f3a"))
	own := f.run(t, f.project, state("own", 100))
	link(filepath.Join(precious, "state.json"), filepath.Join(own, "state.json"))
	link(precious, filepath.Join(f.project.RunsDir(), "whole"))
	link(precious, filepath.Join(f.project.RunsDir(), goneMark+"left"))
	link("last", filepath.Join(f.project.RunsDir(), goneMark+"inside"))
	other := f.open(t, f.tree+"-2")
	f.run(t, other, state("x", 100))
	if err := os.Rename(other.RunsDir(), filepath.Join(other.Dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(other.Dir, "elsewhere"), other.RunsDir())

	if it := itemOf(t, f.plan(t, Policy{}), "own"); it.Why != Unreadable {
		t.Errorf("a state that is a link: %+v", it)
	}
	for _, d := range f.apply(t, Policy{Days: 1, CompressAfter: 0}) {
		if d.Kind != KindLeft {
			t.Errorf("done: %+v", d)
		}
	}
	if diff := cmp.Diff(want, files(t, precious)); diff != "" {
		t.Errorf("what the links lead to was changed (-want +got):\n%s", diff)
	}
	if _, err := supervisor.LoadState(f.project.RunDir("last")); err != nil || exists(filepath.Join(f.project.RunsDir(), goneMark+"inside")) {
		t.Errorf("a link among the remnants: %v", err)
	}
	for _, name := range []string{file, folder, own, filepath.Join(f.project.RunsDir(), "whole"), filepath.Join(other.Dir, "elsewhere", "x", "state.json")} {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestForeignFilesKeepARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"notes.txt", "sessions/5f3a/stderr.log.old", "sessions/5f3a/more/stderr.log", "stderr.log", "state.json.gz", "sessions/5f3a/desk/x/y.json", "stories/a/b/task.json", "machine.jsonl.torn-x/y",
	} {
		if known(name) {
			t.Errorf("%s is taken for a file of this program", name)
		}
	}
	for _, name := range []string{
		"state.json", ".state.json123456789012345", "reflections.jsonl.torn-20260101T000000.000000000Z", "sessions/a/cap.json.lock", "sessions/a/cap.json.tmp", "sessions/a/stderr.log.gz", "stories/x/queue.json.lock",
		"stories/x/output.log", "reflections/a/prompt.txt", "test-results/20260101T000000.000Z.md", "sessions/a/desk/autopilot-log.jsonl.lock", "sessions/a/desk/0000.json",
	} {
		if !known(name) {
			t.Errorf("%s is not taken for a file of this program", name)
		}
	}
	f := newFixture(t)
	folder := f.run(t, f.project, state("r", 100))
	put(t, folder, map[string]string{"notes.txt": "mine"})
	f.run(t, f.project, state("last", 1))
	if it := itemOf(t, f.plan(t, Policy{}), "r"); it.Why != Foreign || !strings.Contains(it.Detail, "notes.txt") {
		t.Errorf("%+v", it)
	}
}

func TestRunsThatAreOnKeepTheirFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	f.run(t, f.project, state("on", 100, alive))
	f.run(t, f.project, state("dead", 100, func(s *supervisor.State) { s.Finished = false }))
	f.run(t, f.project, state("marked", 100))
	put(t, f.project.Dir, map[string]string{"open/on": "", "open/marked": "", "open/starts": ""})
	put(t, f.project.RunDir("starts"), map[string]string{"setup.json": "{}"})
	put(t, f.project.RunDir("never"), map[string]string{"setup.json": "{}"})
	put(t, f.project.RunDir("torn"), map[string]string{"state.json": `{"version": 1, "fini`})
	put(t, f.project.RunDir("newer"), map[string]string{"state.json": `{"version": 2}`})
	for _, name := range []string{"starts", "never", "torn", "newer"} {
		if err := os.Chtimes(filepath.Join(f.project.RunDir(name), names(t, f.project.RunDir(name))[0]), ago(100), ago(100)); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]Why{}
	for _, it := range f.plan(t, Policy{Resumable: true}) {
		got[it.RunID] = it.Why
	}
	want := map[string]Why{"last": LastRun, "on": On, "dead": NotClosed, "marked": NotClosed, "starts": NotClosed, "never": Expired, "torn": Unreadable, "newer": Unreadable}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The lock is held by a run in this tree: what was never begun could be one that starts.
	lock, err := statedir.Acquire(t.Context(), filepath.Join(f.tree, ".git", statedir.RunLock), statedir.Holder{RunID: "on"})
	if err != nil {
		t.Fatal(err)
	}
	f.run(t, f.project, state("over", 100))
	f.run(t, f.project, state("goes-on", 100, resumable))
	skipped := map[string]bool{}
	for _, d := range f.apply(t, Policy{Resumable: true}) {
		skipped[d.RunID] = d.Skipped != ""
	}
	if diff := cmp.Diff(map[string]bool{"never": true, "over": false, "goes-on": true}, skipped); diff != "" {
		t.Errorf("beside a run (-want +got):\n%s", diff)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	f.apply(t, Policy{Resumable: true})
	if got := names(t, f.project.RunsDir()); slices.Contains(got, "never") || slices.Contains(got, "goes-on") || !slices.Contains(got, "starts") {
		t.Errorf("without it: %v", got)
	}
}

// What has happened between the look and the moment in which the lock was had counts.
func TestChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	r := Run{ID: "r", Begun: true, Settled: true}
	never := Run{ID: "never"}
	put(t, f.project.RunDir("never"), map[string]string{"setup.json": "{}"})
	want := func(what string, r Run, same bool) {
		t.Helper()
		why, err := changed(f.project, r)
		if err != nil || (why == "") != same {
			t.Errorf("%s: %q, %v", what, why, err)
		}
	}
	f.run(t, f.project, state("r", 100))
	want("nothing", r, true)
	want("nothing, without a state", never, true)
	f.run(t, f.project, state("never", 100))
	want("it has a state now", never, false)
	f.run(t, f.project, state("r", 100, func(s *supervisor.State) { s.ResumedBy = "x" }))
	want("another goes on with it", r, false)
	f.run(t, f.project, state("r", 100, alive))
	want("it is on", r, false)
	f.run(t, f.project, state("r", 100))
	put(t, f.project.Dir, map[string]string{"open/r": ""})
	want("it is open", r, false)
	if err := os.Remove(filepath.Join(f.project.Dir, "open", "r")); err != nil {
		t.Fatal(err)
	}
	f.current(t, f.project, "r")
	want("it is the last one", r, false)
	f.current(t, f.project, "last")
	put(t, f.project.RunDir("r"), map[string]string{"state.json": "{"})
	if _, err := changed(f.project, r); err == nil {
		t.Error("its state is torn, and nobody says so")
	}
	if why, err := f.options(Policy{}).removeProject(t.Context(), Project{Path: f.tree, Dir: f.project.Dir}); why == "" || err != nil || !exists(f.project.Dir) {
		t.Errorf("a project whose tree came back: %q, %v", why, err)
	}
}

func TestWhereTheLastRunCannotBeTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("a", 100))
	f.run(t, f.project, state("b", 90))
	if it := itemOf(t, f.plan(t, Policy{}), "b"); it.Why != LastRun { // nobody says; it is the latest
		t.Errorf("%+v", it)
	}
	put(t, f.project.Dir, map[string]string{"current-run.json": "{"})
	if it := itemOf(t, f.plan(t, Policy{}), "a"); it.Why != Unreadable {
		t.Errorf("%+v", it)
	}
	if err := statedir.ReplaceJSON(filepath.Join(f.project.Dir, "current-run.json"), map[string]string{"run_id": "nobody", "before": "a"}); err != nil {
		t.Fatal(err)
	}
	if it := itemOf(t, f.plan(t, Policy{}), "a"); it.Why != LastRun { // it stands in for one that died
		t.Errorf("%+v", it)
	}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("mine", 100))
	above := filepath.Dir(f.tree)
	gone := f.open(t, filepath.Join(above, "gone"))
	f.run(t, gone, state("x", 100))
	unmounted := f.open(t, filepath.Join(above, "disk", "app"))
	f.run(t, unmounted, state("y", 100))
	empty := f.open(t, filepath.Join(above, "mountpoint", "app"))
	f.run(t, empty, state("z", 100))
	for _, dir := range []string{gone.Path, filepath.Dir(unmounted.Path), empty.Path} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	// A story that shared a tree had its place in the folder of its cohort's run.
	shared := f.open(t, filepath.Join(f.project.RunDir("cohort"), "stories", "a"))
	f.run(t, shared, state("s", 100))
	if err := os.RemoveAll(f.project.RunDir("cohort")); err != nil {
		t.Fatal(err)
	}
	policy := Policy{Orphans: true}
	decide := func() map[string]Why {
		projects, _ := Look(t.Context(), f.root, noon().Add(100*365*day)) // files of today are old then
		got := map[string]Why{}
		for _, it := range Decide(projects, policy, noon().Add(100*365*day)) {
			if it.Kind == KindProject {
				got[filepath.Base(it.Dir)] = it.Why
			}
		}
		return got
	}
	base := func(p statedir.Project) string { return filepath.Base(p.Dir) }
	want := map[string]Why{base(gone): Orphan, base(unmounted): Mount, base(empty): Mount, base(shared): Orphan}
	if diff := cmp.Diff(want, decide()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now := noon().Add(100 * 365 * day)
	projects, _ := Look(t.Context(), f.root, now)
	items := Decide(projects, policy, now)
	f.open(t, shared.Path) // it came back after it was shown
	done, err := Apply(t.Context(), f.options(policy), items, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		if d.Err != nil {
			t.Error(d.Err)
		}
	}
	left := names(t, filepath.Join(f.root, "projects"))
	if slices.Contains(left, base(gone)) || !slices.Contains(left, base(unmounted)) || !slices.Contains(left, base(empty)) || !slices.Contains(left, base(shared)) || !slices.Contains(left, base(f.project)) {
		t.Errorf("projects: %v", left)
	}
}

func TestRemnantsAreFinished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	young := f.run(t, f.project, state("young", 10))
	put(t, f.project.RunDir(goneMark+"r"), map[string]string{"state.json": "{}", "sessions/x/stderr.log": "x"})
	put(t, filepath.Join(f.root, "projects", goneMark+"-srv-app"), map[string]string{"project.json": `{"path": "/srv/app"}`, "runs/a/state.json": "{}"})
	// One that was killed between the two names: both are there and whole.
	if _, err := compress(young, "sessions/5f3a/answer.txt"); err != nil {
		t.Fatal(err)
	}
	put(t, young, map[string]string{"sessions/5f3a/answer.txt": strings.Repeat("an answer ", 2000)})
	want := unpackedFiles(t, young)
	put(t, young, map[string]string{"sessions/5f3a/" + goneMark + "stderr.log.gz": "half"})
	f.apply(t, Policy{Days: 30, CompressAfter: day})
	if diff := cmp.Diff(want, unpackedFiles(t, young)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"last", "young"}, names(t, f.project.RunsDir())); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := names(t, filepath.Join(f.root, "projects")); slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, goneMark) }) {
		t.Errorf("projects: %v", got)
	}
	if diff := cmp.Diff([]string{"answer.txt.gz", "cap.json", "cap.json.lock", "desk", "result.json", "stderr.log.gz"}, names(t, filepath.Join(young, "sessions/5f3a"))); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
}

func TestTemporaryFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	on := f.run(t, f.project, state("on", 0, alive))
	young := f.run(t, f.project, state("young", 3))
	stale := []string{filepath.Join(f.project.Dir, ".queue.json123456789012345"), filepath.Join(young, ".state.json123456789012345"), filepath.Join(on, ".state.json123456789012345")}
	fresh := filepath.Join(f.project.Dir, ".current-run.json123456789012345")
	for _, name := range append(stale, fresh) {
		put(t, filepath.Dir(name), map[string]string{filepath.Base(name): "x"})
		if err := os.Chtimes(name, ago(1), ago(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(fresh, noon().Add(-time.Second), noon().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	f.apply(t, usual())
	for _, name := range stale[:2] {
		if exists(name) {
			t.Errorf("%s is still there", name)
		}
	}
	for _, name := range []string{stale[2], fresh} {
		if !exists(name) {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestWhatCannotBeRemovedIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may remove everything")
	}
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	a := f.run(t, f.project, state("a", 100))
	f.run(t, f.project, state("b", 100))
	if err := os.Chmod(filepath.Join(a, "sessions", "5f3a"), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(f.project.RunsDir(), goneMark+"a", "sessions", "5f3a"), 0o700) })
	bad := map[string]bool{}
	for _, d := range f.apply(t, Policy{}) {
		bad[d.RunID] = d.Err != nil
	}
	if diff := cmp.Diff(map[string]bool{"a": true, "b": false}, bad); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The lock of a work tree that cannot be told is a reason to leave its runs.
func TestLockThatCannotBeTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("a", 100))
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	o := f.options(Policy{})
	o.Lock = func(context.Context, string) (string, error) { return "", errors.New("git says no") }
	done, err := Apply(t.Context(), o, f.plan(t, Policy{}), noon())
	if err != nil || len(done) != 1 || done[0].Err == nil || !exists(f.project.RunDir("a")) {
		t.Errorf("done %+v, %v", done, err)
	}
}

func TestOneGcAfterTheOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	for i := range 30 {
		f.run(t, f.project, state(fmt.Sprintf("run-%d", i), 100+float64(i)))
	}
	items := f.plan(t, Policy{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	removed := map[string]int{}
	for range 4 {
		wg.Go(func() {
			done, err := Apply(t.Context(), f.options(Policy{}), items, noon())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, d := range done {
				if d.Err != nil {
					t.Error(d.Err)
				}
				if d.Skipped == "" {
					removed[d.RunID]++
				}
			}
		})
	}
	wg.Wait()
	for id, n := range removed {
		if n != 1 {
			t.Errorf("run %s was removed %d times", id, n)
		}
	}
	if len(removed) != 30 {
		t.Errorf("%d runs were removed", len(removed))
	}
}

func TestNoStateRootIsMade(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "none")
	projects, problems := Look(t.Context(), root, noon())
	done, err := Apply(t.Context(), Options{Root: root, Lock: lockIn}, Decide(projects, usual(), noon()), noon())
	if len(problems)+len(projects)+len(done) > 0 || err != nil || exists(root) {
		t.Errorf("%v, %v, %v, %v", problems, projects, done, err)
	}
	if _, problems := Look(t.Context(), "relative", noon()); len(problems) != 1 {
		t.Errorf("a relative root: %v", problems)
	}
}

// Thirty times a gc is killed at any moment, beside a supervisor that begins one run after
// the other. What is needed stays byte by byte; what goes is whole or gone; the next gc
// finishes what was begun.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	needed := map[string]map[string]string{}
	for _, id := range []string{"going-1", "going-2", "going-3"} {
		needed[id] = files(t, f.run(t, f.project, state(id, 100, resumable)))
	}
	needed["asked"] = files(t, f.run(t, f.project, state("asked", 100, func(s *supervisor.State) { s.ResumedBy, s.Record.Termination.Resumable = "going-1", true })))
	foreign := f.run(t, f.project, state("foreign", 100))
	put(t, foreign, map[string]string{"notes.txt": "mine"})
	needed["foreign"] = files(t, foreign)
	var whole map[string]string

	work := startHelper(t, "runs", f.root, f.tree)
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for round := range 30 {
		for i := range 4 {
			folder := f.run(t, f.project, state(fmt.Sprintf("old-%d-%d", round, i), 100))
			if whole == nil {
				whole = files(t, folder)
				delete(whole, "state.json")
			}
		}
		gc := startHelper(t, "gc", f.root)
		if got := gc.line(t); got != "begin" {
			t.Fatal(got)
		}
		<-time.After(time.Duration(rng.Int64N(int64(40 * time.Millisecond)))) // the moment is the point, not what is waited for
		if err := gc.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = gc.cmd.Wait()
		for _, name := range names(t, f.project.RunsDir()) {
			if !strings.HasPrefix(name, "old-") {
				continue
			}
			got := unpackedFiles(t, f.project.RunDir(name))
			delete(got, "state.json")
			maps.DeleteFunc(got, func(n, _ string) bool { return strings.HasPrefix(filepath.Base(n), goneMark) })
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Fatalf("run %s is neither whole nor gone:\n%s", name, diff)
			}
		}
	}
	if err := work.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if got := work.line(t); !strings.HasPrefix(got, "runs ") || got == "runs 0" {
		t.Fatalf("the supervisor beside it: %s", got)
	}
	if err := clearOnce(f.root); err != nil {
		t.Fatal(err)
	}
	left := names(t, f.project.RunsDir())
	for _, name := range left {
		if strings.HasPrefix(name, goneMark) || strings.HasPrefix(name, "old-") {
			t.Errorf("%s is left", name)
		}
	}
	for id, want := range needed {
		if diff := cmp.Diff(want, files(t, f.project.RunDir(id))); diff != "" {
			t.Errorf("run %s was touched (-want +got):\n%s", id, diff)
		}
	}
}
