package entry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"autopilot/supervisor/publish"
)

// maxPages bounds the search for the comment of a subject.
const maxPages = 200

// Comment is one comment at a service.
type Comment struct {
	ID   string
	URL  string // where a person can see it
	Text string // as the service gives it back
	// Author is the account that wrote it, in the same words as the service's Account;
	// empty when the service does not say.
	Author string
}

// Page is a part of the comments, the newest first.
type Page struct {
	Comments []Comment
	Next     string // asks for the part before it; empty at the end
}

// Service is what a Board needs of a service. Errors are *publish.SendError.
type Service interface {
	// Account is whose token it is; empty when the service does not tell.
	Account(ctx context.Context) (string, error)
	// List returns the newest comments, or those of a page's Next.
	List(ctx context.Context, page string) (Page, error)
	Get(ctx context.Context, id string) (Comment, error)
	// Put replaces the text of a comment, or makes one when id is empty.
	Put(ctx context.Context, id, text string) (Comment, error)
}

// Format says how an update is written at a service.
type Format struct {
	Mark func(key string, u publish.Update) Mark
	Read func(text string) (Mark, bool)
	Text func(m Mark, u publish.Update) string
}

// Board keeps the comments of one target. It may be used by several goroutines, which
// then take turns: two first updates of one subject at once would make two comments.
type Board struct {
	service Service
	format  Format
	name    publish.Service

	turn chan struct{} // held while a Send runs; guards what follows
	// account is whose token it is. The service is asked once; where it does not tell, the
	// first comment that was made does.
	account string
	asked   bool
	known   map[string]string // subject of a mark: id of its comment
}

// NewBoard returns a board that has asked nothing yet.
func NewBoard(name publish.Service, s Service, f Format) *Board {
	return &Board{service: s, format: f, name: name, turn: make(chan struct{}, 1), known: map[string]string{}}
}

// Send brings the comment of the update's subject up to date. A receipt with Again says
// that the comment holds this update, or a later one, already.
func (b *Board) Send(ctx context.Context, key string, u publish.Update) (publish.Receipt, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return publish.Receipt{}, fmt.Errorf("wait for the update before: %w", ctx.Err())
	}
	if !b.asked {
		who, err := b.service.Account(ctx)
		if err != nil {
			return publish.Receipt{}, err
		}
		b.account, b.asked = who, true
	}
	want := b.format.Mark(key, u)
	old, found, err := b.find(ctx, want)
	if err != nil {
		return publish.Receipt{}, err
	}
	if found {
		b.known[want.Subject] = old.ID
		if there, _ := b.format.Read(old.Text); there.Key == want.Key || want.At != 0 && there.At > want.At {
			return publish.Receipt{URL: old.URL, ID: old.ID, Again: true}, nil
		}
	}
	return b.write(ctx, old.ID, want, u)
}

// write edits the comment with the id, or makes one. One that a person has removed since
// it was found is made anew.
func (b *Board) write(ctx context.Context, id string, want Mark, u publish.Update) (publish.Receipt, error) {
	text := b.format.Text(want, u)
	c, err := b.service.Put(ctx, id, text)
	if id != "" && gone(err) {
		delete(b.known, want.Subject)
		id = ""
		c, err = b.service.Put(ctx, "", text)
	}
	if err != nil {
		return publish.Receipt{}, err
	}
	if c.ID == "" {
		return publish.Receipt{}, &publish.SendError{Service: b.name, Err: errors.New("the answer names no comment")}
	}
	if b.account == "" {
		b.account = c.Author // we have just written it
	}
	b.known[want.Subject] = c.ID
	return publish.Receipt{URL: c.URL, ID: c.ID}, nil
}

// find returns the comment of the subject: the one of the time before without a search,
// else the newest.
func (b *Board) find(ctx context.Context, want Mark) (Comment, bool, error) {
	if id := b.known[want.Subject]; id != "" {
		c, err := b.service.Get(ctx, id)
		if err != nil && !gone(err) {
			return Comment{}, false, err
		}
		if err == nil && b.ours(c, want) {
			return c, true, nil
		}
		delete(b.known, want.Subject)
	}
	next := ""
	for range maxPages {
		page, err := b.service.List(ctx, next)
		if err != nil {
			return Comment{}, false, err
		}
		for _, c := range page.Comments {
			if b.ours(c, want) {
				return c, true, nil
			}
		}
		if page.Next == "" {
			return Comment{}, false, nil
		}
		if page.Next == next {
			return Comment{}, false, &publish.SendError{Service: b.name, Err: errors.New("the list of comments does not end")}
		}
		next = page.Next
	}
	return Comment{}, false, &publish.SendError{
		Service: b.name, Permanent: true,
		Err: fmt.Errorf("more than %d pages of comments; tell of it in another place", maxPages),
	}
}

// ours reports whether a comment tells of the subject and is by the own account. Where
// that is not known, one with the very key was sent by whoever had this update to send.
func (b *Board) ours(c Comment, want Mark) bool {
	m, ok := b.format.Read(c.Text)
	if !ok || m.Subject != want.Subject {
		return false
	}
	if b.account == "" || c.Author == "" {
		return m.Key == want.Key
	}
	return c.Author == b.account
}

func gone(err error) bool {
	e, ok := errors.AsType[*publish.SendError](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}
