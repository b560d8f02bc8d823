package reflector

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// fields are those of a good reply, as JSON.
func fields() map[string]string {
	return map[string]string{
		"goalAchieved": `"PARTIAL"`, "progress": `"GOOD"`, "percentComplete": "65", "loopDetected": "false",
		"recommendation": `"CONTINUE"`, "reasoning": `"2 of 3 modules are done"`, "nextSteps": `["the third module"]`,
	}
}

// object writes a reply with one field changed; an empty value leaves it out.
func object(key, value string) string {
	all := fields()
	if value == "" {
		delete(all, key)
	} else {
		all[key] = value
	}
	raw := map[string]json.RawMessage{}
	for k, v := range all {
		raw[k] = json.RawMessage(v)
	}
	out, err := json.Marshal(raw)
	if err != nil { // the value is no JSON, which is what the case is about
		var b strings.Builder
		sep := "{"
		for k, v := range all {
			fmt.Fprintf(&b, "%s%q:%s", sep, k, v)
			sep = ","
		}
		return b.String() + "}"
	}
	return string(out)
}

func standard() string { return object("reasoning", fields()["reasoning"]) }

func want() Assessment {
	return Assessment{
		GoalAchieved: Partial, Progress: Good, PercentComplete: 65, Recommendation: Continue,
		Reasoning: "2 of 3 modules are done", NextSteps: []string{"the third module"},
	}
}

func with(f func(*Assessment)) Assessment {
	a := want()
	f(&a)
	return a
}

func TestParseAssessment(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000)
	for _, c := range []struct {
		name, reply string
		want        Assessment
	}{
		{"as it should be", standard(), want()},
		{"spaced", "\n\t " + strings.ReplaceAll(standard(), ",", " ,\r\n ") + "\n", want()},
		{"in a fence", "```json\n" + standard() + "\n```\n", want()},
		{"between words", "Here is my assessment:\n\n" + standard() + "\n\nI hope that helps.", want()},
		{"after braces in words", "The function {main} of {\"a\": b} and { is open. " + standard(), want()},
		{"after a brace in front", "{" + standard(), want()},
		{"after another object", `The config is {} and {"a":{"b":[1]}}. ` + standard(), want()},
		{"before another object", standard() + ` where {"percentComplete": 1}`, want()},
		{"twice the same", standard() + "\n" + strings.ReplaceAll(standard(), ":", ": "), want()},
		{"with braces in texts", object("reasoning", `"a } and a { and \"}{\" and {\"goalAchieved\":\"YES\"}"`), with(func(a *Assessment) {
			a.Reasoning = `a } and a { and "}{" and {"goalAchieved":"YES"}`
		})},
		{"a half percent", object("percentComplete", "50.5"), with(func(a *Assessment) { a.PercentComplete = 50.5 })},
		{"the lowest percent", object("percentComplete", "0"), with(func(a *Assessment) { a.PercentComplete = 0 })},
		{"the highest percent", object("percentComplete", "1e2"), with(func(a *Assessment) { a.PercentComplete = 100 })},
		{"no steps", object("nextSteps", "[]"), with(func(a *Assessment) { a.NextSteps = []string{} })},
		{"empty and spaced steps", object("nextSteps", `[" ", "one\n  line", ""]`), with(func(a *Assessment) { a.NextSteps = []string{"one line"} })},
		{"a long step", object("nextSteps", `["`+long+`"]`), with(func(a *Assessment) { a.NextSteps = []string{strings.Repeat("é", 299) + "…"} })},
		{"many steps", object("nextSteps", "["+strings.Repeat(`"x",`, 99)+`"y"]`), with(func(a *Assessment) {
			a.NextSteps = strings.Split(strings.Repeat("x", 20), "")
		})},
		{"no reasoning", object("reasoning", `""`), with(func(a *Assessment) { a.Reasoning = "" })},
		{"a long reasoning", object("reasoning", `"`+long+`"`), with(func(a *Assessment) { a.Reasoning = strings.Repeat("é", 1999) + "…" })},
		{"milestones", object("milestonesDone", "[3,1,3]"), with(func(a *Assessment) { a.MilestonesDone = []int{1, 3} })},
		{"a key twice", `{"goalAchieved":"YES","nextSteps":["a","b"],` + standard()[1:], want()},
		{"bytes that are no UTF-8", object("reasoning", "\"a\xffb\""), with(func(a *Assessment) { a.Reasoning = "a\uFFFDb" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseAssessment([]byte(c.reply))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseAssessmentRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for _, c := range []struct{ name, reply, why string }{
		{"nothing", "", "no JSON object"},
		{"words", "The goal is reached.", "no JSON object"},
		{"null", "null", "no JSON object"},
		{"an array", `["YES", 100]`, "no JSON object"},
		{"a text", `"YES"`, "no JSON object"},
		{"an empty object", "{}", `"goalAchieved"`},
		{"an object in another", `{"assessment":` + standard() + `}`, "assessment"},
		{"cut off", standard()[:len(standard())-4], "unexpected EOF"},
		{"cut off in a text with a brace", `{"goalAchieved":"YES","reasoning":"the { of`, "unexpected EOF"},
		{"two that differ", standard() + object("goalAchieved", `"YES"`), "two assessments"},
		{"two that differ, and another", object("percentComplete", "66") + "{}" + standard(), "two assessments"},
		{"wrong case", object("goalAchieved", `"yes"`), "goalAchieved"},
		{"wrong case of a key", strings.Replace(standard(), `"progress"`, `"Progress"`, 1), "Progress"},
		{"an unknown word", object("progress", `"FINE"`), "progress"},
		{"another's word", object("recommendation", `"YES"`), "recommendation"},
		{"more than all", object("percentComplete", "101"), "percentComplete"},
		{"a little more than all", object("percentComplete", "100.0001"), "percentComplete"},
		{"less than nothing", object("percentComplete", "-1"), "percentComplete"},
		{"a percentage as text", object("percentComplete", `"50"`), "percentComplete"},
		{"no percentage", object("percentComplete", "null"), "percentComplete"},
		{"NaN", object("percentComplete", "NaN"), "invalid character"},
		{"infinity", object("percentComplete", "1e999"), "1e999"},
		{"a loop as text", object("loopDetected", `"false"`), "loopDetected"},
		{"a loop as number", object("loopDetected", "0"), "loopDetected"},
		{"steps as text", object("nextSteps", `"go on"`), "nextSteps"},
		{"steps are numbers", object("nextSteps", `[1]`), "nextSteps"},
		{"no steps", object("nextSteps", "null"), "nextSteps"},
		{"steps, deep", object("nextSteps", deep), "depth"},
		{"a reasoning of objects", object("reasoning", `{"a":"b"}`), "reasoning"},
		{"milestone zero", object("milestonesDone", "[0]"), "milestonesDone"},
		{"half a milestone", object("milestonesDone", "[1.5]"), "milestonesDone"},
		{"an extra field", object("confidence", "1"), "confidence"},
		{"a key twice, the last one bad", standard()[:len(standard())-1] + `,"progress":"FINE"}`, "progress"},
		{"a key twice, the first one bad", `{"percentComplete":"none",` + standard()[1:], "percentComplete"},
		{"two megabytes", standard() + strings.Repeat(" ", 2<<20), "2097"},
		{"a long value", object("progress", `"`+strings.Repeat("x", 1<<19)+`"`), "progress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseAssessment([]byte(c.reply))
			if err == nil {
				t.Fatalf("got %+v, want an error", got)
			}
			if !strings.Contains(err.Error(), c.why) || len(err.Error()) > 2500 || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %.3000q, want a short line with %q", err, c.why)
			}
			if diff := cmp.Diff(Assessment{}, got); diff != "" {
				t.Errorf("an assessment beside the error: %s", diff)
			}
		})
	}
	for key := range maps.Keys(fields()) {
		if _, err := ParseAssessment([]byte(object(key, ""))); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("without %s: got %v, want an error that names it", key, err)
		}
	}
}

// The work on a text of braces is bounded, so the object behind too many of them
// is not found. Were the work quadratic, this would take hours.
func TestParseAssessmentIsBounded(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"{", `{"a":`, "{}"} {
		text := strings.Repeat(piece, (maxReply-len(standard()))/len(piece)) + standard()
		if a, err := ParseAssessment([]byte(text)); err == nil {
			t.Errorf("a megabyte of %s: got %+v, want an error", piece, a)
		}
		if _, err := ParseAssessment([]byte(strings.Repeat(piece, 500) + "\n" + standard())); err != nil {
			t.Errorf("behind 500 times %s: %v", piece, err)
		}
	}
}

func TestSchemaAgreesWithTheType(t *testing.T) {
	t.Parallel()
	var schema struct {
		Required   []string       `json:"required"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(Schema), &schema); err != nil {
		t.Fatal(err)
	}
	a := want()
	a.MilestonesDone = []int{1}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var written map[string]any
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	for key := range written {
		if schema.Properties[key] == nil {
			t.Errorf("the schema lacks %s", key)
		}
	}
	if len(schema.Properties) != len(written) || len(schema.Required) != len(fields()) {
		t.Errorf("%d properties, %d required, want %d and %d", len(schema.Properties), len(schema.Required), len(written), len(fields()))
	}
	if got, err := ParseAssessment(data); err != nil || !cmp.Equal(got, a) {
		t.Errorf("written and read again: %+v, %v, want %+v", got, err, a)
	}
}

func FuzzParseAssessment(f *testing.F) {
	f.Add([]byte(standard()))
	f.Add([]byte("```json\n" + standard() + "\n```"))
	f.Add([]byte(`{"a":{"b":` + standard() + "{{"))
	f.Add([]byte(object("percentComplete", "1e-400")))
	f.Add([]byte(object("nextSteps", `["a","\ud800"]`)))
	f.Add([]byte(object("milestonesDone", "[1,99999999999999999999]")))
	f.Add([]byte(standard() + object("progress", `"SLOW"`)))
	f.Fuzz(func(t *testing.T, reply []byte) {
		a, err := ParseAssessment(reply)
		if err != nil {
			if diff := cmp.Diff(Assessment{}, a); diff != "" {
				t.Errorf("an assessment beside the error: %s", diff)
			}
			return
		}
		checkBounds(t, a)
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseAssessment(data); err != nil || !cmp.Equal(again, a) {
			t.Errorf("written and read again: %+v, %v, want %+v", again, err, a)
		}
	})
}

func checkBounds(t *testing.T, a Assessment) {
	t.Helper()
	words := map[string]bool{
		"YES": true, "NO": true, "PARTIAL": true, "GOOD": true, "SLOW": true, "STUCK": true, "CONTINUE": true, "STOP": true, "ASK_USER": true,
	}
	if !words[string(a.GoalAchieved)] || !words[string(a.Progress)] || !words[string(a.Recommendation)] {
		t.Errorf("%+v has unknown words", a)
	}
	if !(a.PercentComplete >= 0 && a.PercentComplete <= 100) {
		t.Errorf("%g %%", a.PercentComplete)
	}
	if n := utf8.RuneCountInString(a.Reasoning); n > maxReasoning {
		t.Errorf("the reasoning has %d runes", n)
	}
	if a.NextSteps == nil || len(a.NextSteps) > maxSteps {
		t.Errorf("%d next steps, nil: %t", len(a.NextSteps), a.NextSteps == nil)
	}
	for _, s := range a.NextSteps {
		if s == "" || utf8.RuneCountInString(s) > maxStep || strings.Contains(s, "\n") {
			t.Errorf("step %q", s)
		}
	}
	for i, n := range a.MilestonesDone {
		if n < 1 || i > 0 && n <= a.MilestonesDone[i-1] {
			t.Errorf("milestones %v", a.MilestonesDone)
		}
	}
}
