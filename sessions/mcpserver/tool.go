package mcpserver

import (
	"context"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Action does what a tool is for. The text is for a reader; when it is empty, the
// data is given as JSON instead.
type Action[In, Out any] func(ctx context.Context, in In) (out Out, text string, err error)

// Hint is what a tool does to the world.
type Hint string

// What tools do.
const (
	Reads    Hint = "reads"    // changes nothing
	Changes  Hint = "changes"  // changes something that a further call can change back; twice is as good as once
	Advances Hint = "advances" // goes on by one step each time it is called, and loses nothing
	Discards Hint = "discards" // loses something for good, each time it is called
)

// Trait is what clients are told about a tool beside its name.
type Trait struct {
	Title   string
	About   string
	Hint    Hint
	Network bool // may ask a service on the network
}

// Limit adds the bounds that a Go type cannot express to the schemas of the arguments
// of a tool, by their names. Of what a schema can say, only bounds of numbers, lengths
// and numbers of items, enums, unique items and the pattern NotBlank are enforced.
type Limit func(arguments map[string]*jsonschema.Schema)

// Tool is one tool of a server. NewTool makes one.
type Tool struct {
	name string
	add  func(*mcp.Server)
}

// Name is the name by which it is called.
func (t Tool) Name() string { return t.name }

// NewTool makes a tool from an action. The schemas come from the types; In has to be a
// struct with fields for the arguments, which may be structs themselves. limit may be
// nil. An argument that is null counts as left out.
//
// It panics when a type has no schema.
func NewTool[In, Out any](name string, t Trait, limit Limit, do Action[In, Out]) Tool {
	in, out := schemaOf[In](), schemaOf[Out]()
	plain(in)
	if limit != nil {
		limit(in.Properties)
	}
	lost := t.Hint == Discards
	tool := &mcp.Tool{
		Name: name, Title: t.Title, Description: t.About, InputSchema: in, OutputSchema: out,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.Hint == Reads, IdempotentHint: !lost && t.Hint != Advances, DestructiveHint: &lost, OpenWorldHint: &t.Network,
		},
	}
	return Tool{name, func(s *mcp.Server) { s.AddTool(tool, handler(name, in, do)) }}
}

// add puts a tool on the server.
func add[In, Out any](s *mcp.Server, name string, t Trait, limit Limit, do Action[In, Out]) {
	NewTool(name, t, limit, do).add(s)
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return slices.Contains(behindPointers(reflect.TypeFor[T]()), n) })
	return s
}

// behindPointers are the names of what a struct has from embedded pointers. They are
// missing where such a pointer is nil, which the library does not think of.
func behindPointers(t reflect.Type) []string {
	var out []string
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer {
			if s, err := jsonschema.ForType(f.Type.Elem(), nil); err == nil {
				out = append(out, s.PropertyOrder...)
			}
		}
	}
	return out
}
