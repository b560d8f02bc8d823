package mcpserver

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/google/jsonschema-go/jsonschema"
)

// What the schema that is published says is what the server does.
func TestCheckAgreesWithTheSchema(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, connect(t, &fake{}))
	type known struct {
		schema   *jsonschema.Schema
		resolved *jsonschema.Resolved
	}
	var all []known
	var names []string
	for _, tool := range tools {
		s := schema(t, tool.InputSchema)
		for n := range s.Properties {
			names = append(names, n)
			s.PropertyOrder = append(s.PropertyOrder, n)
		}
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, known{s, r})
	}
	nested := schemaOf[order]()
	plain(nested)
	limitOrder(nested.Properties)
	r, err := nested.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 { // as often as all others together
		all = append(all, known{nested, r})
	}
	names = append(names, "what", "price", "to", "lines")
	words := rapid.SampledFrom([]string{"markdown", "team-tasks", "all-tasks-done", "x", "", " \n", string(make([]byte, 301)), string(make([]byte, 2001))})
	value := rapid.OneOf(
		rapid.Just[any](true), words.AsAny(), rapid.Float64Range(-3, 1500).AsAny(), rapid.SliceOfN(words, 0, 60).AsAny(),
		rapid.Map(rapid.IntRange(-2, 1502), func(i int) any { return i }), rapid.Just[any](1e15), rapid.Just[any](map[string]any{}),
		rapid.Just[any]([]any{1, "x"}),
		rapid.MapOfN(rapid.SampledFrom([]string{"town", "floor", "other"}), rapid.OneOf(words.AsAny(), rapid.Float64Range(-3, 4).AsAny(), rapid.Just[any](3)), 0, 3).AsAny(),
	)
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(all).Draw(t, "tool")
		args := rapid.MapOfN(rapid.SampledFrom(append(names, "other")), value, 0, 4).Draw(t, "args")
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		var plainArgs map[string]any
		if err := json.Unmarshal(data, &plainArgs); err != nil {
			t.Fatal(err)
		}
		want := k.resolved.Validate(plainArgs)
		if got := check(k.schema, plainArgs); (want == nil) != (len(got) == 0) {
			t.Fatalf("%.300s: the schema says %v, check says %v", data, want, got)
		}
	})
}
