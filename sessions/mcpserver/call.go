package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// action does what a tool is for. The text is for a reader; when it is empty, the
// data is given as JSON instead.
type action[In, Out any] func(ctx context.Context, in In) (out Out, text string, err error)

// hint is what a tool does to the world.
type hint string

const (
	reads    hint = "reads"    // changes nothing
	changes  hint = "changes"  // changes something that a further call can change back; twice is as good as once
	discards hint = "discards" // loses something for good, each time it is called
)

// trait is what clients are told about a tool beside its name.
type trait struct {
	title, about string
	hint         hint
	network      bool // may ask a service on the network
}

// add puts a tool on the server. The schemas come from the types; limit adds the
// bounds that a Go type cannot express. It panics when a type has no schema.
func add[In, Out any](s *mcp.Server, tool string, t trait, limit func(map[string]*jsonschema.Schema), do action[In, Out]) {
	in, out := schemaOf[In](), schemaOf[Out]()
	plain(in)
	if limit != nil {
		limit(in.Properties)
	}
	lost := t.hint == discards
	s.AddTool(&mcp.Tool{
		Name: tool, Title: t.title, Description: t.about, InputSchema: in, OutputSchema: out,
		Annotations: &mcp.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.hint == reads, IdempotentHint: !lost, DestructiveHint: &lost, OpenWorldHint: &t.network,
		},
	}, handler(tool, in, do))
}

// handler calls the action of a tool with checked arguments. It never returns a
// protocol error.
func handler[In, Out any](tool string, schema *jsonschema.Schema, do action[In, Out]) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		defer func() {
			// The library calls us on a goroutine of its own, where a panic would end
			// the program.
			if p := recover(); p != nil {
				res = refusal(fmt.Errorf("%s: internal error: %v", tool, p))
			}
		}()
		var in In
		if err := readArguments(req.Params.Arguments, tool, schema, &in); err != nil {
			return refusal(err), nil
		}
		out, text, err := do(ctx, in)
		if err != nil {
			return refusal(fmt.Errorf("%s: %w", tool, err)), nil
		}
		data, err := encode(out)
		if err != nil {
			return refusal(fmt.Errorf("%s: internal error: %w", tool, err)), nil
		}
		if text == "" {
			text = string(data)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: data}, nil
	}
}

// refusal is an error that the model can read, with the way out where the error
// knows one.
func refusal(err error) *mcp.CallToolResult {
	text := err.Error()
	if way := wayOut(err); way != "" {
		text += "\nhint: " + way
	}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func wayOut(err error) string {
	var h interface {
		error
		Hint() string
	}
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// encode writes JSON for a model to read: without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	return s
}
