package telemetry_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"autopilot/metrics/telemetry"
)

// prometheusName is the name that Prometheus and the collector make of a metric: dots become
// underscores, and what is missing of the unit and of _total is added.
func prometheusName(m *metrics.Metric) string {
	words := regexp.MustCompile(`[^a-zA-Z0-9]+`).Split(m.GetName(), -1)
	unit := map[string]string{"s": "seconds", "By": "bytes"}[m.GetUnit()]
	if unit != "" && !slices.Contains(words, unit) {
		words = append(words, unit)
	}
	if m.GetSum().GetIsMonotonic() {
		words = append(slices.DeleteFunc(words, func(w string) bool { return w == "total" }), "total")
	}
	if m.GetUnit() == "1" && m.GetGauge() != nil {
		words = append(slices.DeleteFunc(words, func(w string) bool { return w == "ratio" }), "ratio")
	}
	return strings.Join(words, "_")
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return out
}

func decode(t fatal, f telemetry.Facts, r telemetry.Resource) *metrics.ResourceMetrics {
	t.Helper()
	body, err := telemetry.OTLP(f, r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var req collector.ExportMetricsServiceRequest
	if err := protojson.Unmarshal(body, &req); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	if len(req.GetResourceMetrics()) != 1 || len(req.GetResourceMetrics()[0].GetScopeMetrics()) != 1 {
		t.Fatalf("%s", body)
	}
	return req.GetResourceMetrics()[0]
}

// checkOTLP compares what is pushed with what is scraped.
func checkOTLP(t fatal, f telemetry.Facts, want series) {
	t.Helper()
	got := series{}
	for _, m := range decode(t, f, telemetry.Resource{}).GetScopeMetrics()[0].GetMetrics() {
		points := m.GetGauge().GetDataPoints()
		if s := m.GetSum(); s != nil {
			if points = s.GetDataPoints(); !s.GetIsMonotonic() || s.GetAggregationTemporality() != metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
				t.Fatalf("%s is neither monotonic nor cumulative", m.GetName())
			}
		}
		for _, p := range points {
			if p.GetStartTimeUnixNano() > p.GetTimeUnixNano() && p.GetTimeUnixNano() != 0 {
				t.Fatalf("%s begins at %d, after %d", m.GetName(), p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
			}
			got[key(prometheusName(m), attributes(p.GetAttributes()))] = p.GetAsDouble()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("what is pushed is not what is scraped (-scraped +pushed):\n%s", diff)
	}
}

func TestOTLP(t *testing.T) {
	t.Parallel()
	f := night()
	checkOTLP(t, f, parsePrometheus(t, telemetry.Text(f)))
	r := decode(t, f, telemetry.Resource{Instance: "1-2-3", Host: "box", More: map[string]string{"team": "a", "host.name": "other", "service.name": "x"}, Service: "nightly"})
	want := map[string]string{"service.name": "nightly", "service.version": "1.2.3", "service.instance.id": "1-2-3", "host.name": "other", "team": "a"}
	if diff := cmp.Diff(want, attributes(r.GetResource().GetAttributes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range r.GetScopeMetrics()[0].GetMetrics() {
		for _, p := range m.GetSum().GetDataPoints() {
			if p.GetStartTimeUnixNano() != uint64(began().UnixNano()) || p.GetTimeUnixNano() != uint64(f.At.UnixNano()) {
				t.Fatalf("%s from %d to %d", m.GetName(), p.GetStartTimeUnixNano(), p.GetTimeUnixNano())
			}
		}
		if m.GetDescription() == "" {
			t.Errorf("%s is not described", m.GetName())
		}
	}
	body, err := telemetry.OTLP(f, telemetry.Resource{})
	if err != nil {
		t.Fatal(err)
	}
	// The protocol's JSON has no names of enumerations, and 64-bit integers as text.
	if !strings.Contains(string(body), `"aggregationTemporality":2`) || !strings.Contains(string(body), `"timeUnixNano":"1`) {
		t.Error("numbers are not written as the protocol wants them")
	}
}

// panel is what a dashboard says of one.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ RefID, Expr string }
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	data, err := telemetry.Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "dashboard.json", data)
	var d struct {
		UID        string
		Panels     []panel
		Templating struct {
			List []struct{ Name, Type string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, m := range telemetry.Metrics() {
		labels[m.Name] = m.Labels
	}
	shown := map[string]bool{}
	taken := map[[2]int]int{}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, there := taken[[2]int{x, y}]; there {
					t.Fatalf("panels %d and %d overlap", other, p.ID)
				}
				taken[[2]int{x, y}] = p.ID
			}
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			for _, m := range regexp.MustCompile(`(autopilot_[a-z_]+)(\{[^}]*\})?`).FindAllStringSubmatch(q.Expr, -1) {
				have, there := labels[m[1]]
				if !there {
					t.Errorf("%s: there is no metric %s", p.Title, m[1])
				}
				shown[m[1]] = true
				for _, l := range regexp.MustCompile(`([a-z_]+)!?=`).FindAllStringSubmatch(m[2], -1) {
					if !slices.Contains(have, l[1]) {
						t.Errorf("%s: %s has no label %s", p.Title, m[1], l[1])
					}
				}
			}
			if strings.Count(q.Expr, "(") != strings.Count(q.Expr, ")") || strings.Count(q.Expr, `"`)%2 != 0 {
				t.Errorf("%s: %s", p.Title, q.Expr)
			}
		}
	}
	if d.UID != telemetry.DashboardUID || len(d.Templating.List) != 2 || d.Templating.List[0].Type != "datasource" {
		t.Errorf("uid %q, variables %v", d.UID, d.Templating.List)
	}
	for _, not := range slices.Sorted(maps.Keys(labels)) {
		if !shown[not] {
			t.Logf("%s is in no panel", not)
		}
	}
}
