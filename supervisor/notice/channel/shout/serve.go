package shout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

const maxOrder = 1 << 20

// Order is what the process is to send.
type Order struct {
	Address string            `json:"address"`
	Text    string            `json:"text"`
	Params  map[string]string `json:"params,omitempty"` // of the service, such as title
	Timeout time.Duration     `json:"timeout_ns"`
}

// Answer is what became of an order. Words may hold parts of the address.
type Answer struct {
	Sent      bool          `json:"sent"`
	Status    int           `json:"status,omitempty"`         // of HTTP; 0 for none
	After     time.Duration `json:"retry_after_ns,omitempty"` // what the service asked for
	Temporary bool          `json:"temporary,omitempty"`      // another try may help
	Words     string        `json:"words,omitempty"`          // what went wrong
}

// Serve reads an order, sends it and writes the answer. It changes the transport that all
// of the process uses, and what has not come to its end when the time is over goes on: the
// process has to end with it. A nil transport is the usual one.
func Serve(in io.Reader, out io.Writer, next http.RoundTripper) error {
	var o Order
	if err := json.NewDecoder(io.LimitReader(in, maxOrder)).Decode(&o); err != nil {
		return errors.New("there is no order on stdin")
	}
	if next == nil {
		next = http.DefaultTransport
	}
	w := &watch{next: next}
	http.DefaultTransport = w
	done := make(chan error, 1)
	var own sync.WaitGroup // nobody waits: a sender may never return
	own.Go(func() { done <- send(o, w) })
	timer := time.NewTimer(o.Timeout)
	defer timer.Stop()
	var a Answer
	select {
	case err := <-done:
		a = w.answer(o, err)
	case <-timer.C:
		a = Answer{Temporary: true, Words: fmt.Sprintf("no answer within %v", o.Timeout)}
	}
	return json.NewEncoder(out).Encode(a)
}

func send(o Order, w *watch) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the sender failed: %v", r)
		}
	}()
	u, err := url.Parse(o.Address)
	if err != nil {
		return errors.New("the address cannot be read")
	}
	if err := unsafe(u); err != nil {
		return err
	}
	s, err := build(u)
	if err != nil {
		return err
	}
	overHTTP(s, func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		return w
	})
	params := types.Params(o.Params)
	return s.Send(o.Text, &params)
}

// answer judges by what was seen on the line before what the library says.
func (w *watch) answer(o Order, err error) Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked {
		return withoutHTTP(o, err)
	}
	a := Answer{Status: w.status, After: w.after}
	if w.failed != nil {
		a.Temporary = temporary(w.failed)
		a.Words = w.failed.Error()
		if err != nil && !a.Temporary && !strings.Contains(err.Error(), a.Words) {
			a.Words += ": " + err.Error()
		}
		return a
	}
	switch {
	case w.torn: // it has taken the message before
		a.Sent = true
	case err != nil:
		// A page instead of an answer comes from something in between; a refusal that
		// is worded comes from the service.
		a.Words, a.Temporary = err.Error(), !json.Valid(w.excerpt.Bytes())
	case strings.HasPrefix(o.Address, Telegram+":"):
		a.Sent, a.Temporary, a.Words = said(w.excerpt.Bytes())
	default:
		a.Sent = true
	}
	return a
}

func temporary(err error) bool {
	a, ok := errors.AsType[*answered](err)
	if !ok {
		return true
	}
	return strings.HasPrefix(a.status, "5") || strings.HasPrefix(a.status, "429")
}

// said reads an answer of Telegram's interface, which the library does not where there is
// none: an answer that is none comes from something in between.
func said(data []byte) (taken, temporary bool, words string) {
	if len(data) == maxExcerpt { // the message is repeated in the answer
		return strings.Contains(string(data[:64]), `"ok":true`), true, "the answer cannot be read"
	}
	var r struct {
		OK          *bool  `json:"ok"`
		Description string `json:"description"`
	}
	if err := json.Unmarshal(data, &r); err != nil || r.OK == nil {
		return false, true, "what answered is not Telegram"
	}
	return *r.OK, false, r.Description
}

// withoutHTTP is the answer for a service that does not use HTTP, or did not come so far.
func withoutHTTP(o Order, err error) Answer {
	if err == nil {
		if !strings.HasPrefix(o.Address, SMTP+":") {
			return Answer{Words: "nothing was sent"}
		}
		return Answer{Sent: true}
	}
	a := Answer{Words: err.Error()}
	if !strings.HasPrefix(o.Address, SMTP+":") {
		return a
	}
	if quitOnly(err) {
		return Answer{Sent: true}
	}
	// Replies of 400 and above may change, those of 500 and above will not (RFC 5321).
	reply, ok := errors.AsType[*textproto.Error](err)
	a.Temporary = !ok || reply.Code < 500
	return a
}

// quitOnly reports whether an e-mail was taken and only the leave-taking went wrong. A
// second try would be a second e-mail.
func quitOnly(err error) bool {
	s := err.Error()
	return strings.Contains(s, "error closing session") && !strings.Contains(s, "error sending message to recipient")
}
