package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/sessions/completion"
)

// order is what the tests' own tool takes: arguments of every kind.
type order struct {
	What  string   `json:"what" jsonschema:"what is wanted"`
	Price *float64 `json:"price,omitempty" jsonschema:"at most"`
	To    *address `json:"to,omitempty" jsonschema:"where to"`
	Lines []string `json:"lines,omitempty" jsonschema:"remarks"`
}

type address struct {
	Town  string `json:"town" jsonschema:"its name"`
	Floor *int   `json:"floor,omitempty" jsonschema:"which one"`
}

type receipt struct {
	Number int `json:"number"`
	*address
}

func limitOrder(p map[string]*jsonschema.Schema) {
	p["what"].MaxLength, p["what"].Pattern = jsonschema.Ptr(40), NotBlank
	between(p["price"], 0, 99.5)
	p["to"].Properties["floor"].Minimum = jsonschema.Ptr(0.0)
}

func orderTool(do Action[order, receipt]) Tool {
	return NewTool("order", Trait{Title: "Order", About: "Order something.", Hint: Advances, Network: true}, limitOrder, do)
}

// connectWith is a client of a server with further tools.
func connectWith(t *testing.T, o Options) *mcp.ClientSession {
	t.Helper()
	toServer, toClient := mcp.NewInMemoryTransports()
	f := &fake{}
	if _, err := newServer(work{counter: f, recorder: f, teacher: f, network: true}, o).Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	return client(t, toClient)
}

func TestFurtherTool(t *testing.T) {
	t.Parallel()
	var got []order
	tool := orderTool(func(_ context.Context, in order) (receipt, string, error) {
		got = append(got, in)
		return receipt{Number: len(got), address: in.To}, "ordered", nil
	})
	if tool.Name() != "order" {
		t.Errorf("name is %q", tool.Name())
	}
	c := connectWith(t, Options{Tools: []Tool{tool}, Instructions: "Use order with care."})
	for _, tt := range []struct{ args, data string }{
		{`{"what":"tea","price":2.5,"to":{"town":"Bern","floor":3.0},"lines":["quick"]}`, `{"floor":3,"number":1,"town":"Bern"}`},
		{`{"what":"tea","price":null,"to":{"town":"Bern","floor":null}}`, `{"number":2,"town":"Bern"}`},
		{`{"what":"tea","to":null}`, `{"number":3}`},
	} {
		res := call(t, c, "order", json.RawMessage(tt.args))
		data, err := encode(res.StructuredContent)
		if err != nil || string(data) != tt.data || text(t, res) != "ordered" {
			t.Errorf("%s: got %s %v, %q, want %s", tt.args, data, err, text(t, res), tt.data)
		}
		resolved, err := schema(t, toolsOf(t, c)["order"].OutputSchema).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: output is not what its schema says: %v", tt.args, err)
		}
	}
	want := []order{
		{What: "tea", Price: jsonschema.Ptr(2.5), To: &address{Town: "Bern", Floor: jsonschema.Ptr(3)}, Lines: []string{"quick"}},
		{What: "tea", To: &address{Town: "Bern"}},
		{What: "tea"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	a := toolsOf(t, c)["order"].Annotations
	if a.ReadOnlyHint || a.IdempotentHint || *a.DestructiveHint || !*a.OpenWorldHint || a.Title != "Order" {
		t.Errorf("annotations are %+v", a)
	}
	if in := c.InitializeResult().Instructions; in != instructions+"\nUse order with care." {
		t.Errorf("instructions are %q", in)
	}
	if in := connect(t, &fake{}).InitializeResult().Instructions; in != instructions {
		t.Errorf("instructions without further ones are %q", in)
	}
}

func TestFurtherToolRefuses(t *testing.T) {
	t.Parallel()
	c := connectWith(t, Options{Tools: []Tool{orderTool(func(_ context.Context, in order) (receipt, string, error) {
		switch in.What {
		case "panic":
			panic("no tea")
		case "hint":
			return receipt{Number: 1}, "text", fmt.Errorf("brew: %w", brokenState{})
		}
		t.Error("a refused order arrived")
		return receipt{}, "", nil
	})}})
	for args, want := range map[string]string{
		`{"what":"panic"}`:                                 "order: internal error: no tea",
		`{"what":"hint"}`:                                  "order: brew: state file s1.json is no JSON\nhint: remove s1.json",
		`{"what":"tea","price":99.6}`:                      "order: price is 99.6; it must be from 0 to 99.5",
		`{"what":"tea","price":-1e300}`:                    "order: price is -1e+300; it must be from 0 to 99.5",
		`{"what":"tea","price":"2"}`:                       "order: price must be a number",
		`{"what":"tea","to":"Bern"}`:                       "order: to must be an object",
		`{"what":"tea","to":[]}`:                           "order: to must be an object",
		`{"what":"tea","to":{}}`:                           "order: to.town is missing: its name",
		`{"what":"tea","to":{"town":null}}`:                "order: to.town is missing: its name",
		`{"what":"tea","to":{"town":1,"floor":1.5}}`:       "order: to.town must be a string; to.floor must be a whole number",
		`{"what":"tea","to":{"town":"Bern","floor":-1}}`:   "order: to.floor is -1; it must be at least 0",
		`{"what":"tea","to":{"town":"Bern","street":"x"}}`: `order: unknown argument "to.street"; to takes town, floor`,
		`{"to":{"town":"Bern"},"street":"x"}`:              `order: what is missing: what is wanted; unknown argument "street"; the tool takes what, price, to, lines`,
		`{"what":"` + strings.Repeat("x", 41) + `"}`:       "order: what has 41 characters; at most 40 are taken",
	} {
		res := call(t, c, "order", json.RawMessage(args))
		if got := text(t, res); !res.IsError || got != want || res.StructuredContent != nil {
			t.Errorf("%s: error %t, %q, want %q", args, res.IsError, got, want)
		}
	}
}

func TestToolTakesThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	say := func(name string) Tool {
		return NewTool(name, Trait{Title: "Own", Hint: Reads}, nil, func(context.Context, struct{}) (reported, string, error) { return reported{true}, "own " + name, nil })
	}
	c := connectWith(t, Options{Supervised: true, Tools: []Tool{say("autopilot_status"), say("autopilot_reset")}})
	tools := toolsOf(t, c)
	var names []string
	for n := range tools {
		names = append(names, n)
	}
	slices.Sort(names)
	want := []string{"autopilot_history", "autopilot_learn", "autopilot_log", "autopilot_predict", "autopilot_progress", "autopilot_report", "autopilot_reset", "autopilot_status"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if got := text(t, call(t, c, "autopilot_status", nil)); got != "own autopilot_status" || tools["autopilot_status"].Title != "Own" {
		t.Errorf("status says %q and is called %q", got, tools["autopilot_status"].Title)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	st := someStatus()
	got, words := Answer(st)
	if got.Remaining[1].Subject != "ship it" || st.Remaining[1].Subject != "ship\nit" || !strings.HasPrefix(words, "Persistent completion is on") {
		t.Errorf("answer is %+v, %q", got, words)
	}
	if empty, _ := Answer(completion.Status{}); empty.Remaining == nil || empty.TaskSources == nil || empty.Others == nil {
		t.Errorf("empty lists are no lists: %+v", empty)
	}
}
