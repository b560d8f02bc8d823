package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
)

// What lies beside the runs of a project keeps those that it refers to.
func TestWhatRefersToARun(t *testing.T) {
	t.Parallel()
	gate := func(id, status, by string) string {
		return fmt.Sprintf(`{"id": %q, "fingerprint": "0123456789abcdef", "run_id": "r", "status": %q, "by": %q, "expires_at": "2026-01-01T00:00:00Z"}`, id, status, by)
	}
	item := func(status queue.Status) func(t *testing.T, p statedir.Project) {
		return func(t *testing.T, p statedir.Project) {
			err := queue.Store{Path: filepath.Join(p.Dir, "queue.json")}.Update(func(q *queue.Queue) error {
				it := queue.Item{ID: "goal-1", Kind: queue.Goal, Title: "x", AddedAt: ago(200), Status: status, RunID: "r"}
				if status != queue.Waiting {
					it.StartedAt = ago(150)
				}
				if status.Over() {
					it.EndedAt = ago(100)
				}
				q.Items, q.Next = []queue.Item{it}, 2
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	update := func(t *testing.T, p statedir.Project) {
		target := publish.Target{Service: publish.Webhook, Ref: "https://host.example/x"}
		if err := (outbox.Outbox{Dir: p.Dir}).Put(target, publish.Update{Subject: "run/r", RunID: "r", State: publish.Done, At: ago(100), Final: true}); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) func(*testing.T, statedir.Project) {
		return func(t *testing.T, p statedir.Project) { put(t, p.Dir, map[string]string{name: text}) }
	}
	tests := []struct {
		name   string
		make   func(*testing.T, statedir.Project)
		change func(*supervisor.State)
		want   Why
	}{
		{name: "nothing", make: func(*testing.T, statedir.Project) {}, want: Expired},
		{name: "a gate that waits", make: write("gates/g-aaaaaa.0123456789ab.json", gate("g-aaaaaa", "pending", "")), want: Referred},
		{name: "a gate that nobody decided", make: write("gates/g-aaaaaa.0123456789ab.json", gate("g-aaaaaa", "expired", "")), want: Referred},
		{name: "a gate that was denied", make: write("gates/g-aaaaaa.0123456789ab.json", gate("g-aaaaaa", "denied", "me")), want: Expired},
		{name: "a gate that cannot be read", make: write("gates/g-aaaaaa.0123456789ab.json", "{"), want: Unreadable},
		{name: "an item in progress", make: item(queue.InProgress), want: Referred},
		{name: "an item for a person", make: item(queue.NeedsHuman), want: Referred},
		{name: "an item that is done", make: item(queue.Done), want: Expired},
		{name: "a queue that cannot be read", make: write("queue.json", "{"), want: Unreadable},
		{name: "an update", make: update, want: Referred},
		{name: "an outbox that cannot be read", make: write("outbox/entries/0123456789ab-1.json", "{"), want: Unreadable},
		{name: "a question", make: func(*testing.T, statedir.Project) {}, change: func(s *supervisor.State) {
			resumable(s)
			s.Pursuit.Goals = []pursuit.Goal{{Status: ledger.GoalPaused, Question: &pursuit.Question{Text: "?"}}}
		}, want: Question},
		{name: "a question that another run goes on with", make: func(*testing.T, statedir.Project) {}, change: func(s *supervisor.State) {
			resumable(s)
			s.ResumedBy, s.Pursuit.Goals = "gone", []pursuit.Goal{{Status: ledger.GoalPaused, Question: &pursuit.Question{Text: "?"}}}
		}, want: Expired},
		{name: "a workflow that cannot be read", make: write("tdd/runs/master__task-1__2026-01-01T00-00-00-000Z/state.json", "{"), change: func(s *supervisor.State) { s.Record.Source = sourceTDD }, want: Referred},
		{name: "a workflow of another source", make: write("tdd/runs/master__task-1__2026-01-01T00-00-00-000Z/state.json", "{"), want: Expired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := state("r", 100)
			if tt.change != nil {
				tt.change(&s)
			}
			f.run(t, f.project, s)
			f.run(t, f.project, state("last", 1))
			f.current(t, f.project, "last")
			tt.make(t, f.project)
			if it := itemOf(t, f.plan(t, Policy{Days: 30, Resumable: tt.want == Question}), "r"); it.Why != tt.want {
				t.Errorf("%s (%s), want %s", it.Why, it.Detail, tt.want)
			}
		})
	}
}

func TestLookAtACohort(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	trees := filepath.Join(f.root, "worktrees", statedir.Slug(f.tree))
	a, b := f.open(t, filepath.Join(trees, "a")), f.open(t, filepath.Join(trees, "b"))
	parent := "cohort"
	ofStory := func(id string, change ...func(*supervisor.State)) supervisor.State {
		s := state(id, 100, change...)
		s.Record.ParentRunID = &parent
		return s
	}
	f.run(t, a, ofStory("main-a"))
	f.run(t, a, state("later", 1))
	f.current(t, a, "later")
	f.run(t, b, ofStory("main-b"))
	folder := f.run(t, f.project, state("cohort", 100))
	f.run(t, f.project, state("last", 1))
	f.current(t, f.project, "last")
	cohort := func(change func(*story.Cohort)) {
		t.Helper()
		c := story.Cohort{Version: story.Version, RunID: parent, Members: []story.Member{
			{Story: story.Story{ID: "a"}, Status: story.Done, Runs: []string{"main-a"}, Folder: filepath.Join(folder, "stories", "a")},
			{Story: story.Story{ID: "b"}, Status: story.Done, Runs: []string{"main-b"}, Folder: filepath.Join(folder, "stories", "b"), Worktree: b.Path},
		}}
		change(&c)
		if err := statedir.ReplaceJSON(filepath.Join(folder, story.File), c); err != nil {
			t.Fatal(err)
		}
	}
	why := func() [3]Why {
		t.Helper()
		items := f.plan(t, Policy{Days: 30, Resumable: true})
		return [3]Why{itemOf(t, items, "cohort").Why, itemOf(t, items, "main-a").Why, itemOf(t, items, "main-b").Why}
	}
	cohort(func(*story.Cohort) {})
	if got, want := why(), [3]Why{Tree, OfCohort, OfCohort}; got != want {
		t.Errorf("with a work tree: %v, want %v", got, want)
	}
	cohort(func(c *story.Cohort) { c.Members[1].Worktree = filepath.Join(trees, "gone") })
	if got, want := why(), [3]Why{Expired, Expired, LastRun}; got != want {
		t.Errorf("without: %v, want %v", got, want)
	}
	cohort(func(c *story.Cohort) { c.Members[1].Worktree, c.Members[0].Status = "", story.Person })
	if got, want := why(), [3]Why{Question, OfCohort, OfCohort}; got != want {
		t.Errorf("a story that asks: %v, want %v", got, want)
	}
	cohort(func(c *story.Cohort) { c.Version = 99 })
	if got, want := why(), [3]Why{Unreadable, OfCohort, OfCohort}; got != want {
		t.Errorf("a cohort of a later version: %v, want %v", got, want)
	}
	cohort(func(*story.Cohort) {})
	other := f.open(t, f.tree+"-other")
	f.run(t, other, state("x", 100))
	projects, _ := Look(t.Context(), f.root, noon())
	items := Decide(projects, Policy{}, noon())
	dirs := func(items []Item) (out []string) {
		for _, it := range items {
			if !slices.Contains(out, it.Project) {
				out = append(out, it.Project)
			}
		}
		slices.Sort(out)
		return out
	}
	want := []string{f.tree, a.Path, b.Path}
	slices.Sort(want)
	if diff := cmp.Diff(want, dirs(Of(items, projects, f.root, f.tree))); diff != "" {
		t.Errorf("of the work tree (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{other.Path}, dirs(Of(items, projects, f.root, other.Path))); diff != "" {
		t.Errorf("of the other (-want +got):\n%s", diff)
	}
}

// A project that cannot be read is named and hides no other.
func TestProjectsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run(t, f.project, state("r", 100))
	put(t, filepath.Join(f.root, "projects", "-srv-torn"), map[string]string{"project.json": "{", "runs/x/state.json": "{}"})
	put(t, filepath.Join(f.root, "projects", "nobodys"), map[string]string{"runs/x/state.json": "{}"})
	projects, problems := Look(t.Context(), f.root, noon())
	if len(projects) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "-srv-torn") {
		t.Errorf("%d projects, problems %v", len(projects), problems)
	}
}

// BenchmarkDryRun looks at 1,000 runs and decides about them. Compare it with
// BenchmarkWalk, which only walks over their folders.
func BenchmarkDryRun(b *testing.B) {
	f := thousand(b)
	b.ResetTimer()
	for b.Loop() {
		projects, _ := Look(b.Context(), f.root, noon())
		if items := Decide(projects, usual(), noon()); len(items) < 1000 {
			b.Fatalf("%d items", len(items))
		}
	}
}

// BenchmarkWalk is what looking costs at least.
func BenchmarkWalk(b *testing.B) {
	f := thousand(b)
	b.ResetTimer()
	for b.Loop() {
		inv := takeInventory(f.project.RunsDir(), noon())
		if inv.bytes < 1000 {
			b.Fatal("nothing was seen")
		}
	}
}

func thousand(b *testing.B) fixture {
	b.Helper()
	f := newFixture(b)
	for i := range 1000 {
		f.run(b, f.project, state(fmt.Sprintf("run-%04d", i), float64(i)/10))
	}
	return f
}

func BenchmarkDecide(b *testing.B) {
	p := Project{Path: "/srv/app", Dir: "/srv/state/projects/-srv-app"}
	for i := range 10_000 {
		r := old(fmt.Sprintf("run-%d", i), float64(i)/100)
		if r.Before = fmt.Sprintf("run-%d", i+1); i == 0 {
			r.Resumable = true
		}
		p.Runs = append(p.Runs, r)
	}
	for b.Loop() {
		if items := Decide([]Project{p}, usual(), noon()); len(items) != len(p.Runs) {
			b.Fatal(len(items))
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	put(t, base, map[string]string{"file": "", "there/x": ""})
	if err := os.Mkdir(filepath.Join(base, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Missing{"there": "", "gone": Gone, "gone/further": Unseen, "empty/app": Unseen, "file/app": Unseen, "there/app": Gone} {
		if got := missing("/srv/state", filepath.Join(base, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := missing(base, filepath.Join(base, "projects", "x", "runs", "c", "stories", "a")); got != Gone {
		t.Errorf("in the state root: %q", got)
	}
}
