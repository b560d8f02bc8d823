package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Sixty writers are killed at random moments. What they had acknowledged is there,
// exactly once, and no line is broken.
func TestKills(t *testing.T) {
	t.Parallel()
	tests := []struct {
		size, kills int
		within      time.Duration
	}{
		{800, 45, 4 * time.Millisecond},
		{200_000, 15, 30 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.size), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j")
			acked := make(map[string]bool)
			for i := range tt.kills {
				who := fmt.Sprint("w", i)
				p := start(t, "append", path, "own", who, fmt.Sprint(tt.size), "1000000")
				got := []string{p.line(t)}
				<-time.After(rand.N(tt.within))
				for _, s := range append(got, p.kill(t)...) {
					n, err := strconv.Atoi(s)
					if err != nil {
						t.Fatal(err)
					}
					acked[key(who, n)] = true
				}
			}
			if err := mustOpen(t, path, Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			got := count(t, path)
			for k := range acked {
				if got[k] != 1 {
					t.Errorf("acknowledged record %s is there %d times", k, got[k])
				}
			}
			for k, n := range got {
				if n != 1 {
					t.Errorf("record %s is there %d times", k, n)
				}
			}
			t.Logf("%d acknowledged, %d written, %d torn ends", len(acked), len(got), len(torn(t, path)))
		})
	}
}

func TestFourProcesses(t *testing.T) {
	t.Parallel()
	const each = 150
	path := filepath.Join(t.TempDir(), "j")
	var procs []*process
	for i := range 4 {
		procs = append(procs, start(t, "append", path, "own", fmt.Sprint("w", i), fmt.Sprint(200+i*900), fmt.Sprint(each)))
	}
	for _, p := range procs {
		p.finish(t)
	}
	next := make(map[string]int)
	for _, l := range lines(t, path) {
		var e entry
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		if e.N != next[e.Who] {
			t.Errorf("%s: record %d, want %d", e.Who, e.N, next[e.Who])
		}
		next[e.Who]++
	}
	for i := range 4 {
		if who := fmt.Sprint("w", i); next[who] != each {
			t.Errorf("%s wrote %d records, want %d", who, next[who], each)
		}
	}
}

// Programs that know nothing of the lock append to the same file. Nobody loses a
// line, in a file that begins with a torn one.
func TestForeignAppenders(t *testing.T) {
	t.Parallel()
	const each = 300
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, `{"Who":"tor`)
	ours := func(i int) *process {
		return start(t, "append", path, "foreign", fmt.Sprint("ours", i), "800", fmt.Sprint(each))
	}
	first := ours(0)
	first.line(t) // from here on the foreign ones cannot glue to the torn line
	procs := []*process{first, ours(1)}
	for i := range 2 {
		procs = append(procs, start(t, "plain", path, fmt.Sprint("plain", i), fmt.Sprint(each)))
	}
	for _, p := range procs {
		p.finish(t)
	}
	r, err := Check(path)
	if err != nil || r.Broken != 1 || r.Torn != nil || r.Good != 4*each {
		t.Errorf("Check = %+v, %v", r, err)
	}
	if len(r.Faults) == 1 && r.Faults[0].Line != 1 {
		t.Errorf("broken: %+v", r.Faults[0])
	}
	got := make(map[string]int)
	for _, l := range allLines(t, path)[1:] {
		var e entry
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		got[key(e.Who, e.N)]++
	}
	for _, who := range []string{"ours0", "ours1", "plain0", "plain1"} {
		for n := range each {
			if k := key(who, n); got[k] != 1 {
				t.Errorf("record %s is there %d times", k, got[k])
			}
		}
	}
}

func TestExactlyOnceByFourProcesses(t *testing.T) {
	t.Parallel()
	const each = 100
	path := filepath.Join(t.TempDir(), "j")
	var procs []*process
	for range 4 {
		procs = append(procs, start(t, "once", path, fmt.Sprint(each)))
	}
	for _, p := range procs {
		p.finish(t)
	}
	got := count(t, path)
	for n := range each {
		if k := key("all", n); got[k] != 1 {
			t.Errorf("record %s is there %d times", k, got[k])
		}
	}
}

// A reader that looks all the time never sees a part of a short line.
func TestReaderSeesWholeLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	ops := realOps()
	ops.sync = func(*os.File) error { return nil } // more writes per second, more chances
	w, err := openWith(ops, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var stop atomic.Bool
	var wg sync.WaitGroup
	var looks, halves atomic.Int64
	wg.Go(func() {
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		buf := make([]byte, 64<<10)
		offset := int64(0)
		for !stop.Load() {
			n, _ := f.ReadAt(buf, offset) // io.EOF is the usual answer
			if n == 0 {
				continue
			}
			looks.Add(1)
			end := bytes.LastIndexByte(buf[:n], '\n') + 1
			if end != n && n < len(buf) {
				halves.Add(1)
			}
			offset += int64(end)
		}
	})
	for n := range 10_000 {
		if err := w.Append(record("w", n, 40+n*61%1990)); err != nil {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	if halves.Load() != 0 || looks.Load() == 0 {
		t.Errorf("%d of %d looks saw a part of a line", halves.Load(), looks.Load())
	}
	t.Logf("%d looks", looks.Load())
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 1_000_000} {
		path := filepath.Join(b.TempDir(), "j")
		grow(b, path, n)
		rec := record("new", 1, 799)
		b.Run(fmt.Sprintf("existing=%d", n), func(b *testing.B) {
			w := mustOpen(b, path, Options{})
			for b.Loop() {
				if err := w.Append(rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("existing=%d/unless", n), func(b *testing.B) {
			w := mustOpen(b, path, Options{})
			want := []byte(`"Who":"none"`)
			for b.Loop() {
				if _, err := w.AppendUnless(rec, func(line []byte) bool { return bytes.Contains(line, want) }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("existing=%d/no-sync", n), func(b *testing.B) {
			w := mustOpen(b, path, Options{})
			w.ops.sync = func(*os.File) error { return nil }
			for b.Loop() {
				if err := w.Append(rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
}
