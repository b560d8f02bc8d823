package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/microsoft/azure-devops-go-api/azuredevops/v7"
	"github.com/microsoft/azure-devops-go-api/azuredevops/v7/location"
	"github.com/microsoft/azure-devops-go-api/azuredevops/v7/webapi"
	"github.com/microsoft/azure-devops-go-api/azuredevops/v7/workitemtracking"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry"
)

// Variables of the environment from which a caller takes the options.
const (
	EnvToken = "AZURE_DEVOPS_TOKEN"
	EnvURL   = "AZURE_DEVOPS_URL"
)

// DefaultURL is the address of the service when EnvURL is not set.
const DefaultURL = "https://dev.azure.com"

// MaxText is how many UTF-16 units a comment may have here. The service names no limit
// for comments of work items; this is the one it has for those of pull requests.
const MaxText = 150_000

const perPage = 200

// Options of a sender.
type Options struct {
	BaseURL string // without the organization; empty for DefaultURL
	Token   string // personal access token
	// RepoName is the repository the work is done in, as shown in the comment; may be empty.
	RepoName string
	// Client gives transport and timeout; nil for the usual transport and one minute a request.
	Client *http.Client
}

// New returns a sender for one work item. It asks nobody. Without a token, with an
// address that is none, or for a target that is not of Azure DevOps it refuses.
func New(target publish.Target, o Options) (publish.Sender, error) {
	if strings.TrimSpace(o.Token) == "" {
		return nil, fmt.Errorf("azure: no token: set %s to a personal access token that may write work items of %s", EnvToken, target.Owner)
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
	switch {
	case target.Service != publish.Azure || target.Number <= 0:
		return nil, fmt.Errorf("azure: %s is not a work item of Azure DevOps", target)
	case strings.Trim(target.Owner, ".") == "" || strings.Trim(target.Project, ".") == "" || strings.ContainsAny(target.Owner+target.Project, `/\?#{}`):
		return nil, fmt.Errorf("azure: %s/%s is not an organization and a project", target.Owner, target.Project)
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultURL
	}
	line, err := entry.NewLine(entry.LineOptions{
		Service: publish.Azure, BaseURL: o.BaseURL, Variable: EnvURL, Client: o.Client, Secrets: entry.Basic("", o.Token),
	})
	if err != nil {
		return nil, err
	}
	s := &sender{target: target, line: line, base: line.Base.JoinPath(target.Owner), repo: o.RepoName}
	connection := &azuredevops.Connection{
		AuthorizationString:     azuredevops.CreateBasicAuthHeaderValue("", o.Token),
		BaseUrl:                 s.base.String(),
		SuppressFedAuthRedirect: true, // an error and no way to a page where people sign in
		UserAgent:               "autopilot",
	}
	// Not by the resource areas of the connection: they name hosts the token would be sent
	// to, cost two requests more, and come with a client of the library's own.
	client := azuredevops.NewClientWithOptions(connection, connection.BaseUrl, azuredevops.WithHTTPClient(line.HTTP))
	s.items = &workitemtracking.ClientImpl{Client: *client}
	s.place = &location.ClientImpl{Client: *client}
	s.board = entry.NewBoard(publish.Azure, s, entry.Format{Mark: entry.Coded, Read: entry.ReadLine, Text: s.text})
	return s, nil
}

type sender struct {
	target publish.Target
	line   *entry.Line
	base   *url.URL // of the organization
	items  *workitemtracking.ClientImpl
	place  *location.ClientImpl
	board  *entry.Board
	repo   string
}

// Send implements publish.Sender.
func (s *sender) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	return s.board.Send(ctx, key, u)
}

// Preview implements publish.Sender. The address is the one of the service today; it is
// asked for that when it comes to sending.
func (s *sender) Preview(key string, u publish.Update) string {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // for a person; it means the same
	text := s.text(entry.Coded(key, u), u)
	if err := enc.Encode(workitemtracking.CommentCreate{Text: &text}); err != nil {
		return "internal error: " + err.Error()
	}
	at := s.base.JoinPath(s.target.Project, "_apis/wit/workItems", strconv.Itoa(s.target.Number), "comments")
	at.RawQuery = url.Values{"format": {string(workitemtracking.CommentFormatValues.Html)}}.Encode()
	return fmt.Sprintf("POST %s\n\n%s", at, body.String())
}

// text is the comment in HTML, the mark in its last line.
func (s *sender) text(m entry.Mark, u publish.Update) string {
	u = s.line.Update(u)
	head := ""
	if u.Title != "" {
		head = "<h3>" + escape(u.Title) + "</h3>\n"
	}
	head += "<p>" + escape(entry.Standing(u, s.repo)) + "</p>\n"
	foot := "<p><small>" + m.Line() + "</small></p>"
	return entry.Fit(u.Body, MaxText, func(md string) string {
		return head + markup(md) + foot
	})
}

// Account is the number of the account the token belongs to.
func (s *sender) Account(ctx context.Context) (string, error) {
	var who string
	err := s.call(ctx, func(ctx context.Context) error {
		d, err := s.place.GetConnectionData(ctx, location.GetConnectionDataArgs{ConnectOptions: &webapi.ConnectOptionsValues.None})
		if err == nil && d.AuthenticatedUser != nil && d.AuthenticatedUser.Id != nil {
			who = d.AuthenticatedUser.Id.String()
		}
		return err
	})
	if e, ok := errors.AsType[*publish.SendError](err); ok && e.Permanent && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
		return "", nil
	}
	return who, err
}

// List returns one page, the newest comments first.
func (s *sender) List(ctx context.Context, page string) (entry.Page, error) {
	top, order := perPage, workitemtracking.CommentSortOrderValues.Desc
	args := workitemtracking.GetCommentsArgs{Project: &s.target.Project, WorkItemId: &s.target.Number, Top: &top, Order: &order}
	if page != "" {
		args.ContinuationToken = &page
	}
	out := entry.Page{}
	err := s.call(ctx, func(ctx context.Context) error {
		list, err := s.items.GetComments(ctx, args)
		if err != nil || list == nil {
			return err
		}
		if list.Comments != nil {
			for _, c := range *list.Comments {
				out.Comments = append(out.Comments, s.comment(&c))
			}
		}
		if list.ContinuationToken != nil {
			out.Next = *list.ContinuationToken
		}
		return nil
	})
	return out, err
}

// Get returns one comment; one that was deleted has no text.
func (s *sender) Get(ctx context.Context, id string) (entry.Comment, error) {
	number, _ := strconv.Atoi(id) // it came from comment
	var out entry.Comment
	err := s.call(ctx, func(ctx context.Context) error {
		c, err := s.items.GetComment(ctx, workitemtracking.GetCommentArgs{
			Project: &s.target.Project, WorkItemId: &s.target.Number, CommentId: &number,
		})
		out = s.comment(c)
		return err
	})
	return out, err
}

// Put edits or makes a comment.
func (s *sender) Put(ctx context.Context, id, text string) (entry.Comment, error) {
	format := workitemtracking.CommentFormatValues.Html
	var out entry.Comment
	err := s.call(ctx, func(ctx context.Context) (err error) {
		var c *workitemtracking.Comment
		if id == "" {
			c, err = s.items.AddWorkItemComment(ctx, workitemtracking.AddWorkItemCommentArgs{
				Request: &workitemtracking.CommentCreate{Text: &text},
				Project: &s.target.Project, WorkItemId: &s.target.Number, Format: &format,
			})
		} else {
			number, _ := strconv.Atoi(id) // it came from comment
			c, err = s.items.UpdateWorkItemComment(ctx, workitemtracking.UpdateWorkItemCommentArgs{
				Request: &workitemtracking.CommentUpdate{Text: &text},
				Project: &s.target.Project, WorkItemId: &s.target.Number, CommentId: &number, Format: &format,
			})
		}
		out = s.comment(c)
		return err
	})
	return out, err
}

func (s *sender) comment(c *workitemtracking.Comment) entry.Comment {
	var out entry.Comment
	if c == nil || c.IsDeleted != nil && *c.IsDeleted {
		return out
	}
	switch {
	case c.Id != nil:
		out.ID = strconv.Itoa(*c.Id)
	case c.Url != nil: // some versions answer with another name for the number
		if n, err := strconv.Atoi((*c.Url)[strings.LastIndexByte(*c.Url, '/')+1:]); err == nil {
			out.ID = strconv.Itoa(n)
		}
	}
	if c.Text != nil {
		out.Text = *c.Text
	}
	if c.CreatedBy != nil && c.CreatedBy.Id != nil {
		out.Author = strings.ToLower(*c.CreatedBy.Id)
	}
	if out.ID != "" {
		at := s.base.JoinPath(s.target.Project, "_workitems/edit", strconv.Itoa(s.target.Number))
		at.Fragment = out.ID
		out.URL = at.String()
	}
	return out
}

// call runs one call of the library. That one takes for granted that an answer has all
// fields, and ends the program otherwise.
func (s *sender) call(ctx context.Context, do func(context.Context) error) error {
	ctx, a := entry.Watch(ctx)
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the client library cannot read it: %v", p)
			}
		}()
		return do(ctx)
	}()
	if err != nil && a.Status == http.StatusNonAuthoritativeInfo {
		// A token that is not known is answered with the page where people sign in.
		a.Status, err = http.StatusUnauthorized, fmt.Errorf("the token in %s is not accepted", EnvToken)
	}
	return s.line.Fail(ctx, a, err)
}
