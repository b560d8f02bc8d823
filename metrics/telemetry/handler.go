package telemetry

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Handler answers a scrape with the facts of that moment, in the form that the request asks
// for: OpenMetrics where it is preferred, else the text format of Prometheus. Look is called
// for one request at a time. The handler knows no access rights: who mounts it decides who
// may ask.
func Handler(look func() Facts) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
			return
		}
		one.Lock()
		f := look()
		one.Unlock()
		body, kind := Text(f), TextType
		if wantsOpenMetrics(r.Header.Values("Accept")) {
			body, kind = OpenMetrics(f), OpenMetricsType
		}
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Vary", "Accept")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // who asked is gone, or will ask again
		}
	})
}

// wantsOpenMetrics reports whether the request prefers OpenMetrics 1.0 or 0.0.1 to the text
// format. Of equals the one that stands first is preferred.
func wantsOpenMetrics(accept []string) bool {
	best, open := 0.0, false
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if s, there := params["q"]; there {
			if q, err = strconv.ParseFloat(s, 64); err != nil {
				continue
			}
		}
		version := params["version"]
		isOpen := kind == "application/openmetrics-text" && (version == "" || version == "1.0.0" || version == "0.0.1")
		isText := kind == "text/plain" && (version == "" || version == "0.0.4") || kind == "*/*" || kind == "text/*"
		if (isOpen || isText) && q > best {
			best, open = q, isOpen
		}
	}
	return open
}
