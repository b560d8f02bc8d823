package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/probe/proctree"
	"autopilot/supervisor/notice"
)

var begin = time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)

func file(t *testing.T) string { return filepath.Join(t.TempDir(), FileName) }

func news(kind notice.Kind, title string) notice.Notice {
	return notice.Notice{Kind: kind, Title: title, At: begin}
}

func put(t *testing.T, b *Box, n notice.Notice, now time.Time) notice.Decision {
	t.Helper()
	d, err := b.Put("c", notice.Rules{Interval: 5 * time.Minute}, n, now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func take(t *testing.T, b *Box, now time.Time, end bool) Taken {
	t.Helper()
	got, err := b.Take("c", notice.Rules{Interval: 5 * time.Minute}, now, end, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// other is a box of a process that is gone.
func other(path string) *Box {
	b := Open(path)
	b.pid, b.start = 1<<22+7, 1
	return b
}

func TestSentOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", file(t)} {
		b := Open(path)
		put(t, b, news(notice.NeedsPerson, "q"), begin)
		got := take(t, b, begin, false)
		if !got.OK || got.Entry.Held.Notice.Title != "q" || got.Entry.Tries != 1 {
			t.Fatalf("%q: taken %+v", path, got)
		}
		if again := take(t, b, begin, false); again.OK {
			t.Errorf("%q: taken twice: %+v", path, again)
		}
		if err := b.Done("c", got.Entry.ID); err != nil {
			t.Fatal(err)
		}
		if again := take(t, b, begin.Add(time.Hour), true); again.OK {
			t.Errorf("%q: taken after it was done: %+v", path, again)
		}
	}
}

func TestSurvives(t *testing.T) {
	t.Parallel()
	path := file(t)
	put(t, other(path), news(notice.NeedsPerson, "q"), begin)
	got := take(t, Open(path), begin, false)
	if !got.OK || got.Entry.Held.Notice.Title != "q" || got.Entry.PID != os.Getpid() {
		t.Fatalf("taken %+v", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What belongs to a process that lives is its own.
func TestOfAnother(t *testing.T) {
	t.Parallel()
	path := file(t)
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	b := Open(path)
	b.pid, b.start = cmd.Process.Pid, startOf(t, cmd.Process.Pid)
	put(t, b, news(notice.NeedsPerson, "q"), begin)
	mine := Open(path)
	if got := take(t, mine, begin.Add(time.Hour), true); got.OK {
		t.Fatalf("taken from a process that lives: %+v", got)
	}
	if m, o, s, err := mine.Count([]string{"c"}); m != 0 || o != 1 || s != 0 || err != nil {
		t.Errorf("count %d, %d, %d, %v", m, o, s, err)
	}
	if m, o, s, err := mine.Count(nil); m != 0 || o != 0 || s != 1 || err != nil {
		t.Errorf("count %d, %d, %d, %v", m, o, s, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := take(t, mine, begin.Add(time.Hour), true); !got.OK {
		t.Error("it was left after its process was gone")
	}
}

func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	start, ok := proctree.StartOf(pid)
	if !ok {
		t.Fatal("no start stamp")
	}
	return start
}

// A notice that no try takes away is tried less and less often, and not for ever.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	b := Open(file(t))
	put(t, b, news(notice.NeedsPerson, "q"), begin)
	now, tries := begin, 0
	var gaps []time.Duration
	last := begin
	for range 1000 {
		got := take(t, b, now, false)
		if got.OK {
			tries++
			gaps = append(gaps, now.Sub(last))
			last = now
		}
		if len(got.GivenUp) == 1 {
			break
		}
		now = now.Add(time.Minute)
	}
	if tries != maxTries || fmt.Sprint(gaps[1:7]) != "[1m0s 2m0s 4m0s 8m0s 16m0s 30m0s]" {
		t.Errorf("%d tries after %v", tries, gaps)
	}
	if m, o, s, _ := b.Count([]string{"c"}); m+o+s != 0 {
		t.Error("it is kept")
	}
}

// A kill between the note of a try and its answer is one try: killed again and again, a
// notice ends.
func TestKilledEachTime(t *testing.T) {
	t.Parallel()
	path := file(t)
	put(t, other(path), news(notice.KillSwitch, "k"), begin)
	sent := 0
	for i := range 40 {
		b := other(path)
		b.pid += i + 1
		if got := take(t, b, begin.Add(time.Duration(i)*time.Minute), true); got.OK {
			sent++
		}
	}
	if sent != maxTries {
		t.Errorf("sent %d times", sent)
	}
}

func TestOldNewsIsGivenUp(t *testing.T) {
	t.Parallel()
	b := Open(file(t))
	put(t, b, news(notice.Finished, "f"), begin)
	got := take(t, b, begin.Add(maxAge+time.Second), false)
	if got.OK || len(got.GivenUp) != 1 {
		t.Errorf("taken %+v", got)
	}
}

func TestHeldSurvivesAndGoesOutAtTheEnd(t *testing.T) {
	t.Parallel()
	path := file(t)
	b := other(path)
	var got []notice.Decision
	for i := range 3 {
		got = append(got, put(t, b, news(notice.NeedsPerson, fmt.Sprint("q", i)), begin))
	}
	if fmt.Sprint(got) != "[send hold hold]" {
		t.Fatalf("decisions %v", got)
	}
	mine := Open(path)
	if next, ok := mine.Next("c", notice.Rules{Interval: 5 * time.Minute}, begin); !ok || next.After(begin) {
		t.Errorf("next %v, %v", next, ok)
	}
	first := take(t, mine, begin, false)
	if !first.OK || first.Entry.Held.More != 0 {
		t.Fatalf("first %+v", first)
	}
	if second := take(t, mine, begin, false); second.OK {
		t.Errorf("too soon: %+v", second)
	}
	second, err := mine.Take("c", notice.Rules{Interval: 5 * time.Minute}, begin, true, func(e Entry) bool { return e.ID == first.Entry.ID })
	if err != nil || !second.OK || second.Entry.Held.Notice.Title != "q2" || second.Entry.Held.More != 1 {
		t.Errorf("at the end %+v, %v", second, err)
	}
}

func TestLater(t *testing.T) {
	t.Parallel()
	b := Open(file(t))
	put(t, b, news(notice.Finished, "f"), begin)
	e := take(t, b, begin, false).Entry
	for _, tc := range []struct{ due, want time.Time }{
		{begin.Add(time.Second), begin.Add(time.Minute)}, {begin.Add(10 * time.Minute), begin.Add(10 * time.Minute)}, {begin.Add(5 * time.Hour), begin.Add(maxGap)},
	} {
		if err := b.Later("c", e.ID, tc.due, begin); err != nil {
			t.Fatal(err)
		}
		if next, ok := b.Next("c", notice.Rules{}, begin); !ok || !next.Equal(tc.want) {
			t.Errorf("due %v: next %v, want %v", tc.due, next, tc.want)
		}
	}
	if got := take(t, b, begin.Add(-time.Hour), false); !got.OK {
		t.Error("a clock that was set back keeps it waiting")
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	b := Open(file(t))
	for i := range maxKept + 5 {
		k := notice.Finished
		if i%2 == 0 {
			k = notice.NeedsPerson
		}
		if _, err := b.Put("c", notice.Rules{}, news(k, fmt.Sprint(i)), begin); err != nil {
			t.Fatal(err)
		}
	}
	l := b.kept.Lanes["c"]
	urgent := 0
	for _, e := range l.Waiting {
		if e.Held.Notice.Kind == notice.NeedsPerson {
			urgent++
		}
	}
	if len(l.Waiting) != maxKept || urgent != (maxKept+6)/2 {
		t.Errorf("%d kept, %d of them urgent", len(l.Waiting), urgent)
	}
}

// Without a usable file notices go out all the same, and when it can be used again nothing of
// others is lost.
func TestFileThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	b := Open(filepath.Join(dir, FileName))
	d, err := b.Put("c", notice.Rules{}, news(notice.NeedsPerson, "mine"), begin)
	if err == nil || d != notice.Send {
		t.Fatalf("%s, %v", d, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, other(b.path), news(notice.NeedsPerson, "theirs"), begin)
	var titles []string
	for range 2 {
		got := take(t, b, begin, false)
		titles = append(titles, got.Entry.Held.Notice.Title)
	}
	if fmt.Sprint(titles) != "[theirs mine]" {
		t.Errorf("taken %v", titles)
	}
	data, err := os.ReadFile(b.path)
	if err != nil || !strings.Contains(string(data), "mine") {
		t.Errorf("file %s, %v", data, err)
	}
}

func TestBrokenFileIsSetAside(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[]", `{"version":1,"lanes":3}`} {
		path := file(t)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b := Open(path)
		put(t, b, news(notice.Finished, "f"), begin)
		if kept, err := os.ReadFile(path + ".broken"); err != nil || string(kept) != text {
			t.Errorf("%q: set aside %q, %v", text, kept, err)
		}
		if got := take(t, Open(path), begin, false); !got.OK {
			t.Errorf("%q: nothing was kept", text)
		}
	}
	path := file(t)
	if err := os.WriteFile(path, []byte(`{"version":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path).Put("c", notice.Rules{}, news(notice.Finished, "f"), begin); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("a later version: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != `{"version":9}` {
		t.Errorf("it was changed: %s", data)
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	path := file(t)
	var all sync.WaitGroup
	for p := range 4 {
		b := Open(path)
		all.Go(func() {
			for i := range 5 {
				if _, err := b.Put("c", notice.Rules{}, news(notice.NeedsPerson, fmt.Sprint(p, i)), begin); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if m, _, _, err := Open(path).Count([]string{"c"}); m != 20 || err != nil {
		t.Errorf("%d kept, %v", m, err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	b := Open(file(t))
	put(t, b, news(notice.Finished, "f"), begin)
	for _, tc := range []struct {
		keep []string
		now  time.Time
		want int
	}{{nil, begin, 1}, {[]string{"c"}, begin.Add(2 * maxAge), 1}, {nil, begin.Add(2 * maxAge), 0}} {
		if err := b.Prune(tc.keep, tc.now); err != nil || len(b.kept.Lanes) != tc.want {
			t.Errorf("%v at %v: %d lanes, %v", tc.keep, tc.now, len(b.kept.Lanes), err)
		}
	}
}

func TestNoSecretsInTheFile(t *testing.T) {
	t.Parallel()
	path := file(t)
	b := Open(path)
	for i := range 3 {
		put(t, b, news(notice.NeedsPerson, fmt.Sprintf("q%d password=hunter2hunter2 \x1b[1m", i)), begin)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "hunter2") || strings.Contains(string(data), "u001b") || !json.Valid(data) {
		t.Errorf("file %s, %v", data, err)
	}
}
