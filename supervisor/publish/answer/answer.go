package answer

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"autopilot/supervisor/publish"
)

// Longest is how far away the moment may be to which a service puts off a caller. One
// that names a later moment is asked again after this time.
const Longest = 24 * time.Hour

// Classify turns what came of a request into the error for a [publish.Sender]. Status 0
// is no answer at all; err is what the client said, header may be nil.
//
// It returns nil for a status of 200 to 299, whatever err is, and for status 0 without
// an error: do not put the result into an error without having looked. Temporary are: no answer, 408, 409, 412, 423, 425, 429, every
// status from 500 on, and a 403 that comes of a rate limit, which is one with
// Retry-After or with X-RateLimit-Remaining 0. Everything else is permanent, a redirect too.
//
// RetryAt is set for temporary ones from Retry-After (RFC 9110, seconds or a date), else
// from X-RateLimit-Reset or RateLimit-Reset (seconds since 1970, seconds from now or a
// date) when nothing remains or the status is 429.
func Classify(service publish.Service, status int, header http.Header, err error, now time.Time) *publish.SendError {
	if status >= 200 && status < 300 || status == 0 && err == nil {
		return nil
	}
	e := &publish.SendError{Service: service, Status: status, Err: plain(err, status)}
	limited := status == http.StatusForbidden && (header.Get("Retry-After") != "" || spent(header))
	e.Permanent = !limited && !temporary(status)
	if !e.Permanent {
		e.RetryAt = retryAt(header, status, now)
	}
	return e
}

func temporary(status int) bool {
	switch status {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// plain drops the address of an error of net/http.
func plain(err error, status int) error {
	if err == nil {
		return errors.New(strings.ToLower(http.StatusText(status)))
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func spent(h http.Header) bool {
	for _, name := range []string{"X-RateLimit-Remaining", "RateLimit-Remaining"} {
		if n, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64); err == nil && n < 1 {
			return true
		}
	}
	return false
}

func retryAt(h http.Header, status int, now time.Time) time.Time {
	if at := moment(h.Get("Retry-After"), h, now); !at.IsZero() {
		return at
	}
	if !spent(h) && status != http.StatusTooManyRequests {
		return time.Time{}
	}
	for _, name := range []string{"X-RateLimit-Reset", "RateLimit-Reset"} {
		if at := moment(h.Get(name), h, now); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// moment reads a time in one of the forms services use. It is zero for one that has
// passed, and for what cannot be read.
func moment(s string, h http.Header, now time.Time) time.Time {
	const epoch = 1_000_000_000 // more seconds than anybody is made to wait: a date
	s = strings.TrimSpace(s)
	var wait time.Duration
	if n, err := strconv.ParseFloat(s, 64); err == nil && n == n && n < epoch {
		wait = time.Duration(min(n, Longest.Seconds()) * float64(time.Second))
	} else if at := date(s); !at.IsZero() {
		there := now
		if d, err := http.ParseTime(h.Get("Date")); err == nil {
			there = d
		}
		wait = at.Sub(there)
	}
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(min(wait, Longest))
}

func date(s string) time.Time {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	if at, err := http.ParseTime(s); err == nil {
		return at
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	return time.Time{}
}
