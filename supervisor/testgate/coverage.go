package testgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/plainfile"
)

const (
	summaryFile  = "coverage/coverage-summary.json"
	maxSummaries = 64 << 20        // bytes of it
	coarse       = 2 * time.Second // by which times of files may lag behind the clock
)

// coverage is what is known of it.
type coverage struct {
	file   string      // that a test command may write itself
	before os.FileInfo // what it was; nil when it was not there
	begun  time.Time
	lines  *float64
	why    string
}

// watchCoverage remembers what is there before the first command runs.
func (g Gate) watchCoverage() coverage {
	c := coverage{file: filepath.Join(g.Repo, filepath.FromSlash(summaryFile)), begun: time.Now(), why: "no tests were run"}
	if info, err := os.Stat(c.file); err == nil {
		c.before = info
	}
	return c
}

// look takes the coverage that was measured for us, and else the summary that the
// command has written.
func (c *coverage) look(f finding) {
	if f.lines != nil {
		c.lines, c.why = f.lines, "measured by this run"
		return
	}
	p, err := c.summary()
	if err == nil {
		c.lines, c.why = &p, summaryFile
		return
	}
	c.why = f.noLines
	if c.why == "" {
		c.why = "the command was not asked for it"
	}
	c.why = line(c.why+"; "+err.Error(), maxLine)
}

// summary reads the summary of istanbul if it is from this run: another file than
// before, or a changed one, that is not older than the run.
func (c *coverage) summary() (float64, error) {
	f, info, err := plainfile.Open(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("there is no %s", summaryFile)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	same := c.before != nil && os.SameFile(c.before, info) && c.before.ModTime().Equal(info.ModTime())
	if same || info.ModTime().Before(c.begun.Add(-coarse)) {
		return 0, fmt.Errorf("%s was not written by this run", summaryFile)
	}
	var s struct {
		Total struct {
			Lines struct {
				Total   float64 `json:"total"`
				Covered float64 `json:"covered"`
			} `json:"lines"`
		} `json:"total"`
	}
	if err := json.NewDecoder(io.LimitReader(f, maxSummaries)).Decode(&s); err != nil {
		return 0, fmt.Errorf("%s cannot be read: %w", summaryFile, err)
	}
	l := s.Total.Lines
	if !(l.Total > 0 && l.Covered >= 0 && l.Covered <= l.Total) {
		return 0, fmt.Errorf("%s holds no lines", summaryFile)
	}
	return 100 * l.Covered / l.Total, nil
}

// judge puts the coverage into a report, and holds it against the threshold of a report
// that is not red already: that of tests that failed means little.
func (c *coverage) judge(r *Report) {
	r.Coverage, r.CoverageWhy = c.lines, c.why
	if r.Threshold <= 0 || len(r.Failures) > 0 {
		return
	}
	switch {
	case c.lines == nil:
		r.fail(Failure{
			Suite: Whole, Class: Unfixable, Detail: line("the coverage cannot be measured: "+c.why, maxLine),
			Way: "set a test command that measures it or writes " + summaryFile + ", or set no coverage",
		})
	case *c.lines < r.Threshold:
		r.fail(Failure{
			Suite: Whole, Class: Fixable, Way: "test what is not tested yet",
			Detail: fmt.Sprintf("%s %% of lines are covered, fewer than %s %%", percent(*c.lines), percent(r.Threshold)),
		})
	}
}
