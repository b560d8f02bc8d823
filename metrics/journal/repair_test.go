package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRepair(t *testing.T) {
	t.Parallel()
	nul := strings.Repeat("\x00", 5000)
	tests := []struct {
		name   string
		before string
		after  string // with [9] appended, blanks taken out
		aside  string
	}{
		{"clean", "[1]\n", "[1]\n[9]\n", ""},
		{"torn", "[1]\n[2", "[1]\n[9]\n", "[2"},
		{"first record torn", "[1", "[9]\n", "[1"},
		{"whole but for the newline", "[1]\n[2]", "[1]\n[2]\n[9]\n", ""},
		{"a number may be cut", "[1]\n12", "[1]\n[9]\n", "12"},
		{"blanks without newline", "[1]\n   ", "[1]\n[9]\n", "   "},
		{"torn in its padding", "[1]\n[2]   ", "[1]\n[2]\n[9]\n", ""},
		{"zeros", "[1]\n" + nul, "[1]\n[9]\n", nul},
		{"zeros and a newline", "[1]\n" + nul + "\n", "[1]\n[9]\n", nul + "\n"},
		{"zeros in the last line", "[1]\n[" + nul + "2]\n", "[1]\n[9]\n", "[" + nul + "2]\n"},
		{"zeros in several lines", "[1]\n" + nul + "\n\x00\n[2\n", "[1]\n[9]\n", nul + "\n\x00\n[2\n"},
		{"zeros only", nul, "[9]\n", nul},
		{"last line broken", "[1]\n[2\n", "[1]\n[9]\n", "[2\n"},
		{"broken line further up", "[1]\n[2\n[3]\n", "[1]\n[2\n[3]\n[9]\n", ""},
		{"blank lines at the end", "[1]\n\n \n", "[1]\n\n\n[9]\n", ""},
		{"blank lines only", "\n\n", "\n\n[9]\n", ""},
		{"blank lines and a torn one", "\n[1", "[9]\n", "\n[1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "j")
			write(t, path, tt.before)
			mustAppend(t, mustOpen(t, path, Options{}), `[9]`)
			if got := strings.ReplaceAll(read(t, path), " ", ""); got != tt.after {
				t.Errorf("file = %.80q, want %.80q", got, tt.after)
			}
			var want []string
			if tt.aside != "" {
				want = []string{tt.aside}
			}
			if diff := cmp.Diff(want, torn(t, path)); diff != "" {
				t.Errorf("set aside: %s", diff)
			}
		})
	}
}

func TestForeignEndIsNeverCut(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"[1]\n[2", "[1]\n\x00\x00", "[1]\n[2\n", "no journal", "no\njournal\n", "[1]"} {
		path := filepath.Join(t.TempDir(), "j")
		write(t, path, before)
		mustAppend(t, mustOpen(t, path, Options{Foreign: true}), `[9]`)
		want := strings.TrimSuffix(before, "\n") + "\n[9]\n"
		if got := read(t, path); got != want {
			t.Errorf("file = %q, want %q", got, want)
		}
		if got := torn(t, path); got != nil {
			t.Errorf("set aside: %q", got)
		}
	}
}

// A journal whose last three records were cut at any byte keeps the records before
// the cut and takes the next one; offered again, a record is there exactly once.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	w := mustOpen(t, whole, Options{})
	for n, size := range cutSizes() {
		if err := w.Append(record("w", n, size)); err != nil {
			t.Fatal(err)
		}
	}
	content := []byte(read(t, whole))
	recs := bytes.SplitAfter(content, []byte("\n"))
	first := len(recs[0]) + len(recs[1])

	// Each case waits 20 ms to see whether the tail grows, so many run at once.
	type job struct {
		cut     int
		foreign bool
	}
	jobs := make(chan job)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for j := range jobs {
				path := filepath.Join(dir, fmt.Sprintf("%d-%v", j.cut, j.foreign), "j")
				if err := cutCase(path, content[:j.cut], j.foreign); err != nil {
					t.Errorf("cut at %d, foreign %v: %v", j.cut, j.foreign, err)
				}
			}
		})
	}
	cases := 0
	for cut := first; cut < len(content); cut++ {
		padding := content[cut-1] == ' ' && content[cut] == ' '
		if padding && cut%64 != 0 {
			continue // one blank more or less
		}
		jobs <- job{cut, false}
		jobs <- job{cut, true}
		cases += 2
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d cases", cases)
}

// cutSizes puts the end of a page, and so the padding, behind the last record.
func cutSizes() []int { return []int{1400, 300, 90, 150, 200} }

func cutCase(path string, before []byte, foreign bool) error {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		return err
	}
	ops := realOps()
	ops.sync = func(*os.File) error { return nil } // what is tested is not the disk
	w, err := openWith(ops, path, Options{Foreign: foreign})
	if err != nil {
		return err
	}
	defer w.Close()
	again := record("w", 4, cutSizes()[4])
	_, err = w.AppendUnless(again, func(line []byte) bool { return bytes.Equal(line, again) })
	if err != nil {
		return err
	}
	after, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	names, err := filepath.Glob(path + ".torn-*")
	if err != nil {
		return err
	}
	var aside []byte
	for _, name := range names {
		part, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		aside = append(aside, part...)
	}
	if foreign && len(names) > 0 {
		return fmt.Errorf("set aside %q", names)
	}
	if keep := before[:len(before)-len(aside)]; !bytes.HasPrefix(after, keep) || !bytes.HasSuffix(before, aside) {
		return fmt.Errorf("bytes were lost: kept %d of %d, aside %d", len(keep), len(before), len(aside))
	}
	return eachOnce(after, bytes.Count(before, []byte("\n")), foreign)
}

// eachOnce checks that the records below acked, and the last one, are there once and
// that every other line but one of a foreign journal is good.
func eachOnce(file []byte, acked int, foreign bool) error {
	seen, broken := make(map[int]int), 0
	if !bytes.HasSuffix(file, []byte("\n")) {
		return fmt.Errorf("ends in %q", file[len(file)-1])
	}
	for _, line := range bytes.Split(bytes.TrimSuffix(file, []byte("\n")), []byte("\n")) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			broken++
			continue
		}
		seen[e.N]++
	}
	if broken > 1 || broken == 1 && !foreign {
		return fmt.Errorf("%d broken lines", broken)
	}
	for n := range 5 {
		if (n < acked || n == 4) && seen[n] != 1 || seen[n] > 1 {
			return fmt.Errorf("record %d is there %d times", n, seen[n])
		}
	}
	return nil
}

// A program that writes its line piece by piece is waited for, in a journal of
// ours too.
func TestLineBeingWrittenIsNotTorn(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "j")
		w := mustOpen(t, path, Options{Foreign: foreign})
		mustAppend(t, w, `1`)
		other := appender(t, path)
		rest := `"slow and slower"` + "\n"
		piece := func() {
			if _, err := other.WriteString(rest[:1]); err != nil {
				t.Error(err)
			}
			rest = rest[1:]
		}
		piece()
		w.ops.wait = func(time.Duration) { piece() }
		mustAppend(t, w, `2`)
		if diff := cmp.Diff([]string{`1`, `"slow and slower"`, `2`}, lines(t, path)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLineWithoutEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	w := mustOpen(t, path, Options{Foreign: true, LockTimeout: 10 * time.Millisecond})
	other := appender(t, path)
	more := func() {
		if _, err := other.WriteString("x"); err != nil {
			t.Error(err)
		}
	}
	more()
	w.ops.wait = func(time.Duration) {
		more()
		pause(time.Millisecond)
	}
	if err := w.Append([]byte(`1`)); err == nil || !strings.Contains(err.Error(), "without an end") {
		t.Errorf("error = %v", err)
	}
}

func appender(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// naiveKeep is inspect in the simplest words, on a file in memory.
func naiveKeep(file []byte) (keep int, whole, isJournal bool) {
	all := bytes.SplitAfter(file, []byte("\n"))
	tail := all[len(all)-1]
	all = all[:len(all)-1]
	if isWhole(tail) {
		return len(file), true, true
	}
	end, good, text := 0, -1, false
	for _, line := range all {
		end += len(line)
		body := bare(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case len(body) == 0:
			if good == end-len(line) && good >= 0 {
				good = end // blank lines behind a good one belong to it
			}
		case json.Valid(body):
			good = end
		case bytes.IndexByte(body, 0) < 0:
			text = true
		}
	}
	blank := len(bytes.Trim(file, " \t\r\n")) == 0 && len(tail) == 0
	switch {
	case blank:
		return len(file), false, true
	case good < 0:
		return 0, false, !text
	case good == end && len(tail) == 0:
		return len(file), false, true
	}
	// Something is cut: then the cut is right behind the last good line.
	keep = 0
	end = 0
	for _, line := range all {
		end += len(line)
		if json.Valid(bare(bytes.TrimSuffix(line, []byte("\n")))) {
			keep = end
		}
	}
	return keep, false, true
}

func FuzzRepair(f *testing.F) {
	for _, s := range []string{
		"", "\n", "[1]", "[1]\n", "[1]\n[2", "[1]\n[2]  ", "[1]\n\x00\x00", "[1]\n\x00\n", "\x00", "12\n12",
		"[1]\n\n[2\n \n", "text\nmore\n", "{}\n{}{}\n", "[1]\r\n\r\n[2\r", "1\n  ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		keep, whole, err := inspect(bytes.NewReader(file), int64(len(file)))
		wantKeep, wantWhole, isJournal := naiveKeep(file)
		if (err == nil) != isJournal {
			t.Fatalf("inspect(%q) = %v, is a journal: %v", file, err, isJournal)
		}
		if err != nil {
			return
		}
		if keep != int64(wantKeep) || whole != wantWhole {
			t.Fatalf("inspect(%q) = %d, %v, want %d, %v", file, keep, whole, wantKeep, wantWhole)
		}
		rest := file[:keep]
		if whole {
			rest = append(bytes.Clone(rest), '\n')
		}
		// Mended once, there is nothing to mend, and the next record can be read.
		if again, whole, err := inspect(bytes.NewReader(rest), int64(len(rest))); err != nil || whole || again != int64(len(rest)) {
			t.Fatalf("after the repair of %q: %d, %v, %v", file, again, whole, err)
		}
		rest = append(bytes.Clone(rest), fit(nil, []byte(`"next"`), int64(len(rest)), false)...)
		last, err := lastLines(bytes.NewReader(rest), int64(len(rest)), 1)
		if err != nil || len(last) != 1 || string(last[0]) != `"next"` {
			t.Fatalf("after the repair of %q the last line is %q, %v", file, last, err)
		}
	})
}

func TestInspectReadError(t *testing.T) {
	t.Parallel()
	if _, _, err := inspect(strings.NewReader("[1]\n"), 10); err != io.ErrUnexpectedEOF {
		t.Errorf("error = %v", err)
	}
}
