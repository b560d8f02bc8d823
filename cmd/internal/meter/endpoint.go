package meter

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/metrics/telemetry"
)

// The variables of the OpenTelemetry specification that are read.
const (
	varEndpoint        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	varMetricsEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	varHeaders         = "OTEL_EXPORTER_OTLP_HEADERS"
	varMetricsHeaders  = "OTEL_EXPORTER_OTLP_METRICS_HEADERS"
	varProtocol        = "OTEL_EXPORTER_OTLP_PROTOCOL"
	varMetricsProtocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
	varExporter        = "OTEL_METRICS_EXPORTER"
	varDisabled        = "OTEL_SDK_DISABLED"
	varService         = "OTEL_SERVICE_NAME"
	varResource        = "OTEL_RESOURCE_ATTRIBUTES"
)

// endpoint is where metrics are pushed to.
type endpoint struct {
	url    string
	header http.Header
	origin string // who has said so, for the log
}

// host is the endpoint without what may be secret.
func (e endpoint) host() string {
	u, err := url.Parse(e.url)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// endpointOf reads where to push to, or returns the zero endpoint for nowhere. The variables
// are read for the address only when the option says so, and can always switch it off.
func endpointOf(cfg config.Telemetry, getenv func(string) string) (endpoint, error) {
	var e endpoint
	switch base, full := getenv(varEndpoint), getenv(varMetricsEndpoint); {
	case cfg.Endpoint == "", strings.EqualFold(getenv(varDisabled), "true"), getenv(varExporter) == "none":
		return e, nil
	case cfg.Endpoint != config.EndpointEnv:
		e.url, e.origin = signal(cfg.Endpoint), "otlp-endpoint"
	case full != "":
		e.url, e.origin = full, varMetricsEndpoint
	case base != "":
		e.url, e.origin = signal(base), varEndpoint
	default:
		return e, fmt.Errorf("otlp-endpoint is env, and %s is not set", varEndpoint)
	}
	u, err := url.Parse(e.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return endpoint{}, fmt.Errorf("%s is no http or https address", e.origin)
	}
	if p := first(getenv(varMetricsProtocol), getenv(varProtocol)); cfg.Endpoint == config.EndpointEnv && p == "grpc" {
		return endpoint{}, errors.New("metrics are pushed over HTTP, and the environment asks for grpc; set otlp-endpoint to the collector's HTTP address")
	}
	e.header, err = headersOf(first(getenv(varMetricsHeaders), getenv(varHeaders)))
	return e, err
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// signal is the address for metrics below a base address.
func signal(base string) string { return strings.TrimRight(base, "/") + "/v1/metrics" }

// pairs reads a list such as a=1,b=2 whose values are percent-encoded. What is no pair is
// left out and counted.
func pairs(s string) (out [][2]string, bad int) {
	for part := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		k = strings.TrimSpace(k)
		value, err := url.PathUnescape(strings.TrimSpace(v))
		if !ok || err != nil || k == "" {
			bad++
			continue
		}
		out = append(out, [2]string{k, value})
	}
	return out, bad
}

// headersOf reads the headers of a request. Their values are not repeated in errors.
func headersOf(s string) (http.Header, error) {
	h := http.Header{}
	list, bad := pairs(s)
	for _, p := range list { // what no header can be is refused by the client
		h.Set(p[0], p[1])
	}
	if bad > 0 {
		return nil, fmt.Errorf("%s wants NAME=VALUE,NAME=VALUE with values that are percent-encoded", varHeaders)
	}
	return h, nil
}

// resourceOf says whose metrics are pushed.
func resourceOf(getenv func(string) string, host, instance string) telemetry.Resource {
	r := telemetry.Resource{Service: getenv(varService), Instance: instance, Host: host, More: map[string]string{}}
	list, _ := pairs(getenv(varResource))
	for _, p := range list {
		r.More[p[0]] = p[1]
	}
	return r
}
