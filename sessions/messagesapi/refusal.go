package messagesapi

import (
	"encoding/json"
	"maps"
	"strconv"
	"time"
)

// APIError is an error in the form of the Messages API: kind is its type, such as "overloaded_error".
func APIError(code int, kind, message string, header map[string]string) Reply {
	body, err := json.Marshal(map[string]any{
		"type":       "error",
		"error":      map[string]string{"type": kind, "message": message},
		"request_id": "req_scripted",
	})
	if err != nil {
		panic("messagesapi: marshal error body: " + err.Error())
	}
	return Status(code, header, string(body))
}

// Overloaded is status 529, which the CLI tries again.
func Overloaded() Reply { return APIError(529, "overloaded_error", "Overloaded", nil) }

// ServerError is status 500, which the CLI tries again.
func ServerError() Reply { return APIError(500, "api_error", "Internal server error", nil) }

// Unauthorized is status 401, which the CLI tries again.
func Unauthorized() Reply { return APIError(401, "authentication_error", "invalid x-api-key", nil) }

// CreditTooLow is the status 400 of an account without credit, which the CLI does not try again.
func CreditTooLow() Reply {
	return APIError(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. "+
		"Please go to Plans & Billing to upgrade or purchase credits.", nil)
}

// RateLimited is status 429. The CLI waits for retryAfter, which is rounded up to seconds, or gives up at once when that
// is long; zero sends no such header. With final set a header forbids another try.
func RateLimited(retryAfter time.Duration, final bool) Reply {
	header := make(map[string]string)
	if retryAfter > 0 {
		header["Retry-After"] = strconv.FormatInt(int64((retryAfter+time.Second-1)/time.Second), 10)
	}
	if final {
		header["X-Should-Retry"] = "false"
	}
	return APIError(429, "rate_limit_error", "This request would exceed your organization's rate limit.", header)
}

// Window is one usage window of a subscription.
type Window struct {
	Claim       string // "five_hour", "seven_day"
	Reset       time.Time
	Utilization float64 // 1 is all of it
}

// UsageLimit is the status 429, at the time now, of a subscription whose window is used up. The CLI reads the window only
// when it is authenticated with a token, not with an API key; it then sees the seconds until the reset.
func UsageLimit(w Window, now time.Time) Reply {
	header := map[string]string{"Retry-After": strconv.FormatInt(max(int64(w.Reset.Sub(now).Seconds()), 0), 10)}
	maps.Copy(header, windowHeader("rejected", w))
	return APIError(429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.", header)
}

// WithWindow adds to an answer the headers that tell a subscription how much of its window is used. Status is "allowed" or
// "allowed_warning".
func (r Reply) WithWindow(status string, w Window) Reply {
	for k, v := range windowHeader(status, w) {
		r = r.WithHeader(k, v)
	}
	return r
}

func windowHeader(status string, w Window) map[string]string {
	const prefix = "Anthropic-Ratelimit-Unified-"
	reset := strconv.FormatInt(w.Reset.Unix(), 10)
	used := strconv.FormatFloat(w.Utilization, 'f', -1, 64)
	header := map[string]string{
		prefix + "Status":               status,
		prefix + "Reset":                reset,
		prefix + "Representative-Claim": w.Claim,
	}
	short := map[string]string{"five_hour": "5h", "seven_day": "7d"}[w.Claim]
	if short != "" {
		header[prefix+short+"-Status"] = status
		header[prefix+short+"-Reset"] = reset
		header[prefix+short+"-Utilization"] = used
		if status == "allowed_warning" {
			header[prefix+short+"-Surpassed-Threshold"] = "0.9"
		}
	}
	return header
}
