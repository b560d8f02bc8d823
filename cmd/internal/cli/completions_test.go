package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// service answers questions as a service that speaks OpenAI's API does, as its
// script says: lines of a verb and its argument.
//
//	models NAME...   what it offers; without this line it does not say
//	key KEY          the only key that it takes
//	answer TEXT      a completion
//	status N TEXT    an error
//	slow DUR         no answer for so long
//	cut TEXT         a completion of which only half arrives
//
// The last four serve one question each, the last of them every further one. What
// was asked is appended to a file: key, model, sampling and messages.
type service struct {
	mu     sync.Mutex
	script []string
	models []string
	key    string
	asked  string // file
}

// completions FILE starts a service on the loopback interface for the rest of the
// script. Its base URL is SERVICE, what it is asked is appended to $WORK/asked.
func completions(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: completions FILE")
	}
	s := &service{asked: ts.MkAbs(ts.Getenv("WORK") + "/asked")}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); verb {
		case "":
		case "models":
			s.models = strings.Fields(rest)
		case "key":
			s.key = rest
		default:
			s.script = append(s.script, strings.TrimSpace(line))
		}
	}
	server := httptest.NewServer(s)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("SERVICE", server.URL+"/v1")
}

// ServeHTTP answers one request.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case s.key != "" && key != s.key:
		refuse(w, http.StatusUnauthorized, "the key "+key+" is not known")
	case r.Method == http.MethodGet && s.models == nil:
		refuse(w, http.StatusNotFound, "no such path")
	case r.Method == http.MethodGet:
		list := []any{}
		for _, m := range s.models {
			list = append(list, map[string]any{"id": m})
		}
		tell(w, map[string]any{"data": list})
	default:
		s.complete(w, r, key)
	}
}

// complete notes a question and answers it with the next line of the script.
func (s *service) complete(w http.ResponseWriter, r *http.Request, key string) {
	var question map[string]any
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	question["key"] = key
	verb, rest, _ := strings.Cut(s.next(question), " ")
	switch verb {
	case "status":
		status, text, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(status)
		if err != nil {
			n = http.StatusInternalServerError
		}
		refuse(w, n, text)
	case "slow":
		d, _ := time.ParseDuration(rest)
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	case "cut":
		w.Header().Set("Content-Length", "4000")
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q`, rest)
	default:
		tell(w, map[string]any{
			"model": question["model"], "usage": map[string]any{"prompt_tokens": 1000, "completion_tokens": 50},
			"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": rest}}},
		})
	}
}

// next takes the next line of the script.
func (s *service) next(question map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if line, err := json.Marshal(question); err == nil {
		appendTo(s.asked, line)
	}
	if len(s.script) == 0 {
		return "status 500 nothing to say"
	}
	line := s.script[0]
	if len(s.script) > 1 {
		s.script = s.script[1:]
	}
	return line
}

func appendTo(name string, line []byte) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": text, "type": "scripted"}})
}

func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
