package episode

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
)

const (
	k1          = 1.2
	b           = 0.75
	queryTerms  = 32 // terms of a query that count
	recallTries = 32 // looks at chunks that others prune at the same time
	spareFinds  = 1024
)

// Recall returns the episodes that are most like query, at most limit of them, the
// best first and among equals the newest first. It is never nil.
//
// An episode that holds none of the words is no match. The words are those of Task,
// Critique and Tags; the first 32 different terms of query count. The score is BM25,
// with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza, "The Probabilistic Relevance
// Framework: BM25 and Beyond", 2009):
//
//	sum over terms of idf * tf / (tf + k1 * (1 - b + b * length / mean length))
//	idf = ln(1 + (N - n + 0.5) / (n + 0.5))
//
// where 1 + keeps the weight of a term that most episodes have above 0. It is divided
// by the sum of all idf of the query, which it cannot exceed: so it lies between 0
// and 1, and says how much of the query an episode covers.
//
// A missing folder has no episodes. A broken index costs time and is put back if the
// folder can be written to. Errors name what cannot be read.
func (s *Store) Recall(query string, limit int) ([]Match, error) {
	q := queryOf(query)
	if len(q) == 0 || limit <= 0 {
		return []Match{}, nil
	}
	plain := make(map[int]bool) // chunks whose index must not be asked
	for try := 1; ; try++ {
		found, segs, err := s.search(q, limit, plain)
		if err != nil {
			return nil, fmt.Errorf("recall episodes: %w", err)
		}
		matches, again, err := s.load(found, segs, plain)
		if err != nil {
			return nil, fmt.Errorf("recall episodes: %w", err)
		}
		if !again || try == recallTries {
			s.heal(segs, plain)
			return matches, nil
		}
	}
}

// queryOf returns the terms of a query, each once.
func queryOf(query string) []string {
	var q []string
	termsOf(query, nil, func(term []byte) {
		if len(q) < queryTerms && !slices.Contains(q, string(term)) {
			q = append(q, string(term))
		}
	})
	return q
}

// found is one line that holds a term of the query.
type found struct {
	seg   int // position in the list of segments
	doc   int
	score float64
}

func (s *Store) search(q []string, limit int, plain map[int]bool) ([]found, []segment, error) {
	numbers, err := s.chunks()
	if err != nil {
		return nil, nil, err
	}
	var buf []byte
	segs := make([]segment, 0, len(numbers))
	for _, no := range numbers {
		seg, err := s.segment(no, reader{terms: q, buf: &buf, plain: plain[no]})
		if err != nil {
			return nil, nil, err
		}
		segs = append(segs, seg)
	}
	return rank(segs, len(q), limit), segs, nil
}

// rank scores all lines that hold one of the terms and returns the best.
func rank(segs []segment, terms, limit int) []found {
	idf, mean := weights(segs, terms)
	most := 0.0
	for _, w := range idf {
		most += w
	}
	var best []found
	floor := 0.0 // what is not above it is not among the best
	room := min(limit, math.MaxInt/4) + spareFinds
	var scores []float64
	for i := len(segs) - 1; i >= 0; i-- {
		scores = segs[i].score(scores, idf, mean)
		for d := len(scores) - 1; d >= 0; d-- {
			if scores[d] <= floor {
				continue
			}
			best = append(best, found{seg: i, doc: d, score: scores[d]})
			if len(best) >= room {
				best = top(best, limit)
				floor = best[len(best)-1].score
			}
		}
	}
	best = top(best, limit)
	for i := range best {
		best[i].score /= most
	}
	return best
}

func top(list []found, limit int) []found {
	slices.SortFunc(list, func(x, y found) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.seg, x.seg), cmp.Compare(y.doc, x.doc))
	})
	return list[:min(limit, len(list))]
}

// weights returns the idf of each term and the mean length of an episode.
func weights(segs []segment, terms int) (idf []float64, mean float64) {
	episodes, length := 0, int64(0)
	for _, g := range segs {
		episodes += g.live
		length += g.length
	}
	idf = make([]float64, terms)
	for i := range idf {
		n := 0
		for _, g := range segs {
			n += len(g.hits[i])
		}
		idf[i] = math.Log(1 + max(0, float64(episodes-n)+0.5)/(float64(n)+0.5))
	}
	return idf, max(1, float64(length)) / max(1, float64(episodes))
}

// score returns the score of each line; it uses the memory of scores.
func (g segment) score(scores, idf []float64, mean float64) []float64 {
	scores = slices.Grow(scores[:0], len(g.docs))[:len(g.docs)]
	clear(scores)
	for i, list := range g.hits {
		for _, p := range list {
			tf := float64(p.tf)
			scores[p.doc] += idf[i] * tf / (tf + k1*(1-b+b*float64(g.docs[p.doc].length)/mean))
		}
	}
	return scores
}

// load reads the episodes that were found. Again says that a chunk was pruned in
// between, or, then it is noted in plain, that it is not what its index says.
func (s *Store) load(list []found, segs []segment, plain map[int]bool) (matches []Match, again bool, err error) {
	matches = make([]Match, 0, len(list))
	files := make(map[int]*os.File)
	defer func() {
		for _, f := range files {
			_ = f.Close() // only read
		}
	}()
	for _, at := range list {
		no, d := segs[at.seg].no, segs[at.seg].docs[at.doc]
		f, ok := files[no]
		if !ok {
			f, err = os.Open(s.chunk(no))
			if vanished(err) {
				again = true
				continue
			}
			if err != nil {
				return nil, false, err
			}
			files[no] = f
		}
		line, err := readAt(f, d.offset, d.offset+int64(d.size))
		if err != nil {
			return nil, false, err
		}
		e, ok := parse(line)
		if !ok && !plain[no] {
			plain[no], again = true, true
		}
		if !ok {
			continue
		}
		matches = append(matches, Match{Episode: e, Score: at.score})
	}
	return matches, again, nil
}

// heal puts back indexes that are missing, broken or behind. It is no business of
// whoever asks whether that worked.
func (s *Store) heal(segs []segment, plain map[int]bool) {
	var numbers []int
	for i, g := range segs {
		last := i == len(segs)-1
		if g.rest >= s.step || g.rest > 0 && !last || plain[g.no] {
			numbers = append(numbers, g.no)
		}
	}
	if len(numbers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 0) // no waiting
	defer cancel()
	_ = s.locked(ctx, func() error {
		for _, no := range numbers {
			_ = s.renewIndex(no, !plain[no])
		}
		return nil
	})
}
