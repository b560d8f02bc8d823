package taskmaster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	const others = `,{"id":2,"status":"done","subtasks":[{"id":1,"status":"cancelled"},{"id":2,"status":"review"}]},{"id":3},{"id":7,"status":"COMPLETED"},{"id":9},{"id":9,"status":"done"}]`
	sub := func(id int, status, on string) string {
		return fmt.Sprintf(`{"id":%d,"status":%q,"dependencies":[%s]}`, id, status, on)
	}
	tests := []struct {
		name string
		subs []string
		want string
	}{
		{"as in the file", []string{sub(3, "pending", ""), sub(1, "in-progress", ""), sub(2, "review", "")}, "1.3 1.1 1.2"},
		{"dependencies first", []string{sub(1, "pending", "3"), sub(2, "pending", ""), sub(3, "blocked", `"1.2"`)}, "1.2 1.3 1.1"},
		{"the first in the file of those that are free", []string{sub(1, "pending", "4"), sub(2, "", ""), sub(3, "what", "1"), sub(4, "pending", "")}, "1.2 1.4 1.1 1.3"},
		{"what is done is left out and met", []string{sub(1, "done", ""), sub(2, "pending", "1, 3, 4"), sub(3, "Completed", ""), sub(4, "cancelled", "9")}, "1.2"},
		{"deferred is left out", []string{sub(1, "deferred", "2"), sub(2, "pending", "")}, "1.2"},
		{"nothing is left", []string{sub(1, "done", ""), sub(2, "deferred", "")}, ""},
		{"twice the same", []string{sub(1, "pending", `2, "1.2", 2`), sub(2, "pending", "")}, "1.2 1.1"},
		{"other tasks that are done", []string{sub(1, "pending", `7, "2.1", "2"`), sub(2, "done", "")}, "1.1"},
		{"deferred keeps waiting", []string{sub(1, "pending", "2"), sub(2, "deferred", "")}, "! 1.1 waits for 1.2, which is deferred"},
		{"other tasks that are not", []string{sub(1, "pending", `"2.2", 3, 44, 9, "x y"`)}, "! 1.1 waits for 2.2, which is review; 1.1 waits for 3, which has no status; 1.1 waits for 44, which is not there; 1.1 waits for 9, which is there twice; 1.1 waits for x y, which is not there"},
		{"many", []string{sub(1, "pending", `30, 31, 32, 33, 34, 35, 36`)}, "which is not there, and 2 more"},
		{"its own task", []string{sub(2, "pending", `"1"`)}, "! 1.2 waits for 1, which is pending"},
		{"itself", []string{sub(1, "pending", "1")}, "! 1.1 waits for 1.1"},
		{"circle", []string{sub(1, "pending", ""), sub(2, "pending", "3"), sub(3, "pending", "4"), sub(4, "pending", "1, 2"), sub(5, "pending", "2")}, "! 1.2 waits for 1.3 waits for 1.4 waits for 1.2"},
		{"none", nil, "! task 1 has no subtasks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := of(t, `[{"id":1,"status":"pending","subtasks":[`+strings.Join(tt.subs, ",")+`]}`+others)
			task, err := f.Task("1")
			if err != nil {
				t.Fatal(err)
			}
			list, err := f.Open(task)
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			got := strings.Join(ids, " ")
			if err != nil {
				kind := ErrCannotOrder
				if tt.subs == nil {
					kind = ErrNoSubtasks
				}
				if !errors.Is(err, kind) {
					t.Errorf("got %v, want kind %v", err, kind)
				}
				got = "! " + strings.TrimPrefix(err.Error(), "the subtasks of task 1 cannot be put in order: ")
			}
			if got != tt.want && (!strings.Contains(got, tt.want) || tt.name != "many") && !rotated(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// rotated reports whether two sentences name the same circle.
func rotated(a, b string) bool {
	const word = " waits for "
	x, y := strings.Split(strings.TrimPrefix(a, "! "), word), strings.Split(strings.TrimPrefix(b, "! "), word)
	if len(x) != len(y) || len(x) < 2 || x[0] != x[len(x)-1] {
		return false
	}
	y = y[1:]
	return strings.Contains(" "+strings.Join(append(y, y...), " ")+" ", " "+strings.Join(x, " ")+" ")
}

func TestUnmet(t *testing.T) {
	t.Parallel()
	f := of(t, `[{"id":1,"dependencies":[2,3,"4",99,"3.1",3,"3.2","junk","99.1"]},{"id":2,"status":"done"},
		{"id":3,"status":"in-progress","subtasks":[{"id":1,"status":"done"},{"id":2,"status":"deferred"}]},{"id":"4","status":"cancelled"}]`)
	task, err := f.Task("1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"3", "99", "3.2", "junk", "99.1"}, f.Unmet(task)); diff != "" {
		t.Errorf("unmet (-want +got):\n%s", diff)
	}
}

// Whatever the dependencies are: each comes behind what it depends on, or there is a
// circle.
func TestOrderHoldsDependencies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		task := Task{ID: "1"}
		for i := range n {
			sub := Task{ID: fmt.Sprintf("1.%d", i), Status: rapid.SampledFrom([]string{"pending", "pending", "done", "blocked"}).Draw(t, "status")}
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 2).Draw(t, "on") {
				sub.Dependencies = append(sub.Dependencies, fmt.Sprintf("1.%d", k))
			}
			task.Subtasks = append(task.Subtasks, sub)
		}
		done, todo := map[string]bool{}, 0
		for _, s := range task.Subtasks {
			done[s.ID] = Met(s.Status)
			if !done[s.ID] {
				todo++
			}
		}
		free := func(s Task) bool {
			return !done[s.ID] && !slices.ContainsFunc(s.Dependencies, func(on string) bool { return !done[on] })
		}
		list, err := new(File).Open(task)
		// The model: look again and again for the first that is free.
		for i := 0; ; i++ {
			at := slices.IndexFunc(task.Subtasks, free)
			if at < 0 {
				if (i < todo) != (err != nil) || err == nil && len(list) != i {
					t.Fatalf("got %v, %v; the model does %d of %d", list, err, i, todo)
				}
				return
			}
			if err == nil && (i >= len(list) || list[i].ID != task.Subtasks[at].ID) {
				t.Fatalf("place %d of %v, want %s", i, list, task.Subtasks[at].ID)
			}
			done[task.Subtasks[at].ID] = true
		}
	})
}
