package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	pushTimeout = 5 * time.Second // of one request
	pushTries   = 3
	firstPause  = time.Second
	maxReply    = 64 << 10
)

// refused is the answer of a collector that did not take what was pushed.
type refused struct {
	status int
	after  time.Duration // that the collector asks to wait; 0 when it does not say
}

// Error names the status.
func (r *refused) Error() string { return fmt.Sprintf("the collector answered %d", r.status) }

// mayHelp reports whether it may help to push again. Others would be refused again.
func (r *refused) mayHelp() bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, r.status)
}

// pusher pushes to one endpoint.
type pusher struct {
	endpoint

	client    *http.Client
	end       <-chan struct{} // closed when nothing is waited for any more
	pause     time.Duration   // before the second try
	notBefore time.Time       // the collector wants to be left alone until then
}

func newPusher(e endpoint, end <-chan struct{}) *pusher {
	return &pusher{endpoint: e, end: end, pause: firstPause, client: &http.Client{
		Timeout:       pushTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// push sends a body, again where that may help and the wait is no longer than patience.
// Where the collector asks for a longer one, nothing is sent until then: the next push has
// all of it.
func (p *pusher) push(ctx context.Context, body []byte, patience time.Duration) error {
	if time.Now().Before(p.notBefore) {
		return nil
	}
	pause := p.pause
	for try := 1; ; try++ {
		err := p.once(ctx, body)
		no, ok := errors.AsType[*refused](err)
		if err == nil || !ok || !no.mayHelp() {
			return err
		}
		wait := max(pause, no.after)
		if no.after > patience {
			p.notBefore = time.Now().Add(no.after)
			return err
		}
		if try == pushTries || wait > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-p.end:
			return err
		case <-time.After(wait):
		}
		pause *= 2
	}
}

func (p *pusher) once(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the collector is not valid")
	}
	req.Header = p.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "autopilot")
	resp, err := p.client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok { // without the address, which may hold a key
			err = ue.Err
		}
		return fmt.Errorf("push metrics to %s: %w", p.host(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	reply, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply)) // half an answer is read as none
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("push metrics to %s: %w", p.host(), &refused{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now())})
	}
	return p.partly(reply)
}

// partly is the error of a collector that has not taken all.
func (p *pusher) partly(reply []byte) error {
	var r struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedDataPoints"` // a number, or one as text
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(reply, &r) != nil {
		return nil
	}
	n, err := strconv.ParseInt(string(bytes.Trim(r.Partial.Rejected, `"`)), 10, 64)
	if err != nil || n <= 0 {
		return nil
	}
	return fmt.Errorf("push metrics to %s: the collector did not take %d values", p.host(), n)
}

// retryAfter reads seconds or a date; what is neither is 0.
func retryAfter(s string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	if n, err := strconv.Atoi(s); err == nil {
		return min(time.Duration(min(max(n, 0), int(longest/time.Second)))*time.Second, longest)
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(max(t.Sub(now), 0), longest)
	}
	return 0
}
