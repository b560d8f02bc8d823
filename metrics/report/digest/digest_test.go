package digest_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/digest"
	"autopilot/metrics/report/strangers"
	"autopilot/metrics/samples"
)

var update = flag.Bool("update", false, "write the digests that are expected")

type tb interface {
	Helper()
	Fatal(args ...any)
}

func forms(t tb, f digest.Facts) (page, words, data string) {
	t.Helper()
	p, err := digest.HTML(f)
	if err != nil {
		t.Fatal(err)
	}
	d, err := digest.JSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(p), string(digest.Markdown(f)), string(d)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]digest.Facts{"week": week(), "machine": machine(), "quiet": quiet()} {
		page, words, data := forms(t, f)
		for file, got := range map[string]string{name + ".html": page, name + ".md": words, name + ".json": data} {
			if name == "machine" && !strings.HasSuffix(file, ".md") {
				continue // what differs is seen in one form
			}
			file = filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	f := week()
	f.Runs[1].Sessions = append(f.Runs[1].Sessions, f.Runs[0].Sessions...) // as a cohort that continues another lists them
	d := digest.NewDocument(f)
	want := digest.Totals{
		Runs: 4, Sessions: 6, Completed: 5, Seconds: 6 * 3600, Waited: 1800, Budgeted: 60_000, Tokens: report.Tokens{Input: 6000, Output: 12_000, CacheCreation: 42_000, CacheRead: 540_000},
		CostUSD: 9, Files: 18, Commits: 6, Goals: 1, GoalsReached: 1, FalseStops: 1, Items: 2, ItemsDone: 1, Tasks: 8, TasksDone: 3, Checks: 2, ChecksHold: 1, RunsWithTests: 2, RunsTestsGreen: 1,
		CostPerDay: d.Totals.CostPerDay,
	}
	if diff := cmp.Diff(want, d.Totals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if days := f.Generated.Sub(f.Since).Hours() / 24; math.Abs(*d.Totals.CostPerDay-9/days) > 1e-9 {
		t.Errorf("%v a day", *d.Totals.CostPerDay)
	}
	if d.States["bad"] != 2 || d.States["limit"] != 1 || d.States["good"] != 1 || d.Causes["spiral"] != 1 || d.State != "person" {
		t.Errorf("%v %v %s", d.States, d.Causes, d.State)
	}
	if len(d.Days) != 2 || d.Days[0].Day != "2026-11-19" || d.Days[0].CostUSD != 4.5 || d.Days[1].Runs != 3 {
		t.Errorf("%+v", d.Days)
	}
	if r := d.Runs[0]; !r.Continued || *r.Percent != 100 || math.Abs(*r.Velocity-33.5) > 1e-9 || *r.Reward != 0 || r.TestsGreen != nil {
		t.Errorf("%+v", r)
	}
	if r := d.Runs[3]; !r.Coordinates || r.CostUSD != 0 || r.Items != 2 {
		t.Errorf("%+v", r)
	}
	f.Since = f.Generated.Add(-time.Hour)
	if d = digest.NewDocument(f); d.Totals.CostPerDay != nil {
		t.Error("an hour is told as a day")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	with := func(change func(*digest.Facts)) digest.Facts {
		f := week()
		f.Needs = nil
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		facts digest.Facts
		want  string
	}{
		"needs":        {week(), "person"},
		"bad":          {with(func(*digest.Facts) {}), "bad"},
		"limit":        {with(func(f *digest.Facts) { f.Runs = f.Runs[:2] }), "limit"},
		"good":         {with(func(f *digest.Facts) { f.Runs = f.Runs[1:2] }), "good"},
		"nothing":      {quiet(), "open"},
		"not known":    {with(func(f *digest.Facts) { f.Runs = []digest.Run{{Record: ledger.Run{AutopilotRunID: "x"}}} }), "open"},
		"for a person": {with(func(f *digest.Facts) { f.Runs = f.Runs[:2]; f.Runs[0].Record.ExitCode = 4 }), "person"},
	} {
		if got := digest.NewDocument(c.facts).State; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestToDo(t *testing.T) {
	t.Parallel()
	_, words, _ := forms(t, machine())
	_, rest, _ := strings.Cut(words, "## For a person to do now\n\n")
	got, _, _ := strings.Cut(rest, "\n\n##")
	want := strings.Join([]string{
		"- app: Answer: Which cloud?: `autopilot answer main-run-2 TEXT`",
		"- app: Allow or refuse: ./deploy.sh staging (until 2026-11-21 23:20): `autopilot approve g-2`",
		"- app: Decide about 0003-deploy: needs a key: `autopilot queue retry 0003-deploy`",
		"- app: Look at and merge branch autopilot/login (work tree /srv/trees/login): `git merge autopilot/login`",
		"- web: Go on with main-run-4: 1 of 2 stories is done: `autopilot resume main-run-4`",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// elements parses a page as strict XML and counts its elements and attributes.
func elements(page string) (map[string]int, error) {
	d := xml.NewDecoder(strings.NewReader(page))
	seen := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok {
			seen[e.Name.Local]++
			for _, a := range e.Attr {
				seen[e.Name.Local+" "+a.Name.Local]++
				switch a.Name.Local {
				case "x", "y", "width", "height", "d", "cx", "cy":
					if strings.ContainsAny(a.Value, "Nnefi") && e.Name.Local != "svg" || e.Name.Local == "rect" && strings.HasPrefix(a.Value, "-") {
						return nil, fmt.Errorf("%s %s=%q", e.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
	}
}

func TestPageIsItsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		facts    digest.Facts
		drawings int
	}{"week": {week(), 7}, "quiet": {quiet(), 0}} {
		page, _, _ := forms(t, c.facts)
		seen, err := elements(page)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, not := range []string{"script", "link", "img", "iframe", "a", "object", "base"} {
			if seen[not] > 0 {
				t.Errorf("%s: there is a <%s>", name, not)
			}
		}
		for _, not := range []string{"url(", "@import", " src=", " href=", "javascript:", "NaN", "Inf", "ZgotmplZ"} {
			if strings.Contains(page, not) {
				t.Errorf("%s: there is %q", name, not)
			}
		}
		if seen["svg"] != c.drawings || seen["desc"] != c.drawings || seen["svg aria-labelledby"] != c.drawings {
			t.Errorf("%s: %d drawings with %d descriptions, want %d", name, seen["svg"], seen["desc"], c.drawings)
		}
	}
}

func TestTextsOfStrangers(t *testing.T) {
	t.Parallel()
	for _, text := range strangers.Texts() {
		for _, all := range []bool{true, false} {
			f := week()
			strangers.Fill(&f, text)
			if all {
				f.Repository = ""
			}
			page, words, data := forms(t, f)
			seen, err := elements(page)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			for _, not := range []string{"script", "img", "a", "b", "h3"} {
				if seen[not] > 0 {
					t.Errorf("%q makes a <%s>", text, not)
				}
			}
			for name := range seen {
				if _, attr, ok := strings.Cut(name, " "); ok && strings.HasPrefix(attr, "on") {
					t.Errorf("%q makes an attribute %s", text, name)
				}
			}
			for _, out := range []string{page, words, data} {
				if strings.Contains(out, "hunter2") || strings.Contains(out, "abcdefgh") || strings.ContainsAny(out, "\x00\x1b\u202e\ufffe") || !utf8.ValidString(out) {
					t.Errorf("%q: a secret or a control character is left", text)
				}
			}
			checkMarkdown(t, text, words)
		}
	}
}

// checkMarkdown looks for what a text could have made of the Markdown around it.
func checkMarkdown(t *testing.T, text, words string) {
	t.Helper()
	inTable := 0
	for line := range strings.Lines(words) {
		line = strings.TrimSuffix(line, "\n")
		outside := line
		if at := strings.Index(line, ": `"); at >= 0 && strings.HasPrefix(line, "- ") {
			outside = line[:at]
		}
		for _, not := range []string{"<", "![", "](", "```"} {
			if at := strings.Index(outside, not); at >= 0 && (at == 0 || outside[at-1] != '\\') {
				t.Errorf("%q is not escaped: %s", text, line)
			}
		}
		if !strings.HasPrefix(line, "|") {
			inTable = 0
			continue
		}
		cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if inTable > 0 && cells != inTable {
			t.Errorf("%q makes a row of %d cells in a table of %d: %s", text, cells, inTable, line)
		}
		inTable = cells
	}
}

// many is a digest of n runs whose texts are as long as they can be.
func many(n int, text string) digest.Facts {
	f := machine()
	f.Runs, f.Open, f.Needs, f.Problems = nil, nil, nil, nil
	list := []string{text, text, text, text, text, text, text}
	for i := range n {
		f.Runs = append(f.Runs, run(i, i*60, 2, func(r *digest.Run) {
			r.Repository = text
			r.Record.AutopilotRunID, r.Record.ExitCause, r.Record.KillSwitchDetail = fmt.Sprint(i, text), fmt.Sprint(text, i), &text
			r.Record.ResumedFrom, r.Record.ParentRunID, r.Record.ExitCode = text, &text, 3
			r.Record.Termination = &ledger.Termination{Status: text, Summary: text, Question: text, Deliverables: []ledger.Deliverable{{Name: text, Proof: text}, {Name: text, Proof: text}}}
			r.Record.Goals = []ledger.Goal{{Text: text, Status: text}}
			r.Items = []report.Item{{ID: text, Title: text, Status: text, Why: text}}
			for j := range r.Sessions {
				r.Sessions[j].ID, r.Sessions[j].Summary, r.Sessions[j].NextSteps, r.Sessions[j].Commits = fmt.Sprint(text, i, j), text, list, list
			}
			for j := range 50 {
				r.Samples = append(r.Samples, samples.Sample{At: after(i*60 + j), Tier: []string{"green", "critical"}[(i+j)%2], AvailableGB: ptr(float64(j)), SwapGB: ptr(1.0)})
			}
			r.Reward = ptr(0.5)
		}))
		f.Needs = append(f.Needs, digest.Need{Kind: digest.Item, Repository: text, Text: text, Command: text})
		f.Open = append(f.Open, digest.Open{Repository: text, ID: text, Words: text})
		f.Problems = append(f.Problems, text)
	}
	return f
}

func TestSize(t *testing.T) {
	t.Parallel()
	const limit = 1_000_000
	for name, text := range map[string]string{"usual": "some words of a usual length about what was done", "quotes": strings.Repeat(`"`, 5000), "signs": strings.Repeat("😀", 5000)} {
		page, words, data := forms(t, many(1000, text))
		t.Logf("%s: page %d bytes, Markdown %d bytes, JSON %d bytes", name, len(page), len(words), len(data))
		if len(page) > limit || len(words) > limit || len(data) > limit*3/2 {
			t.Errorf("%s: a page of %d, Markdown of %d and JSON of %d bytes", name, len(page), len(words), len(data))
		}
		if _, err := elements(page); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(page, "900 more are not shown.") || !strings.Contains(words, "980 more runs are not told in full") || !strings.Contains(data, `"runs": 800`) {
			t.Errorf("%s: it does not say what it leaves out", name)
		}
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	for range 10 { // the order of a map would show
		a, b, c := forms(t, machine())
		d, e, f := forms(t, machine())
		if a != d || b != e || c != f {
			t.Fatal("the same facts give two digests")
		}
	}
	f := machine()
	forms(t, f)
	if diff := cmp.Diff(machine(), f, cmp.AllowUnexported(ledger.Stamp{}, time.Time{})); diff != "" {
		t.Errorf("the facts were changed (-want +got):\n%s", diff)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]digest.Facts{"week": week(), "quiet": quiet(), "zero": {}} {
		_, _, data := forms(t, f)
		var doc map[string]any
		if err := json.Unmarshal([]byte(data), &doc); err != nil {
			t.Fatal(err)
		}
		if doc["schema_version"] != 1.0 || doc["kind"] != "digest" {
			t.Errorf("%s: %v %v", name, doc["schema_version"], doc["kind"])
		}
		typ := reflect.TypeFor[digest.Document]()
		for i := range typ.NumField() {
			called := typ.Field(i).Tag.Get("json")
			if typ.Field(i).Type.Kind() == reflect.Slice {
				if _, list := doc[called].([]any); !list {
					t.Errorf("%s: %s is %v", name, called, doc[called])
				}
			}
		}
	}
}

// draw puts anything at all into a value.
func draw(t *rapid.T, v reflect.Value) {
	moment := func() time.Time {
		return rapid.OneOf(
			rapid.Map(rapid.IntRange(0, 600), after), rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Unix(1<<60, 0)}),
		).Draw(t, "time")
	}
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(moment()))
		return
	case reflect.TypeFor[ledger.Stamp]():
		v.Set(reflect.ValueOf(ledger.Stamp(moment())))
		return
	case reflect.TypeFor[*time.Location]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]*time.Location{nil, time.UTC, time.FixedZone("<b>&", 3600)}).Draw(t, "zone")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringN(0, 12, 40), rapid.SampledFrom([]string{
			"", "completed", "failed", "green", "critical", "paused", "question", "gate", "<script>", "]]>", "a\xffb\ufffe", "|\n\n#", `"'&`,
		})).Draw(t, "text"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e-320})).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 100)).Draw(t, "count"))
	}
}

func TestAnyFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f digest.Facts
		draw(t, reflect.ValueOf(&f).Elem())
		page, words, data := forms(t, f)
		if _, err := elements(page); err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		if !utf8.ValidString(page) || !utf8.ValidString(words) || strings.ContainsAny(words, "\x00\x1b\r") || !json.Valid([]byte(data)) {
			t.Fatalf("not plain UTF-8:\n%q", words)
		}
		for _, not := range []string{"NaN", "Inf "} {
			if strings.Contains(data, not) {
				t.Fatalf("there is %q in\n%s", not, data)
			}
		}
		if bytes.Contains([]byte(words), []byte("-9,223")) {
			t.Fatalf("a number turned over:\n%s", words)
		}
	})
}
