package queue

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/metrics/statedir"
)

const helperEnv = "QUEUE_TEST_HELPER"

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "" {
		os.Exit(m.Run())
	}
	if err := writer(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writer adds goals, n of them or without end, and prints the id of each once it is
// kept.
func writer(path, name, n string) error {
	most, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	for i := range most {
		var id string
		err := Store{Path: path}.Update(func(q *Queue) error {
			item, err := q.Add(Item{Kind: Goal, Title: fmt.Sprintf("%s %d", name, i)}, time.Now())
			id = item.ID
			if most > mostItems && len(q.Items) > 300 { // a writer without end needs room
				q.Items = q.Items[len(q.Items)-100:]
			}
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(id)
	}
	return nil
}

func helper(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	return cmd
}

func TestProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	const processes, goroutines, each = 8, 2, 50
	s := Store{Path: filepath.Join(t.TempDir(), "state", "queue.json")}
	err := s.Update(func(q *Queue) error {
		_, err := q.Add(Item{Kind: Increment, ID: "0001-a"}, at(0))
		return errors.Join(err, q.Begin("0001-a", "run", at(0)))
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			if out, err := helper(t, s.Path, fmt.Sprint("process", p), strconv.Itoa(each)).CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", p, err, out)
			}
		})
	}
	for range goroutines {
		wg.Go(func() {
			own := s // a handle of its own
			for range each {
				if err := own.Update(func(q *Queue) error { return q.Session("0001-a", 0, 1, false) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	q, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	goals := map[string]bool{}
	for _, i := range q.Items[1:] {
		goals[i.Title] = true
	}
	if len(goals) != processes*each || len(q.Items) != 1+processes*each || q.Items[0].Sessions != goroutines*each {
		t.Errorf("%d different goals of %d, %d sessions, want %d and %d", len(goals), len(q.Items)-1, q.Items[0].Sessions, processes*each, goroutines*each)
	}
	info, err := os.Stat(s.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err = os.Stat(filepath.Dir(s.Path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder %v, %v", info.Mode(), err)
	}
}

// A writer that is killed leaves a whole queue with all that it said was kept, and no
// lock.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
	next := 0
	for round := range 15 {
		cmd := helper(t, s.Path, "killed", "1000000")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		last := ""
		for range 1 + round%5 {
			if lines.Scan() {
				last = lines.Text()
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it had said before it died
			last = lines.Text()
		}
		_ = cmd.Wait() // it was killed
		q, err := s.Load()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := q.Find(last); err != nil || q.Next <= next {
			t.Errorf("round %d: %s was said to be kept: %v; next goal %d, was %d", round, last, err, q.Next, next)
		}
		next = q.Next
	}
	if err := s.Update(func(*Queue) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestMissingFileIsAnEmptyQueue(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "no", "queue.json")}
	q, err := s.Load()
	if diff := cmp.Diff(Queue{Version: 1, Next: 1, Items: []Item{}}, q); diff != "" || err != nil {
		t.Errorf("queue (-want +got), error %v:\n%s", err, diff)
	}
	if err := s.Update(func(*Queue) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a change of nothing wrote something: %v", err)
	}
}

func TestBrokenFileIsNotWrittenOver(t *testing.T) {
	t.Parallel()
	item := func(s string) string { return `{"version":1,"next_goal":2,"items":[` + s + `]}` }
	const fine = `{"id":"goal-1","kind":"goal","status":"waiting"}`
	tests := map[string]struct{ data, want string }{
		"empty":              {"", "the file is empty"},
		"blank":              {" \n", "the file is empty"},
		"zeros":              {strings.Repeat("\x00", 20), "invalid character"},
		"cut":                {`{"version":1,"items":[`, "unexpected EOF"},
		"null":               {"null", "holds no queue"},
		"list":               {"[]", "cannot unmarshal array"},
		"no version":         {"{}", "version 0 is not known"},
		"newer":              {`{"version":2,"colour":"red"}`, "newer version"},
		"unknown field":      {item(`{"id":"goal-1","kind":"goal","status":"waiting","prio":1}`), `unknown field "prio"`},
		"more":               {item(fine) + "{}", "something follows"},
		"twice":              {item(fine + "," + fine), "goal-1 is there twice"},
		"two in progress":    {item(`{"id":"goal-1","kind":"goal","status":"in-progress"},{"id":"goal-2","kind":"goal","status":"in-progress"}`), "both goal-1 and goal-2 are in progress"},
		"status":             {item(`{"id":"goal-1","kind":"goal","status":"going"}`), `status "going" is not valid`},
		"kind":               {item(`{"id":"goal-1","kind":"x","status":"done"}`), `kind "x" is not valid`},
		"id":                 {item(`{"id":"a b","kind":"goal","status":"done"}`), `id "a b" is not valid`},
		"priority":           {item(`{"id":"goal-1","kind":"goal","status":"done","priority":-1}`), "priority -1"},
		"number":             {item(`{"id":"goal-1","kind":"goal","status":"done","sessions":-1}`), "number -1"},
		"text":               {item(`{"id":"goal-1","kind":"goal","status":"done","why":"\u001b[2J"}`), "control characters"},
		"dependency":         {item(`{"id":"goal-1","kind":"goal","status":"done","after":[""]}`), "not the id"},
		"command":            {item(`{"id":"goal-1","kind":"goal","status":"done","verify":[""]}`), "is empty"},
		"number of the next": {`{"version":1,"next_goal":-1}`, "the next goal"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
			if err := os.WriteFile(s.Path, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			called := false
			_, errLoad := s.Load()
			errUpdate := s.Update(func(*Queue) error { called = true; return nil })
			for _, err := range []error{errLoad, errUpdate} {
				refused(t, err, s.Path, tt.want)
			}
			if data, err := os.ReadFile(s.Path); err != nil || string(data) != tt.data || called {
				t.Errorf("the file became %q, %v; changed: %v", data, err, called)
			}
		})
	}
}

func TestFileThatIsNone(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
	if err := os.Mkdir(s.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), s.Path) {
		t.Errorf("Load = %v", err)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
	err := s.Update(func(q *Queue) error {
		_, err := q.Add(Item{Kind: Goal, Title: "a <b> & c", After: []string{"0001-a"}, Verify: []string{"make"}, Priority: 1}, at(1))
		return errors.Join(err, q.Begin("goal-1", "run", at(2)), q.Session("goal-1", 1, 2, true))
	})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "version": 1,
  "next_goal": 2,
  "items": [
    {
      "id": "goal-1",
      "kind": "goal",
      "title": "a <b> & c",
      "priority": 1,
      "after": [
        "0001-a"
      ],
      "verify": [
        "make"
      ],
      "added_at": "2026-03-01T12:01:00Z",
      "status": "in-progress",
      "run_id": "run",
      "started_at": "2026-03-01T12:02:00Z",
      "sessions": 1,
      "stalled": 0,
      "best": 1,
      "fixes": 0,
      "claimed": true
    }
  ]
}
`
	if diff := cmp.Diff(want, string(before)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	stop := errors.New("stop")
	for name, change := range map[string]func(q *Queue) error{
		"an error":                  func(q *Queue) error { q.Items[0].Verify[0] = "rm"; q.Items = nil; return stop },
		"no change":                 func(q *Queue) error { return q.Begin("goal-1", "run", at(9)) },
		"two with an id":            func(q *Queue) error { q.Items = append(q.Items, q.Items[0]); return nil },
		"a text that is not kept":   func(q *Queue) error { q.Items[0].Why = "\x1b"; return nil },
		"a status that is not":      func(q *Queue) error { q.Items[0].Status = "x"; return nil },
		"a command with a secret":   func(q *Queue) error { q.Items[0].Verify[0] = "TOKEN=abcdef123 x"; return nil },
		"a change that is refused":  func(q *Queue) error { return q.RemoveItem("goal-1") },
		"an item that is not there": func(q *Queue) error { return q.Done("goal-2", at(9)) },
	} {
		err := s.Update(change)
		if (err == nil) != (name == "no change") || name == "an error" && !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(s.Path); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file became\n%s, %v", name, after, err)
		}
	}
	q, err := s.Load()
	if err != nil || len(q.Items) != 1 || q.Items[0].Status != InProgress {
		t.Errorf("got %+v, %v", q, err)
	}
}

func TestDoneIsNotUndone(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
	err := s.Update(func(q *Queue) error {
		_, err := q.Add(Item{Kind: Goal, Title: "x"}, at(1))
		return errors.Join(err, q.Begin("goal-1", "run", at(2)), q.Done("goal-1", at(3)))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(func(q *Queue) error { q.Items[0].Status = Waiting; return nil })
	if err == nil || !strings.Contains(err.Error(), "goal-1 is done and would become waiting") {
		t.Errorf("got %v", err)
	}
	if err := s.Update(func(q *Queue) error { return q.RemoveItem("goal-1") }); err != nil {
		t.Error(err)
	}
}

// A change waits for the one that is at work.
func TestUpdateWaits(t *testing.T) {
	t.Parallel()
	s := Store{Path: filepath.Join(t.TempDir(), "queue.json")}
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Update(func(q *Queue) error {
			close(inside)
			<-release
			_, err := q.Add(Item{Kind: Goal, Title: "first"}, at(1))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	if _, held, err := statedir.Peek(s.Path + ".lock"); err != nil || !held {
		t.Errorf("held: %v, %v", held, err)
	}
	wg.Go(func() {
		err := s.Update(func(q *Queue) error {
			if len(q.Items) != 1 {
				return errors.New("it did not wait")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Load(); err != nil { // who only looks waits for nobody
		t.Error(err)
	}
	close(release)
	wg.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"next_goal":2,"items":[{"id":"goal-1","kind":"goal","title":"x","status":"waiting"}]}`))
	f.Add([]byte(`{"version":1,"items":[{"id":"0001-a","kind":"increment","status":"done","after":["goal-1"]}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := parse(data)
		if err != nil {
			return
		}
		// What was read can be written and is the same then.
		out, err := encoded(q)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse(out)
		if diff := cmp.Diff(q, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%v:\n%s", err, diff)
		}
		q.Choose(Facts{Increments: map[string]string{"0001-a": "planning"}, Active: 1})
	})
}
