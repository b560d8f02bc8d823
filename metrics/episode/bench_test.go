package episode

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/statedir"
)

// vocabulary draws words as texts have them: the n-th most frequent one with a
// frequency of 1/n.
type vocabulary struct {
	rng   *rand.Rand
	words int
}

func (v vocabulary) word() string {
	n := int(math.Exp(v.rng.Float64()*math.Log(float64(v.words)))) - 1
	const syllables = "babebibodadedidofafefifogagegigokakekikolalelilomamemimonaneninosasesisotatetito"
	s := ""
	for n += 40; n > 0; n /= len(syllables) / 2 {
		i := n % (len(syllables) / 2)
		s += syllables[2*i : 2*i+2]
	}
	return s
}

func (v vocabulary) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = v.word()
	}
	return strings.Join(words, " ")
}

// sample is an episode of about 60 words.
func (v vocabulary) sample(n int) Episode {
	e := Episode{
		ID: fmt.Sprint("sample-", n), At: time.Unix(int64(n), 0).UTC(), Source: "goal", Task: v.text(30),
		Status: "completed", Success: n%4 != 0, Iterations: n % 20, DurationMS: int64(n%3600) * 1000, Tags: []string{v.word(), "go"},
	}
	if e.Success {
		e.Reward = Reward(e.Iterations, time.Duration(e.DurationMS)*time.Millisecond)
		e.Critique = v.text(28)
	} else {
		e.Status, e.Critique = "timeout", v.text(28)
	}
	for i := range min(e.Iterations, 6) {
		e.Steps = append(e.Steps, Step{At: e.At, Iteration: i, Completed: i, Total: 8, Progress: float64(i) / 8, Tokens: 1000})
	}
	return e
}

// grow fills the store's folder as Append does, without the syncs in between.
func grow(tb testing.TB, s *Store, n int) {
	tb.Helper()
	v := vocabulary{rng: rand.New(rand.NewPCG(1, 2)), words: 20_000}
	if err := statedir.MakeDir(s.dir); err != nil {
		tb.Fatal(err)
	}
	var b strings.Builder
	no := 1
	for i := range n {
		line := string(encode(tb, v.sample(i)))
		at := b.Len() + len(line) + 1
		if left := 4096 - at%4096; left < 2048 {
			line += strings.Repeat(" ", left)
		}
		b.WriteString(line + "\n")
		if (i+1)%s.per == 0 || i+1 == n {
			if err := os.WriteFile(s.chunk(no), []byte(b.String()), 0o600); err != nil {
				tb.Fatal(err)
			}
			if err := s.renewIndex(no, false); err != nil {
				tb.Fatal(err)
			}
			b.Reset()
			no++
		}
	}
}

// spread gathers how long each round took, by the clock and of processor time: the
// latter says something on a busy machine too.
type spread struct {
	began     time.Time
	cpu       time.Duration
	took, use []time.Duration
}

func used() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (s *spread) begin() { s.cpu, s.began = used(), time.Now() }

func (s *spread) end() {
	s.took = append(s.took, time.Since(s.began))
	s.use = append(s.use, used()-s.cpu)
}

func (s *spread) report(b *testing.B) {
	for name, list := range map[string][]time.Duration{"": s.took, "cpu-": s.use} {
		slices.Sort(list)
		for unit, d := range map[string]time.Duration{"p50": list[len(list)/2], "max": list[len(list)-1]} {
			b.ReportMetric(float64(d.Microseconds())/1000, name+unit+"-ms")
		}
	}
}

func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 100_000} {
		dir := filepath.Join(b.TempDir(), "e")
		grow(b, Open(dir, Options{Keep: 200_000}), n)
		v := vocabulary{rng: rand.New(rand.NewPCG(3, 4)), words: 20_000}
		for _, words := range []int{3, 10} {
			b.Run(fmt.Sprintf("episodes=%d/words=%d", n, words), func(b *testing.B) {
				took := spread{}
				for b.Loop() {
					query := v.text(words)
					took.begin()
					if _, err := Open(dir, Options{Keep: 200_000}).Recall(query, 10); err != nil {
						b.Fatal(err)
					}
					took.end()
				}
				took.report(b)
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		dir := filepath.Join(b.TempDir(), "e")
		grow(b, Open(dir, Options{Keep: 200_000}), n)
		v := vocabulary{rng: rand.New(rand.NewPCG(3, 4)), words: 20_000}
		b.Run(fmt.Sprintf("episodes=%d", n), func(b *testing.B) {
			took := spread{}
			for b.Loop() {
				e := v.sample(1)
				took.begin()
				if _, err := Open(dir, Options{Keep: 200_000}).Append(e); err != nil {
					b.Fatal(err)
				}
				took.end()
			}
			took.report(b)
		})
	}
}

// The append that closes a chunk, with a chunk that has no index at all, and the
// recall that finds such a chunk.
func BenchmarkRebuild(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "e")
	s := Open(dir, Options{})
	grow(b, s, s.per-1)
	text, err := os.ReadFile(s.chunk(1))
	if err != nil {
		b.Fatal(err)
	}
	e := vocabulary{rng: rand.New(rand.NewPCG(3, 4)), words: 20_000}.sample(1)
	for _, name := range []string{"close", "close-without-index"} {
		b.Run(name, func(b *testing.B) {
			took := spread{}
			for b.Loop() {
				b.StopTimer()
				if err := os.WriteFile(s.chunk(1), text, 0o600); err != nil {
					b.Fatal(err)
				}
				if err := s.renewIndex(1, false); err != nil {
					b.Fatal(err)
				}
				if name != "close" {
					_ = os.Remove(s.index(1))
				}
				took.begin()
				b.StartTimer()
				if _, err := Open(dir, Options{}).Append(e); err != nil {
					b.Fatal(err)
				}
				took.end()
			}
			took.report(b)
		})
	}
	b.Run("recall-without-index", func(b *testing.B) {
		took := spread{}
		for b.Loop() {
			b.StopTimer()
			_ = os.Remove(s.index(1))
			took.begin()
			b.StartTimer()
			if _, err := Open(dir, Options{}).Recall(e.Task, 10); err != nil {
				b.Fatal(err)
			}
			took.end()
		}
		took.report(b)
	})
}

func BenchmarkLearn(b *testing.B) {
	s := Open(filepath.Join(b.TempDir(), "e"), Options{Keep: 200_000})
	grow(b, s, 100_000)
	for b.Loop() {
		if _, err := s.Learn(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	s := Open(filepath.Join(b.TempDir(), "e"), Options{})
	grow(b, s, 10_000)
	v := vocabulary{rng: rand.New(rand.NewPCG(3, 4)), words: 20_000}
	var tasks []string
	for range 20 {
		tasks = append(tasks, v.text(8))
	}
	for b.Loop() {
		if _, err := Predict(tasks, s.Recall); err != nil {
			b.Fatal(err)
		}
	}
}
