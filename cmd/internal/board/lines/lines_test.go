package lines

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestEachAgainstNaive reads files in pieces as they grow, from any place.
func TestEachAgainstNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(block-2, block+2), rapid.IntRange(0, 3*block)), 0, 6).Draw(t, "sizes")
		for i, n := range sizes {
			file = append(append(file, bytes.Repeat([]byte{byte('a' + i)}, n)...), '\n')
		}
		file = append(file, bytes.Repeat([]byte("t"), rapid.IntRange(0, 2*block).Draw(t, "tail"))...)
		whole := file[:bytes.LastIndexByte(file, '\n')+1]

		var got []byte
		at, few := int64(0), rapid.IntRange(1, 3).Draw(t, "at once")
		for shown := 0; ; {
			shown = min(len(file), shown+rapid.IntRange(1, 2*block).Draw(t, "growth"))
			n := 0
			next, err := Each(bytes.NewReader(file[:shown]), at, func(from int64, line []byte) bool {
				if int(from) != len(got) {
					t.Fatalf("a line from %d, want %d", from, len(got))
				}
				got = append(append(got, line...), '\n')
				n++
				return n < few
			})
			if err != nil || int(next) != len(got) {
				t.Fatalf("%d, %v, want %d", next, err, len(got))
			}
			if at = next; shown == len(file) && n == 0 {
				break
			}
		}
		if !bytes.Equal(got, whole) {
			t.Fatalf("%d bytes, want %d", len(got), len(whole))
		}

		from := rapid.IntRange(0, len(file)).Draw(t, "from")
		first := from
		if from > 0 && file[from-1] != '\n' {
			if i := bytes.IndexByte(file[from:], '\n'); i >= 0 {
				first = from + i + 1
			} else {
				first = len(file)
			}
		}
		got = got[:0]
		if _, err := Each(bytes.NewReader(file), int64(from), func(_ int64, line []byte) bool {
			got = append(append(got, line...), '\n')
			return true
		}); err != nil || first < len(whole) && !bytes.Equal(got, whole[first:]) || first >= len(whole) && len(got) > 0 {
			t.Fatalf("from %d: %d bytes, %v", from, len(got), err)
		}
	})
}

// TestSeen: what changed just now may change again without a trace, and is never taken for
// known.
func TestSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	var s Seen
	if !s.Changed(path) || s.Changed(path) || !s.Stamp().None() {
		t.Error("a missing file is new once")
	}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	write("one", long)
	if !s.Changed(path) || s.Changed(path) {
		t.Error("an old file is new once")
	}
	write("two", long.Add(time.Nanosecond))
	if !s.Changed(path) || s.Changed(path) {
		t.Error("another time is another file")
	}
	write("three", long.Add(time.Nanosecond))
	if !s.Changed(path) || s.Changed(path) {
		t.Error("another size is another file")
	}
	for _, at := range []time.Time{time.Now().Add(time.Hour), time.Now().Add(time.Hour).Truncate(time.Second)} {
		write("four", at)
		for range 2 {
			if !s.Changed(path) {
				t.Error("a file of the future is always new")
			}
		}
	}
	coarse := Stamp{size: 1, mtime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()}
	fine := coarse
	fine.mtime++
	second := time.Unix(0, coarse.mtime).Add(time.Second)
	if coarse.Settled(second) || !fine.Settled(second) {
		t.Error("a time of whole seconds may hide a change for longer")
	}
}
