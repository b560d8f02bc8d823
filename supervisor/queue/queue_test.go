package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func at(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }

// of makes a queue of increments "0001-a" and so on, one for each status.
func of(t *testing.T, statuses ...Status) *Queue {
	t.Helper()
	q := new(Queue)
	for i, s := range statuses {
		_, err := q.Add(Item{Kind: Increment, ID: fmt.Sprintf("%04d-%c", i+1, 'a'+i)}, at(0))
		if err != nil {
			t.Fatal(err)
		}
		q.Items[i].Status = s
		if s != Waiting {
			q.Items[i].RunID, q.Items[i].StartedAt, q.Items[i].Sessions = "run", at(0), 3
		}
	}
	return q
}

// refused fails the test unless err is a refusal with these words and a way out.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	r, ok := errors.AsType[*Refusal](err)
	if !ok {
		t.Errorf("got %v, want a refusal", err)
		return
	}
	if r.Hint() == "" {
		t.Errorf("%v: there is no way out", err)
	}
	for _, w := range words {
		if !strings.Contains(r.Error(), w) {
			t.Errorf("got %q, want %q in it", r.Error(), w)
		}
	}
}

func ids(q *Queue) string {
	var out []string
	for _, i := range q.Items {
		out = append(out, i.ID)
	}
	return strings.Join(out, " ")
}

func TestAdd(t *testing.T) {
	t.Parallel()
	q := new(Queue)
	got, err := q.Add(Item{
		Kind: Increment, ID: "0007-login", Title: "  Log\x1b[31m in\n now ", Priority: 2, After: []string{"0001-a", "goal-1", "0001-a"}, Type: "Feature", Estimate: 9,
		Status: Done, Why: "x", RunID: "x", Sessions: 4, Stalled: 1, Best: 2, Fixes: 1, Claimed: true, StartedAt: at(1), EndedAt: at(2),
	}, at(5).In(time.FixedZone("x", 3600)))
	want := Item{Kind: Increment, ID: "0007-login", Title: "Log in now", Priority: 2, After: []string{"0001-a", "goal-1"}, Type: "feature", Estimate: 9, AddedAt: at(5), Status: Waiting}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("increment (-want +got), error %v:\n%s", err, diff)
	}
	got, err = q.Add(Item{Kind: Goal, Title: "Tidy up.\r\n- all of it\n", Type: "feature", Verify: []string{"make test"}}, at(6))
	want = Item{Kind: Goal, ID: "goal-1", Title: "Tidy up.\n- all of it", Verify: []string{"make test"}, AddedAt: at(6), Status: Waiting}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("goal (-want +got), error %v:\n%s", err, diff)
	}
	if got, want := got.Short(), "Tidy up. - all of it"; got != want {
		t.Errorf("Short = %q, want %q", got, want)
	}
	// What was returned is a copy.
	got.Verify[0] = "rm"
	if q.Items[1].Verify[0] != "make test" {
		t.Error("the item shares its commands with the one that was returned")
	}
	if err := q.check(); err != nil {
		t.Error(err)
	}
}

func TestGoalNumbersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	q := new(Queue)
	for _, want := range []string{"goal-1", "goal-2"} {
		if got, err := q.Add(Item{Kind: Goal, Title: "x"}, at(0)); err != nil || got.ID != want {
			t.Errorf("got %s, %v, want %s", got.ID, err, want)
		}
	}
	if err := q.RemoveItem("goal-2"); err != nil {
		t.Fatal(err)
	}
	if got, err := q.Add(Item{Kind: Goal, Title: "x"}, at(0)); err != nil || got.ID != "goal-3" {
		t.Errorf("got %s, %v, want goal-3", got.ID, err)
	}
	q.Next = 0 // as in a file that a person made
	if got, err := q.Add(Item{Kind: Goal, Title: "x"}, at(0)); err != nil || got.ID != "goal-2" {
		t.Errorf("got %s, %v, want goal-2", got.ID, err)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestGoal+1)
	tests := []struct {
		name string
		item Item
		want string
	}{
		{"there already", Item{Kind: Increment, ID: "0001-a"}, "0001-a is in the queue already: it is waiting"},
		{"there and over", Item{Kind: Increment, ID: "0002-b"}, "0002-b is in the queue already: it is failed"},
		{"there and done", Item{Kind: Increment, ID: "0003-c"}, "0003-c is in the queue already: it is done"},
		{"no kind", Item{ID: "0009-x"}, `"" is no kind`},
		{"no id", Item{Kind: Increment}, `"" is not the id`},
		{"a goal's id", Item{Kind: Increment, ID: "goal-4"}, `"goal-4" is not the id`},
		{"a path", Item{Kind: Increment, ID: "0001/../x"}, "is not the id"},
		{"a blank", Item{Kind: Increment, ID: "0001 x"}, "is not the id"},
		{"a control character", Item{Kind: Increment, ID: "0001-\x1b[2J"}, "is not the id"},
		{"not UTF-8", Item{Kind: Increment, ID: "0001-\xff"}, "is not the id"},
		{"a long id", Item{Kind: Increment, ID: strings.Repeat("1", longestID+1)}, "is not the id"},
		{"commands of an increment", Item{Kind: Increment, ID: "0009-x", Verify: []string{"make"}}, "commands that must succeed are for goals"},
		{"a goal with an id", Item{Kind: Goal, ID: "goal-7", Title: "x"}, `"goal-7" cannot be the id`},
		{"an empty goal", Item{Kind: Goal, Title: " \n"}, "the goal is empty"},
		{"a long goal", Item{Kind: Goal, Title: long}, fmt.Sprintf("the goal has %d characters", longestGoal+1)},
		{"an empty command", Item{Kind: Goal, Title: "x", Verify: []string{" "}}, "is empty"},
		{"a long command", Item{Kind: Goal, Title: "x", Verify: []string{long}}, "is longer than"},
		{"a command with a secret", Item{Kind: Goal, Title: "x", Verify: []string{"TOKEN=abcdef123 make"}}, "a secret"},
		{"a command with controls", Item{Kind: Goal, Title: "x", Verify: []string{"make\x07"}}, "control characters"},
		{"many commands", Item{Kind: Goal, Title: "x", Verify: make([]string, mostCommands+1)}, "too many"},
		{"priority", Item{Kind: Goal, Title: "x", Priority: -1}, "priority -1"},
		{"large priority", Item{Kind: Goal, Title: "x", Priority: 10}, "priority 10"},
		{"dependency", Item{Kind: Goal, Title: "x", After: []string{"a b"}}, `"a b" is not the id`},
		{"many dependencies", Item{Kind: Goal, Title: "x", After: strings.Fields(strings.Join(numbers(mostAfter+1), " "))}, "cannot wait for 65"},
	}
	for _, tt := range tests {
		q := of(t, Waiting, Failed, Done)
		before := q.copied()
		_, err := q.Add(tt.item, at(1))
		t.Run(tt.name, func(t *testing.T) { refused(t, err, tt.want) })
		if diff := cmp.Diff(&before, q); diff != "" {
			t.Errorf("%s: the queue was changed:\n%s", tt.name, diff)
		}
	}
}

func numbers(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func TestAddWritesNoSecrets(t *testing.T) {
	t.Parallel()
	q := new(Queue)
	got, err := q.Add(Item{Kind: Goal, Title: "use TOKEN=abcdef123456 for it"}, at(0))
	if err != nil || strings.Contains(got.Title, "abcdef") || !strings.Contains(got.Title, "for it") {
		t.Errorf("got %q, %v", got.Title, err)
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	q := &Queue{Items: make([]Item, mostItems)}
	_, err := q.Add(Item{Kind: Goal, Title: "x"}, at(0))
	refused(t, err, "full")
}

func TestRemoveItem(t *testing.T) {
	t.Parallel()
	q := of(t, Done, InProgress, Waiting, Failed)
	q.Items[2].After = []string{"0004-d", "0001-a"}
	refused(t, q.RemoveItem("0002-b"), "0002-b is in progress")
	refused(t, q.RemoveItem("0009-x"), `"0009-x" is not in the queue`)
	for _, id := range []string{"0001-a", "0004-d"} {
		if err := q.RemoveItem(id); err != nil {
			t.Error(err)
		}
	}
	if got, want := ids(q), "0002-b 0003-c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// One that was done is waited for no more; one that failed still is.
	if diff := cmp.Diff([]string{"0004-d"}, q.Items[1].After); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	refused(t, new(Queue).RemoveItem("0001-a"), "which is empty")
}

func TestMove(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id   string
		to   Place
		want string // the last letters, or what is wrong
	}{
		{"0003-c", Place{First: true}, "c a b d"},
		{"0001-a", Place{First: true}, "a b c d"},
		{"0001-a", Place{Last: true}, "b c d a"},
		{"0001-a", Place{Before: "0004-d"}, "b c a d"},
		{"0004-d", Place{Before: "0001-a"}, "d a b c"},
		{"0001-a", Place{After: "0002-b"}, "b a c d"},
		{"0004-d", Place{After: "0001-a"}, "a d b c"},
		{"0001-a", Place{After: "0004-d"}, "b c d a"},
		{"0001-a", Place{Position: 1}, "a b c d"},
		{"0001-a", Place{Position: 3}, "b c a d"},
		{"0004-d", Place{Position: 2}, "a d b c"},
		{"0002-b", Place{Position: 99}, "a c d b"},
		{"0001-a", Place{}, "!not clear where to move 0001-a"},
		{"0001-a", Place{First: true, Last: true}, "!not clear"},
		{"0001-a", Place{Before: "0002-b", After: "0003-c"}, "!not clear"},
		{"0001-a", Place{Position: -1}, "!not clear"},
		{"0001-a", Place{Before: "0001-a"}, "!next to itself"},
		{"0001-a", Place{After: "0009-x"}, `!"0009-x" is not in the queue`},
		{"0009-x", Place{First: true}, `!"0009-x" is not in the queue`},
	}
	for _, tt := range tests {
		q := of(t, Waiting, Waiting, Waiting, Waiting)
		err := q.Move(tt.id, tt.to)
		if why, bad := strings.CutPrefix(tt.want, "!"); bad {
			refused(t, err, why)
			tt.want = "a b c d"
		} else if err != nil {
			t.Errorf("%s to %+v: %v", tt.id, tt.to, err)
		}
		var got []string
		for _, i := range q.Items {
			got = append(got, i.ID[5:])
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s to %+v: got %s, want %s", tt.id, tt.to, got, tt.want)
		}
	}
}

func TestChangesOfStatus(t *testing.T) {
	t.Parallel()
	ops := []struct {
		name string
		do   func(q *Queue) error
		to   Status
		from []Status
	}{
		{"Begin", func(q *Queue) error { return q.Begin("0001-a", "night", at(9)) }, InProgress, []Status{Waiting, InProgress}},
		{"Done", func(q *Queue) error { return q.Done("0001-a", at(9)) }, Done, []Status{InProgress, NeedsHuman}},
		{"Fail", func(q *Queue) error { return q.Fail("0001-a", "no\nway", at(9)) }, Failed, []Status{Waiting, InProgress, NeedsHuman}},
		{"Ask", func(q *Queue) error { return q.Ask("0001-a", "no\nway", at(9)) }, NeedsHuman, []Status{Waiting, InProgress}},
		{"Skip", func(q *Queue) error { return q.Skip("0001-a", "no\nway", at(9)) }, Skipped, []Status{Waiting, InProgress, NeedsHuman, Failed}},
		{"Retry", func(q *Queue) error { return q.Retry("0001-a", at(9)) }, Waiting, []Status{NeedsHuman, Failed, Skipped}},
	}
	for _, op := range ops {
		for _, from := range []Status{Waiting, InProgress, NeedsHuman, Failed, Skipped, Done} {
			t.Run(op.name+" "+string(from), func(t *testing.T) {
				t.Parallel()
				q := of(t, from, Waiting)
				before := q.copied()
				err := op.do(q)
				if !slices.Contains(op.from, from) {
					refused(t, err, "0001-a", string(from))
					if diff := cmp.Diff(&before, q); diff != "" {
						t.Errorf("the queue was changed:\n%s", diff)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := before.Items[0]
				want.Status = op.to
				switch op.to {
				case InProgress:
					want.RunID = "night"
					if from == Waiting {
						want.StartedAt = at(9)
					}
				case Waiting:
					want.RunID, want.StartedAt, want.Sessions = "", time.Time{}, 0
				case Done:
					want.EndedAt = at(9)
				default:
					want.EndedAt, want.Why = at(9), "no way"
				}
				if diff := cmp.Diff(want, q.Items[0]); diff != "" {
					t.Errorf("item (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestOnlyOneIsInProgress(t *testing.T) {
	t.Parallel()
	q := of(t, InProgress, Waiting)
	refused(t, q.Begin("0002-b", "run", at(1)), "0002-b cannot be begun while 0001-a is in progress")
	if err := q.Done("0001-a", at(1)); err != nil {
		t.Fatal(err)
	}
	if err := q.Begin("0002-b", "run", at(1)); err != nil {
		t.Error(err)
	}
}

func TestWhyIsBoundedAndClean(t *testing.T) {
	t.Parallel()
	q := of(t, InProgress, Waiting)
	if err := q.Fail("0001-a", "\x1b[1mTOKEN=abcdef123456\x00 "+strings.Repeat("ä", 5000), at(1)); err != nil {
		t.Fatal(err)
	}
	why := q.Items[0].Why
	if n := len([]rune(why)); n != longestWhy || strings.Contains(why, "abcdef") || strings.ContainsAny(why, "\x00\x1b") {
		t.Errorf("why is %d characters: %.80q", n, why)
	}
	if err := q.Skip("0002-b", " ", at(1)); err != nil || q.Items[1].Why == "" {
		t.Errorf("why is %q, %v", q.Items[1].Why, err)
	}
	if err := q.check(); err != nil {
		t.Error(err)
	}
}

func TestRetryClearsWhatWasCounted(t *testing.T) {
	t.Parallel()
	q := new(Queue)
	kept, err := q.Add(Item{Kind: Goal, Title: "x", Priority: 2, After: []string{"0001-a"}, Verify: []string{"make"}, Estimate: 3}, at(0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Tests("goal-1", true)
	refused(t, err, "goal-1 is waiting, not in progress")
	refused(t, q.Session("goal-1", 1, 2, false), "goal-1 is waiting")
	refused(t, q.Baseline("goal-1", 1), "goal-1 is waiting")
	if err := errors.Join(q.Begin("goal-1", "run", at(1)), q.Session("goal-1", 2, 5, true), q.Session("goal-1", 2, 5, true)); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Tests("goal-1", true); err != nil {
		t.Fatal(err)
	}
	if i := q.Items[0]; i.Sessions != 2 || i.Stalled != 1 || i.Best != 2 || i.Fixes != 1 || !i.Claimed {
		t.Errorf("counted %+v", i)
	}
	if err := errors.Join(q.Ask("goal-1", "x", at(2)), q.Retry("goal-1", at(3))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, q.Items[0], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("item (-added +retried):\n%s", diff)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	type look struct{ done, total int }
	tests := []struct {
		name          string
		kind          Kind
		before        int
		looks         []look
		stalled, best int
	}{
		{"progress", Increment, 0, []look{{1, 5}, {3, 5}}, 0, 3},
		{"none", Increment, 0, []look{{1, 5}, {1, 5}, {1, 5}}, 2, 1},
		{"one that is taken back is no progress when it comes again", Increment, 0, []look{{3, 5}, {2, 5}, {3, 5}}, 2, 3},
		{"progress after a while", Increment, 0, []look{{1, 5}, {1, 5}, {2, 5}}, 0, 2},
		{"what was done before", Increment, 3, []look{{3, 5}}, 1, 3},
		{"what was done before, and more", Increment, 3, []look{{4, 5}}, 0, 4},
		{"no tasks", Increment, 0, []look{{0, 0}, {0, 0}}, 2, 0},
		{"a goal without tasks", Goal, 0, []look{{0, 0}, {0, 0}}, 0, 0},
		{"a goal with tasks", Goal, 0, []look{{1, 2}, {1, 2}}, 1, 1},
		{"more done than there are", Increment, 0, []look{{9, 2}, {2, 2}}, 1, 2},
		{"nonsense", Increment, -3, []look{{-1, -5}}, 1, 0},
		{"huge", Increment, 1 << 40, []look{{1 << 40, 1 << 40}}, 1, mostCount},
	}
	for _, tt := range tests {
		q := &Queue{Version: version, Items: []Item{{ID: "0001-a", Kind: tt.kind, Status: InProgress}}}
		if err := q.Baseline("0001-a", tt.before); err != nil {
			t.Fatal(err)
		}
		for i, l := range tt.looks {
			if err := q.Session("0001-a", l.done, l.total, i%2 == 0); err != nil {
				t.Fatal(err)
			}
		}
		got := q.Items[0]
		want := Item{ID: "0001-a", Kind: tt.kind, Status: InProgress, Sessions: len(tt.looks), Stalled: tt.stalled, Best: tt.best, Claimed: len(tt.looks)%2 == 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if err := q.check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestRedTestsInARow(t *testing.T) {
	t.Parallel()
	q := of(t, InProgress)
	for i, step := range []struct {
		red  bool
		want int
	}{{true, 1}, {true, 2}, {false, 0}, {false, 0}, {true, 1}} {
		if got, err := q.Tests("0001-a", step.red); err != nil || got != step.want || q.Items[0].Fixes != step.want {
			t.Errorf("step %d: got %d, %v, want %d", i, got, err, step.want)
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	q := of(t, Waiting, Waiting, Waiting, InProgress, Failed, Waiting)
	got := q.Settle(Facts{Increments: map[string]string{
		"0001-a": "completed", "0002-b": "abandoned", "0003-c": "planning", "0004-d": "completed", "0005-e": "completed",
	}}, at(7))
	var skipped []string
	for _, i := range got {
		skipped = append(skipped, i.ID+": "+i.Why)
	}
	want := []string{"0001-a: the increment is completed already", "0002-b: the increment is abandoned already"}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	var now []Status
	for _, i := range q.Items {
		now = append(now, i.Status)
	}
	if diff := cmp.Diff([]Status{Skipped, Skipped, Waiting, InProgress, Failed, Waiting}, now); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if !q.Items[0].EndedAt.Equal(at(7)) {
		t.Errorf("it ended at %v", q.Items[0].EndedAt)
	}
}

func TestFindAndResolve(t *testing.T) {
	t.Parallel()
	q := of(t, Waiting, Waiting)
	q.Items[1].ID = "0001"
	for beginning, want := range map[string]string{"0001-a": "0001-a", "0001-": "0001-a", "0001": "0001"} {
		if got, err := q.Resolve(beginning); err != nil || got != want {
			t.Errorf("Resolve(%s) = %s, %v, want %s", beginning, got, err, want)
		}
	}
	_, err := q.Resolve("000")
	refused(t, err, `"000" may be 0001-a, 0001`)
	_, err = q.Resolve("")
	refused(t, err, "not in the queue")
	_, err = q.Find("0001-")
	refused(t, err, "not in the queue")
	if got, err := q.Find("0001-a"); err != nil || got.ID != "0001-a" {
		t.Errorf("Find = %s, %v", got.ID, err)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	q := of(t, Waiting, Waiting, InProgress, NeedsHuman, Failed, Skipped, Done, Done)
	got := q.Summary(nil, Held{ID: "0002-b"})
	want := Summary{Total: 8, Done: 2, Failed: 1, NeedsHuman: 1, Skipped: 1, Waiting: 2, InProgress: 1, Held: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	got = q.Summary([]string{"0001-a", "0007-g", "0099-x"})
	if diff := cmp.Diff(Summary{Total: 2, Done: 1, Waiting: 1}, got); diff != "" {
		t.Errorf("some (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for tasks, want := range map[int]int{-1: 5, 0: 5, 2: 5, 3: 6, 10: 20, 1 << 60: mostCount} {
		if got := Estimate(tasks); got != want {
			t.Errorf("Estimate(%d) = %d, want %d", tasks, got, want)
		}
	}
	if DefaultActive() != 3 {
		t.Errorf("DefaultActive = %d", DefaultActive())
	}
	if diff := cmp.Diff(map[string]int{"feature": 2, "change-request": 2, "refactor": 1}, DefaultPerType()); diff != "" {
		t.Errorf("DefaultPerType (-want +got):\n%s", diff)
	}
}
