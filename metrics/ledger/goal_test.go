package ledger

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill gives every field below v a value of its own that is not zero.
func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("<text %d> & \u2028 \"ü\"", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, n)
		fill(t, value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Stamp]() {
			v.Set(reflect.ValueOf(Stamp(time.Unix(int64(*n), 0).UTC())))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	default:
		t.Fatalf("a field of kind %v", v.Kind())
	}
}

// TestRunWithEverythingRoundTrips finds two fields of one key, a field without a
// key, and one that is left out though it says something.
func TestRunWithEverythingRoundTrips(t *testing.T) {
	t.Parallel()
	var want, got Run
	n := 0
	fill(t, reflect.ValueOf(&want).Elem(), &n)
	line, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	same := cmp.Comparer(func(a, b Stamp) bool { return time.Time(a).Equal(time.Time(b)) })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if strings.ContainsAny(string(line), "\n\r") {
		t.Errorf("a record of several lines: %s", line)
	}
}

func TestGoalKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rec  any
		want string
	}{
		{&Termination{}, "status reason guard summary progress iterations timeElapsed outcomes deliverables suggestions question options awaitingUserInput nextSteps partial checkpointSaved resumable"},
		{&Outcomes{}, "successes failures"},
		{&Deliverable{}, "name ok proof"},
		{&Goal{}, "text status percent iterations false_stops deliverables"},
		{&Reflections{}, "count failed judged correct score by tokens cost_usd"},
		{&Forecast{}, "runs sessions seconds tokens cost_usd"},
		{&Range{}, "low likely high"},
	} {
		n := 0
		fill(t, reflect.ValueOf(tt.rec).Elem(), &n)
		line, err := encode(tt.rec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(keysOf(t, line), " ")); diff != "" {
			t.Errorf("%T (-want +got):\n%s", tt.rec, diff)
		}
	}
}

// TestNoAnswerIsAnAnswer: what says no or none stays in the record, because a
// reader tells it from a record of a version that did not know the field.
func TestNoAnswerIsAnAnswer(t *testing.T) {
	t.Parallel()
	line, err := encode(Run{Goals: []Goal{{}}, Reflections: &Reflections{}, Forecast: &Forecast{}, Termination: &Termination{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"goals":[{"text":"","status":"","percent":0,"iterations":0,"false_stops":0,`, `"reflections":{"count":0,"failed":0,"judged":0,"correct":0,"score":0,`,
		`"forecast":{"runs":0,"sessions":{"low":0,"likely":0,"high":0},`, `"awaitingUserInput":false`, `"checkpointSaved":false`, `"resumable":false`, `"outcomes":{"successes":0,"failures":0}`,
	} {
		if !strings.Contains(string(line), part) {
			t.Errorf("%s is missing in %s", part, line)
		}
	}
}

// TestRunWithoutGoals is a run that has no goal, and a record of an older version.
func TestRunWithoutGoals(t *testing.T) {
	t.Parallel()
	line, err := encode(Run{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keysOf(t, line) {
		switch key {
		case "mode", "resumed_from", "goal", "goals", "reflections", "forecast", "termination":
			t.Errorf("%s stands in a record that has none", key)
		}
	}
	old := `{"schema_version":1,"autopilot_run_id":"x","started_at":"2026-09-01T10:00:00Z","exit_cause":"work-done","goals":null,"termination":null,"later":{"a":[1]}}`
	var got Run
	if err := json.Unmarshal([]byte(old), &got); err != nil {
		t.Fatal(err)
	}
	if got.Goals != nil || got.Termination != nil || got.Reflections != nil || got.Forecast != nil || got.ExitCause != "work-done" {
		t.Errorf("got %+v, want what is not there to be nil", got)
	}
}
