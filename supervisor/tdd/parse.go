package tdd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const maxCount = 10_000_000 // tests; more are no number of tests

// ParseResults reads "failed:3,passed:0", with skipped and total where they are known,
// or the same as a JSON object. A total that is not given is the sum.
func ParseResults(s string) (Results, error) {
	s = strings.TrimSpace(s)
	given := map[string]float64{}
	if strings.HasPrefix(s, "{") {
		d := json.NewDecoder(bytes.NewReader([]byte(s)))
		if err := d.Decode(&given); err != nil {
			return Results{}, fmt.Errorf("results are no JSON object of numbers: %w", err)
		}
		if d.More() {
			return Results{}, errors.New("results: something follows the JSON object")
		}
	} else {
		for part := range strings.SplitSeq(s, ",") {
			name, value, ok := strings.Cut(part, ":")
			name = strings.ToLower(strings.TrimSpace(name))
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if !ok || err != nil {
				return Results{}, fmt.Errorf("results: %q is not 'name:number', as in failed:3,passed:0", strings.TrimSpace(part))
			}
			if _, twice := given[name]; twice {
				return Results{}, fmt.Errorf("results: %s is given twice", name)
			}
			given[name] = n
		}
	}
	return fromNames(given)
}

func fromNames(given map[string]float64) (Results, error) {
	var r Results
	into := map[string]*int{"passed": &r.Passed, "failed": &r.Failed, "skipped": &r.Skipped, "total": &r.Total}
	for name, n := range given {
		at, ok := into[name]
		switch {
		case !ok:
			return Results{}, fmt.Errorf("results: %q is not known; there are passed, failed, skipped and total", name)
		case n < 0 || n > maxCount || n != math.Trunc(n):
			return Results{}, fmt.Errorf("results: %s is %v, which is no number of tests", name, n)
		}
		*at = int(n)
	}
	for _, name := range []string{"passed", "failed"} {
		if _, ok := given[name]; !ok {
			return Results{}, fmt.Errorf("results: %s is missing, as in failed:3,passed:0", name)
		}
	}
	if _, ok := given["total"]; !ok {
		r.Total = r.Sum()
	}
	return r, nil
}

// Sum is what the total has to be.
func (r Results) Sum() int { return r.Passed + r.Failed + r.Skipped }

// Check says why the numbers cannot be those of a run of tests.
func (r Results) Check() error {
	for _, c := range []struct {
		name string
		n    int
	}{{"passed", r.Passed}, {"failed", r.Failed}, {"skipped", r.Skipped}, {"total", r.Total}} {
		if c.n < 0 || c.n > maxCount {
			return fmt.Errorf("%s is %d, which is no number of tests", c.name, c.n)
		}
	}
	switch {
	case r.Total != r.Sum():
		return fmt.Errorf("the numbers do not add up: %d passed, %d failed and %d skipped are %d, and the total is said to be %d", r.Passed, r.Failed, r.Skipped, r.Sum(), r.Total)
	case r.Passed+r.Failed == 0:
		return errors.New("no test has run: passed and failed are both 0")
	}
	return nil
}

// Words are the numbers for a reader: "3 failed, 12 passed".
func (r Results) Words() string {
	s := fmt.Sprintf("%d failed, %d passed", r.Failed, r.Passed)
	if r.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", r.Skipped)
	}
	return s
}

// ParseCoverage reads "92", "92%" (of lines) or "lines:92,branches:85".
func ParseCoverage(s string) (Coverage, error) {
	var c Coverage
	into := map[string]**float64{"lines": &c.Lines, "branches": &c.Branches, "functions": &c.Functions, "statements": &c.Statements}
	for part := range strings.SplitSeq(s, ",") {
		name, value, named := strings.Cut(part, ":")
		if !named {
			name, value = "lines", part
		}
		at, ok := into[strings.ToLower(strings.TrimSpace(name))]
		if !ok {
			return Coverage{}, fmt.Errorf("coverage: %q is not known; there are lines, branches, functions and statements", strings.TrimSpace(name))
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), "%"), 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > 100 {
			return Coverage{}, fmt.Errorf("coverage: %q is no percentage from 0 to 100", strings.TrimSpace(value))
		}
		if *at != nil {
			return Coverage{}, fmt.Errorf("coverage: %s is given twice", strings.TrimSpace(name))
		}
		*at = &n
	}
	return c, nil
}

// Check says why it cannot be a coverage.
func (c Coverage) Check() error {
	for _, k := range c.kinds() {
		if k.have != nil && (math.IsNaN(*k.have) || *k.have < 0 || *k.have > 100) {
			return fmt.Errorf("coverage of %s is %v, which is no percentage from 0 to 100", k.name, *k.have)
		}
	}
	return nil
}

type kind struct {
	name string
	have *float64
}

func (c Coverage) kinds() []kind {
	return []kind{{"lines", c.Lines}, {"branches", c.Branches}, {"functions", c.Functions}, {"statements", c.Statements}}
}

// Below says which thresholds are missed; empty when none is. What is not known
// misses none.
func (c Coverage) Below(least Coverage) string {
	var words []string
	for i, k := range c.kinds() {
		want := least.kinds()[i].have
		if k.have != nil && want != nil && *want > 0 && *k.have < *want {
			words = append(words, fmt.Sprintf("%s of %s, %s are wanted", Percent(*k.have), k.name, Percent(*want)))
		}
	}
	return strings.Join(words, "; ")
}

// Any reports whether there is a percentage above 0.
func (c Coverage) Any() bool {
	return slices.ContainsFunc(c.kinds(), func(k kind) bool { return k.have != nil && *k.have > 0 })
}

// Over is a coverage with what another one knows beyond it.
func (c Coverage) Over(other Coverage) Coverage {
	into := []**float64{&c.Lines, &c.Branches, &c.Functions, &c.Statements}
	for i, k := range other.kinds() {
		if *into[i] == nil {
			*into[i] = k.have
		}
	}
	return c
}

// Percent writes a percentage with at most one digit behind the point.
func Percent(v float64) string {
	return strconv.FormatFloat(math.Floor(v*10)/10, 'f', -1, 64) + "%"
}
