package episode

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What skim takes out of a line is what a whole reading of it gives.
func TestSkimIsParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := Episode{
			ID: "x" + rapid.String().Draw(t, "id"), At: time.Unix(5, 0).UTC(), Task: rapid.String().Draw(t, "task"), Status: rapid.String().Draw(t, "status"),
			Critique: rapid.String().Draw(t, "critique"), Tags: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tags"),
			Success: rapid.Bool().Draw(t, "success"), Reward: rapid.Float64Range(0, 1).Draw(t, "reward"),
			Iterations: rapid.Int().Draw(t, "iterations"), DurationMS: rapid.Int64().Draw(t, "ms"),
		}
		if len(e.Tags) == 0 {
			e.Tags = nil
		}
		n := rapid.IntRange(0, 4).Draw(t, "steps")
		for range n {
			e.Steps = append(e.Steps, Step{Signals: []string{`a]}",{"`}})
		}
		line := encode(t, e)
		if rapid.Bool().Draw(t, "indented") {
			var err error
			if line, err = json.MarshalIndent(e, " ", "\t"); err != nil {
				t.Fatal(err)
			}
		}
		got, ok := skim(line)
		want, okParse := parse(line)
		want.At, want.Steps = time.Time{}, nil
		if diff := cmp.Diff(want, got); diff != "" || !ok || !okParse {
			t.Fatalf("skim %v, parse %v (-parse +skim):\n%s", ok, okParse, diff)
		}
		if k := steps(line); k != n {
			t.Fatalf("%d steps, want %d: %s", k, n, line)
		}
	})
}

// What parse takes, skim takes too, and never does either panic.
func FuzzSkim(f *testing.F) {
	f.Add([]byte(`{"id":"a","task":"x\u00e9","tags":["b"],"trajectory":[{"iteration":1}],"reward":1e-3}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"id":null,"x":[[{"}":"\\\""}]] , "id" : "q" }`))
	f.Add([]byte(`{"a":1`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := skim(line)
		full, okParse := parse(line)
		if okParse && !ok {
			t.Fatalf("%s: parse took it, skim did not", line)
		}
		folded := strings.ToLower(string(line)) != string(line) // keys in other cases count for parse alone
		if okParse && !folded && json.Valid(line) && strings.Count(string(line), `\`) == 0 && strings.ToValidUTF8(string(line), "") == string(line) && e.ID != full.ID {
			t.Fatalf("%s: id %q and %q", line, e.ID, full.ID)
		}
		if ok {
			_ = steps(line)
		}
	})
}
