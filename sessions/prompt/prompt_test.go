package prompt

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSystem(t *testing.T) {
	t.Parallel()
	none, some := System(0), System(4)
	for text, parts := range map[string]struct{ has, lacks []string }{
		none: {[]string{"Start no sub-agents"}, []string{"Start at most"}},
		some: {[]string{"Start at most 4 sub-agents"}, []string{"Start no sub-agents"}},
	} {
		for _, p := range append(parts.has, "Nobody can answer", "can change while you work", "outlive") {
			if !strings.Contains(text, p) {
				t.Errorf("%q lacks %q", text, p)
			}
		}
		for _, p := range parts.lacks {
			if strings.Contains(text, p) {
				t.Errorf("%q has %q", text, p)
			}
		}
	}
	if got := System(17); !strings.Contains(got, " 17 ") {
		t.Errorf("%q lacks the cap", got)
	}
}

func TestGoal(t *testing.T) {
	t.Parallel()
	got := Goal(Objective{Goal: "  make it green\n", Iteration: 2, MaxSessions: 7})
	for _, want := range []string{"Work towards this goal:\n\nmake it green\n\n", "session 2 of at most 7.", "needs_person"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "reported") {
		t.Errorf("%q speaks of reports that are not there", got)
	}
	if got := Goal(Objective{Goal: "100% of %d and {mode}", Iteration: 1, MaxSessions: 1}); !strings.Contains(got, "100% of %d and {mode}") {
		t.Errorf("%q does not have the goal as it is", got)
	}
}

func TestGoalTellsWhatMatters(t *testing.T) {
	t.Parallel()
	o := Objective{
		Goal: "g", Criteria: []string{"it builds"}, Milestones: []string{"the parser"}, First: []string{"make test:\n exit status 1"},
		Steps: []string{"add a fixture"}, Question: "which?", Answer: "the small one", Iteration: 2, MaxSessions: 3,
	}
	got := Goal(o)
	for _, want := range []string{"- it builds\n", "- the parser\n", "- make test: exit status 1\n", "- add a fixture\n", "A person was asked: which?\nThe answer: the small one\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if bare := Goal(Objective{Goal: "g", Iteration: 1, MaxSessions: 1}); strings.Contains(bare, "- ") || strings.Contains(bare, "person was asked") {
		t.Errorf("%q speaks of what is not there", bare)
	}
	notice := Notice(o)
	for _, want := range []string{"The answer: the small one", "- make test: exit status 1", "- add a fixture"} {
		if !strings.Contains(notice, want) {
			t.Errorf("%q lacks %q", notice, want)
		}
	}
	if got := Goal(Objective{Goal: "g", Answer: "go on"}); !strings.Contains(got, "A person says: go on\n") || strings.Contains(got, "was asked") {
		t.Errorf("an answer without a question: %q", got)
	}
	if got := Notice(Objective{Goal: "g", Criteria: o.Criteria}); got != "" {
		t.Errorf("a notice of nothing: %q", got)
	}
	for _, answer := range []string{"", "use B"} {
		if got := Interrupted(answer); !strings.HasPrefix(got, "Your last turn was cut short") || strings.Contains(got, "A person says: use B") != (answer != "") {
			t.Errorf("Interrupted(%q) is %q", answer, got)
		}
	}
	if got := Answered("use B"); !strings.Contains(got, "A person says: use B") {
		t.Errorf("Answered is %q", got)
	}
}

func TestGoalRemembersThree(t *testing.T) {
	t.Parallel()
	var past []Past
	for i := 1; i <= 5; i++ {
		past = append(past, Past{Iteration: i, Ending: "completed", Report: &Report{
			Summary: fmt.Sprintf("summary %d", i), Planned: []string{fmt.Sprintf("plan %d", i)}, Completed: []string{fmt.Sprintf("done %d", i)},
			CarriedOver: []string{fmt.Sprintf("left %d", i)}, NextSteps: []string{fmt.Sprintf("next %d", i)}, NeedsPerson: fmt.Sprintf("ask %d", i),
		}})
	}
	past[3].Report, past[3].Ending = nil, "crashed"
	_, got, ok := strings.Cut(Goal(Objective{Goal: "g", Iteration: 6, MaxSessions: 9, Past: past}), "check before you rely on them):\n")
	got, _, end := strings.Cut(got, "\nPlan what fits")
	if !ok || !end {
		t.Fatalf("the reports are not where they should be: %q", got)
	}
	const want = `
Session 3 (completed): summary 3
- done: done 3
- carried over: left 3
- next steps: next 3

Session 4 (crashed): no report.

Session 5 (completed): summary 5
- done: done 5
- carried over: left 5
- next steps: next 5
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("past sessions (-want +got):\n%s", diff)
	}
	for n := range 5 {
		if got := strings.Count(Goal(Objective{Goal: "g", Iteration: 6, MaxSessions: 9, Past: past[:n]}), "\nSession "); got != min(n, 3) {
			t.Errorf("%d past sessions: %d are told, want %d", n, got, min(n, 3))
		}
	}
}

// TestGoalIsBounded takes the largest reports that ParseReport lets through.
func TestGoalIsBounded(t *testing.T) {
	t.Parallel()
	long := slices.Repeat([]string{strings.Repeat("ж", 3000)}, 100)
	data, err := json.Marshal(Report{Planned: long, Completed: long, CarriedOver: long, NextSteps: long, Summary: long[0], NeedsPerson: long[0]})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseReport(data)
	if err != nil {
		t.Fatal(err)
	}
	past := slices.Repeat([]Past{{Iteration: 1, Report: &r}}, 20)
	if got := len(Goal(Objective{Goal: "g", Iteration: 1, MaxSessions: 1, Past: past})); got > 350_000 {
		t.Errorf("the prompt has %d bytes", got)
	}
}

func TestParseReport(t *testing.T) {
	t.Parallel()
	empty := Report{Planned: []string{}, Completed: []string{}, CarriedOver: []string{}, NextSteps: []string{}}
	long := strings.Repeat("ä", 301)
	tests := []struct {
		name, in string
		want     func(*Report)
		err      string
	}{
		{"empty", `{}`, func(*Report) {}, ""},
		{"everything", `{"planned":["a","b"],"completed":["a"],"carried_over":["b"],"summary":"s","next_steps":["c"],"needs_person":"q?"}`, func(r *Report) {
			*r = Report{[]string{"a", "b"}, []string{"a"}, []string{"b"}, "s", []string{"c"}, "q?"}
		}, ""},
		{"unknown fields", `{"other":{"planned":["x"]},"summary":"s"}`, func(r *Report) { r.Summary = "s" }, ""},
		{"null lists", `{"planned":null,"summary":null}`, func(*Report) {}, ""},
		{"blank items", `{"planned":[""," \n\t","a"]}`, func(r *Report) { r.Planned = []string{"a"} }, ""},
		{"lines and blanks become one blank", `{"completed":["  a\n\n b\t c "]}`, func(r *Report) { r.Completed = []string{"a b c"} }, ""},
		{"an item of the full length", `{"planned":["` + long[2:] + `"]}`, func(r *Report) { r.Planned = []string{long[2:]} }, ""},
		{"an item is cut between runes", `{"planned":["` + long + `"]}`, func(r *Report) { r.Planned = []string{long[:2*299] + "…"} }, ""},
		{"a summary keeps its lines", `{"summary":" a\n\nb \n"}`, func(r *Report) { r.Summary = "a\n\nb" }, ""},
		{"a summary is cut", `{"summary":"` + strings.Repeat("x", 2001) + `"}`, func(r *Report) { r.Summary = strings.Repeat("x", 1999) + "…" }, ""},
		{"nobody is needed", `{"needs_person":" \n "}`, func(*Report) {}, ""},
		{"a question behind many blanks", `{"needs_person":"` + strings.Repeat(" ", 3000) + `which?"}`, func(r *Report) { r.NeedsPerson = "which?" }, ""},
		{"a very long line", `{"summary":"` + strings.Repeat("x", 5<<20) + `","next_steps":["n"]}`, func(r *Report) { r.Summary, r.NextSteps = strings.Repeat("x", 1999)+"…", []string{"n"} }, ""},
		{"not UTF-8", "{\"summary\":\"a\xffb\"}", func(r *Report) { r.Summary = "a\ufffdb" }, ""},
		{"null", `null`, nil, "it is null"},
		{"a list", `[]`, nil, "cannot unmarshal array"},
		{"a text", `"x"`, nil, "cannot unmarshal string"},
		{"a number", `5`, nil, "cannot unmarshal number"},
		{"nothing", ``, nil, "unexpected end of JSON input"},
		{"cut off", `{"summary":"x`, nil, "unexpected end of JSON input"},
		{"two", `{} {}`, nil, "invalid character"},
		{"a text for a list", `{"planned":"a"}`, nil, "planned"},
		{"numbers in a list", `{"planned":[1]}`, nil, "planned"},
		{"a list for a text", `{"summary":["a"]}`, nil, "summary"},
		{"false for a question", `{"needs_person":false}`, nil, "needs_person"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseReport([]byte(tt.in))
			want := Report{}
			if tt.err == "" {
				want = empty
				tt.want(&want)
			}
			if ok := err == nil; ok != (tt.err == "") || err != nil && (!strings.HasPrefix(err.Error(), "read session report: ") || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestListsAreCut(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprint("item ", i), "")
	}
	data, err := json.Marshal(Report{Planned: many, Completed: many, CarriedOver: many, NextSteps: many})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseReport(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]string{"planned": r.Planned, "completed": r.Completed, "carried over": r.CarriedOver, "next steps": r.NextSteps} {
		if len(list) != 50 || list[0] != "item 0" || list[49] != "item 49" {
			t.Errorf("%s: %d items from %q to %q, want the first 50", name, len(list), list[0], list[len(list)-1])
		}
	}
}

func TestSaysDone(t *testing.T) {
	t.Parallel()
	done := Report{Planned: []string{"a"}, Completed: []string{"a"}, CarriedOver: []string{}, NextSteps: []string{}}
	tests := []struct {
		name   string
		change func(*Report)
		want   bool
	}{
		{"nothing is left", func(*Report) {}, true},
		{"nothing was planned", func(r *Report) { r.Planned = nil }, true},
		{"nothing was completed", func(r *Report) { r.Completed = nil }, false},
		{"something is carried over", func(r *Report) { r.CarriedOver = []string{"b"} }, false},
		{"something comes next", func(r *Report) { r.NextSteps = []string{"b"} }, false},
		{"a person is needed", func(r *Report) { r.NeedsPerson = "which?" }, false},
		{"words do not count", func(r *Report) { r.Summary = "not done at all" }, true},
		{"an empty report", func(r *Report) { *r = Report{} }, false},
	}
	for _, tt := range tests {
		r := done
		tt.change(&r)
		if got := r.SaysDone(); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	r, err := ParseReport([]byte(`{"completed":["a"],"next_steps":[" "],"carried_over":["\n"],"needs_person":" "}`))
	if err != nil || !r.SaysDone() {
		t.Errorf("blank entries count as work that is left: %+v, %v", r, err)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 5, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"ab", 1, "…"}, {"a", 1, "a"}, {"ab", 0, "…"}, {"ab", -1, "…"}, {"", 0, ""}, {"\xff\xfe\xfd", 2, "\ufffd…"},
	} {
		if got := Cut(tt.s, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "n")
		got := Cut(s, n)
		if utf8.RuneCountInString(got) > n || !utf8.ValidString(got) || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Fatalf("Cut(%q, %d) is %q", s, n, got)
		}
	})
}

func TestReportSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Type       string                    `json:"type"`
		Additional *bool                     `json:"additionalProperties"`
		Required   []string                  `json:"required"`
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(ReportSchema), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || schema.Additional == nil || *schema.Additional {
		t.Errorf("type %q, additional %v: want an object without other properties", schema.Type, schema.Additional)
	}
	var names []string
	for i := range reflect.TypeFor[Report]().NumField() {
		f := reflect.TypeFor[Report]().Field(i)
		name := f.Tag.Get("json")
		names = append(names, name)
		p := schema.Properties[name]
		want := map[reflect.Kind]string{reflect.Slice: "array", reflect.String: "string"}[f.Type.Kind()]
		if p["type"] != want || p["description"] == "" || p["description"] == nil {
			t.Errorf("%s: schema %v, want type %s and a description", name, p, want)
		}
		if items := map[string]any{"type": "string"}; want == "array" && !reflect.DeepEqual(p["items"], any(items)) {
			t.Errorf("%s: items %v, want strings", name, p["items"])
		}
	}
	if diff := cmp.Diff(names, schema.Required); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	if len(schema.Properties) != len(names) {
		t.Errorf("%d properties, the report has %d fields", len(schema.Properties), len(names))
	}
}

func FuzzParseReport(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"planned":["a"],"summary":"` + strings.Repeat("é", 3000) + `"}`, `{"needs_person":5}`, "{\"summary\":\"\xff\"}", `{"PLANNED":["x"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseReport(data)
		if err != nil {
			return
		}
		for _, list := range [][]string{r.Planned, r.Completed, r.CarriedOver, r.NextSteps} {
			if len(list) > maxItems || list == nil {
				t.Fatalf("%d items, nil %v", len(list), list == nil)
			}
			for _, s := range list {
				if n := utf8.RuneCountInString(s); n == 0 || n > maxItem || strings.ContainsAny(s, "\n\r\t") {
					t.Fatalf("item %q", s)
				}
			}
		}
		for _, s := range []string{r.Summary, r.NeedsPerson} {
			if utf8.RuneCountInString(s) > maxSummary || !utf8.ValidString(s) {
				t.Fatalf("text %q", s)
			}
		}
		if !strings.Contains(Goal(Objective{Goal: "g", Iteration: 1, MaxSessions: 1, Past: []Past{{Report: &r}}}), r.Summary) {
			t.Fatal("the summary is not passed on")
		}
	})
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "short", strings.Repeat("ä", 300), strings.Repeat("🂡", 201), strings.Repeat("x", 199) + "\xff\xff\xff"} {
		f.Add(s, 200)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 1 || n > 1000 {
			t.Skip()
		}
		got := Cut(s, n)
		if utf8.RuneCountInString(got) > n {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
		if utf8.ValidString(s) && (!utf8.ValidString(got) || utf8.RuneCountInString(s) <= n && got != s) {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
	})
}
