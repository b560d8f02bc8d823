package suite

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"autopilot/metrics/plainfile"
	"autopilot/supervisor/tdd"
)

const maxBlocks = 5_000_000 // of a coverage profile

// percent is nil when there is nothing to cover.
func percent(covered, total float64) *float64 {
	if p := 100 * covered / total; total > 0 && p >= 0 && p <= 100 && !math.IsInf(total, 0) {
		return &p
	}
	return nil // also for what is no number
}

// goCoverage reads a coverage profile as "go doc cover" describes it: the share of the
// statements that ran. A block that is listed several times, because several
// packages' tests ran it, is one.
func goCoverage(r io.Reader) (tdd.Coverage, error) {
	type block struct {
		statements int
		ran        bool
	}
	blocks := map[string]block{}
	var bad error
	lines := 0
	s := splitter{feed: func(data []byte) {
		text := strings.TrimSpace(string(data))
		if text == "" || bad != nil {
			return
		}
		if lines++; strings.HasPrefix(text, "mode: ") {
			return
		}
		f := strings.Fields(text)
		if len(f) < 3 { // a file name may hold blanks
			bad = fmt.Errorf("line %d of the profile is no block", lines)
			return
		}
		key := strings.Join(f[:len(f)-2], " ")
		n, err := strconv.Atoi(f[len(f)-2])
		runs, err2 := strconv.ParseUint(f[len(f)-1], 10, 64)
		if err := errors.Join(err, err2); err != nil || n < 0 || n > maxCount || len(blocks) >= maxBlocks {
			bad = fmt.Errorf("line %d of the profile is no block", lines)
			return
		}
		blocks[key] = block{n, runs > 0 || blocks[key].ran}
	}}
	if _, err := io.Copy(&s, r); err != nil {
		return tdd.Coverage{}, err
	}
	s.close()
	if bad != nil {
		return tdd.Coverage{}, bad
	}
	var covered, total float64
	for _, b := range blocks {
		total += float64(b.statements)
		if b.ran {
			covered += float64(b.statements)
		}
	}
	p := percent(covered, total)
	if p == nil {
		return tdd.Coverage{}, errors.New("the profile holds no statements")
	}
	return tdd.Coverage{Lines: p, Statements: p}, nil
}

// summaryCoverage reads the total of a json-summary of istanbul, as jest and vitest
// write it.
func summaryCoverage(r io.Reader) (tdd.Coverage, error) {
	type count struct {
		Total   float64 `json:"total"`
		Covered float64 `json:"covered"`
	}
	d := json.NewDecoder(r)
	if err := expect(d, json.Delim('{')); err != nil {
		return tdd.Coverage{}, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return tdd.Coverage{}, err
		}
		if key != "total" {
			if err := pass(d); err != nil {
				return tdd.Coverage{}, err
			}
			continue
		}
		var t struct{ Lines, Branches, Functions, Statements count }
		if err := d.Decode(&t); err != nil {
			return tdd.Coverage{}, err
		}
		c := tdd.Coverage{
			Lines: percent(t.Lines.Covered, t.Lines.Total), Branches: percent(t.Branches.Covered, t.Branches.Total),
			Functions: percent(t.Functions.Covered, t.Functions.Total), Statements: percent(t.Statements.Covered, t.Statements.Total),
		}
		if c.Lines == nil {
			return tdd.Coverage{}, errors.New("the summary holds no lines")
		}
		return c, nil
	}
	return tdd.Coverage{}, errors.New("the summary holds no total")
}

// xmlCoverage reads the head of Cobertura XML as coverage.py writes it. Its lines are
// statements.
func xmlCoverage(r io.Reader) (tdd.Coverage, error) {
	d := xml.NewDecoder(r)
	for {
		token, err := d.Token()
		if err != nil {
			return tdd.Coverage{}, err
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		value := func(name string) float64 {
			n, err := strconv.ParseFloat(attr(e, name), 64)
			if err != nil {
				return -1
			}
			return n
		}
		c := tdd.Coverage{
			Lines:    percent(value("lines-covered"), value("lines-valid")),
			Branches: percent(value("branches-covered"), value("branches-valid")),
		}
		c.Statements = c.Lines
		if e.Name.Local != "coverage" || c.Lines == nil {
			return tdd.Coverage{}, errors.New("the report holds no lines")
		}
		return c, nil
	}
}

// coverage reads what a runner has written.
func coverage(r Runner, name string) (tdd.Coverage, error) {
	f, _, err := plainfile.Open(name)
	if err != nil {
		return tdd.Coverage{}, fmt.Errorf("%s was not written", filepath.Base(name))
	}
	defer f.Close()
	in := io.LimitReader(f, maxResult)
	switch r {
	case Go:
		return goCoverage(in)
	case Pytest:
		return xmlCoverage(in)
	}
	return summaryCoverage(in)
}
