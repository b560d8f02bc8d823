package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/forge"
)

const (
	ghIssues   = "issues?direction=asc&labels=auto+pilot&page=%d&per_page=25&sort=created&state=open"
	glabIssues = "issues?labels=auto+pilot&order_by=created_at&page=%d&per_page=25&sort=asc&state=opened"
)

// ghIssue is an issue as GitHub tells it, with fields that nobody asked for.
func ghIssue(number int, body string) string {
	text, _ := json.Marshal(body)
	return fmt.Sprintf(`{"id":9%d,"number":%d,"title":"Issue\n %d","body":%s,"html_url":"https://github.com/acme/shop/issues/%d","state":"open","locked":false,
		"user":{"login":"stranger"},"labels":[{"id":1,"name":"Auto Pilot","color":"fff"},{"id":2,"name":"p1"}],"updated_at":"2026-01-02T03:04:05Z","reactions":{"+1":3}}`, number, number, number, text, number)
}

func ghList(numbers ...int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, ghIssue(n, "text"))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// numbers are the issues' numbers.
func numbers(issues []forge.Issue) []int {
	out := []int{}
	for _, i := range issues {
		out = append(out, i.Number)
	}
	return out
}

func sequence(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func TestIssuesOfGitHub(t *testing.T) {
	t.Parallel()
	pull := strings.Replace(ghIssue(4, "x"), `"id"`, `"pull_request":{"url":"x"},"id"`, 1)
	other := strings.ReplaceAll(ghIssue(5, "x"), "Auto Pilot", "something else")
	noBody := strings.Replace(ghIssue(8, "x"), `"body":"x"`, `"body":null`, 1)
	f := onGitHub(t, call{args: ghGet(fmt.Sprintf(ghIssues, 1)), out: "[" + strings.Join([]string{
		ghIssue(3, "Blocked by #1 and https://github.com/acme/shop/issues/2\nPaths: a/**, b/*.go\x1b[31m\u202e"), pull, other, noBody,
	}, ",") + "]"})
	got, err := f.Issues(t.Context(), "auto pilot", 10)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []forge.Issue{
		{
			Number: 3, Title: "Issue 3", Body: "Blocked by #1 and https://github.com/acme/shop/issues/2\nPaths: a/**, b/*.go", URL: "https://github.com/acme/shop/issues/3",
			Labels: []string{"Auto Pilot", "p1"}, After: []int{1, 2}, Paths: []string{"a/**", "b/*.go"}, UpdatedAt: at, Priority: 2, Author: "stranger",
		},
		{Number: 8, Title: "Issue 8", URL: "https://github.com/acme/shop/issues/8", Labels: []string{"Auto Pilot", "p1"}, UpdatedAt: at, Priority: 2, Author: "stranger"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
}

func TestIssuesOfGitLab(t *testing.T) {
	t.Parallel()
	f := onGitLab(t, call{args: glabGet(fmt.Sprintf(glabIssues, 1)), out: `[{"id":71,"iid":3,"project_id":5,"title":"Login","description":"Depends on acme/web/shop#2","state":"opened",
		"labels":["auto pilot","priority::high"],"web_url":"https://gitlab.example.com/acme/web/shop/-/issues/3","updated_at":"2026-01-02T03:04:05.678+02:00","weight":null,
		"author":{"id":1,"username":"someone","name":"Some One","state":"active"},"author_association":"OWNER"},
		{"id":72,"iid":9,"title":"No text","description":null,"labels":["auto pilot"],"web_url":"https://gitlab.example.com/acme/web/shop/-/issues/9","updated_at":"2026-01-02T03:04:05Z"}]`})
	got, err := f.Issues(t.Context(), "auto pilot", 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []forge.Issue{
		{
			Number: 3, Title: "Login", Body: "Depends on acme/web/shop#2", URL: "https://gitlab.example.com/acme/web/shop/-/issues/3", Labels: []string{"auto pilot", "priority::high"},
			After: []int{2}, UpdatedAt: time.Date(2026, 1, 2, 1, 4, 5, 678e6, time.UTC), Priority: 2, Author: "someone",
		},
		{Number: 9, Title: "No text", URL: "https://gitlab.example.com/acme/web/shop/-/issues/9", Labels: []string{"auto pilot"}, UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
}

func TestIssuesAndWhoOpenedThem(t *testing.T) {
	t.Parallel()
	one := ghIssue(3, "x")
	for name, c := range map[string]struct {
		out     string
		author  string
		trusted bool
	}{
		"owner":         {strings.Replace(one, `"id"`, `"author_association":"OWNER","id"`, 1), "stranger", true},
		"member":        {strings.Replace(one, `"id"`, `"author_association":"MEMBER","id"`, 1), "stranger", true},
		"collaborator":  {strings.Replace(one, `"id"`, `"author_association":"COLLABORATOR","id"`, 1), "stranger", true},
		"contributor":   {strings.Replace(one, `"id"`, `"author_association":"CONTRIBUTOR","id"`, 1), "stranger", false},
		"nobody":        {strings.Replace(one, `"id"`, `"author_association":"NONE","id"`, 1), "stranger", false},
		"another case":  {strings.Replace(one, `"id"`, `"author_association":"owner","id"`, 1), "stranger", false},
		"another type":  {strings.Replace(one, `"id"`, `"author_association":["OWNER"],"id"`, 1), "stranger", false},
		"not told":      {one, "stranger", false},
		"in the body":   {ghIssue(3, `"author_association":"OWNER"`), "stranger", false},
		"a gone author": {strings.Replace(one, `{"login":"stranger"}`, `null`, 1), "", false},
		"a long name":   {strings.Replace(one, `"stranger"`, `"a\nb\u001b[0m"`, 1), "a b", false},
	} {
		got, err := onGitHub(t, call{args: ghGet(fmt.Sprintf(ghIssues, 1)), out: "[" + c.out + "]"}).Issues(t.Context(), "auto pilot", 5)
		if err != nil || len(got) != 1 || got[0].Author != c.author || got[0].Trusted != c.trusted {
			t.Errorf("%s: got %+v and the error %v", name, got, err)
		}
	}
}

func TestIssueOpenOfOneThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]forge.Forge{
		"github":         onGitHub(t, call{args: ghGet("issues/3"), out: `{"message":"Not Found","status":"404"}`, err: "gh: Not Found (HTTP 404)\n", code: 1}),
		"github deleted": onGitHub(t, call{args: ghGet("issues/3"), out: `{"message":"This issue was deleted","status":"410"}`, err: "gh: This issue was deleted (HTTP 410)\n", code: 1}),
		"gitlab":         onGitLab(t, call{args: glabGet("issues/3"), out: `{"message":"404 Not found"}`, err: "glab: 404 Not found (HTTP 404)\n", code: 1}),
		"gitlab issue":   onGitLab(t, call{args: glabGet("issues/3"), out: `{"message":"404 Issue Not Found"}`, err: "404 Issue Not Found\n", code: 1}),
	} {
		open, err := f.IssueOpen(t.Context(), 3)
		if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason != forge.Missing || open {
			t.Errorf("%s: got %v and the error %v", name, open, err)
		}
	}
	broken := onGitHub(t, call{args: ghGet("issues/3"), err: "gh: Server Error (HTTP 502)\n", code: 1})
	if _, err := broken.IssueOpen(t.Context(), 3); err == nil || strings.Contains(err.Error(), "not-found") {
		t.Errorf("got the error %v", err)
	} else if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason == forge.Missing {
		t.Errorf("a broken host counts as one without the issue: %v", err)
	}
}

func TestIssuesByThePage(t *testing.T) {
	t.Parallel()
	page := func(n int, issues ...int) call {
		return call{args: ghGet(fmt.Sprintf(ghIssues, n)), out: ghList(issues...)}
	}
	for name, c := range map[string]struct {
		calls []call
		limit int
		want  []int
		more  bool
	}{
		"fewer than the limit":     {[]call{page(1, 1, 2)}, 3, []int{1, 2}, false},
		"as many as the limit":     {[]call{page(1, 1, 2)}, 2, []int{1, 2}, false},
		"more than the limit":      {[]call{page(1, 1, 2, 3)}, 2, []int{1, 2}, true},
		"none":                     {[]call{page(1)}, 2, []int{}, false},
		"two pages":                {[]call{page(1, sequence(1, 25)...), page(2, 26, 27)}, 30, sequence(1, 27), false},
		"a full last page":         {[]call{page(1, sequence(1, 25)...), page(2)}, 25, sequence(1, 25), false},
		"more on the next page":    {[]call{page(1, sequence(1, 25)...), page(2, 26)}, 25, sequence(1, 25), true},
		"one that moved a page on": {[]call{page(1, sequence(1, 25)...), page(2, 25, 26)}, 26, sequence(1, 26), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := onGitHub(t, c.calls...).Issues(t.Context(), "auto pilot", c.limit)
			more, ok := errors.AsType[*forge.MoreError](err)
			if ok != c.more || err != nil && !c.more || ok && (more.Limit != c.limit || more.Hint() == "") {
				t.Errorf("got the error %v", err)
			}
			if diff := cmp.Diff(c.want, numbers(got)); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIssuesAreCut(t *testing.T) {
	t.Parallel()
	one := strings.NewReplacer("Issue\\n 3", strings.Repeat("ä", 400), "p1", strings.Repeat("l", 400)).Replace(ghIssue(3, strings.Repeat("ä", 60<<10)+"\nBlocked by #1\x00\u2028"))
	got, err := onGitHub(t, call{args: ghGet(fmt.Sprintf(ghIssues, 1)), out: "[" + one + "]"}).Issues(t.Context(), "auto pilot", 5)
	if err != nil {
		t.Fatal(err)
	}
	i := got[0]
	if len(i.Body) > 64<<10 || len(i.Body) < 60<<10 || !utf8.ValidString(i.Body) {
		t.Errorf("a body of %d bytes", len(i.Body))
	}
	if n := utf8.RuneCountInString(i.Title); n != 256 {
		t.Errorf("a title of %d characters", n)
	}
	if n := utf8.RuneCountInString(i.Labels[1]); n != 100 {
		t.Errorf("a label of %d characters", n)
	}
	if diff := cmp.Diff([]int{1}, i.After); diff != "" {
		t.Errorf("what stands behind the cut counts (-want +got):\n%s", diff)
	}
}

func TestIssuesRefusesWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	f := forge.Forge{Kind: forge.GitHub, Spec: "acme/shop", Host: "github.com", Environ: []string{"PATH=/nonexistent"}}
	for _, c := range []struct {
		label string
		limit int
		want  string
	}{
		{"a", 0, "limit 0"},
		{"a", -1, "limit -1"},
		{"a", 1001, "limit 1001"},
		{"a,b", 5, "comma"},
		{"a\nb", 5, "line end"},
		{strings.Repeat("x", 256), 5, "too long"},
	} {
		if _, err := f.Issues(t.Context(), c.label, c.limit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("label %.20q, limit %d: got the error %v, want %q", c.label, c.limit, err, c.want)
		}
	}
}

// TestAnswersThatLackSomething takes one needed thing after another out of good answers.
func TestAnswersThatLackSomething(t *testing.T) {
	t.Parallel()
	issues := func(f forge.Forge) error { _, err := f.Issues(t.Context(), "auto pilot", 5); return err }
	open := func(f forge.Forge) error { _, err := f.IssueOpen(t.Context(), 3); return err }
	backlog := func(f forge.Forge) error { _, err := f.Backlog(t.Context(), 5); return err }
	ci := func(f forge.Forge) error { _, err := f.CI(t.Context(), "main"); return err }
	gh := func(args []string) func(*testing.T, string) forge.Forge {
		return func(t *testing.T, out string) forge.Forge { return onGitHub(t, call{args: args, out: out}) }
	}
	lab := func(args []string) func(*testing.T, string) forge.Forge {
		return func(t *testing.T, out string) forge.Forge { return onGitLab(t, call{args: args, out: out}) }
	}
	list, runs := ghGet(fmt.Sprintf(ghIssues, 1)), ghGet(ghRuns)
	ghBack := []string{"issue", "list", "--repo=github.com/acme/shop", "--state=open", "--limit=5", "--json=number,labels,updatedAt,state"}
	for _, c := range []struct {
		name string
		on   func(*testing.T, string) forge.Forge
		ask  func(forge.Forge) error
		out  string
		want string
	}{
		{"no output", gh(list), issues, "", "empty"},
		{"a web page", gh(list), issues, "<!DOCTYPE html><html>secret</html>", "web page"},
		{"words", gh(list), issues, "Welcome to the proxy", "no JSON"},
		{"cut short", gh(list), issues, ghList(1)[:100], "no JSON"},
		{"two answers", gh(list), issues, "[][]", "no JSON"},
		{"null", gh(list), issues, "null", "not a list"},
		{"an object", gh(list), issues, `{"message":"x"}`, "not a list"},
		{"a list of numbers", gh(list), issues, `[1]`, "not a list"},
		{"an entry that is null", gh(list), issues, `[null]`, `no field "number"`},
		{"no number", gh(list), issues, strings.ReplaceAll(ghList(1), `"number"`, `"n"`), `entry 1 of the answer: no field "number"`},
		{"number 0", gh(list), issues, ghList(0), `"number" is 0`},
		{"a number in quotes", gh(list), issues, strings.ReplaceAll(ghList(1), `"number":1`, `"number":"1"`), `"number" is of another type`},
		{"no title", gh(list), issues, strings.ReplaceAll(ghList(1), `"title"`, `"Title"`), `no field "title"`},
		{"no body", gh(list), issues, strings.ReplaceAll(ghList(1), `"body"`, `"b"`), `no field "body"`},
		{"no labels", gh(list), issues, strings.ReplaceAll(ghList(1), `"labels"`, `"l"`), `no field "labels"`},
		{"a label without name", gh(list), issues, strings.ReplaceAll(ghList(1), `"name":"p1"`, `"n":1`), `label has no name`},
		{"no time", gh(list), issues, strings.ReplaceAll(ghList(1), `"2026-01-02T03:04:05Z"`, `null`), `"updated_at" is null`},
		{"a strange time", gh(list), issues, strings.ReplaceAll(ghList(1), `2026-01-02T03:04:05Z`, `yesterday`), `"updated_at" is of another type`},
		{"a strange address", gh(list), issues, strings.ReplaceAll(ghList(1), `https://github.com/`, `javascript:`), `"html_url" is no address`},
		{"gitlab without description", lab(glabGet(fmt.Sprintf(glabIssues, 1))), issues, `[{"iid":1,"title":"x","labels":[],"web_url":"https://x.example/1","updated_at":"2026-01-02T03:04:05Z"}]`, `no field "description"`},

		{"no state", gh(ghGet("issues/3")), open, `{"number":3}`, `no field "state"`},
		{"a new state", gh(ghGet("issues/3")), open, `{"number":3,"state":"sleeping"}`, `"sleeping" is not known`},
		{"another issue", gh(ghGet("issues/3")), open, `{"number":4,"state":"open"}`, "number 4"},
		{"no iid", lab(glabGet("issues/3")), open, `{"id":3,"state":"opened"}`, `no field "iid"`},

		{"backlog without labels", gh(ghBack), backlog, `[{"number":1,"updatedAt":"2026-01-02T03:04:05Z","state":"OPEN"}]`, `no field "labels"`},
		{"backlog without time", gh(ghBack), backlog, `[{"number":1,"labels":[],"state":"OPEN"}]`, `no field "updatedAt"`},
		{"backlog that is no list", gh(ghBack), backlog, `{}`, "not a list"},

		{"no runs", gh(runs), ci, `{"total_count":0}`, `no field "workflow_runs"`},
		{"runs that are no list", gh(runs), ci, `{"workflow_runs":{}}`, "not a list"},
		{"a run without outcome", gh(runs), ci, ghRun(run{status: "completed"}), `"conclusion" is null`},
		{"a run with a new outcome", gh(runs), ci, ghRun(run{status: "completed", conclusion: "exploded"}), `"exploded" is not known`},
		{"a run without commit", gh(runs), ci, strings.ReplaceAll(ghRun(run{status: "queued"}), "head_sha", "sha"), `no field "head_sha"`},
		{"a run without repository", gh(runs), ci, strings.ReplaceAll(ghRun(run{status: "queued"}), `"repository"`, `"repo"`), `no field "repository"`},
		{"a pipeline without status", lab(glabGet(glabPipelines)), ci, `[{"id":1,"sha":"abc","web_url":"https://x.example/1"}]`, `no field "status"`},
		{"a pipeline with a new status", lab(glabGet(glabPipelines)), ci, `[{"id":1,"sha":"abc","status":"dreaming","web_url":"https://x.example/1"}]`, `"dreaming" is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.ask(c.on(t, c.out))
			got, ok := errors.AsType[*forge.CallError](err)
			if !ok || got.Reason != forge.Unreadable || !strings.Contains(err.Error(), c.want) || got.Hint() == "" {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells what was answered: %v", err)
			}
		})
	}
}

func TestIssueOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    forge.Forge
		want bool
	}{
		"open":          {onGitHub(t, call{args: ghGet("issues/3"), out: `{"number":3,"state":"open","body":null}`}), true},
		"closed":        {onGitHub(t, call{args: ghGet("issues/3"), out: `{"number":3,"state":"closed","pull_request":{}}`}), false},
		"gitlab open":   {onGitLab(t, call{args: glabGet("issues/3"), out: `{"id":1,"iid":3,"state":"opened"}`}), true},
		"gitlab closed": {onGitLab(t, call{args: glabGet("issues/3"), out: `{"id":1,"iid":3,"state":"closed"}`}), false},
	} {
		if got, err := c.f.IssueOpen(t.Context(), 3); err != nil || got != c.want {
			t.Errorf("%s: got %v and the error %v", name, got, err)
		}
	}
	if _, err := onGitHub(t).IssueOpen(t.Context(), 0); err == nil {
		t.Error("issue 0 was asked for")
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	hub := `[{"labels":[{"id":"L1","name":"bug","description":"","color":"f00"}],"number":3,"state":"OPEN","updatedAt":"2026-01-02T03:04:05Z"}]`
	got, err := onGitHub(t, call{args: []string{"issue", "list", "--repo=github.com/acme/shop", "--state=open", "--limit=100", "--json=number,labels,updatedAt,state"}, out: hub + "\n"}).Backlog(t.Context(), 100)
	if err != nil || strings.TrimSpace(string(got)) != hub {
		t.Errorf("got %s and the error %v", got, err)
	}

	page := func(from, to int) string {
		var all []string
		for n := from; n >= to; n-- {
			all = append(all, fmt.Sprintf(`{"iid":%d,"labels":["bug"],"state":"opened","updated_at":"2026-01-02T03:04:05Z","weight":2}`, n))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const path = "issues?order_by=created_at&page=%d&per_page=%d&sort=desc&state=opened"
	raw, err := onGitLab(t, call{args: glabGet(fmt.Sprintf(path, 1, 100)), out: page(300, 201)}, call{args: glabGet(fmt.Sprintf(path, 2, 100)), out: page(200, 101)}).Backlog(t.Context(), 150)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(raw, &list); err != nil || len(list) != 150 || list[149]["iid"] != 151.0 || list[0]["weight"] != 2.0 {
		t.Errorf("got %d issues and the error %v", len(list), err)
	}
	raw, err = onGitLab(t, call{args: glabGet(fmt.Sprintf(path, 1, 7)), out: "[]"}).Backlog(t.Context(), 7)
	if err != nil || string(raw) != "[]" {
		t.Errorf("an empty backlog: got %s and the error %v", raw, err)
	}
}
