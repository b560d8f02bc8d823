package queue

import (
	"testing"
	"time"
)

// TestWhatIsNotedOfAnItem are the counts that only an item in progress has.
func TestWhatIsNotedOfAnItem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	var q Queue
	if _, err := q.Add(Item{ID: "0001-a", Kind: Increment, Title: "a"}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Went("0001-a", true); err == nil {
		t.Error("a waiting item had a session")
	}
	if _, err := q.Has("0001-a", 1); err == nil {
		t.Error("a waiting item is counted")
	}
	if err := q.Pass("0001-a"); err == nil {
		t.Error("a waiting item has passed")
	}
	if err := q.Begin("0001-a", "r", now); err != nil {
		t.Fatal(err)
	}
	for i, x := range []struct {
		wrong bool
		want  int
	}{{true, 1}, {true, 2}, {false, 0}, {true, 1}} {
		if got, err := q.Went("0001-a", x.wrong); err != nil || got != x.want {
			t.Errorf("session %d: %d in a row, %v, want %d", i, got, err, x.want)
		}
	}
	for i, x := range [][2]int{{3, 3}, {5, 5}, {2, 5}, {0, 5}} {
		if got, err := q.Has("0001-a", x[0]); err != nil || got != x[1] {
			t.Errorf("look %d: most %d, %v, want %d", i, got, err, x[1])
		}
	}
	if err := q.Pass("0001-a"); err != nil || !q.Items[0].Passed {
		t.Errorf("passed: %v, %+v", err, q.Items[0])
	}
	if err := q.Session("0001-a", 1, 2, false); err != nil || q.Items[0].Passed {
		t.Errorf("after a further session: %v, %+v", err, q.Items[0])
	}
	if err := q.Fail("0001-a", "why", now); err != nil {
		t.Fatal(err)
	}
	if err := q.Retry("0001-a", now); err != nil {
		t.Fatal(err)
	}
	if it := q.Items[0]; it.Errors != 0 || it.Most != 0 || it.Passed {
		t.Errorf("after a retry: %+v", it)
	}
}
