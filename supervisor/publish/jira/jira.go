package jira

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	gojira "github.com/andygrunwald/go-jira"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry"
)

// Variables of the environment from which a caller takes the options.
const (
	EnvURL   = "JIRA_URL"
	EnvEmail = "JIRA_EMAIL"
	EnvToken = "JIRA_API_TOKEN"
)

// MaxText is how many UTF-16 units a comment may have as Jira is delivered.
const MaxText = 32767

const perPage = 100

// Options of a sender.
type Options struct {
	BaseURL string // of the site, as https://example.atlassian.net
	Email   string // of the account; on an own server its name
	Token   string // API token; on an own server the password
	// RepoName is the repository the work is done in, as shown in the comment; may be empty.
	RepoName string
	// Client gives transport and timeout; nil for the usual transport and one minute a request.
	Client *http.Client
}

// New returns a sender for one issue. It asks nobody. Without address, name or token, or
// for a target that is not of Jira, it refuses.
func New(target publish.Target, o Options) (publish.Sender, error) {
	switch {
	case o.BaseURL == "":
		return nil, fmt.Errorf("jira: no address: set %s to that of the site, as https://example.atlassian.net", EnvURL)
	case strings.TrimSpace(o.Email) == "":
		return nil, fmt.Errorf("jira: no account: set %s to the e-mail address the token belongs to", EnvEmail)
	case strings.TrimSpace(o.Token) == "":
		return nil, fmt.Errorf("jira: no token: set %s to an API token of %s", EnvToken, strings.TrimSpace(o.Email))
	}
	return prepare(target, o)
}

// Preview says what a sender would post for an update. It needs no token; where there is
// no address either, the name of its variable stands in its place.
func Preview(target publish.Target, o Options, key string, u publish.Update) (string, error) {
	if o.BaseURL == "" {
		o.BaseURL = "https://" + EnvURL
	}
	s, err := prepare(target, o)
	if err != nil {
		return "", err
	}
	return s.Preview(key, u), nil
}

func prepare(target publish.Target, o Options) (*sender, error) {
	o.Token, o.Email = strings.TrimSpace(o.Token), strings.TrimSpace(o.Email)
	switch {
	case target.Service != publish.Jira || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*-\d+$`).MatchString(target.Ref):
		return nil, fmt.Errorf("jira: %s is not an issue of Jira", target)
	case strings.ContainsAny(o.Token+o.Email, "\r\n"):
		return nil, fmt.Errorf("jira: %s or %s has a line end in it", EnvEmail, EnvToken)
	}
	line, err := entry.NewLine(entry.LineOptions{
		Service: publish.Jira, BaseURL: o.BaseURL, Variable: EnvURL, Client: o.Client,
		Secrets: entry.Basic(o.Email, o.Token),
	})
	if err != nil {
		return nil, err
	}
	// The library authenticates in a transport; the line's own stays below it.
	h := *line.HTTP
	h.Transport = &gojira.BasicAuthTransport{Username: o.Email, Password: o.Token, Transport: line.HTTP.Transport}
	client, err := gojira.NewClient(&h, line.Base.String()+"/")
	if err != nil {
		return nil, fmt.Errorf("jira: set %s to the address of the site", EnvURL)
	}
	s := &sender{target: target, line: line, client: client, repo: o.RepoName}
	s.board = entry.NewBoard(publish.Jira, s, entry.Format{Mark: entry.Coded, Read: entry.ReadLine, Text: s.text})
	return s, nil
}

type sender struct {
	target publish.Target
	line   *entry.Line
	client *gojira.Client
	board  *entry.Board
	repo   string
}

// Send implements publish.Sender.
func (s *sender) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	return s.board.Send(ctx, key, u)
}

// body is what is sent to make or edit a comment. The library's own type would send
// empty authors along.
type body struct {
	Body string `json:"body"`
}

// Preview implements publish.Sender.
func (s *sender) Preview(key string, u publish.Update) string {
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(body{s.text(entry.Coded(key, u), u)}); err != nil {
		return "internal error: " + err.Error()
	}
	return fmt.Sprintf("POST %s/%s\n\n%s", s.line.Base, s.path(), out.String())
}

func (s *sender) path() string { return "rest/api/2/issue/" + s.target.Ref + "/comment" }

// text is the comment in wiki markup, the mark in its last line.
func (s *sender) text(m entry.Mark, u publish.Update) string {
	u = s.line.Update(u)
	head := ""
	if u.Title != "" {
		head = "h3. " + words(u.Title) + "\n\n"
	}
	head += words(entry.Standing(u, s.repo)) + "\n\n"
	foot := "{color:#97a0af}" + m.Line() + "{color}\n"
	return entry.Fit(u.Body, MaxText, func(md string) string {
		if md = wiki(md); md != "" {
			md += "\n\n"
		}
		return head + md + foot
	})
}

// Account is the account the token belongs to.
func (s *sender) Account(ctx context.Context) (string, error) {
	var u gojira.User
	err := s.call(ctx, http.MethodGet, "rest/api/2/myself", nil, &u)
	if e, ok := errors.AsType[*publish.SendError](err); ok && e.Permanent && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
		return "", nil
	}
	return account(u), err
}

// account is the number of an account in the cloud, the key of one on an own server.
func account(u gojira.User) string {
	switch {
	case u.AccountID != "":
		return "id " + u.AccountID
	case u.Key != "":
		return "key " + u.Key
	case u.Name != "":
		return "name " + u.Name
	}
	return ""
}

// List returns one page, the newest comments first.
func (s *sender) List(ctx context.Context, page string) (entry.Page, error) {
	start, err := strconv.Atoi(page)
	if err != nil {
		start = 0
	}
	var list struct {
		Comments []gojira.Comment `json:"comments"`
		Total    int              `json:"total"`
	}
	q := url.Values{"startAt": {strconv.Itoa(start)}, "maxResults": {strconv.Itoa(perPage)}, "orderBy": {"-created"}}
	if err := s.call(ctx, http.MethodGet, s.path()+"?"+q.Encode(), nil, &list); err != nil {
		return entry.Page{}, err
	}
	out := entry.Page{}
	for _, c := range list.Comments {
		out.Comments = append(out.Comments, s.comment(c))
	}
	if next := start + len(list.Comments); len(list.Comments) > 0 && next < list.Total {
		out.Next = strconv.Itoa(next)
	}
	return out, nil
}

// Get returns one comment.
func (s *sender) Get(ctx context.Context, id string) (entry.Comment, error) {
	var c gojira.Comment
	if err := s.call(ctx, http.MethodGet, s.path()+"/"+url.PathEscape(id), nil, &c); err != nil {
		return entry.Comment{}, err
	}
	return s.comment(c), nil
}

// Put edits or makes a comment.
func (s *sender) Put(ctx context.Context, id, text string) (entry.Comment, error) {
	method, path := http.MethodPost, s.path()
	if id != "" {
		method, path = http.MethodPut, path+"/"+url.PathEscape(id)
	}
	var c gojira.Comment
	if err := s.call(ctx, method, path, body{text}, &c); err != nil {
		return entry.Comment{}, err
	}
	return s.comment(c), nil
}

func (s *sender) comment(c gojira.Comment) entry.Comment {
	out := entry.Comment{ID: c.ID, Text: c.Body, Author: account(c.Author)}
	if c.ID != "" {
		at := s.line.Base.JoinPath("browse", s.target.Ref)
		at.RawQuery = url.Values{"focusedCommentId": {c.ID}}.Encode()
		out.URL = at.String()
	}
	return out
}

// call makes one request. The library leaves the body of an answer with an error to its
// caller, who makes a text of it.
func (s *sender) call(ctx context.Context, method, path string, in, out any) error {
	ctx, a := entry.Watch(ctx)
	req, err := s.client.NewRequestWithContext(ctx, method, path, in)
	if err != nil {
		return s.line.Fail(ctx, a, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "autopilot")
	resp, err := s.client.Do(req, out)
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
	}
	if err != nil && resp != nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = gojira.NewJiraError(resp, err)
	}
	return s.line.Fail(ctx, a, err)
}
