package forge

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseBodyFindsDependencies(t *testing.T) {
	t.Parallel()
	hub := Forge{Kind: GitHub, Host: "github.com", Spec: "acme/shop"}
	lab := Forge{Kind: GitLab, Host: "gitlab.example.com", Spec: "acme/web/shop"}
	for _, c := range []struct {
		name string
		body string
		f    Forge
		want []int
	}{
		{"one", "Blocked by #12", hub, []int{12}},
		{"several", "Depends on #3, #4", hub, []int{3, 4}},
		{"and", "depends on #3, #4 and #5.", hub, []int{3, 4, 5}},
		{"words between", "Blocked by issue #3 & the PR #4; #5", hub, []int{3, 4, 5}},
		{"forms", "BLOCKED-BY: #1\nDepends-On: #2\n**Blocked on:** #3\n_depends upon_ #4\ndepends_on: #6", hub, []int{1, 2, 3, 4, 6}},
		{"within a sentence", "This work is blocked by #12 (see there), not by #13.", hub, []int{12}},
		{"the chain ends", "Depends on #3. #4 is another matter, and #5 too", hub, []int{3}},
		{"twice on a line", "Blocked by #1, depends on #2", hub, []int{1, 2}},
		{"once each", "Blocked by #1\nDepends on #1, #2", hub, []int{1, 2}},
		{"not itself", "Blocked by #99, #98", hub, []int{98}},
		{"a list item", "- Depends on #3\n1. Blocked by #4\n    * blocked by #5", hub, []int{3, 4, 5}},
		{"a quotation", "> [!IMPORTANT]\n> Blocked by #7", hub, []int{7}},
		{"carriage returns", "Blocked by #1\r\nDepends on #2\r\n", hub, []int{1, 2}},

		{"a list below", "## Blocked by\n\n- #1\n- **#2** the other\n\nText\n- #3", hub, []int{1, 2}},
		{"a list of addresses below", "Depends on:\n* https://github.com/acme/shop/issues/5\n* acme/shop#6\n* acme/other#7", hub, []int{5, 6}},
		{"a list that says it again", "Blocked by:\n- #1\n- depends on #2\n- #3", hub, []int{1, 2, 3}},
		{"the next line", "This depends on\n#3 and #4", hub, []int{3, 4}},
		{"no list", "## Blocked by\n\nNothing\n\n#5 is nice", hub, nil},
		{"an empty list", "## Blocked by\n\n## Notes\n- #5", hub, nil},

		{"an address", "Blocked by https://github.com/acme/shop/issues/12", hub, []int{12}},
		{"addresses in all forms", "Depends on <https://github.com/Acme/Shop/issues/1>, https://www.github.com/acme/shop/pull/2#discussion_r1 and https://github.com/acme/shop/issues/3?x=1.", hub, []int{1, 2, 3}},
		{"links", "Blocked by [#1](https://github.com/acme/shop/issues/1), [the login](https://github.com/acme/shop/issues/2)", hub, []int{1, 2}},
		{"a link elsewhere", "Blocked by [#1](https://github.com/acme/other/issues/1), #2", hub, []int{2}},
		{"other repositories", "Depends on acme/other#1, https://github.com/acme/shop2/issues/2, https://gitlab.com/acme/shop/-/issues/3, #4", hub, []int{4}},
		{"this repository by name", "Depends on acme/shop#1, ACME/Shop#2", hub, []int{1, 2}},
		{"a path of the site", "Blocked by https://github.com/acme/shop/discussions/5 and https://github.com/acme/shop", hub, nil},
		{"gitlab", "Blocked by https://gitlab.example.com/acme/web/shop/-/issues/12, https://gitlab.example.com/acme/web/shop/-/work_items/13, https://gitlab.example.com/acme/web/shop/issues/14", lab, []int{12, 13, 14}},
		{"gitlab merge request", "Depends on https://gitlab.example.com/acme/web/shop/-/merge_requests/5, acme/web/shop#6, !7", lab, []int{6}},
		{"another host", "Blocked by https://gitlab.com/acme/web/shop/-/issues/12", lab, nil},
		{"a deceiving host", "Blocked by https://github.com@evil.example/acme/shop/issues/1", hub, nil},

		{"task list", "- [ ] Depends on #3\n* [x] Blocked by #4\n1. [ ] depends on #5\n  - [X] depends on #6", hub, nil},
		{"task list below", "Blocked by:\n- [ ] #3\n- #4", hub, []int{4}},
		{"a fence", "```\nBlocked by #1\n```\nBlocked by #2", hub, []int{2}},
		{"a fence with a language", "~~~yaml\nDepends on #1\n```\nDepends on #2\n~~~~\nDepends on #3", hub, []int{3}},
		{"a long fence", "````\n```\nDepends on #1\n````\nDepends on #2", hub, []int{2}},
		{"a fence that is not closed", "Depends on #1\n```\nDepends on #2", hub, []int{1}},
		{"a fence in a list", "- ```\n  Depends on #1\n  ```\n- Depends on #2", hub, []int{2}},
		{"a code span", "Write `Blocked by #1` or ```Depends on #2``` here. Depends on `x` #3", hub, nil},
		{"a comment", "<!-- Blocked by #1 -->Blocked by #2<!-- \nDepends on #3\n--> Depends on #4", hub, []int{2, 4}},
		{"a fence in a comment", "<!--\n```\n-->\nDepends on #4", hub, []int{4}},
		{"struck", "~~Blocked by #1~~ Depends on #2", hub, []int{2}},
		{"negated", "Not blocked by #1. No longer blocked by #2. It isn't blocked by #3, doesn't depend on #4, isn’t yet blocked by #5, **not** blocked by #6", hub, nil},
		{"the other direction", "Blocks #1, unblocked by #2, related to #3, fixes #4", hub, nil},
		{"a number alone", "#1 and #2", hub, nil},
		{"not a number", "Blocked by #abc, #12abc, # 12, #0, #12345678901", hub, nil},
		{"nothing", "", hub, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, _ := parseBody(c.body, c.f, 99)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("dependencies of %q (-want +got):\n%s", c.body, diff)
			}
		})
	}
}

func TestParseBodyFindsPaths(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		"Paths: a/**, b/*.go":                            {"a/**", "b/*.go"},
		"Text\n\npaths : `a/**`,`b c/*`, ,":              {"a/**", "b c/*"},
		"**Paths:** a/**\n- Paths: b\n__Paths__: c":      {"a/**", "b", "c"},
		"> Paths: {a,b}/**, c":                           {"{a,b}/**", "c"},
		"Paths: ../x, /etc":                              {"../x", "/etc"}, // not for us to judge
		"Paths:":                                         nil,
		"```\nPaths: a\n```\n- [ ] Paths: b":             nil,
		"The Paths: a":                                   nil,
		"Paths: " + strings.Repeat("x", 300):             {strings.Repeat("x", 255) + "…"},
		"Paths: a}, {b":                                  {"a}", "{b"},
		"Paths: " + strings.Repeat("a,", maxPaths) + "b": slices.Repeat([]string{"a"}, maxPaths),
	} {
		if _, got := parseBody(body, Forge{Host: "github.com", Spec: "acme/shop"}, 1); !cmp.Equal(got, want) {
			t.Errorf("paths of %.60q (-want +got):\n%s", body, cmp.Diff(want, got))
		}
	}
}

func TestParseBodyIsQuick(t *testing.T) {
	t.Parallel()
	f := Forge{Kind: GitHub, Host: "github.com", Spec: "acme/shop"}
	// Each of these is quadratic for a careless reader: minutes instead of a moment.
	for name, piece := range map[string]string{
		"keywords": "blocked by ", "keywords and numbers": "depends on #1, ", "brackets": "[[[", "quotations": "> ", "comments": "<!--", "fences": "```\n~~~\n",
		"ticks": "` ``", "links": "blocked by [a](https://", "words": "depends on a/a/a/", "struck": "~~ ", "lists": "- ",
	} {
		body := strings.Repeat(piece, (256<<10)/len(piece))
		done := make(chan struct{})
		go func() {
			defer close(done)
			parseBody(body, f, 1)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: still reading", name)
		}
	}
}

func TestPriority(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		labels string
		want   int
	}{
		{"p0", 1},
		{"P1", 2},
		{"p2", 3},
		{"p3", 4},
		{"p9", 9},
		{"p-1", 2},
		{"priority/2", 3},
		{"priority:1", 2},
		{"priority::0", 1},
		{"Priority: P1", 2},
		{"prio1", 2},
		{"priority:high", 2},
		{"priority: Critical", 1},
		{"priority::medium", 3},
		{"priority/low", 4},
		{"priority/critical-urgent", 1},
		{"priority/important-soon", 2},
		{"high-priority", 2},
		{"low priority", 4},
		{"bug|p3|priority:high|p2", 2},
		{"", 0},
		{"bug", 0},
		{"p", 0},
		{"p10", 0},
		{"high", 0},
		{"php8", 0},
		{"priority", 0},
		{"priority/awaiting-more-evidence", 0},
		{"mp3", 0},
		{"p3-something", 0},
	} {
		if got := priority(strings.Split(c.labels, "|")); got != c.want {
			t.Errorf("%q: got %d, want %d", c.labels, got, c.want)
		}
	}
}

func TestIsBranch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"main": true, "story/login-2": true, "a.b_c@d": true, "é": true, "@x": true,
		"": false, "-x": false, "@": false, "HEAD": false, "refs/heads/x": false, "a b": false, "a..b": false, "a@{1}": false, "a.": false, "/a": false, "a/": false, "a//b": false,
		".a": false, "a/.b": false, "a.lock": false, "a.lock/b": false, "a:b": false, "+a": true, "a~1": false, "a^": false, "a?": false, "a*": false, "a[": false, `a\b`: false,
		"a\nb": false, "a\x7f": false, "a\xff": false, strings.Repeat("x", 201): false,
	} {
		if got := isBranch(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func FuzzParseBody(f *testing.F) {
	for _, seed := range []string{
		"Blocked by #12\nPaths: a/**, {b,c}/*.go", "## Depends on\n- [x](https://github.com/acme/shop/issues/5)\n- [ ] #6", "```\n<!--\n~~~", "> > - Depends on acme/shop#1, GH-2, https://github.com/acme/shop/pull/3",
		"<!-- -->-->`` ` ~~x~~ not blocked by #9", "Depends on\xff\x00#7",
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, body string, own int) {
		after, paths := parseBody(body, Forge{Kind: GitHub, Host: "github.com", Spec: "acme/shop"}, own)
		if len(after) > maxAfter || len(paths) > maxPaths {
			t.Fatalf("%d dependencies and %d paths", len(after), len(paths))
		}
		for i, n := range after {
			if n < 1 || n == own || slices.Contains(after[:i], n) {
				t.Errorf("dependency %d of issue %d", n, own)
			}
		}
		for _, p := range paths {
			if p == "" || utf8.RuneCountInString(p) > maxPattern || strings.Contains(p, "\n") {
				t.Errorf("pattern %q", p)
			}
		}
		if !strings.Contains(body, "#") && !strings.Contains(body, "://") && len(after) > 0 {
			t.Errorf("dependencies %v out of nothing", after)
		}
	})
}
