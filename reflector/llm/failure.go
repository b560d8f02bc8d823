package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	openai "github.com/sashabaranov/go-openai"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
)

// failure is why a request came to nothing.
type failure struct {
	words    string
	again    bool          // another try may help
	after    time.Duration // the wait that the service asks for; 0 when it does not
	form     bool          // another form of the question may help
	sampling bool          // temperature or top_p are the matter
	refused  bool          // the service works, and the model does not want to
}

// Declined reports whether the service works and the model does not want to answer.
func (f *failure) Declined() bool { return f.refused }

// Error is what happened.
func (f *failure) Error() string { return f.words }

const (
	maxWords = 600  // runes
	maxRead  = 8192 // runes of a long text that are looked at
)

// fail makes a failure fit to be shown: one line, bounded, without secrets. The
// key is replaced first, because a cut could leave half of it.
func (m *Model) fail(f failure) *failure {
	if key := m.options.Key; key != "" {
		const gone = "[redacted]"
		f.words = strings.NewReplacer(key, gone, url.QueryEscape(key), gone, url.PathEscape(key), gone, strings.Trim(strconv.Quote(key), `"`), gone).Replace(f.words)
	}
	words := strings.FieldsFunc(logs.Redact(prompt.Cut(f.words, maxRead)), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	f.words = prompt.Cut(strings.Join(words, " "), maxWords)
	return &f
}

// explain says what an error of the library means.
func (m *Model) explain(err error, header http.Header) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return m.fail(*f)
	}
	if e, ok := reported(err); ok {
		f := m.status(e)
		if f.again {
			f.after = retryAfter(header.Get("Retry-After"), time.Now(), m.options.Max)
		}
		return m.fail(f)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return m.fail(failure{words: "the answer of " + m.endpoint.Host + " is cut off", again: true})
	}
	return m.fail(failure{words: fmt.Sprintf("%s answers with something else than a completion: %v; is the base URL right?", m.endpoint.Host, err)})
}

// report is an error that the service reports.
type report struct {
	status int
	codes  []string // its names for the error
	text   string
}

// has reports whether the service names the error so.
func (r report) has(code string) bool {
	return slices.Contains(r.codes, code) || strings.Contains(r.text, code)
}

// reported reads the error that the library makes of a status.
func reported(err error) (report, bool) {
	// This one first: it may wrap an empty one of the other kind.
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return report{status: e.HTTPStatusCode, text: plain(e.Body)}, true
	}
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		r := report{status: e.HTTPStatusCode, codes: []string{e.Type, fmt.Sprint(e.Code)}, text: e.Message}
		if e.Param != nil && *e.Param != "" {
			r.text += " (" + *e.Param + ")"
		}
		return r, true
	}
	return report{}, false
}

// plain is the text in the body of an error that has not the usual form.
func plain(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		return "a web page"
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return text
	}
	for _, name := range []string{"error", "message", "detail"} {
		if fields[name] != nil {
			return fmt.Sprint(fields[name])
		}
	}
	return fmt.Sprint(fields)
}

// status says what a status means.
func (m *Model) status(r report) failure {
	host := m.endpoint.Host
	said := fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
	if r.text != "" {
		said += ": " + r.text
	}
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if m.options.Key == "" {
			return failure{words: fmt.Sprintf("%s wants a key: %s", host, said)}
		}
		return failure{words: fmt.Sprintf("%s refuses the key: %s", host, said)}
	case http.StatusNotFound:
		if r.has("model_not_found") || strings.Contains(strings.ToLower(r.text), "model") {
			return failure{words: fmt.Sprintf("%s does not know the model %q: %s", host, m.options.Model, said)}
		}
		return failure{words: fmt.Sprintf("%s has nothing at %s; is the base URL right? %s", host, m.endpoint.Path, said)}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		filtered := r.has("content_filter")
		return failure{
			words:    fmt.Sprintf("%s does not take the question for %q: %s", host, m.options.Model, said),
			form:     !filtered && !r.has("context_length_exceeded") && !r.has("model_not_found"),
			sampling: strings.Contains(r.text, "temperature") || strings.Contains(r.text, "top_p"),
			refused:  filtered,
		}
	case http.StatusTooManyRequests:
		if r.has("insufficient_quota") {
			return failure{words: fmt.Sprintf("the quota at %s is used up: %s", host, said)}
		}
		return failure{words: fmt.Sprintf("%s has too many requests: %s", host, said), again: true}
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return failure{words: fmt.Sprintf("%s fails: %s", host, said), again: true}
	}
	return failure{words: fmt.Sprintf("%s answers %s", host, said)}
}

// retryAfter reads the header of that name: whole seconds, or a date of HTTP. It
// returns at most longest, and 0 when there is nothing to wait for.
func retryAfter(header string, now time.Time, longest time.Duration) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if seconds >= uint64(longest/time.Second)+1 {
			return longest
		}
		return min(time.Duration(seconds)*time.Second, longest)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), longest))
}
