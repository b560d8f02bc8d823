package github

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
	"time"

	gogithub "github.com/google/go-github/v84/github"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry"
)

// Variables of the environment from which a caller takes the options.
const (
	EnvToken    = "GITHUB_TOKEN"
	EnvTokenToo = "GH_TOKEN" // when EnvToken is not set
	EnvURL      = "GITHUB_API_URL"
)

// DefaultURL is the address of the API when EnvURL is not set.
const DefaultURL = "https://api.github.com"

// MaxText is how many characters a comment may have at GitHub.
const MaxText = 65536

const (
	perPage = 100 // the most GitHub gives
	// secondaryWait is how long GitHub asks to wait at least after a secondary rate
	// limit that names no time.
	secondaryWait = time.Minute
)

// Options of a sender.
type Options struct {
	BaseURL string // of the API; empty for DefaultURL
	Token   string
	// RepoName is the repository the work is done in, as shown in the comment; may be empty.
	RepoName string
	// Client gives transport and timeout; nil for the usual transport and one minute a request.
	Client *http.Client
}

// New returns a sender for one issue. It asks nobody. Without a token, with an address
// that is none, or for a target that is not of GitHub it refuses.
func New(target publish.Target, o Options) (publish.Sender, error) {
	if strings.TrimSpace(o.Token) == "" {
		return nil, fmt.Errorf("github: no token: set %s or %s to a token that may write issues of %s/%s", EnvToken, EnvTokenToo, target.Owner, target.Project)
	}
	return prepare(target, o)
}

// Preview says what a sender would post for an update. It needs no token.
func Preview(target publish.Target, o Options, key string, u publish.Update) (string, error) {
	s, err := prepare(target, o)
	if err != nil {
		return "", err
	}
	return s.Preview(key, u), nil
}

func prepare(target publish.Target, o Options) (*sender, error) {
	o.Token = strings.TrimSpace(o.Token)
	name := regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	switch {
	case target.Service != publish.GitHub || target.Number <= 0:
		return nil, fmt.Errorf("github: %s is not an issue of GitHub", target)
	case !name.MatchString(target.Owner) || !name.MatchString(target.Project) || strings.Trim(target.Owner, ".") == "" || strings.Trim(target.Project, ".") == "":
		return nil, fmt.Errorf("github: %s/%s is not the name of a repository", target.Owner, target.Project)
	case strings.ContainsAny(o.Token, " \t\r\n"):
		return nil, fmt.Errorf("github: the token in %s or %s has a blank or a line end in it", EnvToken, EnvTokenToo)
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultURL
	}
	line, err := entry.NewLine(entry.LineOptions{
		Service: publish.GitHub, BaseURL: o.BaseURL, Variable: EnvURL, Client: o.Client, Secrets: []string{o.Token},
	})
	if err != nil {
		return nil, err
	}
	client := gogithub.NewClient(line.HTTP).WithAuthToken(o.Token)
	client.UserAgent = "autopilot"
	client.BaseURL = line.Base.JoinPath("/")
	s := &sender{target: target, line: line, client: client, repo: o.RepoName}
	s.board = entry.NewBoard(publish.GitHub, s, entry.Format{Mark: entry.Clear, Read: entry.ReadHidden, Text: s.text})
	return s, nil
}

type sender struct {
	target publish.Target
	line   *entry.Line
	client *gogithub.Client
	board  *entry.Board
	repo   string
}

// Send implements publish.Sender.
func (s *sender) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	return s.board.Send(ctx, key, u)
}

// Preview implements publish.Sender.
func (s *sender) Preview(key string, u publish.Update) string {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // as the library sends it
	if err := enc.Encode(map[string]string{"body": s.text(entry.Clear(key, u), u)}); err != nil {
		return "internal error: " + err.Error()
	}
	address := s.client.BaseURL.JoinPath("repos", s.target.Owner, s.target.Project, "issues", strconv.Itoa(s.target.Number), "comments")
	return fmt.Sprintf("POST %s\n\n%s", address, body.String())
}

// text is the comment. The mark is at its beginning, where no code block of the body can
// show it.
func (s *sender) text(m entry.Mark, u publish.Update) string {
	u = s.line.Update(u)
	head := m.Hidden() + "\n"
	if u.Title != "" {
		head += "### " + entry.Harmless(u.Title) + "\n\n"
	}
	head += entry.Harmless(entry.Standing(u, s.repo)) + "\n"
	return entry.Fit(u.Body, MaxText, func(body string) string {
		if body = entry.Markdown(body); body == "" {
			return head
		}
		return head + "\n" + body + "\n"
	})
}

// Account is the number of the user the token belongs to. The token of a workflow or an
// app may not ask.
func (s *sender) Account(ctx context.Context) (string, error) {
	ctx, a := entry.Watch(ctx)
	user, _, err := s.client.Users.Get(ctx, "")
	if err = s.fail(ctx, a, err); err != nil {
		if e, ok := errors.AsType[*publish.SendError](err); ok && e.Permanent && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
			return "", nil
		}
		return "", err
	}
	return author(user), nil
}

func author(u *gogithub.User) string {
	if u.GetID() == 0 {
		return ""
	}
	return strconv.FormatInt(u.GetID(), 10)
}

// List returns one page. GitHub lists the comments of an issue from the oldest on, so the
// first request is for where the list ends, and the pages are taken from there backwards.
func (s *sender) List(ctx context.Context, page string) (entry.Page, error) {
	number, err := strconv.Atoi(page)
	if err != nil {
		number = 1
	}
	ctx, a := entry.Watch(ctx)
	list, resp, err := s.client.Issues.ListComments(ctx, s.target.Owner, s.target.Project, s.target.Number,
		&gogithub.IssueListCommentsOptions{ListOptions: gogithub.ListOptions{Page: number, PerPage: perPage}})
	if err = s.fail(ctx, a, err); err != nil {
		return entry.Page{}, err
	}
	if page == "" && resp.LastPage > 1 {
		return entry.Page{Next: strconv.Itoa(resp.LastPage)}, nil
	}
	out := entry.Page{}
	for i := len(list) - 1; i >= 0; i-- {
		out.Comments = append(out.Comments, comment(list[i]))
	}
	if number > 1 {
		out.Next = strconv.Itoa(number - 1)
	}
	return out, nil
}

// Get returns one comment.
func (s *sender) Get(ctx context.Context, id string) (entry.Comment, error) {
	number, _ := strconv.ParseInt(id, 10, 64) // it came from comment
	ctx, a := entry.Watch(ctx)
	c, _, err := s.client.Issues.GetComment(ctx, s.target.Owner, s.target.Project, number)
	if err = s.fail(ctx, a, err); err != nil {
		return entry.Comment{}, err
	}
	return comment(c), nil
}

// Put edits or makes a comment.
func (s *sender) Put(ctx context.Context, id, text string) (entry.Comment, error) {
	in := &gogithub.IssueComment{Body: &text}
	ctx, a := entry.Watch(ctx)
	var c *gogithub.IssueComment
	var err error
	if id == "" {
		c, _, err = s.client.Issues.CreateComment(ctx, s.target.Owner, s.target.Project, s.target.Number, in)
	} else {
		number, _ := strconv.ParseInt(id, 10, 64) // it came from comment
		c, _, err = s.client.Issues.EditComment(ctx, s.target.Owner, s.target.Project, number, in)
	}
	if err = s.fail(ctx, a, err); err != nil {
		return entry.Comment{}, err
	}
	return comment(c), nil
}

func comment(c *gogithub.IssueComment) entry.Comment {
	out := entry.Comment{Text: c.GetBody(), Author: author(c.GetUser())}
	if id := c.GetID(); id != 0 {
		out.ID = strconv.FormatInt(id, 10)
	}
	if u, err := url.Parse(c.GetHTMLURL()); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		out.URL = u.String()
	}
	return out
}

// fail turns an error of the library into ours. A limit the library remembers comes
// without an answer, and a secondary one often without a time; both get the headers that
// say so.
func (s *sender) fail(ctx context.Context, a *entry.Answer, err error) error {
	if e, ok := errors.AsType[*gogithub.RateLimitError](err); ok {
		a.Status = e.Response.StatusCode
		a.Header.Set("X-Ratelimit-Remaining", "0")
		if a.Header.Get("X-Ratelimit-Reset") == "" && !e.Rate.Reset.IsZero() {
			a.Header.Set("X-Ratelimit-Reset", strconv.FormatInt(e.Rate.Reset.Unix(), 10))
		}
	}
	if e, ok := errors.AsType[*gogithub.AbuseRateLimitError](err); ok {
		a.Status = e.Response.StatusCode
		wait := secondaryWait
		if e.RetryAfter != nil && *e.RetryAfter > 0 {
			wait = *e.RetryAfter
		}
		if a.Header.Get("Retry-After") == "" {
			a.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		}
	}
	return s.line.Fail(ctx, a, err)
}
