package episode

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir(), Options{})
	for _, e := range []Episode{
		{Task: "Fix the login redirect", Critique: "left: the session cookie"},
		{Task: "Migrate the database to version 12", Tags: []string{"postgres"}},
		{Task: "Add tests for parseHTTPRequest and its errors"},
		{Task: "Write the release notes"},
		{Task: "登录页面的数据库迁移"},
	} {
		mustAppend(t, s, e)
	}
	tests := []struct {
		query string
		want  []string
	}{
		{"login", []string{"Fix the login redirect"}},
		{"COOKIES", []string{"Fix the login redirect"}},
		{"Postgres", []string{"Migrate the database to version 12"}},
		{"databases test", []string{"Migrate the database to version 12", "Add tests for parseHTTPRequest and its errors"}},
		{"request", []string{"Add tests for parseHTTPRequest and its errors"}},
		{"ParseHttpRequest", []string{"Add tests for parseHTTPRequest and its errors"}},
		{"数据库", []string{"登录页面的数据库迁移"}},
		{"the and its", []string{}},
		{"", []string{}},
		{"nothing like it", []string{}},
	}
	for _, tt := range tests {
		got := recall(t, s, tt.query, 10)
		if diff := gocmp.Diff(tt.want, tasks(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.query, diff)
		}
		for _, m := range got {
			if m.Score <= 0 || m.Score > 1 {
				t.Errorf("%q: score %v", tt.query, m.Score)
			}
		}
	}
	for _, limit := range []int{0, -1} {
		if got := recall(t, s, "login", limit); got == nil || len(got) != 0 {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if got := recall(t, s, "login database request", 2); len(got) != 2 {
		t.Errorf("limit 2: %d", len(got))
	}
}

// Worked out by hand from the formula in the comment of Recall.
func TestScore(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir(), Options{})
	for _, task := range []string{"alpha beta", "alpha alpha gamma delta", "omega"} {
		mustAppend(t, s, Episode{Task: task})
	}
	mean := 7.0 / 3
	idfAlpha, idfGamma := math.Log(1+1.5/2.5), math.Log(1+2.5/1.5)
	part := func(tf, length float64) float64 { return tf / (tf + 1.2*(0.25+0.75*length/mean)) }
	want := []float64{
		(idfAlpha*part(2, 4) + idfGamma*part(1, 4)) / (idfAlpha + idfGamma),
		idfAlpha * part(1, 2) / (idfAlpha + idfGamma),
	}
	got := recall(t, s, "gamma alpha", 5)
	if len(got) != 2 || math.Abs(got[0].Score-want[0]) > 1e-12 || math.Abs(got[1].Score-want[1]) > 1e-12 {
		t.Errorf("got %+v, want scores %v", got, want)
	}
}

// bruteForce is recall over all episodes, without an index and without chunks.
func bruteForce(list []Episode, query string, limit int) []Match {
	var terms []string
	termsOf(query, nil, func(term []byte) {
		if !slices.Contains(terms, string(term)) {
			terms = append(terms, string(term))
		}
	})
	freq := make([]map[string]int, len(list))
	length := make([]int, len(list))
	total := 0
	for i, e := range list {
		freq[i] = make(map[string]int)
		eachTerm(e, func(term []byte) {
			freq[i][string(term)]++
			length[i]++
			total++
		})
	}
	mean, most := max(1, float64(total))/max(1, float64(len(list))), 0.0
	score := make([]float64, len(list))
	for _, term := range terms {
		n := 0
		for _, f := range freq {
			if f[term] > 0 {
				n++
			}
		}
		idf := math.Log(1 + (float64(len(list)-n)+0.5)/(float64(n)+0.5))
		most += idf
		for i, f := range freq {
			if tf := float64(f[term]); tf > 0 {
				score[i] += idf * tf / (tf + 1.2*(1-0.75+0.75*float64(length[i])/mean))
			}
		}
	}
	var order []int
	for i := range list {
		if score[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Or(cmp.Compare(score[y], score[x]), cmp.Compare(y, x)) })
	out := []Match{}
	for _, i := range order[:min(limit, len(order))] {
		out = append(out, Match{Episode: list[i], Score: score[i] / most})
	}
	return out
}

// Whatever was appended and whatever became of the indexes: what recall finds is what
// a search through all texts finds, in its order.
func TestRecallIsBruteForce(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom(strings.Fields("fix login tests test parseURL url database migration migrations slow the of retry_count naïve 数据库迁移 数据"))
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 8).Draw(t, "words"), " ") })
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "episode")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s := small(dir, 1000)
		n := rapid.IntRange(0, 60).Draw(t, "episodes")
		for i := range n {
			mustAppend(t, s, Episode{ID: fmt.Sprint(i), At: time.Unix(1, 0), Task: text.Draw(t, "task"), Critique: text.Draw(t, "critique"), Tags: []string{text.Draw(t, "tag")}})
		}
		numbers, err := s.chunks()
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range numbers {
			damage(t, s, no, rapid.SampledFrom([]string{"", "", "gone", "torn", "bit", "other"}).Draw(t, "damage"))
		}
		query, limit := text.Draw(t, "query"), rapid.IntRange(1, 70).Draw(t, "limit")
		want := bruteForce(all(t, s), query, limit)
		for _, when := range []string{"first", "healed"} {
			if diff := gocmp.Diff(want, recall(t, s, query, limit)); diff != "" {
				t.Fatalf("%s, %q (-want +got):\n%s", when, query, diff)
			}
		}
	})
}

// damage does something to the index of the chunk no.
func damage(tb rapid.TB, s *Store, no int, how string) {
	data, err := os.ReadFile(s.index(no))
	if err != nil {
		return
	}
	switch how {
	case "gone":
		err = os.Remove(s.index(no))
	case "torn":
		err = os.WriteFile(s.index(no), data[:len(data)*2/3], 0o600)
	case "bit":
		data[len(data)-len(data)/4] ^= 4
		err = os.WriteFile(s.index(no), data, 0o600)
	case "other":
		err = os.WriteFile(s.index(no+1), data, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// The index does the work when it is good, and is put back when it is not.
func TestIndexIsUsedAndHealed(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 35 {
		mustAppend(t, s, Episode{ID: fmt.Sprint(i), At: time.Unix(1, 0), Task: fmt.Sprint("work number", i)})
	}
	rest := func() []int {
		var out []int
		for no := 1; no <= 3; no++ {
			g, err := s.segment(no, reader{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, g.rest)
		}
		return out
	}
	if diff := gocmp.Diff([]int{0, 0, 3}, rest()); diff != "" {
		t.Errorf("lines without an index (-want +got):\n%s", diff)
	}
	good := [][]byte{read(t, s.index(1)), read(t, s.index(2))}
	longer := slices.Concat(good[0], []byte("x"))
	otherVersion := bytes.Clone(good[0])
	otherVersion[8]++
	for name, bad := range map[string][]byte{
		"empty": {}, "short": good[0][:40], "torn": good[0][:len(good[0])-1], "longer": longer, "version": otherVersion, "of another chunk": good[1],
	} {
		write(t, s.index(1), bad)
		if n := len(recall(t, s, "work", 100)); n != 35 {
			t.Errorf("%s: recall found %d", name, n)
		}
		if got := tasks(recall(t, s, "number7", 5)); len(got) != 1 {
			t.Errorf("%s: recall found %v", name, got)
		}
		if !bytes.Equal(read(t, s.index(1)), good[0]) {
			t.Errorf("%s: index is not put back", name)
		}
	}
}

// A chunk that somebody changed is found by its new words.
func TestStaleIndex(t *testing.T) {
	t.Parallel()
	tests := map[string]func(text string) string{
		"same size": func(text string) string { return strings.Replace(text, "number3", "another", 1) },
		"longer":    func(text string) string { return strings.Replace(text, "number3", "something another", 1) },
		"shorter":   func(text string) string { return text[strings.Index(text, "\n")+1:] },
		"one more":  func(text string) string { return text + text[:strings.Index(text, "\n")+1] },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small(t.TempDir(), 0)
			for i := range 20 {
				mustAppend(t, s, Episode{ID: fmt.Sprint(i), Task: fmt.Sprintf("work number%d", i)})
			}
			for _, no := range []int{1, 2} {
				text := change(string(read(t, s.chunk(no))))
				write(t, s.chunk(no), []byte(text))
				later := time.Now().Add(time.Hour)
				if err := os.Chtimes(s.chunk(no), later, later); err != nil {
					t.Fatal(err)
				}
			}
			for _, query := range []string{"another", "number3", "number0", "number19", "work"} {
				if diff := gocmp.Diff(bruteForce(all(t, s), query, 100), recall(t, s, query, 100)); diff != "" {
					t.Errorf("%q (-want +got):\n%s", query, diff)
				}
			}
		})
	}
}

// An index that fits by size and time and still lies is found out when what it names
// is no episode.
func TestLyingIndex(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 16 {
		mustAppend(t, s, Episode{ID: fmt.Sprint(i), Task: fmt.Sprintf("work number%d", i)})
	}
	info, err := os.Stat(s.chunk(1))
	if err != nil {
		t.Fatal(err)
	}
	text := string(read(t, s.chunk(1)))
	half := strings.Index(text, "\n") + 1
	write(t, s.chunk(1), []byte(text[half:]+text[:half])) // the same size, other offsets
	if err := os.Chtimes(s.chunk(1), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	data := read(t, s.index(1))
	for i := range 16 {
		at := headerBytes + i*docBytes
		binary.LittleEndian.PutUint32(data[at:], binary.LittleEndian.Uint32(data[at:])+7)
	}
	binary.LittleEndian.PutUint32(data[12:], checksum(data[sumBegins:]))
	write(t, s.index(1), data)
	if n := len(recall(t, s, "work", 100)); n != 16 {
		t.Errorf("recall found %d", n)
	}
	if got := tasks(recall(t, s, "number3", 5)); len(got) != 1 || got[0] != "work number3" {
		t.Errorf("after that: %v", got)
	}
	healed := read(t, s.index(1))
	if err := s.renewIndex(1, false); err != nil || !bytes.Equal(read(t, s.index(1)), healed) {
		t.Errorf("the index was not put back, %v", err)
	}
}

// An index with a right checksum that names lines the chunk does not have.
func TestIndexOutOfBounds(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 16 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	good, ok := s.loadIndex(1, nil)
	if !ok {
		t.Fatal("no index")
	}
	for _, p := range []posting{{doc: 16, tf: 1}, {doc: 1 << 31, tf: 1}, {doc: 15, tf: 0}} {
		b := newBuilder()
		if err := b.resume(good); err != nil {
			t.Fatal(err)
		}
		id := b.id([]byte("work"))
		b.lists[id] = append(b.lists[id][:10:10], p)
		write(t, s.index(1), b.encode(good))
		if n := len(recall(t, s, "work", 100)); n != 16 {
			t.Errorf("%+v: recall found %d", p, n)
		}
	}
}

// A line that is being written when its chunk is indexed is found once it is whole.
func TestLineThatGrows(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	text := ""
	for i := range 6 {
		text += fmt.Sprintf(`{"id":"%d","task":"work number%d"}`+"\n", i, i)
	}
	half := len(text) - 12
	write(t, s.chunk(1), []byte(text[:half]))
	if n := len(recall(t, s, "work", 10)); n != 5 {
		t.Errorf("before: recall found %d", n)
	}
	if len(files(t, s.dir, "*.idx")) != 1 {
		t.Error("recall did not put an index back")
	}
	write(t, s.chunk(1), []byte(text))
	if n := len(recall(t, s, "work", 10)); n != 6 {
		t.Errorf("after: recall found %d", n)
	}
}

// More matches than are kept while searching.
func TestRecallOfMany(t *testing.T) {
	t.Parallel()
	s := Open(t.TempDir(), Options{})
	grow(t, s, 3000)
	list := all(t, s)
	query := list[7].Task
	for _, limit := range []int{1, 10, 1500, 5000} {
		want, got := bruteForce(list, query, limit), recall(t, s, query, limit)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d: %d and %d (-want +got):\n%.500s", limit, len(want), len(got), diff)
		}
		if limit == 5000 && len(got) < 1500 {
			t.Errorf("only %d matches: the test tells nothing", len(got))
		}
	}
}

// The writer of an index was killed: it is behind, half written, or not there.
func TestKilledWhileIndexing(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	var early []byte
	for i := range 16 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
		if i == 4 {
			early = read(t, s.index(1))
		}
	}
	full := read(t, s.index(1))
	write(t, s.index(1), early)
	write(t, s.dir+"/"+tempName, full[:100])
	mustAppend(t, s, Episode{Task: "work 16"})
	if !bytes.Equal(read(t, s.index(1)), full) {
		t.Error("the append after that does not finish the index")
	}
	if got := files(t, s.dir, "*.jsonl"); len(got) != 2 {
		t.Errorf("chunks %v", got)
	}
}

func TestReadOnlyFolderIsSearched(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 20 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	if err := os.Remove(s.index(1)); err != nil {
		t.Fatal(err)
	}
	// A folder in the lock's place: also root cannot write then.
	if err := os.Remove(s.dir + "/" + lockName); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.dir+"/"+lockName, 0o700); err != nil {
		t.Fatal(err)
	}
	if n := len(recall(t, s, "work", 100)); n != 20 {
		t.Errorf("recall found %d", n)
	}
	if _, err := s.Append(Episode{Task: "x"}); err == nil || !strings.Contains(err.Error(), s.dir) {
		t.Errorf("Append = %v", err)
	}
}

func FuzzIndex(f *testing.F) {
	b := newBuilder()
	for i := range 9 {
		b.add(int64(i*50), encode(f, Episode{ID: "x", Task: fmt.Sprintf("some work number%d again and again", i)}))
	}
	good := b.encode(index{covered: 450, mtime: 5, tail: 7})
	f.Add(good, true)
	f.Add(good[:len(good)-3], true)
	f.Add(good, false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, sum bool) {
		if sum && len(data) >= headerBytes { // else nothing gets behind the checksum
			copy(data, indexMagic)
			binary.LittleEndian.PutUint32(data[8:], indexVersion)
			binary.LittleEndian.PutUint32(data[12:], checksum(data[sumBegins:]))
		}
		x, err := parseIndex(data)
		if err != nil {
			return
		}
		docs := x.allDocs()
		for _, term := range []string{"work", "number3", "again", ""} {
			list, err := x.find(term)
			if err != nil {
				continue
			}
			for i, p := range list {
				if int(p.doc) >= len(docs) || p.tf == 0 || i > 0 && p.doc <= list[i-1].doc {
					t.Fatalf("%q: posting %+v of %d lines", term, p, len(docs))
				}
			}
		}
		again := newBuilder()
		if again.resume(x) == nil {
			again.add(1000, []byte(`{"id":"y","task":"more work"}`))
			if _, err := parseIndex(again.encode(x)); err != nil {
				t.Fatalf("what was resumed does not parse: %v", err)
			}
		}
	})
}

// A folder with any bytes as its index gives what one without an index gives.
func FuzzIndexFile(f *testing.F) {
	f.Add([]byte("episode\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := small(t.TempDir(), 0)
		var text []byte
		for i := range 3 {
			text = append(text, encode(t, Episode{ID: fmt.Sprint(i), Task: fmt.Sprint("work ", i)})...)
			text = append(text, '\n')
		}
		write(t, s.chunk(1), text)
		write(t, s.index(1), data)
		if n := len(recall(t, s, "work", 10)); n != 3 {
			t.Errorf("recall found %d", n)
		}
	})
}

// A chunk that is pruned between the search and the reading makes recall search again.
func TestPrunedWhileRecalling(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 20 {
		mustAppend(t, s, Episode{Task: fmt.Sprint("work ", i)})
	}
	found, segs, err := s.search([]string{"work"}, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.chunk(1)); err != nil {
		t.Fatal(err)
	}
	list, again, err := s.load(found, segs, map[int]bool{})
	if err != nil || !again || len(list) != 4 {
		t.Errorf("load = %d matches, again %v, %v", len(list), again, err)
	}
	if n := len(recall(t, s, "work", 100)); n != 4 {
		t.Errorf("recall found %d", n)
	}
}
