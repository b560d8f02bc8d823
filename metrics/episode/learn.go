package episode

import (
	"fmt"
	"math"
	"strings"

	"autopilot/metrics/journal"
)

const (
	enough       = 3  // episodes that it takes before something is said about them
	sureEpisodes = 50 // that make the confidence 1
)

// Learn sums up all episodes. Its cost is that of reading them all: seconds for
// 100,000.
//
// AvgReward is that of all episodes, failures included. Patterns are those of Advise
// over all successes; FailurePatterns are the same over all failures, and may also be
// a status or a signal of the last step. What is more common among the others is left
// out of both. Recommendations are at most three sentences of 200 characters, and need
// three episodes that show the same. Confidence is log(n+1)/log(51) with n episodes,
// at most 1. No list is nil. Errors name what cannot be read.
func (s *Store) Learn() (Learned, error) {
	c := class{miner: newMiner(), ends: make(map[string]bool)}
	numbers, err := s.chunks()
	if err != nil {
		return Learned{}, fmt.Errorf("learn from episodes: %w", err)
	}
	for _, no := range numbers {
		err := journal.Each(s.chunk(no), func(_ int, line []byte) error {
			c.add(line)
			return nil
		})
		if err != nil {
			return Learned{}, fmt.Errorf("learn from episodes: %w", err)
		}
	}
	return c.learned(), nil
}

// class gathers what all episodes together say, in the memory of their words.
type class struct {
	miner            *miner
	won, lost        []row
	iterations, took []int64 // of successes
	trajectories     int
	sum              float64 // of rewards
	stalls           int
	ends             map[string]bool // statuses and signals of failures
}

func (c *class) add(line []byte) {
	e, ok := skim(line)
	if ok && !e.Success {
		e, ok = parse(line) // how it ended is in its steps
	}
	if !ok {
		return
	}
	if steps(line) > 1 {
		c.trajectories++
	}
	if e.Success {
		e.Reward = share(e.Reward)
		c.sum += e.Reward
		c.won = append(c.won, c.miner.row(e))
		c.iterations = append(c.iterations, int64(e.Iterations))
		c.took = append(c.took, e.DurationMS)
		return
	}
	extra := []string{e.Status}
	if n := len(e.Steps); n > 0 {
		extra = append(extra, e.Steps[n-1].Signals...)
	}
	e.Reward = 0
	c.lost = append(c.lost, c.miner.row(e, extra...))
	for _, x := range extra {
		c.ends[strings.ToLower(oneLine(x, maxTerm))] = true
	}
	if stalled(e) {
		c.stalls++
	}
}

func (c *class) learned() Learned {
	n := len(c.won) + len(c.lost)
	l := Learned{
		Episodes: n, Successes: len(c.won), Failures: len(c.lost), Trajectories: c.trajectories,
		Confidence: min(1, math.Log(float64(n+1))/math.Log(sureEpisodes+1)),
	}
	if n > 0 {
		l.AvgReward = c.sum / float64(n)
	}
	l.Patterns = patternsOf(c.miner.find(c.won, c.lost))
	failures := c.miner.find(c.lost, c.won)
	l.FailurePatterns = patternsOf(failures)
	l.Recommendations = c.recommend(failures)
	return l
}

func (c *class) recommend(failures []finding) []string {
	out := []string{}
	say := func(format string, args ...any) {
		out = append(out, oneLine(fmt.Sprintf(format, args...), sentenceLimit))
	}
	n := len(c.won) + len(c.lost)
	if c.stalls >= enough {
		say("Break work into smaller tasks when it stalls: %d of %d failures had stopped to make progress", c.stalls, len(c.lost))
	}
	for _, f := range failures {
		isEnd := c.ends[f.Pattern.Pattern]
		if f.Frequency >= enough && f.Frequency > f.other && !isEnd {
			say("Take care with %q: %d of %d episodes with it failed", f.Pattern.Pattern, f.Frequency, f.Frequency+f.other)
			break
		}
	}
	if len(c.won) >= enough {
		say("Expect %d iterations and %s: half of the %d successes among %d episodes took no more", median(c.iterations), span(median(c.took)), len(c.won), n)
	}
	return out
}
