package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// A state that cannot be used is told, and put aside by an abort. Then there is no run,
// and another one can be begun.
func TestBrokenState(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, file, content string) string{
		"empty":           func(*testing.T, string, string) string { return "" },
		"zeros":           func(_ *testing.T, _, c string) string { return strings.Repeat("\x00", len(c)) },
		"cut":             func(_ *testing.T, _, c string) string { return c[:len(c)/2] },
		"text":            func(*testing.T, string, string) string { return "hello" },
		"null":            func(*testing.T, string, string) string { return "null" },
		"list":            func(*testing.T, string, string) string { return "[]" },
		"object":          func(*testing.T, string, string) string { return "{}" },
		"other type":      func(_ *testing.T, _, c string) string { return strings.Replace(c, `"taskId": "1"`, `"taskId": 1`, 1) },
		"other run":       func(_ *testing.T, _, c string) string { return strings.ReplaceAll(c, "14-30-00", "14-30-01") },
		"unknown phase":   func(_ *testing.T, _, c string) string { return strings.ReplaceAll(c, `"green"`, `"blue"`) },
		"unknown status":  func(_ *testing.T, _, c string) string { return strings.Replace(c, "in-progress", "going", 1) },
		"subtask is gone": func(_ *testing.T, _, c string) string { return strings.Replace(c, `"id": "1.3"`, `"id": "1.7"`, 1) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, st := saved(t)
			file := s.file(st.RunID, stateName)
			content := change(t, file, read(t, file))
			write(t, file, content)
			broken(t, s, st)
			got, err := s.Abort(st.LastUpdated)
			if err != nil || got.RunID != st.RunID || got.Branch != st.Branch || got.Status != tdd.Aborted {
				t.Errorf("Abort = %s on %s, %s, %v", got.RunID, got.Branch, got.Status, err)
			}
			putAside(t, s, st.RunID, content)
			now := st.StartTime.Add(time.Hour)
			after := first(s.NewID("dev", "1", now), now)
			if err := s.Create(after); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Peek(); err != nil || got.RunID != after.RunID {
				t.Errorf("Peek = %s, %v", got.RunID, err)
			}
		})
	}
}

// broken fails the test unless the run is told as broken by all that reads it.
func broken(t *testing.T, s Store, st tdd.State) {
	t.Helper()
	for name, load := range map[string]func() (tdd.State, error){
		"Peek": s.Peek, "Load": s.Load,
		"PeekRun": func() (tdd.State, error) { return s.PeekRun(st.RunID) },
		"LoadRun": func() (tdd.State, error) { return s.LoadRun(st.RunID) },
		"Save":    func() (tdd.State, error) { return st, s.Save(st) },
	} {
		_, err := load()
		b, ok := errors.AsType[*BrokenError](err)
		if !ok || b.RunID != st.RunID || b.Path != s.file(st.RunID, stateName) || !strings.Contains(b.Hint(), "abort") || !strings.Contains(b.Error(), b.Path) {
			t.Errorf("%s = %v, want a broken run", name, err)
		}
	}
	list, err := s.List()
	if !errors.As(err, new(*BrokenError)) || len(list) != 1 || list[0].RunID != st.RunID {
		t.Errorf("List = %v, %v", list, err)
	}
	r, err := s.Report(st.RunID)
	if err != nil || r.Note == "" || r.Branch != st.Branch || r.TotalCommits != 1 || r.Duration != "3m 20s" || len(r.Incidents) != 1 {
		t.Errorf("Report = %+v, %v", r, err)
	}
}

// putAside fails the test unless a run with that state was.
func putAside(t *testing.T, s Store, id, content string) {
	t.Helper()
	files, err := filepath.Glob(s.file(id, stateName+".broken-*"))
	if err != nil || len(files) != 1 || read(t, files[0]) != content {
		t.Errorf("put aside: %v, %v", files, err)
	}
	if _, err := os.Lstat(s.file(id, stateName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state is still there: %v", err)
	}
	if _, err := s.Peek(); !errors.Is(err, ErrNoRun) {
		t.Errorf("Peek = %v, want no run", err)
	}
	if _, err := s.Abort(time.Now()); !errors.Is(err, ErrNoRun) {
		t.Errorf("a second Abort = %v, want no run", err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Status != tdd.Aborted || list[0].EndTime == nil || !strings.Contains(list[0].Note, filepath.Base(files[0])) {
		t.Errorf("List = %+v, %v", list, err)
	}
	for _, file := range []string{s.pointerFile(), s.tagFile(list[0].Tag)} {
		if p, ok := pointer(file); !ok || p.RunID != id || p.Status != tdd.Aborted {
			t.Errorf("%s = %+v", file, p)
		}
	}
}

// Which run is the current one, when files are missing or broken.
func TestCurrentRun(t *testing.T) {
	t.Parallel()
	const none, broken = "none", "broken"
	remove := func(t *testing.T, file string) {
		t.Helper()
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
	}
	// There are an old run, which is over, and a new one in progress, which is current.
	tests := []struct {
		name   string
		change func(t *testing.T, s Store, old, now tdd.State)
		want   string // old, new, none, broken
	}{
		{"all is well", func(*testing.T, Store, tdd.State, tdd.State) {}, "new"},
		{"no pointer", func(t *testing.T, s Store, _, _ tdd.State) { remove(t, s.pointerFile()) }, "new"},
		{"broken pointer", func(t *testing.T, s Store, _, _ tdd.State) { write(t, s.pointerFile(), `{"runId":`) }, "new"},
		{"empty pointer", func(t *testing.T, s Store, _, _ tdd.State) { write(t, s.pointerFile(), `{}`) }, "new"},
		{"pointer to elsewhere", func(t *testing.T, s Store, _, _ tdd.State) { write(t, s.pointerFile(), `{"runId":"../../x"}`) }, "new"},
		{"pointer is a folder", func(t *testing.T, s Store, _, _ tdd.State) {
			remove(t, s.pointerFile())
			write(t, filepath.Join(s.pointerFile(), "x"), "")
		}, "new"},
		{"pointer to a run that is gone", func(t *testing.T, s Store, _, now tdd.State) {
			write(t, s.pointerFile(), `{"runId":"`+ID("dev", "7", now.StartTime)+`"}`)
		}, "new"},
		{"pointer to the old run", func(t *testing.T, s Store, old, _ tdd.State) {
			write(t, s.pointerFile(), `{"runId":"`+old.RunID+`","status":"completed"}`)
		}, "new"},
		{"the run is gone", func(t *testing.T, s Store, _, now tdd.State) { remove(t, s.Folder(now.RunID)) }, none},
		{"the run is removed", func(t *testing.T, s Store, _, now tdd.State) {
			if err := s.Remove(now.RunID); err != nil {
				t.Fatal(err)
			}
		}, none},
		{"the run is gone, the pointer is old", func(t *testing.T, s Store, old, now tdd.State) {
			remove(t, s.Folder(now.RunID))
			write(t, s.pointerFile(), `{"runId":"`+old.RunID+`","status":"completed"}`)
		}, "old"},
		{"no state", func(t *testing.T, s Store, _, now tdd.State) { remove(t, s.file(now.RunID, stateName)) }, broken},
		{"no state, no pointer", func(t *testing.T, s Store, _, now tdd.State) {
			remove(t, s.file(now.RunID, stateName))
			remove(t, s.pointerFile())
		}, broken},
		{"no state, the pointer is old", func(t *testing.T, s Store, old, now tdd.State) {
			remove(t, s.file(now.RunID, stateName))
			write(t, s.pointerFile(), `{"runId":"`+old.RunID+`","status":"completed"}`)
		}, broken},
		{"nothing but the folder", func(t *testing.T, s Store, _, now tdd.State) {
			remove(t, s.Folder(now.RunID))
			if err := os.Mkdir(s.Folder(now.RunID), 0o700); err != nil {
				t.Fatal(err)
			}
		}, broken},
		{"aborted", func(t *testing.T, s Store, _, _ tdd.State) {
			if _, err := s.Abort(time.Now()); err != nil {
				t.Fatal(err)
			}
		}, "new"},
		{"no runs at all", func(t *testing.T, s Store, _, _ tdd.State) { remove(t, s.Folder("")) }, none},
		{"other folders", func(t *testing.T, s Store, _, _ tdd.State) {
			remove(t, s.pointerFile())
			write(t, filepath.Join(s.Folder(""), "20990101", "state.json"), "{")
			write(t, filepath.Join(s.Folder(""), "dev__task-1__2099-01-01T00-00-00-000Z"), "a file")
		}, "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Store{Dir: t.TempDir()}
			old := at(t, s, 11)
			now := at(t, s, 3)
			tt.change(t, s, old, now)
			st, err := s.Peek()
			got := map[string]string{old.RunID: "old", now.RunID: "new"}[st.RunID]
			switch {
			case errors.Is(err, ErrNoRun):
				got = none
			case errors.As(err, new(*BrokenError)):
				got = broken
			case err != nil:
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("current run = %s, %v, want %s", got, err, tt.want)
			}
			aborts(t, s, tt.want)
		})
	}
}

// aborts fails the test unless a run that hinders a new one can be aborted.
func aborts(t *testing.T, s Store, standing string) {
	t.Helper()
	st, err := s.Peek()
	active := standing == "broken" || err == nil && !st.Status.Over()
	if _, err := s.Abort(time.Now()); active != (err == nil) && !errors.As(err, new(*UnsettledError)) || !active && !errors.Is(err, ErrNoRun) {
		t.Errorf("Abort = %v", err)
	}
	now := time.Now()
	st = first(s.NewID("dev", "1", now), now)
	if err := s.Create(st); err != nil && !errors.As(err, new(*UnsettledError)) {
		t.Errorf("Create after it = %v", err)
	}
}

// Another run that is read for writing does not become the current one.
func TestLoadRunLeavesThePointer(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	old := at(t, s, 11)
	now := at(t, s, 3)
	if err := os.Remove(s.file(old.RunID, manifestName)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.LoadRun(old.RunID); err != nil {
		t.Fatal(err)
	}
	consistent(t, s, old.RunID)
	pointed(t, s, now)
	now, err := s.Abort(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.LoadRun(old.RunID); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, now)
}

// A run that was left behind becomes the current one when it is taken up again, unless
// another one is in progress.
func TestTakingUpAnotherRun(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	hidden := func(steps int) (tdd.State, string) {
		st := at(t, s, steps)
		aside := filepath.Join(s.Dir, st.RunID)
		if err := os.Rename(s.Folder(st.RunID), aside); err != nil {
			t.Fatal(err)
		}
		return st, aside
	}
	a, asideA := hidden(3)
	now := a.StartTime.Add(time.Hour)
	done := first(s.NewID("dev", "1", now), now)
	if err := s.Create(done); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Abort(now); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(asideA, s.Folder(a.RunID)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Peek(); err != nil || got.RunID != done.RunID {
		t.Errorf("Peek = %s, %v, want the one that is over", got.RunID, err)
	}
	a.Outbox = nil
	if err := s.Save(a); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, a)

	if err := os.Rename(s.Folder(a.RunID), asideA); err != nil {
		t.Fatal(err)
	}
	b := at(t, s, 4)
	if b.RunID != a.RunID {
		t.Fatalf("%s and %s", a.RunID, b.RunID)
	}
	c := filepath.Join(s.Folder(""), ID("dev", "2", now))
	if err := os.Rename(asideA, c); err != nil {
		t.Fatal(err)
	}
	other := filepath.Base(c)
	write(t, s.file(other, stateName), strings.ReplaceAll(read(t, s.file(other, stateName)), a.RunID, other))
	if _, err := s.LoadRun(other); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, b)
	write(t, s.file(b.RunID, stateName), "{")
	if _, err := s.LoadRun(other); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, b) // a broken run is not passed over
	if _, err := s.Abort(now); err != nil {
		t.Fatal(err)
	}
	st, err := s.LoadRun(other)
	if err != nil {
		t.Fatal(err)
	}
	pointed(t, s, st)
}

func TestUnsettledTellsTheReason(t *testing.T) {
	t.Parallel()
	full := &statedir.FullError{Path: "/x", Err: fs.ErrInvalid}
	err := error(&UnsettledError{RunID: "r", Err: errors.Join(full)})
	if got, ok := errors.AsType[*statedir.FullError](err); !ok || err.(*UnsettledError).Hint() != got.Hint() {
		t.Errorf("%v", err)
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	when := st.LastUpdated.Add(time.Minute)
	got, err := s.Abort(when)
	if err != nil || got.Status != tdd.Aborted || !got.EndTime.Equal(when) || got.CanResume || got.Seq != st.Seq+1 {
		t.Errorf("Abort = %+v, %v", got, err)
	}
	onDisk, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, onDisk); d != "" {
		t.Errorf("state (-returned +on disk):\n%s", d)
	}
	pointed(t, s, got)
	var m Manifest
	if err := statedir.LoadJSON(s.file(st.RunID, manifestName), &m); err != nil || m.Status != tdd.Aborted || m.EndTime == nil || !m.EndTime.Equal(when) {
		t.Errorf("manifest = %+v, %v", m, err)
	}
	events, err := s.events(st.RunID)
	if err != nil || len(events) != int(got.Seq) || events[len(events)-1].Event != tdd.EventAborted {
		t.Errorf("%d events, %v", len(events), err)
	}
	if _, err := s.Abort(when); !errors.Is(err, ErrNoRun) {
		t.Errorf("a second Abort = %v", err)
	}
}

// Of a run with hardly a file in order all is put aside that there is.
func TestAbortOfARuin(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	for _, file := range []string{s.file(st.RunID, stateName), s.file(st.RunID, manifestName), s.pointerFile()} {
		write(t, file, "{")
	}
	got, err := s.Abort(st.LastUpdated)
	if err != nil || got.RunID != st.RunID || got.Tag != st.Tag || got.TaskID != st.TaskID {
		t.Errorf("Abort = %+v, %v", got, err)
	}
	putAside(t, s, st.RunID, "{")
}

// A log that cannot be written does not keep a run from being aborted.
func TestAbortWithForeignLog(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	write(t, s.file(st.RunID, activityName), "a letter to somebody\n")
	if _, err := s.Abort(st.LastUpdated); !errors.As(err, new(*UnsettledError)) || !strings.Contains(err.Error(), activityName) {
		t.Errorf("Abort = %v", err)
	}
	got, err := s.Peek()
	if err != nil || got.Status != tdd.Aborted {
		t.Errorf("Peek = %s, %v", got.Status, err)
	}
	pointed(t, s, got)
	if c := read(t, s.file(st.RunID, activityName)); c != "a letter to somebody\n" {
		t.Errorf("the log is %q", c)
	}
}

// Lines of others, and numbers that another run has, do not keep an event out.
func TestForeignLinesInTheLog(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	file := s.file(st.RunID, activityName)
	write(t, file, read(t, file)+`{"seq":14,"runId":"another"}`+"\n"+strings.Repeat(`{"note":"mine"}`+"\n", 200))
	st.Outbox = nil
	happen(&st, st.LastUpdated, tdd.Activity{Event: tdd.EventError})
	for range 2 {
		if err := s.Save(st); err != nil {
			t.Fatal(err)
		}
	}
	events, err := s.events(st.RunID)
	if err != nil || len(events) != 14 || events[13].Seq != 14 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	old := at(t, s, 11)
	now := at(t, s, 3)
	if err := s.Remove(old.RunID); err != nil {
		t.Fatal(err)
	}
	pointed(t, s, now)
	if err := s.Remove(now.RunID); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{s.pointerFile(), s.tagFile("dev"), s.Folder(now.RunID), s.Folder(old.RunID)} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	if err := s.Remove(now.RunID); !errors.Is(err, ErrNoRun) {
		t.Errorf("a second Remove = %v", err)
	}
}

func TestListIsNewestFirst(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	var want []string
	for i, tag := range []string{"z", "a", "m"} {
		now := time.Date(2025, 10, 7, 14, i, 0, 0, time.UTC)
		st := first(ID(tag, "1", now), now)
		st.Tag = tag
		if err := s.Create(st); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Abort(now); err != nil {
			t.Fatal(err)
		}
		want = append([]string{st.RunID}, want...)
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.RunID)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("runs (-want +got):\n%s", d)
	}
}
