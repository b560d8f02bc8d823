package forge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"sync"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

// maxDraftBody bounds a description, which is an argument of a program: an argument may
// have 128 KiB on Linux.
const maxDraftBody = 60000 // bytes

// Draft is a pull or merge request that is to be made. Title and Body may have words of
// strangers in them: what the host would take for more than text is made text by a character
// that is not seen. That is a mention of somebody, a word such as "fixes" in front of an
// issue, and on GitLab a line that is a command. Only Closes closes an issue.
type Draft struct {
	Branch string // that was pushed
	Base   string // that it is to go into
	Title  string // one line; more than 200 characters are cut
	Body   string // Markdown; more than 60,000 bytes are cut
	Closes int    // issue of the repository that it closes when it is merged; 0 for none
}

// OpenDraft returns the address of an open pull or merge request of a branch of the
// repository. If there is none, it makes a draft. An open one is returned whatever its base
// is and whether or not it is a draft. Made is true if this call heard that it has made it;
// when it does not hear so, it looks again, so that nothing is made twice.
func (f Forge) OpenDraft(ctx context.Context, d Draft) (link string, made bool, err error) {
	op := "open a draft for " + oneLine(d.Branch, maxLabel)
	switch {
	case !isBranch(d.Branch):
		return "", false, fmt.Errorf("%s: it is no name of a branch", op)
	case !isBranch(d.Base):
		return "", false, fmt.Errorf("%s: the base %q is no name of a branch", op, oneLine(d.Base, maxLabel))
	case d.Branch == d.Base:
		return "", false, fmt.Errorf("%s: the branch is its own base", op)
	}
	if d.Closes < 0 {
		return "", false, fmt.Errorf("%s: issues count from 1", op)
	}
	if d.Title = prompt.Cut(inert(oneLine(d.Title, 200)), 200); d.Title == "" {
		return "", false, fmt.Errorf("%s: it has no title", op)
	}
	if link, err = f.request(ctx, op, d.Branch); err != nil || link != "" {
		return link, false, err
	}
	link, err = f.create(ctx, op, d)
	if err == nil {
		return link, true, nil
	}
	if ctx.Err() != nil {
		return "", false, err
	}
	found, again := f.request(ctx, op, d.Branch)
	if again == nil && found != "" {
		return found, false, nil
	}
	return "", false, errors.Join(err, again)
}

// request is the address of the newest open request of a branch of the repository itself,
// not of a fork with a branch of the same name; empty when there is none.
func (f Forge) request(ctx context.Context, op, branch string) (string, error) {
	var raw []byte
	var err error
	if f.Kind == GitLab {
		raw, err = f.get(ctx, op, "merge_requests", url.Values{"state": {"opened"}, "source_branch": {branch}, "per_page": {"100"}})
	} else {
		raw, err = f.program().run(ctx, op, "pr", "list", "--repo="+f.Host+"/"+f.Spec, "--head="+branch, "--state=open",
			"--limit=100", "--json=url,headRefName,isCrossRepository")
	}
	if err != nil {
		return "", err
	}
	list, err := entries(raw)
	if err != nil {
		return "", f.program().unreadable(op, "%v", err)
	}
	for i := range list {
		link, head, own := f.readRequest(&list[i])
		if err := list[i].err; err != nil {
			return "", f.program().unreadable(op, "request %d of the answer: %v", i+1, err)
		}
		if own && head == branch {
			return link, nil
		}
	}
	if len(list) >= 100 {
		return "", f.program().unreadable(op, "100 forks or more propose a branch of that name; ours may be among more of them")
	}
	return "", nil
}

// readRequest reads a pull or merge request. Own is false when its branch is in a fork.
func (f Forge) readRequest(e *entry) (link, head string, own bool) {
	if f.Kind == GitLab {
		var source *int64 // null when the fork is gone
		var project int64
		link, head = e.link("web_url"), e.text("source_branch")
		e.may("source_project_id", &source)
		e.read("project_id", &project)
		return link, head, source != nil && *source == project
	}
	var foreign bool
	link, head = e.link("url"), e.text("headRefName")
	e.read("isCrossRepository", &foreign)
	return link, head, !foreign
}

// create makes a draft and returns its address.
func (f Forge) create(ctx context.Context, op string, d Draft) (string, error) {
	body := inert(gate.Plain(d.Body))
	if f.Kind == GitLab {
		body = quickAction().ReplaceAllString(body, "${1}"+unseen+"/")
	}
	if d.Closes > 0 {
		body = fmt.Sprintf("Closes #%d\n\n%s", d.Closes, body)
	}
	body = cutBytes(body, maxDraftBody)
	args := []string{"api", "--hostname=" + f.Host, "--method=POST"}
	name := "html_url"
	if f.Kind == GitLab {
		name = "web_url"
		// A draft is known by its title. The line end keeps glab from taking a description
		// in brackets for a list.
		args = append(args, f.path("merge_requests"), "--raw-field=source_branch="+d.Branch, "--raw-field=target_branch="+d.Base,
			"--raw-field=title=Draft: "+d.Title, "--raw-field=description="+body+"\n")
	} else {
		args = append(args, f.path("pulls"), "--raw-field=head="+d.Branch, "--raw-field=base="+d.Base,
			"--raw-field=title="+d.Title, "--raw-field=body="+body, "--field=draft=true")
	}
	raw, err := f.program().run(ctx, op, args...)
	if err != nil {
		return "", err
	}
	e, err := object(raw)
	if err != nil {
		return "", f.program().unreadable(op, "%v", err)
	}
	link := e.link(name)
	if e.err != nil {
		return "", f.program().unreadable(op, "%v", e.err)
	}
	return link, nil
}

// unseen is a space without width: it keeps words apart that the host would read as one.
const unseen = "\u200b"

// inert makes plain text of what mentions somebody or closes an issue.
func inert(s string) string {
	s = mention().ReplaceAllString(s, "${1}@"+unseen)
	return closing().ReplaceAllString(s, "${1}"+unseen+"${2}")
}

// mention matches an at sign, as it is or as an entity of HTML, that does not stand within a
// word as in the address of a letter, and has no space behind it.
var mention = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^a-z0-9])(?:@|&#0*64;|&#x0*40;|&commat;)(?:\b|_)`)
})

// closing matches a word that closes an issue, and the beginning of what names one: a number
// with a mark in front of it, or an address.
var closing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b((?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)(?:[^\pL\pN#&]|&nbsp;|issues?\b){1,40}?)` +
		`((?:[\w.-]+/)*[\w.-]*(?:#|&#0*35;|&#x0*23;|&num;)\d|gh-\d|https?://)`)
})

// quickAction matches the beginning of a line that GitLab takes for a command.
var quickAction = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^([ \t]*)/`)
})
