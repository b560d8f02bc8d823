package goal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeliverables(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string][]string{
		"Create a README.md file with project description":                          {"README.md"},
		"write docs/a.md, docs/b.md and ./cmd/foo":                                  {"docs/a.md", "docs/b.md", "./cmd/foo"},
		"update `docs/a.md` and \"docs/b.md\"":                                      {"docs/a.md", "docs/b.md"},
		"research AI tools and put the result into docs/tools.md":                   {"docs/tools.md"},
		"understand the codebase and document it in ARCHITECTURE.md.":               {"ARCHITECTURE.md"},
		"save the list to out/list.json":                                            {"out/list.json"},
		"translate README.md and save it as README.de.md":                           {"README.de.md"},
		"generate types from openapi.yaml":                                          {},
		"generate types from openapi.yaml in src/types.ts":                          {"src/types.ts"},
		"fix the bug described in BUGS.md":                                          {},
		"add a check for the bug listed in BUGS.md":                                 {},
		"implement the parser specified in SPEC.md":                                 {},
		"based on SPEC.md, write a parser":                                          {},
		"write a parser in parse.go according to SPEC.md":                           {"parse.go"},
		"write a parser similar to old/parse.go":                                    {},
		"add a link to CONTRIBUTING.md in README.md":                                {"README.md"},
		"read X.md and create Y.md":                                                 {"Y.md"},
		"write tests for parser.go":                                                 {},
		"write a script that reads in.csv and writes out.csv":                       {},
		"write a script to generate out.csv":                                        {},
		"use the tool to generate out.csv":                                          {"out.csv"},
		"write a summary of the notes in notes/may.md to docs/summary.md":           {"docs/summary.md"},
		"write a table of costs in docs/costs.md":                                   {"docs/costs.md"},
		"implement the design in figma-export/ as React components":                 {},
		"implement its algorithm in pkg/sketch":                                     {"pkg/sketch"},
		"rename a.md to b.md":                                                       {"b.md"},
		"copy docs/a.md to docs/b.md":                                               {"docs/b.md"},
		"delete old.txt and run build.sh":                                           {},
		"upgrade to Go 1.26 and release v2.0":                                       {},
		"create a Node.js service, e.g. with Next.js, as on example.com/page.html":  {},
		"write about https://example.com/a.md and www.example.com/b.md":             {},
		"create /etc/passwd, ~/x.md, ../up.md, a/../../b.md and C:\\x.md":           {},
		"update the read/write path and the TCP/IP stack, and/or both":              {},
		"create docs/*.md and *.txt and <name>.md":                                  {},
		"update ./... and ./cmd/...":                                                {},
		"do not touch README.md, just write notes.md":                               {"notes.md"},
		"update main.go without changing util.go":                                   {"main.go"},
		"write a.md instead of b.md":                                                {"a.md"},
		"docs/x.md must list all commands":                                          {"docs/x.md"},
		"there is a file docs/x.md":                                                 {"docs/x.md"},
		"docs/x.md is wrong":                                                        {},
		"In README.md, add a section on hooks":                                      {"README.md"},
		"Create these files:\n- docs/a.md\n- docs/b.md: the overview":               {"docs/a.md", "docs/b.md"},
		"Create two files: docs/a.md and docs/b.md":                                 {"docs/a.md", "docs/b.md"},
		"Read these files:\n- docs/a.md":                                            {},
		"Add X.\n\nReferences:\n- docs/a.md\n\nWrite docs/b.md":                     {"docs/b.md"},
		"add a Makefile and a Dockerfile":                                           {"Makefile", "Dockerfile"},
		"add `__init__.py` and .gitignore":                                          {"__init__.py", ".gitignore"},
		"edit README.md and ./README.md":                                            {"README.md"},
		"update CHANGELOG.md's last entry":                                          {"CHANGELOG.md"},
		"fix main.go:12":                                                            {"main.go"},
		"write **docs/x.md** and then (if needed) docs/y.md":                        {"docs/x.md"},
		"Make sure the tests in a_test.go pass":                                     {},
		"```\nwrite docs/fenced.md\n```\nwrite docs/real.md":                        {"docs/real.md"},
		"refactor config.py to read settings.yaml":                                  {"config.py"},
		"port scripts/deploy.sh to cmd/deploy/main.go":                              {"cmd/deploy/main.go"},
		"Write the report. The format is explained in docs/format.md.":              {},
		"write the API reference into docs/api.md and link it from docs/index.html": {"docs/api.md"},
	} {
		if diff := cmp.Diff(want, Analyse(goal).Deliverables); diff != "" {
			t.Errorf("deliverables of %q (-want +got):\n%s", goal, diff)
		}
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	const guide = "Research business fundamentals and create a 5-page guide covering: 1. Planning basics 2. Money 3. Law"
	for goal, want := range map[string][]string{
		"Build feature X AND write tests AND update docs": {"Build feature X", "write tests", "update docs"},
		"build REST API": {"build REST API"},
		"Fix the parser, add tests, and then update CHANGELOG.md.":             {"Fix the parser", "add tests", "update CHANGELOG.md"},
		"Add import and export buttons":                                        {"Add import and export buttons"},
		"support create, read, update and delete operations":                   {"support create, read, update and delete operations"},
		"design and implement the cache":                                       {"design and implement the cache"},
		"Write docs on tests and builds":                                       {"Write docs on tests and builds"},
		"Implement the following:\n- a login page\n* a logout button\n+ [ ] x": {"a login page", "a logout button", "x"},
		"Implement:\n\n1. a login page\n2) a logout button":                    {"a login page", "a logout button"},
		"Add a health endpoint.\n\nThen:\n- add a test\n- write docs/h.md":     {"Add a health endpoint", "add a test", "write docs/h.md"},
		guide: {"Research business fundamentals", "Planning basics", "Money", "Law"},
		strings.NewReplacer(" 1.", "\n1.", " 2.", "\n2.", " 3.", "\n\n3.").Replace(guide):               {"Research business fundamentals", "Planning basics", "Money", "Law"},
		"Do this: (1) add a cache (2) test it":                                                          {"add a cache", "test it"},
		"upgrade from 1. to 2. now":                                                                     {"upgrade from 1. to 2. now"},
		"We have a Go service. It is slow. Add a cache.":                                                {"Add a cache"},
		"Schreibe eine README. Ergänze Tests.":                                                          {"Schreibe eine README", "Ergänze Tests"},
		"Create a guide\nthat covers hooks":                                                             {"Create a guide that covers hooks"},
		"Add hooks\nFix the parser\nUpdate docs":                                                        {"Add hooks", "Fix the parser", "Update docs"},
		"# Goal\n\nAdd hooks\n\n## Constraints\n\n- no new dependencies\n\n## Done when\n- make passes": {"Add hooks"},
		"# Fix the parser\n\nAdd tests":                                                                 {"Add tests"},
		"# Fix the parser":                                                                              {"Fix the parser"},
		"Out of scope:\n- the UI\n\nAdd hooks":                                                          {"Add hooks"},
		"optimize queries so that p95 < 50 ms":                                                          {"optimize queries so that p95 < 50 ms"},
		"Update main.go without changing the API and add a test":                                        {"Update main.go without changing the API", "add a test"},
		"- Split main.go. Keep the API.\n- Rename `a and write b`":                                      {"Split main.go", "Keep the API", "Rename `a and write b`"},
		"- `a b` page":                     {"`a b` page"},
		"- a page (for admins)\n- a \"b\"": {"a page (for admins)", "a \"b\""},
	} {
		var got []string
		for _, m := range Analyse(goal).Milestones {
			got = append(got, m.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("milestones of %q (-want +got):\n%s", goal, diff)
		}
	}
}

func TestMilestoneFiles(t *testing.T) {
	t.Parallel()
	got := Analyse("add hooks, write docs/a.md and docs/b.md, and update c.md").Milestones
	want := []Milestone{{"add hooks", ""}, {"write docs/a.md and docs/b.md", "docs/a.md"}, {"update c.md", "c.md"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("milestones (-want +got):\n%s", diff)
	}
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	const there = " is there and is what the goal asks for"
	for goal, want := range map[string][]Criterion{
		"reduce query time by 20%":                          {{"reduce query time by 20%", Metric, ""}},
		"optimize queries so that p95 < 50 ms":              {{"so that p95 < 50 ms", Metric, ""}},
		"make the binary start in under 200 ms":             {{"make the binary start in under 200 ms", Metric, ""}},
		"raise coverage to 85":                              {{"raise coverage to 85", Metric, ""}},
		"compile without warnings":                          {{"without warnings", Metric, ""}},
		"upgrade Django from 3.2 to 4.2":                    {},
		"write 3 working scripts":                           {},
		"make the tests of ./parser pass":                   {{"make the tests of ./parser pass", Command, ""}},
		"fix failing tests":                                 {{"fix failing tests", Command, ""}},
		"add hooks until `go vet ./...` succeeds":           {{"until `go vet ./...` succeeds", Command, ""}},
		"the tool exits with 0":                             {{"the tool exits with 0", Command, ""}},
		"make it better: all of go vet's warnings are gone": {{"all of go vet's warnings are gone", State, ""}},
		"make sure every page has a title":                  {{"make sure every page has a title", State, ""}},
		"improve it so that it is better":                   {},
		"the app should be nice":                            {},
		"write docs/a.md until it has 3 parts":              {{"docs/a.md" + there, File, "docs/a.md"}, {"until it has 3 parts", State, ""}},
		"Add hooks\n\nAcceptance criteria:\n- hooks run\n- tests pass\n- under 5 s": {{"hooks run", State, ""}, {"tests pass", Command, ""}, {"under 5 s", Metric, ""}},
	} {
		if diff := cmp.Diff(want, Analyse(goal).Criteria); diff != "" {
			t.Errorf("criteria of %q (-want +got):\n%s", goal, diff)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	const goal = "Please learn about Go. Also improve the code!"
	want := []Term{
		{"learn about Go", Learn, 7, 21, why(Learn)},
		{"improve the code", Improve, 28, 44, why(Improve)},
	}
	a := Analyse(goal)
	if diff := cmp.Diff(want, a.Terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	if got, want := a.Confidence, 2.0/6; got != want {
		t.Errorf("confidence is %g, want %g", got, want)
	}
	if got := Analyse("learn Go, learn Rust, learn C").Confidence; got != 1.0/6 {
		t.Errorf("three terms of one pattern have confidence %g", got)
	}
	if a := Analyse("learn about Go and write 3 programs"); len(a.Terms) != 1 || a.Confidence != 0 {
		t.Errorf("a term that is made up for gives %+v", a)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	examples := map[Pattern]string{
		Empty: "...", Learn: "get better at SQL", Understand: "find out how it works", Explore: "play with Redis", Research: "look into Redis", Optimize: "speed up the build",
		Improve: "polish the UI", Better: "make the app nicer", Carry: "work on the backend", NoObject: "fix the bugs", Ask: "how to scale", Nothing: "code quality",
	}
	for _, p := range patterns() {
		a := Analyse(examples[p])
		if len(a.Terms) != 1 || a.Terms[0].Pattern != p || !a.Ambiguous {
			t.Errorf("%q gives %+v, want the pattern %q", examples[p], a.Terms, p)
		}
		if why(p) == why("") && p != Nothing {
			t.Errorf("%q has no reason", p)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]int{
		"": 1, "write a.md": 1, "write a.md, b.md and c.md": 3, "add hooks and fix the parser": 2,
		"fix all typos": 3, "fix all typos in every page of the whole site, everywhere": 7, "add the word \"all\"": 1,
		strings.Repeat("add hooks. ", 500): 100,
	} {
		if got := Analyse(goal).Size; got != want {
			t.Errorf("size of %.60q is %d, want %d", goal, got, want)
		}
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	got := Analyse("learn\n  Python").Question()
	for _, want := range []string{`"learn Python"`, why(Learn), "Suggestion: Write 3 working Python programs", "\nA) ", "\nB) ", "\nC) ", "time limit", "may not be reached"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := Analyse(" ").Question(); !strings.Contains(got, why(Empty)) {
		t.Errorf("the question on an empty goal is %q", got)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]string{
		"learn Python":                "3 working Python programs",
		"research AI tools":           "table of the top 5 AI tools in docs/ai-tools.md",
		"optimize database":           "Reduce the query time of database by 20%",
		"increase sales":              "Increase sales by 20%",
		"Optimise our cloud costs":    "Reduce our cloud costs by 20%",
		"Learn how to run a business": "docs/run-business.md, a 5-page guide on how to run a business covering: 1. ",
		"understand the codebase":     "docs/codebase.md, a guide on the codebase with five sections",
		"explore options for caching": "compares three options for caching",
		"make the app faster":         "Reduce the running time of the app by 20%",
		"fix it":                      "docs/bugs.md",
		"polish the UI":               "worst faults of the UI",
		"improve \"x\ny\"\x00 <b>":    "docs/x-y-b.md",
	} {
		if got := Analyse(goal).Suggestion; !strings.Contains(got, want) {
			t.Errorf("the suggestion for %q is %q, want %q in it", goal, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Analyse("add hooks"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"goal":"add hooks","is_ambiguous":false,"confidence":0,"ambiguous_terms":[],"success_criteria":[],"milestones":[{"text":"add hooks"}],"deliverables":[],"size":1}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
