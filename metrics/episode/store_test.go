package episode

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAppendReturnsWhatIsStored(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	secret := "sk-abcdefghijklmnop"
	in := Episode{
		At: at, Source: "goal", Task: "use " + secret + " <b> & ü\xff", Status: "stalled", Reward: 0.9, CostUSD: math.Inf(1),
		Critique: strings.Repeat("é", 3000), Tags: make([]string, 30), Steps: make([]Step, 70),
	}
	for i := range in.Tags {
		in.Tags[i] = fmt.Sprint("tag", i)
	}
	in.Tags[3] = " "
	for i := range in.Steps {
		in.Steps[i] = Step{At: at, Iteration: i, Progress: math.NaN(), Signals: []string{"error " + secret}}
	}
	s := Open(filepath.Join(t.TempDir(), "a", "b"), Options{})
	got := mustAppend(t, s, in)
	if diff := cmp.Diff([]Episode{got}, all(t, s)); diff != "" {
		t.Errorf("returned and stored differ (-returned +stored):\n%s", diff)
	}
	if len(got.ID) != 36 || !got.At.Equal(at) || got.Task != "use [redacted] <b> & ü\uFFFD" || got.Reward != 0 || got.CostUSD != 0 {
		t.Errorf("stored %+v", got)
	}
	if got.Critique != strings.Repeat("é", 2000) {
		t.Errorf("critique has %d bytes", len(got.Critique))
	}
	if len(got.Tags) != 20 || got.Tags[3] != "tag4" || len(got.Steps) != 50 || got.Steps[0].Iteration != 20 || got.Steps[49].Iteration != 69 {
		t.Errorf("tags %v, %d steps from %d", got.Tags, len(got.Steps), got.Steps[0].Iteration)
	}
	if got.Steps[0].Progress != 0 || got.Steps[0].Signals[0] != "error [redacted]" || in.Steps[20].Signals[0] != "error "+secret {
		t.Errorf("step %+v, of the caller %+v", got.Steps[0], in.Steps[20])
	}
	if b := read(t, s.chunk(1)); strings.Contains(string(b), "abcdefgh") {
		t.Errorf("the secret is on the disk: %.300s", b)
	}
}

// A secret that the bound of the text cuts in two is no longer seen as one.
func TestSecretAtTheBound(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir(), Options{})
	got := mustAppend(t, s, Episode{Task: strings.Repeat("x ", 995) + "sk-abcdefghijklmnopqrstuvwxyz"})
	if strings.Contains(got.Task, "sk-a") || len(got.Task) > taskBytes {
		t.Errorf("task ends in %q", got.Task[1980:])
	}
}

func TestIDAndTime(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir(), Options{})
	before := time.Now().Add(-time.Second)
	got := mustAppend(t, s, Episode{Task: "x"})
	if got.At.Before(before) || got.At.Location() != time.UTC {
		t.Errorf("time %v", got.At)
	}
	if e := mustAppend(t, s, Episode{ID: "mine", Task: "x"}); e.ID != "mine" {
		t.Errorf("id %q", e.ID)
	}
	if e := mustAppend(t, s, Episode{Task: "x", Success: true, Reward: 7}); e.Reward != 1 {
		t.Errorf("reward %v", e.Reward)
	}
}

func TestNothingThere(t *testing.T) {
	t.Parallel()
	s := Open(filepath.Join(t.TempDir(), "none"), Options{})
	if list := recall(t, s, "anything", 5); list == nil || len(list) != 0 {
		t.Errorf("Recall = %v", list)
	}
	if n, err := s.Count(); n != 0 || err != nil {
		t.Errorf("Count = %d, %v", n, err)
	}
	if l, err := s.Learn(); err != nil || l.Episodes != 0 || l.Confidence != 0 || l.Patterns == nil || l.FailurePatterns == nil || l.Recommendations == nil {
		t.Errorf("Learn = %+v, %v", l, err)
	}
	if r, err := s.Check(); err != nil || r.Chunks != 0 {
		t.Errorf("Check = %+v, %v", r, err)
	}
	if len(all(t, s)) != 0 {
		t.Error("Each found something")
	}
	if _, err := os.Stat(s.dir); err == nil {
		t.Error("reading created the folder")
	}
}

func TestNoFolderPossible(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	readOnly := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), filepath.Join(readOnly, "below")} {
		if os.Getuid() == 0 && strings.HasPrefix(dir, readOnly) {
			continue // nothing is read-only for root
		}
		if _, err := Open(dir, Options{}).Append(Episode{Task: "x"}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Append in %s = %v, want an error that names it", dir, err)
		}
	}
	if _, err := Open(file, Options{}).Recall("x", 1); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Recall = %v", err)
	}
}

// A chunk that is no file stands for a disk that gives errors.
func TestUnreadableChunk(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	if err := os.Mkdir(s.chunk(1), 0o700); err != nil {
		t.Fatal(err)
	}
	_, errAppend := s.Append(Episode{Task: "x"})
	_, errRecall := s.Recall("x", 1)
	_, errCount := s.Count()
	_, errLearn := s.Learn()
	for _, err := range []error{errAppend, errRecall, errCount, errLearn} {
		if err == nil || !strings.Contains(err.Error(), s.chunk(1)) {
			t.Errorf("error %v, want one that names %s", err, s.chunk(1))
		}
	}
}

// The order of the lines counts, not that of the clocks.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 40 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("same work ", i), At: time.Unix(int64(1000-i), 0)})
	}
	for i, e := range all(t, s) {
		if want := fmt.Sprint("same work ", i); e.Task != want {
			t.Fatalf("episode %d is %q", i, e.Task)
		}
	}
	want := []string{"same work 39", "same work 38", "same work 37"}
	if diff := cmp.Diff(want, tasks(recall(t, s, "work", 3))); diff != "" {
		t.Errorf("newest first among equals (-want +got):\n%s", diff)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	const keep = 40
	s := small(t.TempDir(), keep)
	for i := range 200 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work number", i)})
		n, err := s.Count()
		if err != nil || n < min(i+1, keep) || n > keep+s.per {
			t.Fatalf("after %d: %d episodes, %v", i+1, n, err)
		}
	}
	list := all(t, s)
	first := 200 - len(list)
	for i, e := range list {
		if want := fmt.Sprint("work number", first+i); e.Task != want {
			t.Fatalf("episode %d is %q, want %q", i, e.Task, want)
		}
	}
	if len(recall(t, s, "number3", 5)) != 0 || len(recall(t, s, "number199", 5)) != 1 {
		t.Error("recall does not follow the pruning")
	}
	chunks := files(t, s.dir, "*.jsonl")
	if chunks[len(chunks)-1] != "000013.jsonl" {
		t.Errorf("chunks %v: a number was used again", chunks)
	}
	if x := files(t, s.dir, "*.idx"); len(x) > len(chunks) {
		t.Errorf("indexes %v, chunks %v", x, chunks)
	}
}

// An index that lost its chunk, as a kill between the two removals leaves it, is
// removed later and counts for nothing until then.
func TestOrphanIndex(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 16)
	for i := range 33 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	orphan := read(t, s.index(2))
	write(t, s.index(1), orphan)
	if n := len(recall(t, s, "work", 100)); n != len(all(t, s)) {
		t.Errorf("recall found %d", n)
	}
	for i := range 16 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	if _, err := os.Stat(s.index(1)); err == nil {
		t.Error("the index without a chunk is still there")
	}
}

func TestBrokenLines(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	s.per = 64
	for i := range 10 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	lines := strings.SplitAfter(string(read(t, s.chunk(1))), "\n")
	broken := []string{"{\"id\":\"x\",\"task\":\"work\n", "\x00\x00\x00\n", "null\n", "{\"task\":\"work without id\"}\n", "\n", "[\"work\"]\n", `{"id":"y","task":5}` + "\n"}
	text := strings.Join(lines[:5], "") + strings.Join(broken, "") + strings.Join(lines[5:], "")
	write(t, s.chunk(1), []byte(text+`{"id":"torn","task":"work`))
	for _, when := range []string{"as text", "with an index"} {
		if n := len(recall(t, s, "work", 100)); n != 10 {
			t.Errorf("%s: recall found %d", when, n)
		}
		if n, err := s.Count(); n != 10 || err != nil {
			t.Errorf("%s: Count = %d, %v", when, n, err)
		}
		if n := len(all(t, s)); n != 10 {
			t.Errorf("%s: Each gave %d", when, n)
		}
		r, err := s.Check()
		if err != nil || r.Episodes != 10 || r.Broken != 6 || r.Faults[0] != (Fault{Path: s.chunk(1), Line: 6}) {
			t.Errorf("%s: Check = %+v, %v", when, r, err)
		}
	}
	mustAppend(t, s, Episode{Task: "work at last"}) // the torn end goes aside
	if n := len(recall(t, s, "work", 100)); n != 11 || len(files(t, s.dir, "*.torn-*")) != 1 {
		t.Errorf("recall found %d, folder %v", n, files(t, s.dir, "*"))
	}
}

func TestTwoStoresAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				if _, err := small(dir, 0).Append(Episode{Task: fmt.Sprintf("work %d of %d", i, w)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool)
	for _, e := range all(t, small(dir, 0)) {
		seen[e.ID] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different ids, want 100", len(seen))
	}
	for _, name := range files(t, dir, "0000*.jsonl") {
		if n := strings.Count(string(read(t, filepath.Join(dir, name))), "\n"); n > 16 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	var outs []interface{ Read([]byte) (int, error) }
	for w := range 3 {
		_, out := start(t, dir, fmt.Sprint("w", w), "40")
		outs = append(outs, out)
	}
	for _, out := range outs {
		want = append(want, ids(t, out)...)
	}
	checkStored(t, small(dir, 0), want, true)
}

// Processes are killed while they append, close chunks and write indexes. What they
// were told to be stored is there once, and is found.
func TestKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for k := range 25 {
		cmd, out := start(t, dir, fmt.Sprint("w", k), "100000")
		for range 1 + k%7 {
			id, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, strings.TrimSpace(id))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		want = append(want, ids(t, out)...)
	}
	checkStored(t, small(dir, 0), want, false)
}

func checkStored(t *testing.T, s *Store, want []string, exactly bool) {
	t.Helper()
	got := make(map[string]int)
	for _, e := range all(t, s) {
		got[e.ID]++
	}
	for _, id := range want {
		if got[id] != 1 {
			t.Errorf("episode %s is there %d times", id, got[id])
		}
	}
	if exactly && len(got) != len(want) {
		t.Errorf("%d episodes, want %d", len(got), len(want))
	}
	if n := len(recall(t, s, "work", 1_000_000)); n != len(got) {
		t.Errorf("recall finds %d of %d", n, len(got))
	}
	if n, err := s.Count(); n != len(got) || err != nil {
		t.Errorf("Count = %d, %v, want %d", n, err, len(got))
	}
}

func TestPruneWhileReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const keep, last = 20, 400
	mustAppend(t, small(dir, keep), Episode{Task: "work number0"})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := 1; i <= last; i++ {
			if _, err := small(dir, keep).Append(Episode{Task: fmt.Sprint("work number", i)}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				s := small(dir, keep)
				list, err := s.Recall("work", 5)
				if err != nil || len(list) == 0 {
					t.Errorf("Recall = %d, %v", len(list), err)
				}
				if err := s.Each(func(Episode) error { return nil }); err != nil {
					t.Error(err)
				}
				if n, err := s.Count(); err != nil || n == 0 {
					t.Errorf("Count = %d, %v", n, err)
				}
			}
		})
	}
	wg.Wait()
	if got := tasks(recall(t, small(dir, keep), "work", 1)); got[0] != fmt.Sprint("work number", last) {
		t.Errorf("the newest is %v", got)
	}
}
