package llm

import (
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"autopilot/reflector"
)

func valid() Options {
	return Options{BaseURL: "https://models.example", Key: "k-123456", Model: "m", Temperature: 0.7, TopP: 0.6, Timeout: time.Minute, Attempts: 3, Initial: time.Second, Max: time.Minute}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://models.example":                       "https://models.example/v1/chat/completions",
		"https://models.example/":                      "https://models.example/v1/chat/completions",
		"https://models.example/v1":                    "https://models.example/v1/chat/completions",
		"https://models.example/v1//":                  "https://models.example/v1/chat/completions",
		" http://127.0.0.1:11434\n":                    "http://127.0.0.1:11434/v1/chat/completions",
		"http://[::1]:8080/v1":                         "http://[::1]:8080/v1/chat/completions",
		"HTTPS://models.example/api":                   "https://models.example/api/v1/chat/completions",
		"https://models.example/api/paas/v4":           "https://models.example/api/paas/v4/chat/completions",
		"https://models.example/v1beta/openai/":        "https://models.example/v1beta/openai/chat/completions",
		"https://models.example/vendor":                "https://models.example/vendor/v1/chat/completions",
		"https://models.example/chat/completions":      "https://models.example/chat/completions",
		"https://models.example/in/chat/completions/":  "https://models.example/in/chat/completions",
		"https://models.example/v1/chat/completions":   "https://models.example/v1/chat/completions",
		"https://models.example:8443/some%20where/v1/": "https://models.example:8443/some%20where/v1/chat/completions",
	} {
		got, err := endpoint(base)
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if got.String() != want {
			t.Errorf("%q: got %s, want %s", base, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Options)
		want   []string // pieces of the error; none when the options are fine
	}{
		{"as it should be", func(*Options) {}, nil},
		{"no key", func(o *Options) { o.Key = "" }, nil},
		{"zeros", func(o *Options) { o.Temperature, o.TopP = 0, 0 }, nil},
		{"plain http at home", func(o *Options) { o.BaseURL = "http://localhost:1234" }, nil},
		{"plain http at home, in capitals", func(o *Options) { o.BaseURL = "http://LocalHost.:1234" }, nil},
		{"plain http at home, 127.8.9.1", func(o *Options) { o.BaseURL = "http://127.8.9.1" }, nil},
		{"plain http at home, IPv6", func(o *Options) { o.BaseURL = "http://[::1]:1234/v1" }, nil},
		{"plain http elsewhere, no key", func(o *Options) { o.BaseURL, o.Key = "http://10.0.0.7:8000", "" }, nil},
		{"plain http elsewhere", func(o *Options) { o.BaseURL = "http://10.0.0.7:8000" }, []string{"base URL: ", "10.0.0.7:8000", "use https"}},
		{"a name that begins like home", func(o *Options) { o.BaseURL = "http://localhost.example" }, []string{"base URL: ", "use https"}},
		{"a number that begins like home", func(o *Options) { o.BaseURL = "http://127.0.0.1.example" }, []string{"base URL: ", "use https"}},
		{"no address", func(o *Options) { o.BaseURL = "" }, []string{"base URL: ", "http or https"}},
		{"no scheme", func(o *Options) { o.BaseURL = "models.example/v1" }, []string{"base URL: "}},
		{"no host", func(o *Options) { o.BaseURL = "https:///v1" }, []string{"base URL: "}},
		{"another scheme", func(o *Options) { o.BaseURL = "ftp://models.example" }, []string{"base URL: ", "http or https"}},
		{"no URL", func(o *Options) { o.BaseURL = "https://models.example:port" }, []string{"base URL: "}},
		{"a password", func(o *Options) { o.BaseURL = "https://u:hunter2@models.example" }, []string{"base URL: ", "password"}},
		{"a query", func(o *Options) { o.BaseURL = "https://models.example/v1?key=hunter2" }, []string{"base URL: ", "query"}},
		{"no model", func(o *Options) { o.Model = " " }, []string{"model: "}},
		{"a key with a line break", func(o *Options) { o.Key += "\n" }, []string{"key: ", "line break"}},
		{"a temperature too high", func(o *Options) { o.Temperature = 2.1 }, []string{"temperature: 2.1"}},
		{"no number", func(o *Options) { o.Temperature, o.TopP = float32(math.NaN()), float32(math.NaN()) }, []string{"temperature: ", "top_p: "}},
		{"a negative top_p", func(o *Options) { o.TopP = -0.1 }, []string{"top_p: -0.1"}},
		{"no time", func(o *Options) { o.Timeout = 0 }, []string{"timeout: 0s"}},
		{"no attempt", func(o *Options) { o.Attempts = 0 }, []string{"attempts: 0"}},
		{"no wait", func(o *Options) { o.Initial = 0 }, []string{"back-off: "}},
		{"waits the wrong way", func(o *Options) { o.Max = o.Initial - 1 }, []string{"back-off: "}},
		{"everything", func(o *Options) { *o = Options{} }, []string{"base URL: ", "model: ", "timeout: ", "attempts: ", "back-off: "}},
	} {
		o := valid()
		c.change(&o)
		err := o.Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
			continue
		}
		if err == nil {
			continue
		}
		for _, piece := range c.want {
			if !strings.Contains(err.Error(), piece) {
				t.Errorf("%s: got error %q, want it to contain %q", c.name, err, piece)
			}
		}
		if strings.Contains(err.Error(), "k-123456") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds a secret: %v", c.name, err)
		}
		if _, asked := New(o).Ask(t.Context(), reflector.Question{Schema: "{}"}); asked == nil || asked.Error() != err.Error() {
			t.Errorf("%s: Ask gives error %v, want %v", c.name, asked, err)
		}
	}
}

func TestNoProxyAtHome(t *testing.T) {
	t.Parallel()
	elsewhere, err := url.Parse("http://proxy.example")
	if err != nil {
		t.Fatal(err)
	}
	proxy := aroundLoopback(func(*http.Request) (*url.URL, error) { return elsewhere, nil })
	for target, want := range map[string]*url.URL{
		"http://127.0.0.1:1":     nil,
		"https://localhost/v1":   nil,
		"http://[::1]:1":         nil,
		"https://models.example": elsewhere,
		"http://10.0.0.7":        elsewhere,
	} {
		r, err := http.NewRequest(http.MethodPost, target, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := proxy(r); got != want || err != nil {
			t.Errorf("%s goes through %v (%v), want %v", target, got, err, want)
		}
	}
	transport, ok := client(nil).Transport.(*http.Transport)
	if !ok || transport.Proxy == nil {
		t.Fatal("the client has no choice of proxies")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                               0,
		"soon":                           0,
		"0":                              0,
		"-5":                             0,
		"1.5":                            0,
		"7":                              7 * time.Second,
		" 7 ":                            7 * time.Second,
		"60":                             time.Minute,
		"61":                             time.Minute,
		"9999999999":                     time.Minute,
		"18446744073709551615":           time.Minute,
		"99999999999999999999999999":     time.Minute,
		"Sun, 01 Mar 2026 12:00:09 GMT":  9 * time.Second,
		"Sun, 01 Mar 2026 11:59:00 GMT":  0,
		"Mon, 01 Mar 2027 12:00:00 GMT":  time.Minute,
		"Sunday, 01-Mar-26 12:00:05 GMT": 5 * time.Second,
	} {
		if got := retryAfter(header, now, time.Minute); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
	if got := retryAfter("1", now, 10*time.Millisecond); got != 10*time.Millisecond {
		t.Errorf("longer than the longest: got %s", got)
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	o := valid()
	o.Key = `a/b+c"d-0123456789`
	m := New(o)
	for _, text := range []string{
		`Bearer a/b+c"d-0123456789`, "key=a%2Fb%2Bc%22d-0123456789", `{"k":"a/b+c\"d-0123456789"}`,
		strings.Repeat("x", maxWords-9) + o.Key,
	} {
		got := m.fail(failure{words: text}).Error()
		if strings.Contains(got, "0123456789") || strings.Contains(got, "d-0") {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	got := m.fail(failure{words: "the token: of-somebody-else\n\x1b[31mred \x00" + strings.Repeat("é", 2000)}).Error()
	if strings.Contains(got, "somebody") || strings.ContainsAny(got, "\n\x00\x1b") || len([]rune(got)) > maxWords {
		t.Errorf("got %q", got)
	}
}

func TestThoughtsAreCutOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1}`:                               `{"a":1}`,
		"":                                      "",
		"well":                                  "well",
		`<think>perhaps {"a":2}</think>{"a":1}`: `{"a":1}`,
		` <think>{"a":2}`:                       "",
		`perhaps {"a":2}</think>{"a":1}`:        `{"a":1}`,
		`{"a":"between <think> and </think>, yes"}`: `{"a":"between <think> and </think>, yes"}`,
	} {
		if got := withoutThought(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
