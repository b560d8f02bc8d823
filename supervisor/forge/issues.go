package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	maxBody   = 64 << 10 // bytes of an issue's text
	maxTitle  = 256      // runes
	maxLabels = 100
	maxLabel  = 100 // runes
	mostAsked = 1000
	// issuePage is small because the text of one issue can take more than 256 KiB.
	issuePage   = 25
	backlogPage = 100
	maxPages    = 60
)

// Issue is an open issue. Its texts are a stranger's: cut, valid UTF-8, and without control
// characters.
type Issue struct {
	Number    int
	Title     string // one line, at most 256 characters
	Body      string // at most 64 KiB
	URL       string
	Labels    []string
	After     []int    // issues of the same repository that it waits for, by its text; without itself
	Paths     []string // patterns of its lines "Paths:", as they were written
	UpdatedAt time.Time
	Priority  int // from its labels, 1 is the most urgent and 9 the least; 0 for none
	// Author is the name of the account that opened it, empty where the host does not say.
	Author string
	// Trusted is true if the host says that who opened it owns the repository, belongs to the
	// organization that does, or was invited to work on it. GitHub says so of every issue.
	// GitLab says nothing of that in an issue, so there it is always false. It speaks of who
	// opened the issue; who has changed its text since is not told by either.
	Trusted bool
}

// Issues returns the open issues with a label, or all when label is empty, the oldest first.
// If there are more than limit, it returns the oldest ones along with a [*MoreError]. It
// asks for pages of 25 issues, each with the time limit of one call.
func (f Forge) Issues(ctx context.Context, label string, limit int) ([]Issue, error) {
	const op = "list issues"
	if err := checkAsk(op, label, limit); err != nil {
		return nil, err
	}
	q := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
	if f.Kind == GitLab {
		q = url.Values{"state": {"opened"}, "order_by": {"created_at"}, "sort": {"asc"}}
	}
	if label != "" {
		q.Set("labels", label)
	}
	issues := make([]Issue, 0, min(limit, issuePage))
	seen := map[int]bool{}
	err := f.pages(ctx, op, issuePage, q, func(list []entry) (bool, error) {
		for i := range list {
			issue, proposal, err := f.issue(&list[i])
			if err != nil {
				return false, f.program().unreadable(op, "entry %d of the answer: %v", i+1, err)
			}
			if proposal || seen[issue.Number] || label != "" && !hasLabel(issue.Labels, label) {
				continue
			}
			if len(issues) == limit {
				return false, fmt.Errorf("%s: %w", op, &MoreError{Limit: limit})
			}
			seen[issue.Number] = true
			issues = append(issues, issue)
		}
		return true, nil
	})
	if _, more := errors.AsType[*MoreError](err); err != nil && !more {
		return nil, err
	}
	return issues, err
}

// checkAsk refuses what the hosts would understand as something else.
func checkAsk(op, label string, limit int) error {
	if limit < 1 || limit > mostAsked {
		return fmt.Errorf("%s: the limit %d is not between 1 and %d", op, limit, mostAsked)
	}
	if strings.ContainsAny(label, ",\n\r\x00") || len(label) > 255 {
		return fmt.Errorf("%s: the label %q cannot be asked for: it has a comma or a line end, or is too long", op, prompt.Cut(gate.Plain(label), maxLabel))
	}
	return nil
}

// pages asks for the issues of the repository page by page until one is not full or take
// says that it has enough.
func (f Forge) pages(ctx context.Context, op string, size int, q url.Values, take func([]entry) (bool, error)) error {
	q.Set("per_page", strconv.Itoa(size))
	for page := 1; page <= maxPages; page++ {
		q.Set("page", strconv.Itoa(page))
		raw, err := f.get(ctx, op, "issues", q)
		if err != nil {
			return err
		}
		list, err := entries(raw)
		if err != nil {
			return f.program().unreadable(op, "%v", err)
		}
		if more, err := take(list); !more || err != nil || len(list) < size {
			return err
		}
	}
	return f.program().unreadable(op, "there are more than %d pages of issues and pull requests", maxPages)
}

// issue reads an issue. GitHub lists pull requests among the issues; they are proposals.
func (f Forge) issue(e *entry) (issue Issue, proposal bool, err error) {
	var body string
	if f.Kind == GitLab {
		issue.Number, issue.URL = e.number("iid"), e.link("web_url")
		e.may("description", &body)
	} else {
		issue.Number, issue.URL = e.number("number"), e.link("html_url")
		e.may("body", &body)
		_, proposal = e.fields["pull_request"]
	}
	issue.Title, issue.UpdatedAt = oneLine(e.text("title"), maxTitle), e.time("updated_at")
	var labels []json.RawMessage
	e.read("labels", &labels)
	if e.err != nil {
		return Issue{}, false, e.err
	}
	if issue.Labels, err = labelNames(labels); err != nil {
		return Issue{}, false, err
	}
	body = gate.Plain(body)
	issue.After, issue.Paths = parseBody(body, f, issue.Number)
	issue.Body, issue.Priority = cutBytes(body, maxBody), priority(issue.Labels)
	issue.Author, issue.Trusted = f.author(e)
	return issue, proposal, nil
}

// author reads who opened an issue. An account that is gone, and an answer of an older host
// that does not speak of it, leave it open, and nobody is trusted then.
func (f Forge) author(e *entry) (name string, trusted bool) {
	var account struct {
		Login    string `json:"login"`
		Username string `json:"username"`
	}
	if f.Kind == GitLab {
		_ = json.Unmarshal(e.fields["author"], &account)
		return oneLine(account.Username, maxLabel), false
	}
	var association string
	_ = json.Unmarshal(e.fields["user"], &account)
	_ = json.Unmarshal(e.fields["author_association"], &association)
	return oneLine(account.Login, maxLabel), association == "OWNER" || association == "MEMBER" || association == "COLLABORATOR"
}

// labelNames reads labels, which are texts or objects with a name.
func labelNames(raw []json.RawMessage) ([]string, error) {
	var out []string
	for _, r := range raw[:min(len(raw), maxLabels)] {
		var name string
		var object struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(r, &name) != nil {
			if json.Unmarshal(r, &object) != nil || object.Name == "" {
				return nil, errors.New("a label has no name")
			}
			name = object.Name
		}
		out = append(out, oneLine(name, maxLabel))
	}
	return out, nil
}

func hasLabel(labels []string, label string) bool {
	want := oneLine(label, maxLabel)
	return len(labels) == maxLabels || slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, want) })
}

// IssueOpen reports whether an issue is open. On GitHub the number may be that of a pull
// request. That there is no such issue is a [*CallError] with the reason [Missing].
func (f Forge) IssueOpen(ctx context.Context, number int) (bool, error) {
	op := fmt.Sprintf("look at issue %d", number)
	if number < 1 {
		return false, fmt.Errorf("%s: issues count from 1", op)
	}
	raw, err := f.get(ctx, op, "issues/"+strconv.Itoa(number), nil)
	if err != nil {
		return false, err
	}
	e, err := object(raw)
	if err != nil {
		return false, f.program().unreadable(op, "%v", err)
	}
	name := "number"
	if f.Kind == GitLab {
		name = "iid"
	}
	got, state := e.number(name), e.text("state")
	switch {
	case e.err != nil:
		return false, f.program().unreadable(op, "%v", e.err)
	case got != number:
		return false, f.program().unreadable(op, "the answer is about number %d: the issue was moved", got)
	case state == "open" || state == "opened" || state == "reopened":
		return true, nil
	case state == "closed":
		return false, nil
	}
	return false, f.program().unreadable(op, "the state %q is not known", oneLine(state, maxLabel))
}

// Backlog returns open issues, at most limit, the newest first, as JSON: on GitHub what
// 'gh issue list' prints of number, labels, updatedAt and state, on GitLab the issues as
// glab prints them, which have at least iid, labels, updated_at and state.
func (f Forge) Backlog(ctx context.Context, limit int) (json.RawMessage, error) {
	const op = "look at the backlog"
	if err := checkAsk(op, "", limit); err != nil {
		return nil, err
	}
	if f.Kind != GitLab {
		raw, err := f.program().run(ctx, op, "issue", "list", "--repo="+f.Host+"/"+f.Spec, "--state=open",
			"--limit="+strconv.Itoa(limit), "--json=number,labels,updatedAt,state")
		if err != nil {
			return nil, err
		}
		list, err := entries(raw)
		if err == nil {
			err = checkBacklog(list, "number", "updatedAt")
		}
		if err != nil {
			return nil, f.program().unreadable(op, "%v", err)
		}
		return json.RawMessage(raw), nil
	}
	all := []map[string]json.RawMessage{}
	q := url.Values{"state": {"opened"}, "order_by": {"created_at"}, "sort": {"desc"}}
	err := f.pages(ctx, op, min(limit, backlogPage), q, func(list []entry) (bool, error) {
		if err := checkBacklog(list, "iid", "updated_at"); err != nil {
			return false, f.program().unreadable(op, "%v", err)
		}
		for _, e := range list[:min(len(list), limit-len(all))] {
			all = append(all, e.fields)
		}
		return len(all) < limit, nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func checkBacklog(list []entry, number, updated string) error {
	for i := range list {
		e := &list[i]
		var labels []json.RawMessage
		e.number(number)
		e.time(updated)
		e.text("state")
		if e.read("labels", &labels); e.err != nil {
			return fmt.Errorf("entry %d of the answer: %w", i+1, e.err)
		}
	}
	return nil
}

// oneLine is a text as one line of at most n characters.
func oneLine(s string, n int) string {
	return prompt.Cut(strings.Join(strings.Fields(gate.Plain(s)), " "), n)
}

// cutBytes cuts valid UTF-8 to at most n bytes of whole characters.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
