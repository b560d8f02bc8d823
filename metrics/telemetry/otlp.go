package telemetry

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Resource says whose metrics are pushed.
type Resource struct {
	Service  string            // name of the service; empty is autopilot
	Instance string            // unique id of who pushes
	Host     string            // name of the machine; may be empty
	More     map[string]string // further attributes, which stand over the others
}

// OTLP returns the facts as the body of an ExportMetricsServiceRequest of the OpenTelemetry
// protocol in its JSON encoding. Counters are cumulative and begin at Since.
//
// Names and units are those from which a collector makes the names that Prometheus has:
// autopilot_machine_memory_available_bytes is autopilot.machine.memory.available in By.
func OTLP(f Facts, r Resource) ([]byte, error) {
	var list []otlpMetric
	for _, m := range families(f) {
		list = append(list, m.otlp(f))
	}
	version := f.Build.Version
	body := otlpRequest{[]otlpResourceMetrics{{
		Resource: otlpResource{r.attributes(version)},
		Scopes:   []otlpScopeMetrics{{otlpScope{"autopilot", version}, list}},
	}}}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("internal error: encode metrics: %w", err)
	}
	return data, nil
}

// attributes are those of the resource, in order.
func (r Resource) attributes(version string) []otlpAttribute {
	all := map[string]string{
		"service.name": "autopilot", "service.version": version, "service.instance.id": r.Instance, "host.name": r.Host,
	}
	for k, v := range r.More {
		all[k] = v
	}
	if r.Service != "" {
		all["service.name"] = r.Service
	}
	var out []otlpAttribute
	for _, k := range sortedKeys(all, strings.Compare) {
		if all[k] != "" && k != "" {
			out = append(out, otlpAttribute{strings.ToValidUTF8(k, "?"), otlpText{strings.ToValidUTF8(all[k], "?")}})
		}
	}
	return out
}

func (m family) otlp(f Facts) otlpMetric {
	out := otlpMetric{Name: m.otlpName(), Description: m.Help, Unit: m.otlpUnit()}
	at, since := nanos(f.At), nanos(f.Since)
	if f.Since.After(f.At) {
		since = at
	}
	var points []otlpPoint
	for _, p := range m.points {
		x := otlpPoint{At: at, Value: p.value}
		for i, l := range p.labels {
			x.Attributes = append(x.Attributes, otlpAttribute{m.Labels[i], otlpText{l}})
		}
		if m.Type == Counter {
			x.Start = since
		}
		points = append(points, x)
	}
	if m.Type == Counter {
		out.Sum = &otlpSum{Temporality: cumulative, Monotonic: true, Points: points}
	} else {
		out.Gauge = &otlpGauge{points}
	}
	return out
}

// otlpName is the name without what a collector adds for the type and the unit.
func (m Metric) otlpName() string {
	name := strings.TrimSuffix(m.Name, "_total")
	if m.Unit != "usd" { // which no collector knows, so that nothing would be added
		name = strings.TrimSuffix(name, "_"+m.Unit)
	}
	return strings.ReplaceAll(name, "_", ".")
}

// otlpUnit is the unit in the Unified Code for Units of Measure.
func (m Metric) otlpUnit() string {
	return map[string]string{"seconds": "s", "bytes": "By", "ratio": "1", "usd": "{USD}"}[m.Unit]
}

// nanos is a moment as the protocol writes it.
func nanos(t time.Time) string {
	if t.Year() < 1970 || t.Year() > 2200 { // nanoseconds since 1970 end in 2262
		return "0"
	}
	return strconv.FormatInt(max(t.UnixNano(), 0), 10)
}

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE; the JSON encoding of the protocol wants
// numbers of enumerations, and 64-bit integers as text.
const cumulative = 2

type otlpRequest struct {
	Resources []otlpResourceMetrics `json:"resourceMetrics"`
}

type otlpResourceMetrics struct {
	Resource otlpResource       `json:"resource"`
	Scopes   []otlpScopeMetrics `json:"scopeMetrics"`
}

type otlpResource struct {
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpAttribute struct {
	Key   string   `json:"key"`
	Value otlpText `json:"value"`
}

type otlpText struct {
	Text string `json:"stringValue"`
}

type otlpScopeMetrics struct {
	Scope   otlpScope    `json:"scope"`
	Metrics []otlpMetric `json:"metrics"`
}

type otlpScope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type otlpMetric struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Unit        string     `json:"unit,omitempty"`
	Gauge       *otlpGauge `json:"gauge,omitempty"`
	Sum         *otlpSum   `json:"sum,omitempty"`
}

type otlpGauge struct {
	Points []otlpPoint `json:"dataPoints"`
}

type otlpSum struct {
	Points      []otlpPoint `json:"dataPoints"`
	Temporality int         `json:"aggregationTemporality"`
	Monotonic   bool        `json:"isMonotonic"`
}

type otlpPoint struct {
	Attributes []otlpAttribute `json:"attributes,omitempty"`
	Start      string          `json:"startTimeUnixNano,omitempty"`
	At         string          `json:"timeUnixNano"`
	Value      float64         `json:"asDouble"`
}
