package suitability

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseSignals(t *testing.T) {
	t.Parallel()
	odd := func(key, found string) Signals { return Signals{Malformed: map[string]string{key: found}} }
	tests := []struct {
		name, in string
		want     Signals
	}{
		{"nothing", `{}`, Signals{}},
		{"nulls", ` {"confidence": null ,"floor":null,"recentRuns":null,"ci":null,"resourceVerdict":null,"dial":null}`, Signals{}},
		{
			"all", `{"confidence":0.75,"floor":0.6,"recentRuns":[{"autopilot_run_id":"a","kill_switch":"spiral","dry_run":false,
				"aborted_by_cohort":true,"completed_at":"2026-09-01T12:10:04.000Z","sessions":[]},{"kind":"multi-story-coordinator"}],
				"ci":{"status":"green","ok":true},"resourceVerdict":"warn","dial":"Autonomous-Gated"}`,
			Signals{
				Confidence: ptr(0.75), Floor: ptr(0.6), CI: &CI{Status: "green"}, ResourceVerdict: ptr("warn"), Dial: AutonomousGated,
				RecentRuns: []Run{
					{ID: "a", KillSwitch: "spiral", AbortedByCohort: true, CompletedAt: time.Date(2026, 9, 1, 12, 10, 4, 0, time.UTC)},
					{Kind: "multi-story-coordinator"},
				},
			},
		},
		{"an empty history is one", `{"recentRuns":[]}`, Signals{RecentRuns: []Run{}}},
		{
			"what is no record keeps its place", `{"recentRuns":[null,7,"spiral",[],{"kill_switch":7,"dry_run":"yes","completed_at":3}]}`,
			Signals{RecentRuns: make([]Run, 5)},
		},
		{"a floor in text", `{"floor":" 0.7 "}`, Signals{Floor: ptr(0.7)}},
		{"a floor of words", `{"floor":"high"}`, odd("floor", "a text that is no number")},
		{"a floor of nothing", `{"floor":""}`, odd("floor", "a text that is no number")},
		{"a floor of another type", `{"floor":true}`, odd("floor", "a boolean")},
		{"confidence in text", `{"confidence":"0.9"}`, odd("confidence", "a text")},
		{"endless confidence", `{"confidence":1e999}`, odd("confidence", "the number 1e999")},
		{"runs that are no list", `{"recentRuns":{"a":1}}`, odd("recentRuns", "an object")},
		{"a pipeline in a word", `{"ci":"red"}`, odd("ci", "a text")},
		{"a pipeline that is a list", `{"ci":["red"]}`, odd("ci", "a list")},
		{"a pipeline without status", `{"ci":{"ok":false}}`, odd("ci", "an object without a status")},
		{"a status of null", `{"ci":{"status":null}}`, odd("ci", "an object without a status")},
		{"a status in another case", `{"ci":{"Status":"red"}}`, odd("ci", "an object without a status")},
		{"a status of another type", `{"ci":{"status":7}}`, odd("ci", "an object whose status is the number 7")},
		{"a verdict of another type", `{"resourceVerdict":false}`, odd("resourceVerdict", "a boolean")},
		{"a dial of another type", `{"dial":3}`, odd("dial", "the number 3")},
		{"a dial of another word", `{"dial":"on"}`, Signals{Dial: "on"}},
	}
	for _, tt := range tests {
		got, err := ParseSignals([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseSignalsRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, key string }{
		{``, `parse signals: unexpected end of JSON input`, ""},
		{`{} {}`, `parse signals: invalid character '{' after top-level value`, ""},
		{`{"confidence":NaN}`, `parse signals: invalid character 'N' looking for beginning of value`, ""},
		{" null", `parse signals: found null, want an object`, ""},
		{`[]`, `parse signals: found a list, want an object`, ""},
		{`{"confidance":1}`, `parse signals: unknown key "confidance"`, "confidance"},
		{`{"Confidence":1}`, `parse signals: unknown key "Confidence"`, "Confidence"},
		{`{"z":1,"ci":null,"b\u001b":1}`, `parse signals: unknown key "b"`, "b\x1b"},
	}
	for _, tt := range tests {
		got, err := ParseSignals([]byte(tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.in, err, tt.want)
		}
		if diff := cmp.Diff(Signals{}, got); diff != "" {
			t.Errorf("%s: a refused text gives signals:\n%s", tt.in, diff)
		}
		unknown, ok := errors.AsType[*UnknownKeyError](err)
		if ok != (tt.key != "") || ok && unknown.Key != tt.key {
			t.Errorf("%s: got %v, want the key %q", tt.in, unknown, tt.key)
		}
	}
}

// TestMalformed goes from the text to the verdict: only the confidence fails closed.
func TestMalformed(t *testing.T) {
	t.Parallel()
	const before = `"recentRuns":[{},{},{},{},{}],"resourceVerdict":"green","ci":{"status":"green"},"dial":"autonomous-gated","floor":0.5,"confidence":0.9`
	tests := []struct {
		in         string
		suitable   bool
		autonomous bool
		warn       string
	}{
		{`{"confidence":"0.9"`, false, false, "confidence malformed: it is a text, which counts as none"},
		{`{"floor":[]`, true, true, "floor malformed: it is a list; 0.5 is used"},
		{`{"recentRuns":"many"`, true, true, "history malformed: recentRuns is a text, want a list; it counts as empty\nhistory skipped: 0 of at least 5 runs"},
		{`{"ci":"red"`, true, true, "CI signal malformed: ci is a text, want an object with a status; it counts as absent"},
		{`{"ci":{"status":["red"]}`, true, true, "CI signal malformed: ci is an object whose status is a list, want an object with a status; it counts as absent"},
		{`{"resourceVerdict":{"verdict":"critical"}`, true, true, "resource signal malformed: resourceVerdict is an object, want a text; it counts as absent"},
		{`{"dial":true`, true, false, "dial malformed: it is a boolean, want a text; it counts as off\nthe dial is off: the verdict is advice"},
	}
	for _, tt := range tests {
		key, _, _ := strings.Cut(tt.in[1:], ":")
		var rest []string
		for _, member := range strings.SplitAfter(before, ",\"") {
			member = `"` + strings.TrimPrefix(strings.TrimSuffix(member, `,"`), `"`)
			if !strings.HasPrefix(member, key+":") {
				rest = append(rest, member)
			}
		}
		s, err := ParseSignals([]byte(tt.in + "," + strings.Join(rest, ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		v := Judge(s)
		if got := strings.Join(v.Warnings, "\n"); v.Suitable != tt.suitable || v.Autonomous != tt.autonomous || got != tt.warn {
			t.Errorf("%s: got %t %t %q, want %t %t %q", tt.in, v.Suitable, v.Autonomous, got, tt.suitable, tt.autonomous, tt.warn)
		}
	}
}

func TestSignalsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := signs().Filter(func(s Signals) bool {
			_, err := json.Marshal(s) // refuses numbers that are not finite
			return err == nil && s.Malformed == nil
		}).Draw(t, "signals")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSignals(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Judge(want), Judge(got)); diff != "" {
			t.Fatalf("verdict on %s (-want +got):\n%s", data, diff)
		}
	})
}

func FuzzParseSignals(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"confidence":0.9,"floor":"0.5","recentRuns":[{"kill_switch":"spiral"},null],"ci":{"status":"red"},"resourceVerdict":"critical","dial":"off"}`,
		`{"ci":7,"dial":[],"floor":"0x1p-2"}`, `{"resourceVerdict":"\u202e\u001b"}`, `{"a`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSignals(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "parse signals: ") {
				t.Errorf("got %v", err)
			}
			return
		}
		if problem := broken(Judge(s)); problem != "" {
			t.Errorf("%s: %s", data, problem)
		}
	})
}
