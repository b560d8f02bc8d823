package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naiveLines is what the readers have to return.
func naiveLines(file []byte) []string {
	var list []string
	all := bytes.Split(file, []byte("\n"))
	for _, line := range all[:len(all)-1] {
		if body := bytes.Trim(line, " \t\r"); len(body) > 0 {
			list = append(list, string(body))
		}
	}
	return list
}

func last(list []string, n int) []string {
	return list[max(0, len(list)-n):]
}

func texts(lines [][]byte) []string {
	var list []string
	for _, l := range lines {
		list = append(list, string(l))
	}
	return list
}

func FuzzTail(f *testing.F) {
	for _, s := range []string{"", "\n", "a", "a\n", "a\nb", "a \n\n b\r\n", "\n\n\n", "a\n   "} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, file []byte, n int) {
		n = max(0, min(n, 100))
		got, err := lastLines(bytes.NewReader(file), int64(len(file)), n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(last(naiveLines(file), n), texts(got)); diff != "" && len(got) > 0 {
			t.Fatal(diff)
		}
		if len(got) != len(last(naiveLines(file), n)) {
			t.Fatalf("%d lines", len(got))
		}
	})
}

// Files of many blocks, with lines of every length around the block's.
func TestTailAgainstNaive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(firstBlock-3, firstBlock+3), rapid.IntRange(0, 150_000)), 0, 8).Draw(t, "sizes")
		for i, n := range sizes {
			file = append(file, bytes.Repeat([]byte{byte('a' + i)}, n)...)
			file = append(file, '\n')
		}
		file = append(file, bytes.Repeat([]byte("t"), rapid.IntRange(0, 100_000).Draw(t, "tail"))...)
		n := rapid.IntRange(1, 14).Draw(t, "n")
		path := filepath.Join(dir, "j")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Tail(path, n)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(last(naiveLines(file), n), texts(got)) {
			t.Fatalf("Tail of %d lines differs", n)
		}
		all, next, err := ReadFrom(path, 0)
		if err != nil || next != int64(bytes.LastIndexByte(file, '\n')+1) {
			t.Fatalf("next = %d, %v", next, err)
		}
		if !slices.Equal(naiveLines(file), texts(all)) {
			t.Fatal("ReadFrom differs")
		}
	})
}

func TestTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := Tail(filepath.Join(dir, "no"), 3); got != nil || err != nil {
		t.Errorf("missing file: %q, %v", got, err)
	}
	path := filepath.Join(dir, "j")
	write(t, path, "[1]   \n\n  \nnot JSON\r\n[4]\n[5")
	tests := []struct {
		n    int
		want []string
	}{
		{-1, nil}, {0, nil}, {1, []string{"[4]"}}, {2, []string{"not JSON", "[4]"}}, {9, []string{"[1]", "not JSON", "[4]"}},
	}
	for _, tt := range tests {
		got, err := Tail(path, tt.n)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, texts(got)); diff != "" {
			t.Errorf("Tail(%d): %s", tt.n, diff)
		}
	}
	if _, err := Tail(dir, 1); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Tail of a folder: %v", err)
	}
}

func TestTailLinesDoNotShareTheirEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	write(t, path, "[1]\n[2]\n")
	got, err := Tail(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(got[0], "xxxxx"...)
	if string(got[1]) != "[2]" {
		t.Errorf("appending to one line changed the next to %q", got[1])
	}
}

func TestShrinkingFile(t *testing.T) {
	t.Parallel()
	if _, err := lastLines(strings.NewReader("[1]\n"), 1000, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error = %v", err)
	}
}

func TestReadFrom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	offset := int64(0)
	step := func(name string, want []string, wantNext int64) {
		t.Helper()
		got, next, err := ReadFrom(path, offset)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, texts(got)); diff != "" || next != wantNext {
			t.Errorf("%s: next %d, want %d: %s", name, next, wantNext, diff)
		}
		offset = next
	}
	step("missing", nil, 0)
	write(t, path, "[1]\n[2]  \n[3")
	step("first", []string{"[1]", "[2]"}, 10)
	step("nothing new", nil, 10)
	write(t, path, "[1]\n[2]  \n[3]\n\n[4]\n")
	step("rest of the line", []string{"[3]", "[4]"}, 19)
	offset = 12
	step("inside a line", []string{"[3]", "[4]"}, 19)
	offset = 14
	step("at a newline's end", []string{"[4]"}, 19)
	write(t, path, "[5]\n")
	step("shorter", []string{"[5]"}, 4)
	offset = -3
	step("negative", []string{"[5]"}, 4)
	if got := Size(path); got != 4 {
		t.Errorf("Size = %d", got)
	}
	if got := Size(path + "-no"); got != 0 {
		t.Errorf("Size of nothing = %d", got)
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	if err := Each(path, func(int, []byte) error { return errors.New("called") }); err != nil {
		t.Errorf("missing file: %v", err)
	}
	write(t, path, "[1]  \n\nnot JSON\n[4]\n[5")
	var got []string
	err := Each(path, func(n int, line []byte) error {
		got = append(got, fmt.Sprintf("%d %s", n, line))
		return nil
	})
	if diff := cmp.Diff([]string{"1 [1]", "3 not JSON", "4 [4]"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	stop := errors.New("stop")
	n := 0
	if err := Each(path, func(int, []byte) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("stopped by %v after %d lines", err, n)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	if r, err := Check(path); err != nil || !r.OK() || r.Good != 0 {
		t.Errorf("missing file: %+v, %v", r, err)
	}
	content := "[1]   \n\n[2\n\x00\x00\n\"\xff\"\n{}{}\n[3]\n[4"
	write(t, path, content)
	got, err := Check(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Good:   2,
		Broken: 4,
		Faults: []Fault{
			{Line: 3, Offset: 8, Bytes: 2, Reason: "not JSON: unexpected end of JSON input"},
			{Line: 4, Offset: 11, Bytes: 2, Reason: "holds NUL bytes"},
			{Line: 5, Offset: 14, Bytes: 3, Reason: "not UTF-8"},
			{Line: 6, Offset: 18, Bytes: 4, Reason: "not JSON: invalid character '{' after top-level value"},
		},
		Torn: &Fault{Line: 8, Offset: 27, Bytes: 2, Reason: "no newline at its end"},
	}
	if diff := cmp.Diff(want, got); diff != "" || got.OK() {
		t.Errorf("OK %v: %s", got.OK(), diff)
	}
	if after := read(t, path); after != content {
		t.Error("Check changed the file")
	}
	write(t, path, "[1]\n[2]")
	if got, err = Check(path); err != nil || got.Torn == nil || got.Torn.Reason != "complete, but no newline at its end" {
		t.Errorf("Check = %+v, %v", got, err)
	}
	write(t, path, strings.Repeat("[\n", faultLimit+5))
	if got, err = Check(path); err != nil || got.Broken != faultLimit+5 || len(got.Faults) != faultLimit {
		t.Errorf("%d broken, %d listed, %v", got.Broken, len(got.Faults), err)
	}
}

func TestGiantLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	most := strings.Repeat("m", MaxLine) // not JSON, so that Check is quick with it
	giant := strings.Repeat("g", MaxLine+5<<20)
	write(t, path, "[1]\n"+giant+"\n"+most+"\n[4]\n"+giant)

	var got []string
	err := Each(path, func(n int, line []byte) error {
		if line == nil {
			got = append(got, fmt.Sprintf("%d nil", n))
			return nil
		}
		got = append(got, fmt.Sprintf("%d %.3s %d", n, line, len(line)))
		return nil
	})
	want := []string{"1 [1] 3", "2 nil", fmt.Sprintf("3 mmm %d", MaxLine), "4 [4] 3"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	short := func(lines [][]byte) (list []string) {
		for _, l := range lines {
			list = append(list, fmt.Sprintf("%.3s %d", l, len(l)))
		}
		return list
	}
	wantLines := []string{"[1] 3", fmt.Sprintf("mmm %d", MaxLine), "[4] 3"}
	tail, err := Tail(path, 5)
	if diff := cmp.Diff(wantLines, short(tail)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	var all [][]byte
	for offset, calls := int64(0), 0; ; calls++ {
		part, next, err := ReadFrom(path, offset)
		if err != nil {
			t.Fatal(err)
		}
		if next == offset {
			if calls < 2 {
				t.Errorf("all in %d calls", calls)
			}
			break
		}
		all, offset = append(all, part...), next
	}
	if diff := cmp.Diff(wantLines, short(all)); diff != "" {
		t.Error(diff)
	}
	r, err := Check(path)
	if err != nil || r.Good != 2 || r.Broken != 2 || r.Torn == nil || r.Torn.Bytes != int64(len(giant)) {
		t.Errorf("Check = %+v, %v", r, err)
	}
}

func BenchmarkTail(b *testing.B) {
	path := filepath.Join(b.TempDir(), "j")
	grow(b, path, 1_000_000)
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("lines=%d", n), func(b *testing.B) {
			for b.Loop() {
				if got, err := Tail(path, n); err != nil || len(got) != n {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// grow writes a journal of n records of 800 bytes.
func grow(b *testing.B, path string, n int) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	part := bytes.Repeat(append(record("old", rand.IntN(10), 799), '\n'), 1000)
	for left := n; left > 0; left -= 1000 {
		if _, err := f.Write(part[:min(left, 1000)*800]); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		b.Fatal(err)
	}
}
