package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/publish"
)

const key = "0123456789abcdef"

func update() publish.Update {
	return publish.Update{
		Subject: "auto/0007-login", Project: "p1", RunID: "r-1", Title: "Login", Body: "half <b>way</b>", State: publish.Running, Percent: 50,
		At: time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600)),
	}
}

// serve answers with fn and gives back a sender to it.
func serve(t *testing.T, secret string, fn http.HandlerFunc) *Sender {
	t.Helper()
	srv := httptest.NewServer(fn)
	t.Cleanup(srv.Close)
	return New(publish.Target{Service: publish.Webhook, Ref: srv.URL + "/hook/T0K3N"}, secret, srv.Client())
}

func TestRequest(t *testing.T) {
	t.Parallel()
	var header http.Header
	var got map[string]any
	s := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.Method != http.MethodPost || r.URL.Path != "/hook/T0K3N" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		_, _ = io.WriteString(w, `{"id": "e-9", "url": "https://host/e/9"}`)
	})
	r, err := s.Send(t.Context(), key, update())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(publish.Receipt{ID: "e-9", URL: "https://host/e/9"}, r); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	want := map[string]any{
		"type": "work.updated", "subject": "auto/0007-login", "project": "p1", "run_id": "r-1", "title": "Login", "state": "running",
		"percent": 50.0, "body": "half <b>way</b>", "at": "2026-03-01T12:00:00Z", "final": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if header.Get("Idempotency-Key") != key || header.Get("Content-Type") != "application/json" || header.Get("webhook-signature") != "" {
		t.Errorf("header = %v", header)
	}

	last := update()
	last.Final = true
	if _, err := s.Send(t.Context(), key, last); err != nil || got["type"] != "work.ended" || got["final"] != true {
		t.Errorf("last update: %v, %v", got, err)
	}
}

// The example is the one of the Standard Webhooks specification's reference libraries.
func TestSignatureOfAKnownExample(t *testing.T) {
	t.Parallel()
	got, err := sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("signature = %q, %v, want %q", got, err, want)
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	for secret, raw := range map[string]string{"plain words": "plain words", "whsec_c2VjcmV0": "secret"} {
		s := serve(t, secret, func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			mac := hmac.New(sha256.New, []byte(raw))
			mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
			want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
			if got := r.Header.Get("webhook-signature"); got != want || r.Header.Get("webhook-id") != key {
				t.Errorf("secret %q: signature %q, want %q", secret, got, want)
			}
		})
		if _, err := s.Send(t.Context(), key, update()); err != nil {
			t.Error(err)
		}
	}
	s := New(publish.Target{Service: publish.Webhook, Ref: "http://127.0.0.1:1/"}, "whsec_?", nil)
	_, err := s.Send(t.Context(), key, update())
	if e, ok := errors.AsType[*publish.SendError](err); !ok || !e.Permanent {
		t.Errorf("secret that is no base64: %v, want a permanent error", err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		fn        http.HandlerFunc
		again, ok bool
		permanent bool
		wait      time.Duration
	}{
		{name: "taken without a word", ok: true, fn: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }},
		{name: "taken, and a flood", ok: true, fn: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 4<<20))
		}},
		{name: "known by its header", ok: true, again: true, fn: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
			w.WriteHeader(409)
		}},
		{name: "known by its words", ok: true, again: true, fn: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(409)
			_, _ = io.WriteString(w, `{"error": "duplicate of `+key+`"}`)
		}},
		{name: "busy with it", fn: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }},
		{name: "limited", wait: time.Hour, fn: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}},
		{name: "broken", fn: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
		{name: "refused", permanent: true, fn: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }},
		{name: "hung up", fn: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "", tc.fn)
			r, err := s.Send(t.Context(), key, update())
			if tc.ok {
				if err != nil || r.Again != tc.again {
					t.Errorf("receipt %+v, %v", r, err)
				}
				return
			}
			e, ok := errors.AsType[*publish.SendError](err)
			if !ok || e.Permanent != tc.permanent || strings.Contains(err.Error(), "T0K3N") {
				t.Fatalf("error = %#v", err)
			}
			if d := time.Until(e.RetryAt); tc.wait != 0 && (d > tc.wait || d < tc.wait/2) {
				t.Errorf("retry in %v, want %v", d, tc.wait)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked: %s %v", r.Method, r.Header)
	}))
	t.Cleanup(other.Close)
	for _, tc := range []struct {
		name   string
		status int
		to     string
		ok     bool
	}{
		{"the same host keeps the method", 307, "/there", true},
		{"the same host, for ever", 308, "/loop", false},
		{"the same host loses the body", 302, "/there", false},
		{"another host", 307, other.URL, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/there" {
					if body, _ := io.ReadAll(r.Body); r.Method != http.MethodPost || len(body) == 0 {
						t.Errorf("%s with %d bytes arrived", r.Method, len(body))
					}
					return
				}
				http.Redirect(w, r, tc.to, tc.status)
			})
			_, err := s.Send(t.Context(), key, update())
			e, _ := errors.AsType[*publish.SendError](err)
			if tc.ok != (err == nil) || err != nil && (e == nil || !e.Permanent) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestBodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, "", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-gone
	})
	t.Cleanup(func() { close(gone) })
	seen := s.client.Transport
	s.client.Transport = after{seen, cancel}
	if _, err := s.Send(ctx, key, update()); err != nil {
		t.Errorf("status 200 without a body: %v, want it taken", err)
	}
}

// after calls a function once the head of an answer has come.
type after struct {
	http.RoundTripper
	then func()
}

func (a after) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.RoundTripper.RoundTrip(r)
	a.then()
	return res, err
}

func TestCallerThatGivesUp(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, "", func(http.ResponseWriter, *http.Request) {
		cancel()
		<-gone
	})
	t.Cleanup(func() { close(gone) })
	if _, err := s.Send(ctx, key, update()); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the caller", err)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s := New(publish.Target{Service: publish.Webhook, Ref: "https://example.com/hook/T0K3N?x=T0K3N"}, "very secret", nil)
	got := s.Preview(key, update())
	if strings.Contains(got, "T0K3N") || strings.Contains(got, "very secret") {
		t.Errorf("preview tells a secret:\n%s", got)
	}
	if got := New(publish.Target{Service: publish.Webhook, Ref: "$MY_HOOK"}, "", nil).Preview(key, update()); !strings.HasPrefix(got, "POST the address in $MY_HOOK\n") {
		t.Errorf("preview of one in a variable:\n%s", got)
	}
	for _, want := range []string{"POST https://example.com/", "Idempotency-Key: " + key, "(signed)", `"percent": 50`} {
		if !strings.Contains(got, want) {
			t.Errorf("preview without %q:\n%s", want, got)
		}
	}
}
