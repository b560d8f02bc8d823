package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"autopilot/reflector"
	"autopilot/reflector/llm"
)

const key = "bearer-of-nothing-4711"

// question is one that every test can ask.
func question() reflector.Question {
	return reflector.Question{System: "You judge.", Prompt: "How far?", Schema: `{"type":"object","properties":{"n":{"type":"number"}}}`, Name: "verdict"}
}

// step answers one request.
type step func(w http.ResponseWriter, r *http.Request)

// request is what the service was asked.
type request struct {
	Path, Authorization string
	Body                map[string]any
}

// service answers each request with the next of its steps; the last one for ever.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	steps []step
	seen  []request
}

func serve(t *testing.T, steps ...step) *service {
	t.Helper()
	s := &service{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		got := request{Path: r.Method + " " + r.URL.Path, Authorization: r.Header.Get("Authorization")}
		if len(body) > 0 {
			if err := json.Unmarshal(body, &got.Body); err != nil {
				t.Errorf("the request is no JSON: %v\n%s", err, body)
			}
		}
		s.mu.Lock()
		next := s.steps[0]
		if len(s.steps) > 1 {
			s.steps = s.steps[1:]
		}
		s.seen = append(s.seen, got)
		s.mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns what the service was asked so far.
func (s *service) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.seen...)
}

// options ask a server with waits that no test notices.
func options(url string) llm.Options {
	return llm.Options{
		BaseURL: url, Key: key, Model: "m-1", Temperature: 0.7, TopP: 0.6,
		Timeout: 20 * time.Second, Attempts: 3, Initial: time.Millisecond, Max: 2 * time.Millisecond,
	}
}

// says is a completion with a text and a usage.
func says(text string, usage reflector.Usage) step {
	return completion(map[string]any{"role": "assistant", "content": text}, "stop", usage)
}

func completion(message map[string]any, finish string, u reflector.Usage) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]any{
			"id": "c1", "object": "chat.completion", "created": 1, "model": "m-1-2026",
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
			"usage": map[string]any{
				"prompt_tokens": u.Input + u.CacheRead, "completion_tokens": u.Output, "total_tokens": u.Input + u.CacheRead + u.Output,
				"prompt_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
			},
		})
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// fails is an error as the service words it.
func fails(status int, code, message string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
	}
}

// raw is any answer.
func raw(status int, contentType, body string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// hang is no answer.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
