package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply says how one request is answered. It is made by a function of this package and refined by its methods, which
// return a changed copy.
type Reply struct {
	blocks []Block
	usage  Usage
	stop   string
	header http.Header

	status int // 0 for an answer of the model
	body   string

	fault fault
	after int // number of events before the fault
	delay time.Duration
	chunk int // bytes of text in one event
}

type fault string

const (
	faultNone  fault = ""
	faultHang  fault = "hang"  // not even headers
	faultStall fault = "stall" // silence after some events
	faultReset fault = "reset" // TCP reset after some events
	faultEnd   fault = "end"   // orderly end of the response after some events
)

// Usage is what the answer claims to have used, in tokens.
type Usage struct {
	Input       int // neither read from nor written to the cache
	Output      int
	CacheRead   int
	CacheCreate int
}

// defaultChunk is small enough for a long text to come in many events and large enough for megabytes to be quick.
const defaultChunk = 16 << 10

// Text is an answer of one text block, of any size.
func Text(s string) Reply { return Blocks(TextBlock(s)) }

// ToolUse is an answer that calls one tool. It panics if input cannot be marshalled to JSON.
func ToolUse(name string, input any) Reply { return Blocks(ToolBlock(name, input)) }

// Blocks is an answer of several blocks: texts, and tool calls that the CLI may run side by side. Its usage is 100 tokens
// in and 20 out. Its stop reason is "tool_use" if it has a tool call, else "end_turn".
func Blocks(blocks ...Block) Reply {
	stop := "end_turn"
	for _, b := range blocks {
		if b.Type == "tool_use" {
			stop = "tool_use"
		}
	}
	return Reply{blocks: blocks, stop: stop, usage: Usage{Input: 100, Output: 20}, chunk: defaultChunk}
}

// TextBlock is text for [Blocks].
func TextBlock(s string) Block { return Block{Type: "text", Text: s} }

// ThinkingBlock is a thought of the model for [Blocks], with a made-up signature.
func ThinkingBlock(s string) Block { return Block{Type: "thinking", Text: s} }

// ToolBlock is a tool call for [Blocks]. Without an ID of its own it gets one that is unique on the server. It panics if
// input cannot be marshalled to JSON.
func ToolBlock(name string, input any) Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("messagesapi: input of tool %s: %v", name, err))
	}
	return Block{Type: "tool_use", Name: name, Input: raw}
}

// Status is an HTTP answer with the given headers and body, neither streamed nor checked.
func Status(code int, header map[string]string, body string) Reply {
	r := Reply{status: code, body: body, header: make(http.Header)}
	r.header.Set("Content-Type", "application/json")
	for k, v := range header {
		r.header.Set(k, v)
	}
	return r
}

// Hang never answers. It ends when the client goes or the server closes.
func Hang() Reply { return Reply{fault: faultHang} }

// WithUsage sets the numbers of tokens.
func (r Reply) WithUsage(u Usage) Reply {
	r.usage = u
	return r
}

// WithStop sets the stop reason, such as "max_tokens" or "refusal".
func (r Reply) WithStop(reason string) Reply {
	r.stop = reason
	return r
}

// WithHeader sets one header of the response.
func (r Reply) WithHeader(key, value string) Reply {
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = make(http.Header)
	}
	r.header.Set(key, value)
	return r
}

// Chunked sets how many bytes of text or tool input one event carries; the default is 16 KiB. Text is cut between
// characters, so that an event may have up to three bytes less.
func (r Reply) Chunked(bytes int) Reply {
	r.chunk = max(bytes, 4)
	return r
}

// Slow waits before each event of a stream, or once before an answer in one piece.
func (r Reply) Slow(delay time.Duration) Reply {
	r.delay = delay
	return r
}

// StallAfter sends that many events of the stream and then nothing, with the connection open. An answer in one piece
// stalls after its headers.
func (r Reply) StallAfter(events int) Reply { return r.withFault(faultStall, events) }

// ResetAfter sends that many events of the stream and then resets the connection. An answer in one piece is reset after
// its headers. The reset may overtake events that the client has not read yet.
func (r Reply) ResetAfter(events int) Reply { return r.withFault(faultReset, events) }

// EndAfter sends that many events of the stream and then ends the response in an orderly way. An answer in one piece
// ends without a body.
func (r Reply) EndAfter(events int) Reply { return r.withFault(faultEnd, events) }

func (r Reply) withFault(f fault, events int) Reply {
	r.fault = f
	r.after = events
	return r
}
