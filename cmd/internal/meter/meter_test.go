package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"autopilot/cmd/internal/config"
	"autopilot/metrics/telemetry"
)

const patience = time.Minute

// until waits for a fact.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !fact(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// logbook is a log that several goroutines write.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *logbook) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *logbook) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *logbook) log() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func facts(context.Context) telemetry.Facts {
	return telemetry.Facts{At: at(10), Since: at(0), Build: telemetry.Build{Version: "1.2.3"}, Machine: telemetry.Machine{Tier: "green"}}
}

func TestNothingIsWanted(t *testing.T) {
	t.Parallel()
	var j logbook
	m := Start(config.Telemetry{}, Options{Getenv: env(), Facts: facts, Log: j.log()})
	if m != nil || j.String() != "" {
		t.Fatalf("%v %s", m, &j)
	}
	m.Close(t.Context())
}

func TestTextfile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "autopilot.prom")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	var j logbook
	var looks atomic.Int32
	m := Start(config.Telemetry{Textfile: file}, Options{Getenv: env(), Log: j.log(), textEvery: time.Hour, Facts: func(ctx context.Context) telemetry.Facts {
		f := facts(ctx)
		f.Problems = int(looks.Add(1))
		return f
	}})
	text := func() string {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(data)
	}
	until(t, "the file is written at once", func() bool { return strings.Contains(text(), "autopilot_state_problems 1\n") })
	if looks.Load() != 1 {
		t.Errorf("%d looks before it is time", looks.Load())
	}
	m.Close(t.Context())
	if !strings.Contains(text(), "autopilot_state_problems 2\n") {
		t.Errorf("it is not written at the end:\n%s", text())
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v", entries, err)
	}
	if j.String() != "" {
		t.Errorf("it says\n%s", &j)
	}
}

func TestTextfileIsWrittenAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "autopilot.prom")
	var looks atomic.Int32
	m := Start(config.Telemetry{Textfile: file}, Options{Getenv: env(), Log: new(logbook).log(), textEvery: time.Millisecond, Facts: func(ctx context.Context) telemetry.Facts {
		looks.Add(1)
		return facts(ctx)
	}})
	until(t, "three looks", func() bool { return looks.Load() >= 3 })
	m.Close(t.Context())
}

// TestOthersCanReadTheFile is not run beside other tests, because the mask is the process's.
func TestOthersCanReadTheFile(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	file := filepath.Join(t.TempDir(), "a.prom")
	if err := writeText(file, []byte("new"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, now := filepath.Join(dir, "a.prom"), time.Now()
	tmp := filepath.Join(dir, ".a.prom.autopilot")
	if err := os.WriteFile(tmp, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeText(file, []byte("new"), now); !errors.Is(err, errBusy) {
		t.Errorf("while another writes: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of it is there: %v", err)
	}
	if err := writeText(file, []byte("new"), now.Add(2*leftover)); err != nil {
		t.Errorf("behind a writer that was killed: %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Stat(tmp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is left: %v", err)
	}
	if err := writeText(filepath.Join(dir, "none", "a.prom"), nil, now); err == nil || !strings.HasPrefix(err.Error(), "write metrics: ") {
		t.Errorf("into no folder: %v", err)
	}
}

// TestReadersSeeAWholeFile reads while two write.
func TestReadersSeeAWholeFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.prom")
	whole := strings.Repeat("autopilot_state_problems 1\n", 5000)
	quit := make(chan struct{})
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				if err := writeText(file, []byte(whole), time.Now()); err != nil && !errors.Is(err, errBusy) {
					t.Error(err)
				}
			}
		})
	}
	for seen := 0; seen < 200; {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if seen++; err != nil || string(data) != whole {
			t.Errorf("%d bytes, %v", len(data), err)
			break
		}
	}
	close(quit)
	writers.Wait()
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder.prom"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": "", filepath.Join(dir, "a.prom"): "", filepath.Join(dir, "none", "a.prom"): "there is no folder", filepath.Join(dir, "folder.prom"): "is no regular file",
	} {
		err := Check(config.Telemetry{Textfile: file})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWhatFailsIsSaidOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer server.Close()
	var j logbook
	var looks atomic.Int32
	cfg := config.Telemetry{Textfile: filepath.Join(t.TempDir(), "none", "a.prom"), Endpoint: server.URL, Interval: time.Second}
	m := Start(cfg, Options{Getenv: env(), Root: t.TempDir(), Log: j.log(), textEvery: time.Millisecond, Facts: func(ctx context.Context) telemetry.Facts {
		looks.Add(1)
		return facts(ctx)
	}})
	until(t, "many looks", func() bool { return looks.Load() > 20 && calls.Load() >= 1 })
	m.Close(t.Context())
	if n := strings.Count(j.String(), "level=WARN"); n != 2 || !strings.Contains(j.String(), "the collector answered 401") {
		t.Errorf("%d warnings:\n%s", n, &j)
	}
	if calls.Load() < 2 {
		t.Error("it is not tried again at the end")
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	type want struct{ url, origin, header, err string }
	for name, c := range map[string]struct {
		option string
		env    []string
		want   want
	}{
		"a variable that is missing":          {"env", nil, want{err: "is not set"}},
		"nothing":                             {"", nil, want{}},
		"the option":                          {"http://box:4318/", nil, want{"http://box:4318/v1/metrics", "otlp-endpoint", "", ""}},
		"the option over a variable":          {"https://a/x", []string{varEndpoint, "http://b", varProtocol, "grpc"}, want{"https://a/x/v1/metrics", "otlp-endpoint", "", ""}},
		"a base":                              {"env", []string{varEndpoint, "http://b:4318"}, want{"http://b:4318/v1/metrics", varEndpoint, "", ""}},
		"a whole address":                     {"env", []string{varEndpoint, "http://b:4318", varMetricsEndpoint, "http://c/push?x=1"}, want{"http://c/push?x=1", varMetricsEndpoint, "", ""}},
		"a variable that is there for others": {"", []string{varEndpoint, "http://b"}, want{}},
		"switched off by a variable":          {"env", []string{varEndpoint, "http://b", varDisabled, "TRUE"}, want{}},
		"another exporter":                    {"env", []string{varEndpoint, "http://b", varExporter, "none"}, want{}},
		"switched off with an address":        {"http://a", []string{varDisabled, "true"}, want{}},
		"headers":                             {"http://a", []string{varHeaders, "api-key=s%20ecret, X-Two=2,"}, want{"http://a/v1/metrics", "otlp-endpoint", "Api-Key=s ecret X-Two=2", ""}},
		"headers of metrics":                  {"http://a", []string{varHeaders, "a=1", varMetricsHeaders, "b=2"}, want{"http://a/v1/metrics", "otlp-endpoint", "B=2", ""}},
		"headers that are none":               {"http://a", []string{varHeaders, "secretsecret"}, want{err: varHeaders + " wants"}},
		"headers with a broken value":         {"http://a", []string{varHeaders, "a=%zz"}, want{err: varHeaders + " wants"}},
		"grpc":                                {"env", []string{varEndpoint, "http://b:4317", varProtocol, "grpc"}, want{err: "asks for grpc"}},
		"grpc for traces alone":               {"env", []string{varEndpoint, "http://b", varProtocol, "grpc", varMetricsProtocol, "http/json"}, want{"http://b/v1/metrics", varEndpoint, "", ""}},
		"no address":                          {"env", []string{varEndpoint, "collector:4318"}, want{err: varEndpoint + " is no http"}},
		"another scheme":                      {"env", []string{varMetricsEndpoint, "file:///etc/passwd"}, want{err: varMetricsEndpoint + " is no http"}},
	} {
		e, err := endpointOf(config.Telemetry{Endpoint: c.option}, env(c.env...))
		got := want{url: e.url, origin: e.origin}
		for _, name := range []string{"Api-Key", "A", "B", "X-Two"} {
			if v := e.header.Get(name); v != "" {
				got.header = strings.TrimSpace(got.header + " " + name + "=" + v)
			}
		}
		if c.want.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.want.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

// receiver is a collector that answers as it is told to, the last answer again and again.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	answers []func(w http.ResponseWriter)
	got     []*collector.ExportMetricsServiceRequest
	bad     []string
	header  http.Header
	path    string
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func body(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

func newReceiver(t *testing.T, answers ...func(http.ResponseWriter)) *receiver {
	t.Helper()
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		data, err := io.ReadAll(req.Body)
		var x collector.ExportMetricsServiceRequest
		r.mu.Lock()
		defer r.mu.Unlock()
		if err == nil {
			err = protojson.Unmarshal(data, &x)
		}
		if err != nil || req.Method != http.MethodPost {
			r.bad = append(r.bad, fmt.Sprint(req.Method, err))
		}
		r.got, r.header, r.path = append(r.got, &x), req.Header, req.URL.Path
		r.answers[min(len(r.got), len(r.answers))-1](w)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

func (r *receiver) pusher(end chan struct{}) *pusher {
	p := newPusher(endpoint{url: r.URL + "/v1/metrics", header: http.Header{"Api-Key": {"k"}}}, end)
	p.pause = time.Millisecond
	return p
}

func TestPush(t *testing.T) {
	t.Parallel()
	ok := body("{}")
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		want    string // of the error
		calls   int
	}{
		"taken":                     {[]func(http.ResponseWriter){ok}, "", 1},
		"taken without a word":      {[]func(http.ResponseWriter){status(204)}, "", 1},
		"taken, with words":         {[]func(http.ResponseWriter){body("thank you")}, "", 1},
		"taken as a whole":          {[]func(http.ResponseWriter){body(`{"partialSuccess":{}}`)}, "", 1},
		"taken in part":             {[]func(http.ResponseWriter){body(`{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"sk-ant-abcdefgh1234"}}`)}, "did not take 3 values", 1},
		"later":                     {[]func(http.ResponseWriter){status(503), status(429, "Retry-After", "0"), ok}, "", 3},
		"bad gateway":               {[]func(http.ResponseWriter){status(502), status(504), ok}, "", 3},
		"never":                     {[]func(http.ResponseWriter){status(503)}, "answered 503", 3},
		"not at all":                {[]func(http.ResponseWriter){status(400)}, "answered 400", 1},
		"broken":                    {[]func(http.ResponseWriter){status(500)}, "answered 500", 1},
		"elsewhere":                 {[]func(http.ResponseWriter){status(307, "Location", "http://192.0.2.1/")}, "answered 307", 1},
		"later than is waited for":  {[]func(http.ResponseWriter){status(429, "Retry-After", "3600")}, "answered 429", 1},
		"later, with a broken date": {[]func(http.ResponseWriter){status(429, "Retry-After", "soon"), ok}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReceiver(t, c.answers...)
			data, err := telemetry.OTLP(facts(t.Context()), telemetry.Resource{})
			if err != nil {
				t.Fatal(err)
			}
			err = r.pusher(nil).push(t.Context(), data, time.Minute)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "v1") || strings.Contains(err.Error(), "sk-ant")) {
				t.Errorf("%v", err)
			}
			if r.count() != c.calls || len(r.bad) > 0 {
				t.Errorf("%d calls, %v", r.count(), r.bad)
			}
			if r.path != "/v1/metrics" || r.header.Get("Content-Type") != "application/json" || r.header.Get("Api-Key") != "k" {
				t.Errorf("%s %v", r.path, r.header)
			}
		})
	}
}

func TestPushLeavesACollectorAlone(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(429, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)))
	p := r.pusher(nil)
	for range 3 {
		_ = p.push(t.Context(), []byte("{}"), time.Minute)
	}
	if r.count() != 1 {
		t.Errorf("%d calls", r.count())
	}
	r = newReceiver(t, status(503))
	p = r.pusher(nil)
	p.pause = time.Hour
	if err := p.push(t.Context(), []byte("{}"), time.Minute); err == nil || r.count() != 1 {
		t.Errorf("a wait that is longer than the patience: %v, %d calls", err, r.count())
	}
}

// TestPushWaitsAsLongAsItIsAsked looks at the time between two calls, which can be longer on
// a busy machine and never shorter.
func TestPushWaitsAsLongAsItIsAsked(t *testing.T) {
	t.Parallel()
	var at [2]time.Time
	r := newReceiver(t, func(w http.ResponseWriter) {
		at[0] = time.Now()
		status(429, "Retry-After", "1")(w)
	}, func(http.ResponseWriter) { at[1] = time.Now() })
	if err := r.pusher(nil).push(t.Context(), []byte("{}"), time.Minute); err != nil || at[1].Sub(at[0]) < time.Second {
		t.Errorf("%v between two calls, %v", at[1].Sub(at[0]), err)
	}
}

func TestTheEndOfARunIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, status(503))
	end := make(chan struct{})
	p := r.pusher(end)
	p.pause = time.Hour
	done := make(chan error, 1)
	var beside sync.WaitGroup
	beside.Go(func() { done <- p.push(t.Context(), []byte("{}"), 2*time.Hour) })
	until(t, "the first call", func() bool { return r.count() == 1 })
	close(end)
	beside.Wait()
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := at(0)
	for s, want := range map[string]time.Duration{
		"": 0, "x": 0, "-5": 0, "0": 0, "7": 7 * time.Second, "99999999999999999999": 0, "999999999": 24 * time.Hour, "Fri, 20 Nov 2026 22:01:00 GMT": time.Minute, "Fri, 20 Nov 2026 21:00:00 GMT": 0, "Fri, 20 Nov 2099 21:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(s, now); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

func TestMeterPushes(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, body("{}"))
	root := t.TempDir()
	var j logbook
	o := Options{Getenv: env(varHeaders, "api-key=verysecret", varResource, "team=a%20b,broken", varService, "nightly"), Root: root, Facts: facts, Log: j.log()}
	cfg := config.Telemetry{Endpoint: r.URL, Interval: time.Hour}
	m := Start(cfg, o)
	until(t, "a push", func() bool { return r.count() == 1 })
	second := Start(cfg, o) // of another run of this machine
	second.Close(t.Context())
	if r.count() != 1 {
		t.Errorf("%d pushes: two runs push the same", r.count())
	}
	m.Close(t.Context())
	if r.count() != 2 {
		t.Errorf("%d pushes, want one at the end", r.count())
	}
	third := Start(cfg, o)
	until(t, "another run takes over", func() bool { return r.count() == 3 })
	third.Close(t.Context())
	got := map[string]string{}
	for _, a := range r.got[0].GetResourceMetrics()[0].GetResource().GetAttributes() {
		got[a.GetKey()] = a.GetValue().GetStringValue()
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"service.name": "nightly", "service.version": "1.2.3", "team": "a b", "host.name": host, "service.instance.id": got["service.instance.id"]}
	if diff := cmp.Diff(want, got); diff != "" || len(got["service.instance.id"]) != 36 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.bad) > 0 || strings.Contains(j.String(), "verysecret") || strings.Contains(j.String(), "WARN") || !strings.Contains(j.String(), "to="+r.URL) {
		t.Errorf("%v\n%s", r.bad, &j)
	}
}

// TestACollectorThatStalls does not keep the run from ending.
func TestACollectorThatStalls(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 8)
	free := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		called <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-free:
		}
	}))
	defer server.Close()
	defer close(free)
	var j logbook
	m := Start(config.Telemetry{Endpoint: server.URL, Interval: time.Hour}, Options{Getenv: env(), Root: t.TempDir(), Facts: facts, Log: j.log()})
	<-called
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Close(ctx)
	if strings.Contains(j.String(), "WARN") { // the request was waited for until its own end
		t.Errorf("it says\n%s", &j)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	var j logbook
	m := Start(config.Telemetry{Endpoint: config.EndpointEnv, Interval: time.Second}, Options{Getenv: env(varMetricsEndpoint, address+"/secret-path"), Root: t.TempDir(), Facts: facts, Log: j.log()})
	until(t, "a word about it", func() bool { return strings.Contains(j.String(), "cannot be pushed") })
	m.Close(t.Context())
	if strings.Contains(j.String(), "secret-path") || strings.Count(j.String(), "WARN") != 1 {
		t.Errorf("it says\n%s", &j)
	}
	j = logbook{}
	if m := Start(config.Telemetry{Endpoint: config.EndpointEnv}, Options{Getenv: env(varEndpoint, "nonsense"), Facts: facts, Log: j.log()}); m != nil || strings.Count(j.String(), "WARN") != 1 {
		t.Errorf("%v\n%s", m, &j)
	}
}
