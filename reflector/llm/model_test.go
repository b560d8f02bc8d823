package llm_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/reflector"
	"autopilot/reflector/llm"
)

// spent is a usage in which all numbers differ.
var spent = reflector.Usage{Input: 90, Output: 12, CacheRead: 30}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		temperature, topP float32
	}{{"usual", 0.7, 0.6}, {"zero", 0, 0}, {"most", 2, 1}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, says("{}", spent))
			o := options(s.URL + "/v1/")
			o.Temperature, o.TopP = c.temperature, c.topP
			got, err := llm.New(o).Ask(t.Context(), question())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(reflector.Answer{Text: []byte("{}"), Model: "m-1-2026", Usage: spent}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			want := []request{{Path: "POST /v1/chat/completions", Authorization: "Bearer " + key, Body: map[string]any{
				"model": "m-1", "stream": false, "temperature": float64(int(c.temperature*10)) / 10, "top_p": float64(int(c.topP*10)) / 10,
				"messages": []any{
					map[string]any{"role": "system", "content": "You judge.\nThe JSON schema of the answer: " + question().Schema},
					map[string]any{"role": "user", "content": "How far?"},
				},
				"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{
					"name": "verdict", "strict": false,
					"schema": map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "number"}}},
				}},
			}}}
			if diff := cmp.Diff(want, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoKeyIsSentWhenThereIsNone(t *testing.T) {
	t.Parallel()
	s := serve(t, says("{}", spent))
	o := options(s.URL)
	o.Key = ""
	if _, err := llm.New(o).Ask(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	if got := s.requests()[0].Authorization; got != "" {
		t.Errorf("authorization is %q", got)
	}
}

// forms are the ways in which a service was asked: the format, and whether the
// sampling was left out.
func forms(s *service) []string {
	var out []string
	for _, r := range s.requests() {
		form := "text"
		if f, ok := r.Body["response_format"].(map[string]any); ok {
			form = fmt.Sprint(f["type"])
		}
		if _, ok := r.Body["temperature"]; !ok {
			form += " bare"
		}
		out = append(out, form)
	}
	return out
}

func TestSimplerForms(t *testing.T) {
	t.Parallel()
	no := fails(http.StatusBadRequest, "", "unknown response_format")
	hot := fails(http.StatusBadRequest, "unsupported_value", "'temperature' does not support 0.7 with this model")
	good := says("{}", spent)
	for _, c := range []struct {
		name  string
		steps []step // of two questions
		want  []string
		fails string // error of the first question
	}{
		{"none needed", []step{good}, []string{"json_schema", "json_schema"}, ""},
		{"no schema", []step{no, good}, []string{"json_schema", "json_object", "json_object"}, ""},
		{"no format", []step{no, raw(422, "application/json", `{"detail":[{"msg":"extra field"}]}`), good}, []string{"json_schema", "json_object", "text", "text"}, ""},
		{"no sampling", []step{hot, good}, []string{"json_schema", "json_schema bare", "json_schema bare"}, ""},
		{"neither", []step{hot, no, no, good}, []string{"json_schema", "json_schema bare", "json_object bare", "text bare", "text bare"}, ""},
		{"it was something else", []step{no, no, no, good}, []string{"json_schema", "json_object", "text", "json_schema"}, "does not take the question"},
		{"too long", []step{fails(400, "context_length_exceeded", "too long"), good}, []string{"json_schema", "json_schema"}, "too long"},
		{"with a failure in between", []step{no, fails(500, "", "oops"), good}, []string{"json_schema", "json_object", "json_schema", "json_schema"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.steps...)
			m := llm.New(options(s.URL))
			_, err := m.Ask(t.Context(), question())
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("first question: got error %v, want %q", err, c.fails)
			}
			if _, err := m.Ask(t.Context(), question()); err != nil {
				t.Errorf("second question: %v", err)
			}
			if diff := cmp.Diff(c.want, forms(s)); diff != "" {
				t.Errorf("forms (-want +got):\n%s", diff)
			}
		})
	}
}

// A library that knows models by their names must not keep us from asking.
func TestNameOfModelForbidsNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gpt-5-mini", "o3", "gpt-4"} {
		s := serve(t, says("{}", spent))
		o := options(s.URL)
		o.Model = name
		if _, err := llm.New(o).Ask(t.Context(), question()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// cut says that it has more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, `{"choices":[{"message":{"con`)
}

func TestFailuresOfTheService(t *testing.T) {
	t.Parallel()
	good := says("{}", spent)
	late := func(status int) step {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "0")
			fails(status, "", "later")(w, r)
		}
	}
	for _, c := range []struct {
		name     string
		steps    []step
		requests int
		want     []string // pieces of the error; none when there is an answer
	}{
		{"429", []step{late(429), good}, 2, nil},
		{"500", []step{late(500), good}, 2, nil},
		{"502", []step{raw(502, "text/html", "<html>bad gateway</html>"), good}, 2, nil},
		{"503 twice", []step{late(503), late(503), good}, 3, nil},
		{"504", []step{raw(504, "", ""), good}, 2, nil},
		{"503 too often", []step{late(503), late(503), late(503), good}, 3, []string{"fails: 503 Service Unavailable: later (3 attempts)"}},
		{"cut off", []step{cut, good}, 2, nil},
		{"cut off in good order", []step{raw(200, "application/json", `{"choices":[{"mess`), good}, 2, nil},
		{"nothing", []step{raw(200, "application/json", ""), good}, 2, nil},
		{"the connection ends", []step{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, good}, 2, nil},
		{"always cut off", []step{cut}, 3, []string{"read the answer of 127.0.0.1", "unexpected EOF (3 attempts)"}},
		{"an error with 200", []step{raw(200, "application/json", `{"error":{"code":429,"message":"slow down"}}`), good}, 2, nil},
		{"an error with 200, no code", []step{raw(200, "application/json", `{"error":"upstream"}`), good}, 2, nil},
		{"a final error with 200", []step{raw(200, "application/json", `{"error":{"code":401,"message":"who are you"}}`), good}, 1, []string{"refuses the key", "who are you"}},
		{"401", []step{fails(401, "invalid_api_key", "wrong"), good}, 1, []string{"refuses the key: 401 Unauthorized: wrong"}},
		{"403", []step{raw(403, "text/html", "<html>"), good}, 1, []string{"refuses the key: 403 Forbidden: a web page"}},
		{"404 of the model", []step{fails(404, "model_not_found", "gone"), good}, 1, []string{`does not know the model "m-1"`, "gone"}},
		{"404 of a local server", []step{raw(404, "application/json", `{"error":"model 'm-1' not found, try pulling it first"}`), good}, 1, []string{`does not know the model "m-1"`, "try pulling"}},
		{"404 of the path", []step{raw(404, "text/plain", "404 page not found"), good}, 1, []string{"has nothing at /v1/chat/completions", "base URL"}},
		{"no quota", []step{fails(429, "insufficient_quota", "pay"), good}, 1, []string{"quota", "used up", "pay"}},
		{"501", []step{raw(501, "", ""), good}, 1, []string{"501 Not Implemented"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.steps...)
			a, err := llm.New(options(s.URL)).Ask(t.Context(), question())
			checkError(t, err, c.want)
			if err == nil && string(a.Text) != "{}" {
				t.Errorf("got answer %q", a.Text)
			}
			if got := len(s.requests()); got != c.requests {
				t.Errorf("there were %d requests, want %d", got, c.requests)
			}
			if err != nil && !strings.Contains(err.Error(), strings.TrimPrefix(s.URL, "http://")) {
				t.Errorf("the error does not name the host: %v", err)
			}
		})
	}
}

// checkError checks that an error has some pieces, or that there is none.
func checkError(t *testing.T, err error, pieces []string) {
	t.Helper()
	if (err != nil) != (len(pieces) > 0) {
		t.Fatalf("got error %v, want one with %q", err, pieces)
	}
	for _, piece := range pieces {
		if !strings.Contains(err.Error(), piece) {
			t.Errorf("got error %q, want it to contain %q", err, piece)
		}
	}
}

func TestOddAnswers(t *testing.T) {
	t.Parallel()
	says := func(message map[string]any, finish string) step { return completion(message, finish, spent) }
	for _, c := range []struct {
		name string
		step step
		text string
		want []string // pieces of the error
	}{
		{"no text", says(map[string]any{"role": "assistant", "content": nil}, "stop"), "", nil},
		{"only a thought", says(map[string]any{"content": "", "reasoning_content": `{"n":1}`}, "stop"), "", nil},
		{"a thought before it", says(map[string]any{"content": `<think>{"n":2}</think>{"n":1}`}, "stop"), `{"n":1}`, nil},
		{"in parts", says(map[string]any{"content": []any{map[string]any{"type": "text", "text": `{"n"`}, map[string]any{"type": "text", "text": `:1}`}}}, "stop"), `{"n":1}`, nil},
		{"too long for the limit", says(map[string]any{"content": `{"n":`}, "length"), `{"n":`, nil},
		{"a tool call", says(map[string]any{"tool_calls": []any{}}, "tool_calls"), "", nil},
		{"a refusal", says(map[string]any{"refusal": "I would rather not"}, "stop"), "", []string{`"m-1" refuses to answer`, "rather not"}},
		{"a filter", says(map[string]any{"content": "half of"}, "content_filter"), "", []string{"content filter"}},
		{"a web page", raw(200, "text/html", "<!doctype html>"), "", []string{"something else than a completion", "base URL"}},
		{"text", raw(200, "text/plain", "ok"), "", []string{"something else than a completion"}},
		{"a list", raw(200, "application/json", "[]"), "", []string{"something else than a completion"}},
		{"null", raw(200, "application/json", "null"), "", []string{"without a choice"}},
		{"no choices", raw(200, "application/json", `{"choices":[]}`), "", []string{"without a choice"}},
		{"an error and an answer", raw(200, "application/json", `{"error":{"code":500},"choices":[{"message":{"content":"{}"}}]}`), "{}", nil},
		{"other types", raw(200, "application/json", `{"choices":"one"}`), "", []string{"something else than a completion"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.step)
			a, err := llm.New(options(s.URL)).Ask(t.Context(), question())
			checkError(t, err, c.want)
			if string(a.Text) != c.text {
				t.Errorf("got text %q, want %q", a.Text, c.text)
			}
			if got := len(s.requests()); got != 1 {
				t.Errorf("there were %d requests, want 1", got)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]reflector.Usage{
		`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}`: {Input: 36, Output: 7, CacheRead: 64},
		`{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":null}`:                 {Input: 100, Output: 7},
		`{"prompt_tokens":100,"completion_tokens":7}`:                                              {Input: 100, Output: 7},
		`{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":64}}`:                        {CacheRead: 10},
		`{"prompt_tokens":-1,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":-5}}`: {},
		`null`: {},
	} {
		s := serve(t, raw(200, "application/json", `{"choices":[{"message":{"content":"{}"}}],"usage":`+usage+`}`))
		got, err := llm.New(options(s.URL)).Ask(t.Context(), question())
		if err != nil {
			t.Errorf("%s: %v", usage, err)
		}
		if got.Usage != want {
			t.Errorf("%s: got %+v, want %+v", usage, got.Usage, want)
		}
		if got.Model != "m-1" {
			t.Errorf("a model that the answer does not name is %q", got.Model)
		}
	}
}

func TestUsageOfRefusal(t *testing.T) {
	t.Parallel()
	s := serve(t, completion(map[string]any{"refusal": "no"}, "stop", spent))
	a, err := llm.New(options(s.URL)).Ask(t.Context(), question())
	if err == nil || a.Usage != spent {
		t.Errorf("got usage %+v and error %v, want %+v", a.Usage, err, spent)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	body := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"choices":[`)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		<-r.Context().Done()
	}
	for name, silent := range map[string]step{"before the answer": hang, "in the answer": body} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, silent)
			o := options(s.URL)
			o.Timeout, o.Attempts = 50*time.Millisecond, 2
			// On a busy machine a request may be given up before the service sees it.
			sent := &line{reply: func(_ int, r *http.Request) (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }}
			o.HTTP = &http.Client{Transport: sent}
			_, err := llm.New(o).Ask(t.Context(), question())
			checkError(t, err, []string{"no whole answer within 50ms (2 attempts)"})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("a slow service looks like an end of the caller's context")
			}
			if sent.asked != 2 {
				t.Errorf("there were %d requests, want 2", sent.asked)
			}
		})
	}
}

// A service that never stops is cut off by size, not by time.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" ", 1<<16)
	plain := func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, blanks); err != nil {
				return
			}
		}
	}
	packed := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for {
			// Without a flush the blanks of a whole minute fit into the buffers.
			if _, err := io.WriteString(z, blanks); err != nil || z.Flush() != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}
	for name, endless := range map[string]step{"plain": plain, "packed": packed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, endless)
			_, err := llm.New(options(s.URL)).Ask(t.Context(), question())
			checkError(t, err, []string{"more than 1048576 bytes"})
			if got := len(s.requests()); got != 1 {
				t.Errorf("there were %d requests, want 1", got)
			}
		})
	}
}

func TestEndlessError(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for {
			if _, err := io.WriteString(w, strings.Repeat("no ", 1<<14)); err != nil {
				return
			}
		}
	})
	_, err := llm.New(options(s.URL)).Ask(t.Context(), question())
	checkError(t, err, []string{"refuses the key"})
	if len(err.Error()) > 4096 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestPackedAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the request does not ask for gzip")
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, `{"choices":[{"message":{"content":"packed"}}]}`)
		if err := z.Close(); err != nil {
			t.Error(err)
		}
	})
	a, err := llm.New(options(s.URL)).Ask(t.Context(), question())
	if err != nil || string(a.Text) != "packed" {
		t.Errorf("got %q and error %v", a.Text, err)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err := llm.New(options(closed.URL)).Ask(t.Context(), question())
	checkError(t, err, []string{"reach " + strings.TrimPrefix(closed.URL, "http://"), "connection refused (3 attempts)"})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			other := serve(t, says("{}", spent))
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/v1/chat/completions", status)
			})
			o := options(s.URL)
			// A client of the caller would follow.
			o.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			_, err := llm.New(o).Ask(t.Context(), question())
			checkError(t, err, []string{"redirects to", other.URL, "base URL"})
			if got := other.requests(); len(got) != 0 {
				t.Errorf("the other host was asked: %+v", got)
			}
			if got := len(s.requests()); got != 1 {
				t.Errorf("there were %d requests, want 1", got)
			}
			if o.HTTP.CheckRedirect != nil {
				t.Error("the caller's client has changed")
			}
		})
	}
}

func TestErrorsHoldNoKey(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 302, 400, 401, 403, 404, 418, 429, 500} {
		for name, form := range map[string]string{
			"usual": `{"error":{"message":"you sent %s","type":"t","code":"c"}}`, "detail": `{"detail":[{"input":"%s"}]}`,
			"text": "you sent %s", "a choice": `{"choices":[{"message":{"refusal":"%s"}}]}`, "another type": `{"choices":"%s"}`,
		} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/login?auth="+r.Header.Get("Authorization"))
				raw(status, "application/json", fmt.Sprintf(form, r.Header.Get("Authorization")))(w, r)
			})
			o := options(s.URL)
			o.Attempts = 1
			_, err := llm.New(o).Ask(t.Context(), question())
			if err == nil {
				t.Errorf("%d, %s: no error", status, name)
				continue
			}
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "4711") {
				t.Errorf("%d, %s: the error holds the key: %v", status, name, err)
			}
		}
	}
}
