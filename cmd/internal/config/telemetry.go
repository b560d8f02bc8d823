package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// GroupTelemetry is the group of the options for metrics.
const GroupTelemetry = "telemetry"

// Telemetry says where metrics are written or pushed. Nothing is by default.
type Telemetry struct {
	Textfile string        // absolute path of a file for node_exporter; empty for none
	Endpoint string        // base URL of a collector, or EndpointEnv; empty for none
	Interval time.Duration // between two pushes
}

// textfileSuffix is what node_exporter's textfile collector asks of a name.
const textfileSuffix = ".prom"

// telemetryOptions are the person's own but for the interval: a repository says neither
// which file is written nor who is told.
func telemetryOptions() []Option {
	file := text("metrics-textfile", "", "absolute path of a `FILE` ending in .prom for the textfile collector of node_exporter; it is replaced at most every 15s and readable for everybody; empty for none", nil)
	file.apply = func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err == nil {
			err = checkTextfile(s)
		}
		if err == nil {
			c.Telemetry.Textfile = s
		}
		return moved{}, err
	}
	endpoint := text("otlp-endpoint", "", "base `URL` of an OpenTelemetry collector that metrics are pushed to as JSON (/v1/metrics is added); env takes it from OTEL_EXPORTER_OTLP_ENDPOINT; empty pushes nothing", nil)
	endpoint.apply = func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err == nil {
			err = checkEndpoint(s)
		}
		if err == nil {
			c.Telemetry.Endpoint = s
		}
		return moved{}, err
	}
	file.NotInRepo, endpoint.NotInRepo = true, true
	return []Option{
		grouped(GroupTelemetry, file),
		grouped(GroupTelemetry, endpoint),
		grouped(GroupTelemetry, duration("otlp-interval", "60s", span[time.Duration]{time.Second, time.Hour}, "time between two pushes of metrics", func(c *Config, d time.Duration) { c.Telemetry.Interval = d })),
	}
}

func checkTextfile(s string) error {
	switch {
	case s == "":
		return nil
	case !filepath.IsAbs(s):
		return fmt.Errorf("%q is not absolute; runs are started in different folders", s)
	case !strings.HasSuffix(s, textfileSuffix) || filepath.Base(s) == textfileSuffix:
		return fmt.Errorf("%q does not end in %s; node_exporter reads no other file", s, textfileSuffix)
	}
	return nil
}

// EndpointEnv is the otlp-endpoint that takes the address from the variables of the
// OpenTelemetry specification. They are not taken unasked: they may be there for claude.
const EndpointEnv = "env"

// checkEndpoint refuses what nothing can be pushed to. An address is not repeated in the
// error, because it may hold a password.
func checkEndpoint(s string) error {
	if s == "" || s == EndpointEnv {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme):
		return errors.New("it is no http or https address such as http://localhost:4318")
	case u.User != nil:
		return errors.New("credentials are not for an address; put them into OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a base address has nothing behind a ? or #")
	}
	return nil
}
