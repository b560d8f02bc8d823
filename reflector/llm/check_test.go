package llm_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"autopilot/reflector/llm"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const key = "sk-test-0123456789abcdef"
	tests := []struct {
		name   string
		status int
		body   string
		model  string
		want   string // empty: it is well
	}{
		{"offered", 200, `{"data":[{"id":"small"},{"id":"large"}]}`, "large", ""},
		{"offered with a tag", 200, `{"data":[{"id":"small:latest"}]}`, "small", ""},
		{"not offered", 200, `{"data":[{"id":"small"},{"id":"large"}]}`, "larg", `does not offer the model "larg"; it has large, small`},
		{"no list", 404, `not here`, "x", ""},
		{"an empty list", 200, `{"data":[]}`, "x", ""},
		{"nonsense", 200, `<html>`, "x", ""},
		{"key refused", 401, `{"error":{"message":"bad key ` + key + `"}}`, "x", "refuses the key (HTTP 401)"},
		{"in trouble", 503, ``, "x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var path, auth string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path, auth = r.URL.Path, r.Header.Get("Authorization")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer s.Close()
			err := llm.New(llm.Options{BaseURL: s.URL, Key: key, Model: tt.model, Timeout: time.Minute, Attempts: 1, Initial: 1, Max: 1}).Check(t.Context())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("%v shows the key", err)
			}
			if path != "/v1/models" || auth != "Bearer "+key {
				t.Errorf("asked for %s with %q", path, auth)
			}
		})
	}
	s := httptest.NewServer(nil)
	s.Close()
	err := llm.New(llm.Options{BaseURL: s.URL, Model: "x", Timeout: time.Minute, Attempts: 1, Initial: 1, Max: 1}).Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), "reach "+strings.TrimPrefix(s.URL, "http://")) {
		t.Errorf("of a service that is not there: %v", err)
	}
}
