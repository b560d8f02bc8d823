package episode

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

const (
	patternLetters = 4
	patternShared  = 2 // episodes that must have it
	patternLimit   = 5
	pairWords      = 200 // the best words, of which pairs are looked for
)

// miner gives the words of episodes numbers, so that many episodes fit in memory.
type miner struct {
	ids    map[string]int32 // by stem
	words  []string         // as first written, in lower case
	usable []bool           // long enough to be a pattern
}

// row is one episode for a miner.
type row struct {
	words  []int32 // in order; -1 where something stood that is no pattern
	extra  []int32 // tags and the like
	reward float64
}

// tally says how many rows have something, and the sum of their rewards.
type tally struct {
	n   int
	sum float64
	row int // the last one that was counted
}

func (t *tally) count(row int, reward float64) {
	if t.row == row {
		return
	}
	t.row = row
	t.n++
	t.sum += reward
}

// finding is a pattern with the number of other episodes that have it too.
type finding struct {
	Pattern
	other int
	sum   float64
	parts []int32
}

func newMiner() *miner { return &miner{ids: make(map[string]int32)} }

// row takes the words of the task, and as they are the tags and extra.
func (m *miner) row(e Episode, extra ...string) row {
	r := row{reward: e.Reward}
	var buf []byte
	for run := range runs(e.Task) {
		buf = lower(buf[:0], run)
		if len(buf) > maxTerm || isStop(buf) {
			r.words = append(r.words, -1)
			continue
		}
		word := string(buf)
		id := m.id(string(stem(buf)), word)
		r.words = append(r.words, id)
		m.usable[id] = m.usable[id] || letters(word) >= patternLetters
	}
	for _, tag := range append(slices.Clone(e.Tags), extra...) {
		if tag = strings.ToLower(oneLine(tag, maxTerm)); tag != "" {
			id := m.id(tag, tag)
			m.usable[id] = true
			r.extra = append(r.extra, id)
		}
	}
	return r
}

func (m *miner) id(key, word string) int32 {
	id, ok := m.ids[key]
	if !ok {
		id = int32(len(m.words))
		m.ids[key] = id
		m.words = append(m.words, word)
		m.usable = append(m.usable, false)
	}
	return id
}

func letters(word string) int {
	n := 0
	for _, r := range word {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// find returns what at least two of the rows share, the best first: by frequency
// times mean reward, which is the sum of the rewards. What the other rows have more
// often, measured by how many they are, is left out.
func (m *miner) find(own, other []row) []finding {
	mine, theirs := m.singles(own), m.singles(other)
	var out []finding
	for id := range mine {
		if m.usable[id] && mine[id].n >= patternShared {
			out = append(out, m.finding(mine[id], theirs[id], int32(id)))
		}
	}
	slices.SortFunc(out, better)
	top := make(map[int32]bool)
	for _, f := range out[:min(pairWords, len(out))] {
		top[f.parts[0]] = true
	}
	myPairs, theirPairs := pairs(own, top), pairs(other, top)
	whole := make(map[int32]int) // how often a word stands in its most frequent pair
	for p, t := range myPairs {
		if t.n < patternShared {
			continue
		}
		o := theirPairs[p]
		if o == nil {
			o = &tally{}
		}
		out = append(out, m.finding(*t, *o, p[0], p[1]))
		whole[p[0]], whole[p[1]] = max(whole[p[0]], t.n), max(whole[p[1]], t.n)
	}
	out = slices.DeleteFunc(out, func(f finding) bool {
		// A word that is always part of the same pair says less than the pair.
		alone := len(f.parts) == 1 && whole[f.parts[0]] == f.Frequency
		return alone || f.Frequency*(len(own)+len(other)) < len(own)*(f.Frequency+f.other)
	})
	slices.SortFunc(out, better)
	return out
}

func (m *miner) finding(own, other tally, parts ...int32) finding {
	words := make([]string, len(parts))
	for i, id := range parts {
		words[i] = m.words[id]
	}
	return finding{
		Pattern: Pattern{Pattern: strings.Join(words, " "), Frequency: own.n, AvgReward: own.sum / float64(own.n)},
		other:   other.n, sum: own.sum, parts: parts,
	}
}

func better(x, y finding) int {
	return cmp.Or(cmp.Compare(y.sum, x.sum), cmp.Compare(y.Frequency, x.Frequency),
		cmp.Compare(len(y.parts), len(x.parts)), strings.Compare(x.Pattern.Pattern, y.Pattern.Pattern))
}

func (m *miner) singles(rows []row) []tally {
	out := make([]tally, len(m.words))
	for i, r := range rows {
		for _, list := range [][]int32{r.words, r.extra} {
			for _, id := range list {
				if id >= 0 {
					out[id].count(i+1, r.reward)
				}
			}
		}
	}
	return out
}

// pairs counts two words in a row, both of them among the given ones.
func pairs(rows []row, of map[int32]bool) map[[2]int32]*tally {
	out := make(map[[2]int32]*tally)
	for i, r := range rows {
		for k := 1; k < len(r.words); k++ {
			p := [2]int32{r.words[k-1], r.words[k]}
			if p[0] == p[1] || !of[p[0]] || !of[p[1]] {
				continue
			}
			if out[p] == nil {
				out[p] = &tally{}
			}
			out[p].count(i+1, r.reward)
		}
	}
	return out
}

// patternsOf returns the best findings as they are told.
func patternsOf(list []finding) []Pattern {
	out := []Pattern{}
	for _, f := range list[:min(patternLimit, len(list))] {
		out = append(out, f.Pattern)
	}
	return out
}
