package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/config"
)

func TestTelemetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []config.Value
		want   config.Telemetry
		err    string
	}{
		"nothing is sent or written": {nil, config.Telemetry{Interval: time.Minute}, ""},
		"all": {
			[]config.Value{value("metrics-textfile", "/srv/metrics/autopilot.prom"), value("otlp-endpoint", "https://otel.example.org/base/"), value("otlp-interval", "5m")},
			config.Telemetry{Textfile: "/srv/metrics/autopilot.prom", Endpoint: "https://otel.example.org/base/", Interval: 5 * time.Minute},
			"",
		},
		"env":                      {[]config.Value{value("otlp-endpoint", "env")}, config.Telemetry{Endpoint: config.EndpointEnv, Interval: time.Minute}, ""},
		"too often":                {[]config.Value{value("otlp-interval", "1ms")}, config.Telemetry{Interval: time.Second}, ""},
		"a relative file":          {[]config.Value{value("metrics-textfile", "a.prom")}, config.Telemetry{}, "is not absolute"},
		"another suffix":           {[]config.Value{value("metrics-textfile", "/srv/a.txt")}, config.Telemetry{}, "does not end in .prom"},
		"a suffix alone":           {[]config.Value{value("metrics-textfile", "/srv/.prom")}, config.Telemetry{}, "does not end in .prom"},
		"no address":               {[]config.Value{value("otlp-endpoint", "collector:4318")}, config.Telemetry{}, "it is no http or https address"},
		"another scheme":           {[]config.Value{value("otlp-endpoint", "grpc://collector:4317")}, config.Telemetry{}, "it is no http or https address"},
		"credentials":              {[]config.Value{value("otlp-endpoint", "https://me:hunter2@collector")}, config.Telemetry{}, "OTEL_EXPORTER_OTLP_HEADERS"},
		"a query":                  {[]config.Value{value("otlp-endpoint", "https://collector/?key=hunter2")}, config.Telemetry{}, "nothing behind a ?"},
		"a file of the repository": {[]config.Value{{Key: "metrics-textfile", Raw: []string{"/srv/a.prom"}, Origin: "autopilot.yaml:1", InRepo: true}}, config.Telemetry{}, "may not be set"},
		"told by the repository":   {[]config.Value{{Key: "otlp-endpoint", Raw: []string{"http://elsewhere"}, Origin: "autopilot.yaml:1", InRepo: true}}, config.Telemetry{}, "may not be set"},
	} {
		got, err := config.Resolve(c.values)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, got.Telemetry); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func value(key, raw string) config.Value {
	return config.Value{Key: key, Raw: []string{raw}, Origin: "flag --" + key}
}
