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

// handler calls the action of a tool with checked arguments. It never returns a
// protocol error.
func handler[In, Out any](tool string, schema *jsonschema.Schema, do Action[In, Out]) mcp.ToolHandler {
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
