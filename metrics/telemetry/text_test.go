package telemetry_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"autopilot/metrics/telemetry"
)

var update = flag.Bool("update", false, "write the files that are expected")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// series are samples by name and labels.
type series map[string]float64

func key(name string, labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, fmt.Sprintf("%s=%q", k, labels[k]))
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// fatal is what fails a test, or a property of one.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// parsePrometheus reads the text format with the parser that Prometheus' own tools have.
func parsePrometheus(t fatal, text []byte) series {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out := series{}
	for name, f := range families {
		if f.GetHelp() == "" || f.Type == nil || f.GetType() == dto.MetricType_UNTYPED {
			t.Fatalf("%s has no help or no type", name)
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			k := key(name, labels)
			if _, twice := out[k]; twice {
				t.Fatalf("%s is there twice", k)
			}
			out[k] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// parseOpen reads OpenMetrics 1.0 as its grammar has it, and refuses everything else: the
// order of a family's lines, families that are interleaved, suffixes that do not belong to
// the type, units that the name does not end in, and a missing end.
func parseOpen(t fatal, text []byte) series {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?)$`)
	label := regexp.MustCompile(`^([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)`)
	suffixes := map[string]string{"gauge": "", "counter": "_total", "info": "_info"}
	body, ok := strings.CutSuffix(string(text), "# EOF\n")
	if !ok || strings.Contains("\n"+body, "\n# EOF") || !utf8.Valid(text) {
		t.Fatalf("it does not end as it has to:\n%s", text)
	}
	out, seen := series{}, map[string]bool{}
	family, kind, last := "", "", ""
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if rest, meta := strings.CutPrefix(line, "# "); meta {
			parts := strings.SplitN(rest, " ", 3)
			if len(parts) != 3 || parts[2] == "" {
				t.Fatalf("%q says nothing", line)
			}
			switch {
			case parts[0] == "TYPE" && !seen[parts[1]]:
				family, kind = parts[1], parts[2]
				seen[family] = true
				if _, known := suffixes[kind]; !known {
					t.Fatalf("%q", line)
				}
			case parts[0] == "UNIT" && parts[1] == family && last == "TYPE" && strings.HasSuffix(family, "_"+parts[2]):
			case parts[0] == "HELP" && parts[1] == family && (last == "TYPE" || last == "UNIT"):
			default:
				t.Fatalf("%q behind %s of %s", line, last, family)
			}
			last = parts[0]
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != family+suffixes[kind] || last != "HELP" && last != "sample" {
			t.Fatalf("%q is no sample of %s %s", line, kind, family)
		}
		last = "sample"
		labels, rest := map[string]string{}, m[2]
		for rest != "" {
			l := label.FindStringSubmatch(rest)
			if l == nil {
				t.Fatalf("labels %q", rest)
			}
			if _, twice := labels[l[1]]; twice {
				t.Fatalf("label %s twice in %q", l[1], line)
			}
			labels[l[1]], rest = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(l[2]), rest[len(l[0]):]
		}
		v, err := strconv.ParseFloat(m[3], 64)
		k := key(m[1], labels)
		if _, twice := out[k]; err != nil || twice {
			t.Fatalf("%q: %v, twice: %v", line, err, twice)
		}
		out[k] = v
	}
	return out
}

func TestText(t *testing.T) {
	t.Parallel()
	golden(t, "night.prom", telemetry.Text(night()))
	golden(t, "night.openmetrics", telemetry.OpenMetrics(night()))
	got := parsePrometheus(t, telemetry.Text(night()))
	for k, want := range map[string]float64{
		`autopilot_build_info{goversion="go1.26.8",version="1.2.3"}`:                                                 1,
		`autopilot_runs_active{state="waiting"}`:                                                                     1,
		`autopilot_runs_active{state="orphaned"}`:                                                                    0,
		`autopilot_needs_person{kind="gate"}`:                                                                        2,
		`autopilot_needs_person{kind="answer"}`:                                                                      0,
		`autopilot_run_progress_ratio{repository="app",run_id="main-1",story=""}`:                                    0.425,
		`autopilot_run_tier{repository="app",run_id="main-1",story="",tier="warn"}`:                                  1,
		`autopilot_run_tier{repository="app",run_id="main-1",story="",tier="green"}`:                                 0,
		`autopilot_run_tokens{kind="cache_read",repository="app",run_id="main-1",story=""}`:                          400,
		`autopilot_run_tokens{kind="in_flight",repository="app",run_id="main-1",story=""}`:                           7,
		`autopilot_run_wait_end_timestamp_seconds{repository="app",run_id="main-1",story=""}`:                        float64(after(330).Unix()),
		`autopilot_run_info{kind="story",repository="we\"ird\\ name",run_id="main-2",state="running",story="login"}`: 1,
		`autopilot_runs_ended_total{cause="work-done",kind="run",repository="app"}`:                                  1,
		`autopilot_runs_ended_total{cause="stories-failed",kind="cohort",repository="app"}`:                          1,
		`autopilot_runs_ended_total{cause="killed",kind="run",repository="new"}`:                                     0,
		`autopilot_sessions_ended_total{ending="completed",repository="app"}`:                                        2,
		`autopilot_killswitches_total{reason="spiral",repository="app"}`:                                             1,
		`autopilot_killswitches_total{reason="spiral",repository="web"}`:                                             0,
		`autopilot_tokens_total{kind="cache_creation",repository="app"}`:                                             6000, // a cohort's are those of its stories
		`autopilot_cost_usd_total{repository="app"}`:                                                                 2.5,
		`autopilot_limit_wait_seconds_total{repository="web"}`:                                                       60,
		`autopilot_suspended_seconds_total{repository="app"}`:                                                        7,
		`autopilot_run_duration_seconds_total{repository="app"}`:                                                     5400,
		`autopilot_last_success_timestamp_seconds{repository="app"}`:                                                 float64(after(150).Unix()),
		`autopilot_last_success_timestamp_seconds{repository="web"}`:                                                 float64(after(120).Unix()),
		`autopilot_machine_memory_available_bytes{}`:                                                                 17179869184,
		`autopilot_machine_swap_used_bytes{}`:                                                                        0,
		`autopilot_schedule_missed{schedule="weekly"}`:                                                               1,
	} {
		if v, there := got[k]; !there || v != want {
			t.Errorf("%s is %v (there: %v), want %v", k, v, there, want)
		}
	}
	for k := range got {
		for _, not := range []string{`autopilot_run_sessions_limit{repository="we`, `autopilot_run_wait_end_timestamp_seconds{repository="we`, `autopilot_run_tier{repository="we`, `autopilot_schedule_missed{schedule="new"`, `last_run_timestamp_seconds{repository="new"`} {
			if strings.Contains(k, not) {
				t.Errorf("%s is told, and is not known", k)
			}
		}
	}
	if diff := cmp.Diff(got, parseOpen(t, telemetry.OpenMetrics(night()))); diff != "" {
		t.Errorf("the two forms differ (-text +OpenMetrics):\n%s", diff)
	}
}

// TestNames holds the names against the conventions.
func TestNames(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^autopilot_[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, m := range telemetry.Metrics() {
		if !name.MatchString(m.Name) || seen[m.Name] || !strings.HasSuffix(m.Help, ".") || strings.ContainsAny(m.Help, "\\\"\n") {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if (m.Type == telemetry.Counter) != strings.HasSuffix(m.Name, "_total") || (m.Type == telemetry.Info) != strings.HasSuffix(m.Name, "_info") {
			t.Errorf("%s is a %s", m.Name, m.Type)
		}
		unit := ""
		for _, u := range []string{"seconds", "bytes", "ratio", "usd"} {
			if strings.HasSuffix(strings.TrimSuffix(m.Name, "_total"), "_"+u) {
				unit = u
			}
		}
		if unit != m.Unit {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		for _, bad := range []string{"minutes", "hours", "_ms", "milliseconds", "kilobytes", "_gb", "_mb", "percent", "gauge", "counter"} {
			if strings.Contains(m.Name, bad) {
				t.Errorf("%s has %q in its name", m.Name, bad)
			}
		}
		for _, l := range m.Labels {
			if !regexp.MustCompile(`^[a-z][a-z_]*$`).MatchString(l) || strings.HasPrefix(l, "__") {
				t.Errorf("%s has the label %q", m.Name, l)
			}
		}
	}
}

// draw puts anything at all into a value.
func draw(t *rapid.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(rapid.OneOf(
			rapid.Map(rapid.IntRange(0, 600), after), rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Unix(1<<60, 0)}),
		).Draw(t, "time")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			draw(t, k)
			draw(t, x)
			v.SetMapIndex(k, x)
		}
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringN(0, 12, 40), rapid.SampledFrom([]string{
			"", "app", "green", "critical", "gate", "running", "waiting", "a\xffb\ufffe", "\"}\n# EOF\n", `\`, `\n`, "\x1b[31m\u202e", "sk-ant-abcdefgh1234", strings.Repeat("x", 500),
		})).Draw(t, "text"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e-320, math.MaxFloat64})).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 100)).Draw(t, "count"))
	}
}

func TestAnyFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f telemetry.Facts
		draw(t, reflect.ValueOf(&f).Elem())
		text := telemetry.Text(f)
		got := parsePrometheus(t, text)
		if diff := cmp.Diff(got, parseOpen(t, telemetry.OpenMetrics(f))); diff != "" {
			t.Fatalf("the two forms differ (-text +OpenMetrics):\n%s", diff)
		}
		for k, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || strings.Contains(k, "abcdefgh1234") || strings.ContainsAny(k, "\x1b\u202e") || len(k) > 2000 {
				t.Fatalf("%s %v", k, v)
			}
		}
		checkOTLP(t, f, got)
	})
}

// TestBounds has more of everything than is told.
func TestBounds(t *testing.T) {
	t.Parallel()
	f := night()
	var tally telemetry.Tally
	for i := range 1000 {
		f.Runs = append(f.Runs, telemetry.Run{Repository: "app", ID: fmt.Sprint("r", i), State: telemetry.Running, Kind: telemetry.Single, Tier: "green", Agents: ptr(1), Percent: ptr(1.0), MaxSessions: 1, Started: began(), WaitUntil: after(1)})
		f.Schedules = append(f.Schedules, telemetry.Schedule{Name: fmt.Sprint("s", i), LastStart: began(), NextStart: began(), Missed: ptr(true)})
		for _, repo := range []string{"app", fmt.Sprint("repo", i)} {
			id := fmt.Sprint(repo, i)
			tally.Run(repo, ended(id, fmt.Sprintf("cause %c%c", 'a'+i%26, 'a'+i/26%26), i, killed(fmt.Sprintf("reason %c%c", 'a'+i%26, 'a'+i/26%26), 3)))
			tally.Session(repo, id, fmt.Sprint("ending", i))
		}
	}
	f.Repositories = tally.Repositories()
	got := parsePrometheus(t, telemetry.Text(f))
	if v := got[`autopilot_runs_active{state="running"}`]; v != 1001 {
		t.Errorf("%v runs, want all of them counted", v)
	}
	if len(got) > 30_000 {
		t.Errorf("%d series", len(got))
	}
	sum := map[string]float64{}
	for k, v := range got {
		name, _, _ := strings.Cut(k, "{")
		sum[name] += v
	}
	if sum["autopilot_runs_ended_total"] != 2000 || sum["autopilot_sessions_ended_total"] != 2000 || sum["autopilot_killswitches_total"] != 2000 || sum["autopilot_cost_usd_total"] != 2500 {
		t.Errorf("something was lost: %v", sum)
	}
	if v := got[`autopilot_sessions_ended_total{ending="other",repository="app"}`]; v < 900 {
		t.Errorf("%v endings were counted together", v)
	}
	if v := got[`autopilot_cost_usd_total{repository="other"}`]; v != 1.25*(2000-1000-198) {
		t.Errorf("other repositories cost %v", v)
	}
}
