package answer

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/publish"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, tc := range []struct {
		name      string
		status    int
		header    map[string]string
		permanent bool
		wait      time.Duration // until RetryAt; 0 is none
	}{
		{"no answer", 0, nil, false, 0},
		{"moved", 301, nil, true, 0},
		{"bad request", 400, nil, true, 0},
		{"wrong token", 401, nil, true, 0},
		{"not allowed", 403, nil, true, 0},
		{"not allowed, much left", 403, map[string]string{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1772370000"}, true, 0},
		{"limit used up", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772367000"}, false, 10 * time.Minute},
		{"second limit", 403, map[string]string{"Retry-After": "60"}, false, time.Minute},
		{"no such issue", 404, nil, true, 0},
		{"time out", 408, nil, false, 0},
		{"conflict", 409, nil, false, 0},
		{"gone", 410, nil, true, 0},
		{"another revision", 412, nil, false, 0},
		{"cannot be processed", 422, map[string]string{"Retry-After": "60"}, true, 0},
		{"locked", 423, nil, false, 0},
		{"too early", 425, nil, false, 0},
		{"too many", 429, nil, false, 0},
		{"too many, seconds", 429, map[string]string{"Retry-After": " 30 "}, false, 30 * time.Second},
		{"too many, part of a second", 429, map[string]string{"Retry-After": "1.5"}, false, 1500 * time.Millisecond},
		{"too many, at once", 429, map[string]string{"Retry-After": "0"}, false, 0},
		{"too many, the past", 429, map[string]string{"Retry-After": in(-time.Hour)}, false, 0},
		{"too many, a date", 429, map[string]string{"Retry-After": in(5 * time.Minute)}, false, 5 * time.Minute},
		{"too many, a date of a clock that is ahead", 429, map[string]string{"Retry-After": in(65 * time.Minute), "Date": in(time.Hour)}, false, 5 * time.Minute},
		{"too many, seconds from now", 429, map[string]string{"RateLimit-Reset": "20"}, false, 20 * time.Second},
		{"too many, date of a day and minute", 429, map[string]string{"X-RateLimit-Reset": "2026-03-01T12:20Z"}, false, 20 * time.Minute},
		{"too many, a year", 429, map[string]string{"Retry-After": "31536000"}, false, 24 * time.Hour},
		{"too many, far beyond", 429, map[string]string{"Retry-After": "99999999999999999999999"}, false, 0},
		{"too many, not a number", 429, map[string]string{"Retry-After": "NaN"}, false, 0},
		{"too many, endless", 429, map[string]string{"Retry-After": "-Inf", "X-RateLimit-Reset": "1e400"}, false, 0},
		{"error", 500, nil, false, 0},
		{"error with something left", 500, map[string]string{"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "1772367000"}, false, 0},
		{"away", 503, map[string]string{"Retry-After": "120"}, false, 2 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for k, v := range tc.header {
				h.Set(k, v)
			}
			got := Classify(publish.GitHub, tc.status, h, errors.New("told by the client"), now)
			var want time.Time
			if tc.wait != 0 {
				want = now.Add(tc.wait)
			}
			if got.Permanent != tc.permanent || !got.RetryAt.Equal(want) || got.Status != tc.status || got.Service != publish.GitHub {
				t.Errorf("got %+v, want permanent %v, retry at %v", got, tc.permanent, want)
			}
		})
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 204, 299} {
		if got := Classify(publish.Jira, status, nil, errors.New("of the body"), time.Now()); got != nil {
			t.Errorf("status %d: %v, want nil", status, got)
		}
	}
	if got := Classify(publish.Jira, 0, nil, nil, time.Now()); got != nil {
		t.Errorf("no error at all: %v, want nil", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got, want := Classify(publish.Jira, 404, nil, nil, time.Now()).Error(), "jira answered 404: not found"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
	inner := errors.New("connection refused")
	got := Classify(publish.Webhook, 0, nil, &url.Error{Op: "Post", URL: "https://host/very/secret", Err: inner}, time.Now())
	if strings.Contains(got.Error(), "secret") || !errors.Is(got, inner) {
		t.Errorf("error = %q, want it without the address", got)
	}
}
