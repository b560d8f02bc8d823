package suite

import (
	"os"
	"strings"
	"testing"

	"autopilot/supervisor/tdd"
)

func TestGoProfiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want float64 // below 0 for an error
	}{
		{"mode: set\na.go:1.1,2.2 3 1\na.go:3.1,4.2 1 0\n", 75},
		{"mode: count\na.go:1.1,2.2 3 0\na.go:1.1,2.2 3 7\nmode: count\nb b.go:1.1,2.2 3 0\n", 50},
		{"mode: atomic\na.go:1.1,2.2 1 18446744073709551615\n", 100},
		{"mode: set\n", -1},
		{"", -1},
		{"mode: set\na.go:1.1,2.2 x 1\n", -1},
		{"mode: set\na.go:1.1,2.2 -1 1\n", -1},
		{"mode: set\nnothing\n", -1},
	} {
		got, err := goCoverage(strings.NewReader(c.in))
		if (err != nil) != (c.want < 0) || err == nil && *got.Lines != c.want {
			t.Errorf("%q: got %+v, %v", c.in, got, err)
		}
	}
}

func TestRecordedCoverage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r                                      Runner
		file                                   string
		lines, branches, functions, statements float64 // below 0 for none
	}{
		{Jest, "testdata/coverage-summary.json", 100, 0, 50, 50},
		{Pytest, "testdata/coverage.xml", 100 * 2577.0 / 13888, -1, -1, 100 * 2577.0 / 13888},
	} {
		got, err := coverage(c.r, c.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []struct {
			name string
			got  *float64
			want float64
		}{{"lines", got.Lines, c.lines}, {"branches", got.Branches, c.branches}, {"functions", got.Functions, c.functions}, {"statements", got.Statements, c.statements}} {
			if (v.got == nil) != (v.want < 0) || v.got != nil && *v.got != v.want {
				t.Errorf("%s: %s: got %v, want %v", c.file, v.name, v.got, v.want)
			}
		}
	}
}

func TestCoverageThatIsNone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "[]", "{", `{"total":5}`, `{"total":{"lines":{"total":0,"covered":0,"pct":"Unknown"}}}`, `{"total":{"lines":{"total":1,"covered":2}}}`, `{"a":{}}`,
	} {
		if got, err := summaryCoverage(strings.NewReader(in)); err == nil {
			t.Errorf("%s: got %+v", in, got)
		}
	}
	for _, in := range []string{"", "<x/>", `<coverage lines-valid="0" lines-covered="0"/>`, `<coverage lines-valid="1" lines-covered="NaN"/>`, `<coverage lines-valid="Inf" lines-covered="1"/>`} {
		if got, err := xmlCoverage(strings.NewReader(in)); err == nil {
			t.Errorf("%s: got %+v", in, got)
		}
	}
	if _, err := coverage(Go, "/nowhere/cover.out"); err == nil || err.Error() != "cover.out was not written" {
		t.Errorf("got %v", err)
	}
}

func FuzzCoverage(f *testing.F) {
	f.Add("mode: set\na.go:1.1,2.2 3 1\n")
	f.Add(`{"total":{"lines":{"total":2,"covered":1}}}`)
	f.Add(`<coverage lines-valid="2" lines-covered="1"/>`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, parse := range []func(string) (tdd.Coverage, error){
			func(s string) (tdd.Coverage, error) { return goCoverage(strings.NewReader(s)) },
			func(s string) (tdd.Coverage, error) { return summaryCoverage(strings.NewReader(s)) },
			func(s string) (tdd.Coverage, error) { return xmlCoverage(strings.NewReader(s)) },
		} {
			c, err := parse(in)
			for _, p := range []*float64{c.Lines, c.Branches, c.Functions, c.Statements} {
				if p != nil && !(*p >= 0 && *p <= 100) || err != nil && p != nil {
					t.Fatalf("%q: %+v, %v", in, c, err)
				}
			}
		}
	})
}

// FuzzParsers holds every parser to its limits.
func FuzzParsers(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		if data, err := os.ReadFile("testdata/" + e.Name()); err == nil && len(data) < 10_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range []Runner{Go, Jest, Vitest, Node, Pytest, Cargo, TAP} {
			var m tdd.Measured
			parse(r, data).into(&m)
			if m.Passed < 0 || m.Failed < 0 || m.Skipped < 0 || m.Broken < 0 || m.Total != m.Passed+m.Failed+m.Skipped || m.Total > 3*maxCount {
				t.Fatalf("%s: %+v", r, m.Results)
			}
			if !m.Counted && (m.Results != tdd.Results{} || m.Broken != 0 || m.Passing != nil) || len(m.Failing) > maxFailing {
				t.Fatalf("%s: %+v", r, m)
			}
			for _, name := range m.Failing {
				if len([]rune(name)) > maxName || strings.ContainsAny(name, "\n\r\x1b\x00") || m.Passing[name] {
					t.Fatalf("%s: %q", r, name)
				}
			}
		}
	})
}
