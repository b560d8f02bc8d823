package release_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/cmd/internal/release"
)

func parseSource(t *testing.T, text string) release.Source {
	t.Helper()
	s, err := release.ParseSource(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLatest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		status     int
		want, err  string // the version, or words of the error
	}{
		{name: "a version", body: "1.2.3\n", want: "1.2.3"},
		{name: "with a v and no line end", body: "v1.2.3-rc.1", want: "1.2.3-rc.1"},
		{name: "line end of another system", body: "1.2.3\r\n", want: "1.2.3"},
		{name: "two versions", body: "1.2.3\n1.2.4\n", err: "not a version"},
		{name: "a page", body: "<html>sign in</html>", err: "not a version"},
		{name: "nothing", body: "", err: "not a version"},
		{name: "control characters", body: "1.2.3-\x1b[2Jevil", err: "not a version"},
		{name: "a zero byte", body: "1.2.3\x00", err: "not a version"},
		{name: "endless", body: "1.2.3" + strings.Repeat("\n", 1<<20), err: "larger than 256 bytes"},
		{name: "not there", status: 404, body: "evil", err: "the server answers 404 for latest.txt"},
		{name: "broken", status: 500, body: "1.2.3", err: "the server answers 500"},
		{name: "nothing new", status: 304, err: "the server answers 304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.URL.Path
				if tt.status != 0 {
					w.WriteHeader(tt.status)
				}
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			got, err := release.Latest(t.Context(), parseSource(t, server.URL+"/releases/"))
			if path := <-asked; path != "GET /releases/latest.txt" {
				t.Errorf("asked for %s", path)
			}
			check(t, got, err, tt.want, tt.err)
		})
	}
}

func check(t *testing.T, got release.Version, err error, want, words string) {
	t.Helper()
	switch {
	case words == "" && (err != nil || got.String() != want):
		t.Errorf("got %s and %v, want %s", got, err, want)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("error %v, want %q in it", err, words)
	case words != "" && (strings.ContainsAny(err.Error(), "\x1b\x00") || strings.Contains(err.Error(), "evil") || len(err.Error()) > 500):
		t.Errorf("the error repeats what a stranger wrote: %q", err)
	}
}

func TestLatestRedirects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, to, want, err string
	}{
		{"on the machine", "/v/latest.txt", "2.0.0", ""},
		{"to another machine without TLS", "http://192.0.2.1/latest.txt", "", "plain http to another machine"},
		{"to a file", "file://localhost/etc/hostname", "", "not a scheme"},
		{"around", "/latest.txt", "", "more than five redirects"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.Handle("/latest.txt", http.RedirectHandler(tt.to, http.StatusFound))
			mux.HandleFunc("/v/latest.txt", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("2.0.0\n")) })
			server := httptest.NewServer(mux)
			defer server.Close()
			got, err := release.Latest(t.Context(), parseSource(t, server.URL))
			check(t, got, err, tt.want, tt.err)
		})
	}
}

func TestLatestGivesUp(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("1.2"))
		_ = http.NewResponseController(w).Flush()
		reached <- struct{}{}
		<-r.Context().Done() // the rest never comes
	}))
	defer server.Close()
	late := errors.New("no answer in time")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		<-reached
		cancel(late)
	})
	if _, err := release.Latest(ctx, parseSource(t, server.URL)); !errors.Is(err, late) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestLatestOfWhatSpeaksNoHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = conn.Write(append(bytes.Repeat([]byte("x"), 4096), "\x1b[2J\r\n\r\n"...))
	}))
	defer server.Close()
	got, err := release.Latest(t.Context(), parseSource(t, server.URL))
	check(t, got, err, "", "malformed")
}

func TestLatestOfAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := release.Latest(t.Context(), parseSource(t, folder))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want one that says that it is not there", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "latest.txt"), []byte("3.2.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := release.Latest(t.Context(), parseSource(t, folder))
	check(t, got, err, "3.2.1", "")
}

func TestParseSource(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://example.com/releases/": "https://example.com/releases",
		"http://localhost:8080":         "http://localhost:8080",
		"http://127.0.0.1/x":            "http://127.0.0.1/x",
		"http://[::1]:80/x":             "http://[::1]:80/x",
		"/srv/releases":                 "/srv/releases",
		"./releases":                    "./releases",
	} {
		if got := parseSource(t, text); got.String() != want {
			t.Errorf("ParseSource(%q) = %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                              "no URL",
		"http://example.com/x":          "plain http",
		"http://127.0.0.1.example.com":  "plain http",
		"http://localhost.example.com":  "plain http",
		"http://127.0.0.1@example.com":  "name or password",
		"https://me:secret@example.com": "name or password",
		"https://me:sec%ret@example":    "not a URL",
		"https://example.com/?token=x":  "neither ? nor #",
		"https://example.com/#x":        "neither ? nor #",
		"ftp://example.com/x":           "not a scheme",
		"https:///x":                    "without a host",
		"https://exa\nmple.com":         "control characters",
	} {
		_, err := release.ParseSource(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSource(%q): error %v, want %q in it", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sec") && strings.Contains(text, "@") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
