package report_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
)

// TestDocumentHasNoNullLists holds all forms of facts against a schema that says: lists are
// lists, units are in names.
func TestDocumentHasNoNullLists(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]report.Facts{"empty": nothing(), "one": one(), "night": night(), "zero": {}} {
		var doc map[string]any
		if err := json.Unmarshal([]byte(document(t, f)), &doc); err != nil {
			t.Fatal(err)
		}
		if doc["schema_version"] != 1.0 || doc["kind"] != "run" {
			t.Errorf("%s: version %v of %v", name, doc["schema_version"], doc["kind"])
		}
		typ := reflect.TypeFor[report.Document]()
		for i := range typ.NumField() {
			called, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if called == "" || called != strings.ToLower(called) {
				t.Errorf("field %s is called %q", typ.Field(i).Name, called)
			}
			if typ.Field(i).Type.Kind() == reflect.Slice {
				if _, list := doc[called].([]any); !list {
					t.Errorf("%s: %s is %v", name, called, doc[called])
				}
			}
		}
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	f := night()
	f.Run.Termination.AwaitingUserInput, f.Run.Termination.Question = true, "Which cloud?"
	d := report.NewDocument(f)
	if d.State != "person" || d.Question != "Which cloud?" || *d.EndedAt != "2026-11-21T05:00:00.000Z" || *d.Percent != 45 || *d.Velocity != 7.5 || *d.Reward != 0.4321 {
		t.Errorf("%+v", d)
	}
	if d.Totals.Budgeted != 512_340 || d.Totals.Commits != 7 || d.Totals.Refused != 2 || d.Elapsed != 25_200 || d.Machine.WorstTier != "degraded" || d.Machine.Samples != 43 || len(d.LeftOut) != 0 {
		t.Errorf("%+v", d)
	}
	if s := d.Sessions[6]; s.Tier != "green" || *s.Agents != 6 || s.Refused != 2 || s.For != "0003-deploy" {
		t.Errorf("%+v", s)
	}
	if len(d.ToDo) == 0 || d.ToDo[0].Text != "Answer: Which cloud?" {
		t.Errorf("to do: %+v", d.ToDo)
	}
	f.Open = true
	if d = report.NewDocument(f); d.EndedAt != nil || d.Summary != "" || d.Question != "" || d.State != "open" {
		t.Errorf("a run that is on: %+v", d)
	}
	f.Run.Goals = []ledger.Goal{{Text: "x", Percent: -1}}
	if d = report.NewDocument(f); d.Goals[0].Percent != nil {
		t.Error("a percentage that cannot be is told")
	}
}

// TestPlotsInWords looks for what the new drawings show in the text, which has none.
func TestPlotsInWords(t *testing.T) {
	t.Parallel()
	words := string(report.Markdown(night()))
	for _, want := range []string{
		"| Velocity, in a session | 7.5% |", "| Reward, 0 to 1 | 0.43 |", "| Memory available | 6 to 14 GB |", "| Swap in use, at most | 1 GB |", "| Worst tier | degraded, in 14% of the samples |",
		"| Other Claude Code sessions, at most | 3 |", "| Machine asleep | 2 minutes |",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, words)
		}
	}
	page := html(t, night())
	for _, want := range []string{"<figcaption>Velocity</figcaption>", "<figcaption>Memory and tier</figcaption>", "In the mean it was 7.5% of the work in a session.", "Available were 6 to 14 GB"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}
