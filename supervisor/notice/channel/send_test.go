package channel

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	slackToken = "T00000001-B00000001-abcdefghijklmnopqrstuvwx"
	telegram   = "123456789:AAabcdefghijklmnopqrstuvwxyz0123456"
)

// specs are addresses of every service, with what must never be seen of them.
func specs() map[string][]string {
	return map[string][]string{
		"slack://hook:" + slackToken + "@webhook":                                                     {"abcdefghijklmnop", "T00000001", "B00000001"},
		"slack://xoxb:1234567890-1234567890-abcdefghijklmnopqrstuvwx@C001":                            {"abcdefghijklmnop", "1234567890"},
		"discord://dIsCoRdToKeN0123456789@998877665544":                                               {"dIsCoRdToKeN", "998877665544"},
		"telegram://" + telegram + "@telegram?chats=-1001234567":                                      {"AAabcdef", "1001234567"},
		"ntfy://user:hunter2secret@ntfy.example/very-secret-topic":                                    {"hunter2secret", "very-secret-topic"},
		"generic+https://hooks.example/services/s3cr3tpath?template=json":                             {"s3cr3tpath"},
		"gotify://gotify.example/AsEcReTtOkEn123":                                                     {"AsEcReTtOkEn"},
		"pushover://shoutrrr:tokentoken0123@userkeyuserkey0123":                                       {"tokentoken0123", "userkeyuserkey"},
		"googlechat://chat.googleapis.com/v1/spaces/AAAA1234/messages?key=k3yk3yk3y&token=t0k3nt0k3n": {"k3yk3yk3y", "t0k3nt0k3n"},
		"mattermost://mm.example/m4tt3rt0k3n/town":                                                    {"m4tt3rt0k3n"},
		"rocketchat://rc.example/tok3nAAAA/tok3nBBBB/@me":                                             {"tok3nAAAA", "tok3nBBBB"},
		"matrix://me:m4tr1xp4ss@matrix.example/?rooms=!r:matrix.example":                              {"m4tr1xp4ss"},
	}
}

// usual are the addresses of those services whose senders differ in how they use HTTP.
func usual() map[string][]string {
	all := specs()
	maps.DeleteFunc(all, func(spec string, _ []string) bool {
		return !slices.ContainsFunc([]string{"slack://hook", "discord:", "telegram:", "ntfy:", "generic+", "gotify:"}, func(s string) bool { return strings.HasPrefix(spec, s) })
	})
	return all
}

// only is a choice of addresses by their beginnings.
func only(beginnings ...string) map[string][]string {
	all := usual()
	maps.DeleteFunc(all, func(spec string, _ []string) bool {
		return !slices.ContainsFunc(beginnings, func(s string) bool { return strings.HasPrefix(spec, s) })
	})
	return all
}

func hides(t *testing.T, what, s string, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(s, secret) {
			t.Errorf("%s shows %q: %s", what, secret, s)
		}
	}
}

func TestEveryServiceIsTold(t *testing.T) {
	t.Parallel()
	for spec, secrets := range specs() {
		t.Run(strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			rec := serve(t, good)
			c := parse(t, spec)
			hides(t, "the label", c.Label, secrets)
			if err := send(t, sender(t, rec.host()), c, news()); err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, r := range rec.requests() {
				all.WriteString(r.Body + r.Header.Get("Title"))
			}
			for _, want := range []string{"a question", "which way?"} {
				if !strings.Contains(strings.ReplaceAll(all.String(), "+", " "), strings.TrimSuffix(want, "?")) {
					t.Errorf("nothing of %q in %s", want, &all)
				}
			}
		})
	}
}

// How each service is told has to be the same whatever it does: there are at most three
// tries, and none after a refusal.
func TestFailingServices(t *testing.T) {
	t.Parallel()
	header := func(status int, name, value string) func(int, http.ResponseWriter, request) {
		return func(_ int, w http.ResponseWriter, _ request) {
			if name != "" {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
		}
	}
	cases := map[string]struct {
		handle    func(int, http.ResponseWriter, request)
		tries     int
		permanent bool
		after     time.Duration
		words     string
		specs     map[string][]string
	}{
		"500":             {header(500, "", ""), 3, false, 0, "500", usual()},
		"429 for an hour": {header(429, "Retry-After", "3600"), 1, false, time.Hour, "429", usual()},
		"429 for a while": {header(429, "Retry-After", "0.01"), 3, false, 10 * time.Millisecond, "429", only("generic")},
		"404":             {header(404, "", ""), 1, true, 0, "404", specs()},
		"401 with a reason": {func(_ int, w http.ResponseWriter, _ request) {
			http.Error(w, `{"ok":false,"description":"Unauthorized"}`, http.StatusUnauthorized)
		}, 1, true, 0, "401", only("telegram", "ntfy")},
		"moved": {header(302, "Location", "/elsewhere"), 1, true, 0, "302", usual()},
	}
	for name, tc := range cases {
		for spec, secrets := range tc.specs {
			t.Run(name+"/"+strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
				t.Parallel()
				rec := serve(t, tc.handle)
				f := failure(t, send(t, sender(t, rec.host()), parse(t, spec), news()))
				if f.Permanent != tc.permanent || f.After != tc.after || !strings.Contains(f.Error(), tc.words) {
					t.Errorf("permanent %v, after %v: %v", f.Permanent, f.After, f)
				}
				hides(t, "the error", f.Error(), secrets)
				if n := len(rec.requests()); n != tc.tries {
					t.Errorf("%d requests, want %d: %+v", n, tc.tries, rec.requests())
				}
			})
		}
	}
}

func TestItComesBack(t *testing.T) {
	t.Parallel()
	for spec := range only("generic", "discord") {
		t.Run(strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			rec := serve(t, func(n int, w http.ResponseWriter, r request) {
				if n == 1 {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				good(n, w, r)
			})
			if err := send(t, sender(t, rec.host()), parse(t, spec), news()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Nobody there: one of the library's senders takes that for success.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for spec, secrets := range usual() {
		t.Run(strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			f := failure(t, send(t, sender(t, nowhere(t)), parse(t, spec), news()))
			if f.Permanent || !strings.Contains(f.Error(), "refused") {
				t.Errorf("permanent %v: %v", f.Permanent, f)
			}
			hides(t, "the error", f.Error(), secrets)
		})
	}
}

// A connection that is taken and never answered ends with the time for a try.
func TestStalls(t *testing.T) {
	t.Parallel()
	for spec := range usual() {
		t.Run(strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			rec := serve(t, func(int, http.ResponseWriter, request) { <-over })
			defer close(over)
			s := sender(t, rec.host())
			s.TryFor = 600 * time.Millisecond
			f := failure(t, send(t, s, parse(t, spec), news()))
			if f.Permanent || !strings.Contains(f.Error(), "no answer within") && !strings.Contains(f.Error(), "not end in time") {
				t.Errorf("permanent %v: %v", f.Permanent, f)
			}
		})
	}
}

// An answer of 2xx that breaks off was an answer: the message is not sent again.
func TestBreaksOffInTheAnswer(t *testing.T) {
	t.Parallel()
	for spec := range usual() {
		t.Run(strings.SplitN(spec, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			rec := serve(t, func(_ int, w http.ResponseWriter, _ request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = w.Write([]byte(`{"ok":`))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			if err := send(t, sender(t, rec.host()), parse(t, spec), news()); err != nil {
				t.Errorf("it was sent: %v", err)
			}
			if n := len(rec.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// A page instead of the service's answer comes from a network that wants a login.
func TestSomethingInBetween(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"telegram://" + telegram + "@telegram?chats=1", "slack://hook:" + slackToken + "@webhook", "ntfy://ntfy.example/t"} {
		rec := serve(t, func(_ int, w http.ResponseWriter, _ request) { _, _ = w.Write([]byte("<html>please log in</html>")) })
		f := failure(t, send(t, sender(t, rec.host()), parse(t, spec), news()))
		if n := len(rec.requests()); n != 3 || f.Permanent {
			t.Errorf("%s: %d requests, permanent %v: %v", spec, n, f.Permanent, f)
		}
	}
}

func TestServiceRefusesInItsOwnWords(t *testing.T) {
	t.Parallel()
	for spec, answer := range map[string]string{
		"slack://xoxb:1234567890-1234567890-abcdefghijklmnopqrstuvwx@C001": `{"ok":false,"error":"channel_not_found"}`,
		"telegram://" + telegram + "@telegram?chats=1":                     `{"ok":false,"description":"chat not found"}`,
	} {
		rec := serve(t, func(_ int, w http.ResponseWriter, _ request) { _, _ = w.Write([]byte(answer)) })
		f := failure(t, send(t, sender(t, rec.host()), parse(t, spec), news()))
		if !f.Permanent || !strings.Contains(f.Error(), "not") || len(rec.requests()) != 1 {
			t.Errorf("%s: permanent %v, %d requests: %v", spec, f.Permanent, len(rec.requests()), f)
		}
	}
}

// A service may repeat what it was sent.
func TestServiceRepeatsSecrets(t *testing.T) {
	t.Parallel()
	rec := serve(t, func(_ int, w http.ResponseWriter, _ request) {
		http.Error(w, `{"code":40001,"error":"no access to very-secret-topic for user:hunter2secret"}`, http.StatusForbidden)
	})
	f := failure(t, send(t, sender(t, rec.host()), parse(t, "ntfy://user:hunter2secret@ntfy.example/very-secret-topic"), news()))
	if !strings.Contains(f.Error(), "no access to") {
		t.Error(f)
	}
	hides(t, "the error", f.Error(), []string{"hunter2secret", "very-secret-topic"})
}
