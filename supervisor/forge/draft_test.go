package forge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"autopilot/supervisor/forge"
)

// draft is what the tests want to be open.
func draft() forge.Draft {
	return forge.Draft{Branch: "story/login", Base: "main", Title: "Log\n in", Body: "[text]\x1b[0m"}
}

func ghFind(out string) call {
	return call{args: []string{
		"pr", "list", "--repo=github.com/acme/shop", "--head=story/login", "--state=open", "--limit=100", "--json=url,headRefName,isCrossRepository",
	}, out: out}
}

func ghMake() call {
	return call{args: []string{
		"api", "--hostname=github.com", "--method=POST", "repos/acme/shop/pulls", "--raw-field=head=story/login", "--raw-field=base=main",
		"--raw-field=title=Log in", "--raw-field=body=[text]", "--field=draft=true",
	}, out: `{"number":5,"html_url":"https://github.com/acme/shop/pull/5","draft":true}`}
}

func glabFind(out string) call {
	return call{args: glabGet("merge_requests?per_page=100&source_branch=story%2Flogin&state=opened"), out: out}
}

func glabMake() call {
	return call{args: []string{
		"api", "--hostname=gitlab.example.com", "--method=POST", "projects/acme%2Fweb%2Fshop/merge_requests", "--raw-field=source_branch=story/login", "--raw-field=target_branch=main",
		"--raw-field=title=Draft: Log in", "--raw-field=description=[text]\n",
	}, out: `{"iid":5,"web_url":"https://gitlab.example.com/acme/web/shop/-/merge_requests/5"}`}
}

func pull(number int, branch string, fork bool) string {
	return fmt.Sprintf(`{"url":"https://github.com/acme/shop/pull/%d","headRefName":%q,"isCrossRepository":%v}`, number, branch, fork)
}

func TestOpenDraft(t *testing.T) {
	t.Parallel()
	failed := func(c call, code int, err string) call {
		c.out, c.err, c.code = "", err, code
		return c
	}
	refused := failed(ghMake(), 1, "gh: Validation Failed (HTTP 422)\n")
	refused.out = `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and story/login"}]}`
	twice := failed(glabMake(), 1, "map[message:[Another open merge request already exists for this source branch: !5]]+\nglab: HTTP 409\n")
	twice.out = `{"message":["Another open merge request already exists for this source branch: !5"]}`
	unheard := ghMake()
	unheard.out = `{"number":5`
	merge := `[{"web_url":"https://gitlab.example.com/acme/web/shop/-/merge_requests/5","source_branch":"story/login","source_project_id":7,"project_id":7}]`
	for name, c := range map[string]struct {
		on   func(*testing.T, ...call) forge.Forge
		does []call
		link string // end of it
		made bool
		err  string
	}{
		"made":                       {onGitHub, []call{ghFind("[]"), ghMake()}, "/pull/5", true, ""},
		"found":                      {onGitHub, []call{ghFind("[" + pull(4, "story/login", false) + "]")}, "/pull/4", false, ""},
		"found behind a fork's":      {onGitHub, []call{ghFind("[" + pull(6, "story/login", true) + "," + pull(4, "story/login", false) + "]")}, "/pull/4", false, ""},
		"only a fork has one":        {onGitHub, []call{ghFind("[" + pull(6, "story/login", true) + "]"), ghMake()}, "/pull/5", true, ""},
		"not the branch asked for":   {onGitHub, []call{ghFind("[" + pull(6, "story/login-2", false) + "]"), ghMake()}, "/pull/5", true, ""},
		"made, but not heard of":     {onGitHub, []call{ghFind("[]"), unheard, ghFind("[" + pull(5, "story/login", false) + "]")}, "/pull/5", false, ""},
		"killed after it was made":   {onGitHub, []call{ghFind("[]"), failed(ghMake(), 1, "connection reset"), ghFind("[" + pull(5, "story/login", false) + "]")}, "/pull/5", false, ""},
		"refused":                    {onGitHub, []call{ghFind("[]"), refused, ghFind("[]")}, "", false, "No commits between main and story/login"},
		"cannot look":                {onGitHub, []call{failed(ghFind(""), 1, "error connecting to api.github.com")}, "", false, "error connecting"},
		"cannot look again":          {onGitHub, []call{ghFind("[]"), failed(ghMake(), 1, "connection reset"), failed(ghFind(""), 1, "error connecting")}, "", false, "connection reset"},
		"an answer without branch":   {onGitHub, []call{ghFind(`[{"url":"https://github.com/acme/shop/pull/4","isCrossRepository":false}]`)}, "", false, `no field "headRefName"`},
		"too many forks":             {onGitHub, []call{ghFind("[" + strings.Repeat(pull(6, "story/login", true)+",", 99) + pull(6, "story/login", true) + "]")}, "", false, "100 forks"},
		"gitlab made":                {onGitLab, []call{glabFind("[]"), glabMake()}, "/merge_requests/5", true, ""},
		"gitlab found":               {onGitLab, []call{glabFind(merge)}, "/merge_requests/5", false, ""},
		"gitlab only a fork has one": {onGitLab, []call{glabFind(strings.Replace(merge, `"source_project_id":7`, `"source_project_id":8`, 1)), glabMake()}, "/merge_requests/5", true, ""},
		"gitlab a fork that is gone": {onGitLab, []call{glabFind(strings.Replace(merge, `"source_project_id":7`, `"source_project_id":null`, 1)), glabMake()}, "/merge_requests/5", true, ""},
		"gitlab made meanwhile":      {onGitLab, []call{glabFind("[]"), twice, glabFind(merge)}, "/merge_requests/5", false, ""},
		"gitlab says why in a list":  {onGitLab, []call{glabFind("[]"), twice, glabFind("[]")}, "", false, "Another open merge request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link, made, err := c.on(t, c.does...).OpenDraft(t.Context(), draft())
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || link != "" || made {
					t.Errorf("got %q, %v and the error %v, want %q", link, made, err, c.err)
				}
				return
			}
			if err != nil || made != c.made || !strings.HasSuffix(link, c.link) {
				t.Errorf("got %q, %v and the error %v", link, made, err)
			}
		})
	}
}

// A title that is long and a body that would not fit into an argument are cut.
func TestOpenDraftCuts(t *testing.T) {
	t.Parallel()
	d := draft()
	d.Title, d.Body = strings.Repeat("t", 300), strings.Repeat("ä", 200<<10)
	create := ghMake()
	create.args[6], create.args[7] = "--raw-field=title="+strings.Repeat("t", 199)+"…", "--raw-field=body="+strings.Repeat("ä", 30000)
	if _, made, err := onGitHub(t, ghFind("[]"), create).OpenDraft(t.Context(), d); err != nil || !made {
		t.Errorf("got %v and the error %v", made, err)
	}
}

// Strangers have a say in title and body: what they write mentions nobody, closes nothing
// and commands nothing.
func TestOpenDraftIsInert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"ask @someone and @org/team", "ask @\u200bsomeone and @\u200borg/team"},
		{"@everyone", "@\u200beveryone"},
		{"(@a),@b _@c_ **x**@d <b>@e</b>", "(@\u200ba),@\u200bb _@\u200bc_ **x**@\u200bd <b>@\u200be</b>"},
		{"@@a \\@b é@c `@d`", "@@\u200ba \\@\u200bb é@\u200bc `@\u200bd`"},
		{"&#64;a &#x40;b &commat;c &#0064;_d", "@\u200ba @\u200bb @\u200bc @\u200b_d"},
		{"someone@example.com, git@github.com:a/b, x @ y, @", "someone@example.com, git@github.com:a/b, x @ y, @"},
		{"closes #1, Fixed: #2 and resolves\t#3", "closes \u200b#1, Fixed: \u200b#2 and resolves\t\u200b#3"},
		{"fix a/b#1, closing GH-2, **Closes** #3", "fix \u200ba/b#1, closing \u200bGH-2, **Closes** \u200b#3"},
		{"fixes https://github.com/a/b/issues/1 and [closes](x) &#35;4", "fixes \u200bhttps://github.com/a/b/issues/1 and [closes](x) &#35;4"},
		{"resolve issue #1, implements #2, closes &#35;3, fixes&nbsp;#4", "resolve issue \u200b#1, implements \u200b#2, closes \u200b&#35;3, fixes&nbsp;\u200b#4"},
		{"see #1, a fix for x, disclose #2, prefix #3", "see #1, a fix for x, disclose #2, prefix #3"},
	} {
		d := draft()
		d.Title, d.Body = c.in, c.in
		create := ghMake()
		create.args[6], create.args[7] = "--raw-field=title="+strings.Join(strings.Fields(c.want), " "), "--raw-field=body="+c.want
		if _, made, err := onGitHub(t, ghFind("[]"), create).OpenDraft(t.Context(), d); err != nil || !made {
			t.Errorf("%s: got %v and the error %v", c.in, made, err)
		}
	}
	d := draft()
	d.Closes, d.Body = 7, "closes #8\n/merge\n  /assign @x\na/b"
	create := glabMake()
	create.args[7] = "--raw-field=description=Closes #7\n\ncloses \u200b#8\n\u200b/merge\n  \u200b/assign @\u200bx\na/b\n"
	if _, made, err := onGitLab(t, glabFind("[]"), create).OpenDraft(t.Context(), d); err != nil || !made {
		t.Errorf("gitlab: got %v and the error %v", made, err)
	}
	// The line is written even if nothing else fits.
	d.Body = strings.Repeat("x", 60000)
	create = ghMake()
	create.args[7] = "--raw-field=body=Closes #7\n\n" + strings.Repeat("x", 60000-len("Closes #7\n\n"))
	if _, made, err := onGitHub(t, ghFind("[]"), create).OpenDraft(t.Context(), d); err != nil || !made {
		t.Errorf("a long body: got %v and the error %v", made, err)
	}
}

func TestOpenDraftRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*forge.Draft){
		"no branch":     func(d *forge.Draft) { d.Branch = "" },
		"an odd branch": func(d *forge.Draft) { d.Branch = "a b" },
		"an option":     func(d *forge.Draft) { d.Branch = "--web" },
		"no base":       func(d *forge.Draft) { d.Base = "" },
		"the same":      func(d *forge.Draft) { d.Base = d.Branch },
		"issue -1":      func(d *forge.Draft) { d.Closes = -1 },
		"no title":      func(d *forge.Draft) { d.Title = " \x1b[0m " },
	} {
		d := draft()
		change(&d)
		if link, made, err := onGitHub(t).OpenDraft(t.Context(), d); err == nil || link != "" || made {
			t.Errorf("%s: got %q, %v and the error %v", name, link, made, err)
		}
	}
}

func TestOpenDraftStopsWithItsCaller(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	create := ghMake()
	create.do = "echo $$ >" + dir + "/pid; while :; do sleep 1; done"
	f := onGitHub(t, ghFind("[]"), create)
	ctx, stop := cancelable(t)
	errs := make(chan error, 1)
	go func() {
		_, _, err := f.OpenDraft(ctx, draft())
		errs <- err
	}()
	pid := contents(t, dir+"/pid")
	stop(errors.New("night is over"))
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "night is over") {
		t.Errorf("got the error %v", err)
	}
	gone(t, pid)
}
