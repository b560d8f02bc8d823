package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const maxBody = 1 << 20 // bytes, after decompression

// client returns an HTTP client that follows no redirect.
func client(given *http.Client) *http.Client {
	c := http.Client{Transport: &http.Transport{
		Proxy: aroundLoopback(http.ProxyFromEnvironment),
		// Questions are minutes apart: a connection kept open would be a stale one.
		DisableKeepAlives: true,
		ForceAttemptHTTP2: true,
	}}
	if given != nil {
		c = *given
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// aroundLoopback returns a choice of proxies that has none for this machine.
func aroundLoopback(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if loopback(r.URL.Hostname()) {
			return nil, nil
		}
		return proxy(r)
	}
}

// exchange is one request and its whole answer. It stands between the library,
// which reads answers without a bound and leaves zeros out of requests, and
// net/http.
type exchange struct {
	client   *http.Client
	host     string
	timeout  time.Duration
	sampling *sampling // nil to leave it to the service
}

// sampling says how freely the model chooses its words.
type sampling struct{ temperature, topP float32 }

// Do sends a request. The answer's body is in memory. Every error is a *failure.
func (e exchange) Do(r *http.Request) (*http.Response, error) {
	if err := e.sampling.add(r); err != nil {
		return nil, &failure{words: fmt.Sprintf("internal error: write the request: %v", err)}
	}
	resp, err := e.client.Do(r)
	if err != nil {
		return nil, e.broken("reach", err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	// Nothing is left to be done about a connection that has served.
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode >= http.StatusBadRequest: // the status counts, whatever came after it
	case err != nil:
		return nil, e.broken("read the answer of", err)
	case len(body) > maxBody:
		return nil, &failure{words: fmt.Sprintf("%s answers with more than %d bytes", e.host, maxBody)}
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, &failure{words: fmt.Sprintf("%s redirects to %q, where the question does not go; use that address as base URL if it is right",
			e.host, resp.Header.Get("Location"))}
	default:
		resp.StatusCode = hidden(resp.StatusCode, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// broken is the failure of a connection.
func (e exchange) broken(what string, err error) *failure {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return &failure{words: fmt.Sprintf("%s %s: no whole answer within %s", what, e.host, e.timeout), again: true}
	}
	return &failure{words: fmt.Sprintf("%s %s: %v", what, e.host, err), again: true}
}

// add puts the sampling into the body of a request. The library leaves out what
// is 0, and judges by the name of a model what it may be asked; the service
// knows better.
func (s *sampling) add(r *http.Request) error {
	if s == nil {
		return nil
	}
	fields := map[string]any{}
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return err
	}
	fields["temperature"], fields["top_p"] = s.temperature, s.topP
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, err = r.GetBody()
	return err
}

// hidden is the status of an answer that says in its body that it is an error.
func hidden(status int, body []byte) int {
	var b struct {
		Choices []json.RawMessage `json:"choices"`
		Error   json.RawMessage   `json:"error"`
	}
	if json.Unmarshal(body, &b) != nil || len(b.Choices) > 0 || len(b.Error) == 0 || string(b.Error) == "null" {
		return status
	}
	var e struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(b.Error, &e) == nil && e.Code >= http.StatusBadRequest && e.Code < 600 {
		return e.Code
	}
	return http.StatusBadGateway
}
