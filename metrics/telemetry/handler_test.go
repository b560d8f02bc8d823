package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"autopilot/metrics/telemetry"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	h := telemetry.Handler(night)
	const text, open = telemetry.TextType, telemetry.OpenMetricsType
	for _, c := range []struct {
		method, accept string
		code           int
		kind           string
	}{
		{"GET", "", 200, text},
		{"GET", "*/*", 200, text},
		{"GET", "text/plain", 200, text},
		{"GET", "application/openmetrics-text", 200, open},
		{"GET", "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", 200, open},
		{"GET", "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.6", 200, text},
		{"GET", "application/openmetrics-text;version=2.0.0", 200, text},
		{"GET", "application/openmetrics-text;q=0", 200, text},
		{"GET", "application/openmetrics-text;q=x", 200, text},
		{"GET", ";;,,application/openmetrics-text", 200, open},
		{"GET", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,text/plain;q=0.5", 200, text},
		{"HEAD", "", 200, text},
		{"POST", "", 405, "text/plain; charset=utf-8"},
	} {
		r := httptest.NewRequest(c.method, "/metrics", nil)
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if w.Code != c.code || w.Header().Get("Content-Type") != c.kind {
			t.Errorf("%s %q: %d %s, want %d %s", c.method, c.accept, w.Code, w.Header().Get("Content-Type"), c.code, c.kind)
		}
		if strings.HasSuffix(string(body), "# EOF\n") != (c.kind == open) || (len(body) > 0) != (c.method != http.MethodHead) {
			t.Errorf("%s %q: %d bytes", c.method, c.accept, len(body))
		}
	}
}

func TestHandlerLooksOnceAtATime(t *testing.T) {
	t.Parallel()
	var in, most atomic.Int32
	h := telemetry.Handler(func() telemetry.Facts {
		most.Store(max(most.Load(), in.Add(1)))
		defer in.Add(-1)
		return night()
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)) })
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d looks at once", most.Load())
	}
}
