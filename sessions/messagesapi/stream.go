package messagesapi

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
	"unicode/utf8"
)

// exchange sends the reply to one request.
type exchange struct {
	w    http.ResponseWriter
	gone <-chan struct{} // closed when the client goes
	done <-chan struct{} // closed when the server closes
	req  Request
}

// event is one server-sent event; the data's "type" is its name.
type event struct {
	name string
	data map[string]any
}

func (x *exchange) send(r Reply) {
	if r.fault == faultHang {
		x.hang()
	}
	for k, v := range r.header {
		x.w.Header()[k] = v
	}
	x.w.Header().Set("Request-Id", fmt.Sprintf("req_%d", x.req.Number))
	switch {
	case r.status != 0:
		x.pause(r.delay)
		x.w.WriteHeader(r.status)
		_, _ = x.w.Write([]byte(r.body))
	case x.req.Stream:
		x.stream(r)
	default:
		x.whole(r)
	}
}

// stream sends the answer as events. Errors of writing are the client's going away, which ends the exchange.
func (x *exchange) stream(r Reply) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(x.w)
	sent := 0
	for e := range x.events(r) {
		if r.fault != faultNone && sent == r.after {
			break
		}
		x.pause(r.delay)
		e.data["type"] = e.name
		data, err := json.Marshal(e.data)
		if err != nil {
			panic(fmt.Sprintf("messagesapi: marshal event %s: %v", e.name, err))
		}
		if _, err := fmt.Fprintf(x.w, "event: %s\ndata: %s\n\n", e.name, data); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
		sent++
	}
	x.fail(r.fault)
}

// whole sends the answer in one piece.
func (x *exchange) whole(r Reply) {
	x.w.Header().Set("Content-Type", "application/json")
	x.pause(r.delay)
	x.w.WriteHeader(http.StatusOK)
	if r.fault != faultNone {
		_ = http.NewResponseController(x.w).Flush()
		x.fail(r.fault)
		return
	}
	content := make([]map[string]any, 0, len(r.blocks))
	for i, b := range r.blocks {
		content = append(content, x.wire(i, b))
	}
	m := x.message(r.usage)
	m["content"] = content
	m["stop_reason"] = r.stop
	_ = json.NewEncoder(x.w).Encode(m)
}

// events yields the events of an answer in the order of the public streaming protocol.
func (x *exchange) events(r Reply) func(yield func(event) bool) {
	return func(yield func(event) bool) {
		opening := r.usage
		opening.Output = 1
		if !yield(event{"message_start", map[string]any{"message": x.message(opening)}}) {
			return
		}
		for i, b := range r.blocks {
			if !x.blockEvents(i, b, r.chunk, yield) {
				return
			}
		}
		delta := map[string]any{"stop_reason": r.stop, "stop_sequence": nil}
		if !yield(event{"message_delta", map[string]any{"delta": delta, "usage": wireUsage(r.usage)}}) {
			return
		}
		yield(event{"message_stop", map[string]any{}})
	}
}

// blockEvents yields the events of one block and reports whether more are wanted. A ping follows the first start.
func (x *exchange) blockEvents(i int, b Block, chunk int, yield func(event) bool) bool {
	whole := x.wire(i, b)
	start := map[string]any{"type": b.Type}
	field, kind, full := "text", "text_delta", b.Text
	switch b.Type {
	case "tool_use":
		start["id"], start["name"], start["input"] = whole["id"], whole["name"], map[string]any{}
		field, kind, full = "partial_json", "input_json_delta", string(b.Input)
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		field, kind = "thinking", "thinking_delta"
	default:
		start["text"] = ""
	}
	if !yield(event{"content_block_start", map[string]any{"index": i, "content_block": start}}) {
		return false
	}
	if i == 0 && !yield(event{"ping", map[string]any{}}) {
		return false
	}
	for part := range pieces(full, chunk) {
		delta := map[string]any{"type": kind, field: part}
		if !yield(event{"content_block_delta", map[string]any{"index": i, "delta": delta}}) {
			return false
		}
	}
	if b.Type == "thinking" {
		delta := map[string]any{"type": "signature_delta", "signature": whole["signature"]}
		if !yield(event{"content_block_delta", map[string]any{"index": i, "delta": delta}}) {
			return false
		}
	}
	return yield(event{"content_block_stop", map[string]any{"index": i}})
}

// pieces cuts s between characters into parts of at most size bytes.
func pieces(s string, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(s) > size {
			cut := size
			for cut > size-utf8.UTFMax+1 && !utf8.RuneStart(s[cut]) {
				cut--
			}
			if !yield(s[:cut]) {
				return
			}
			s = s[cut:]
		}
		yield(s)
	}
}

func (x *exchange) message(u Usage) map[string]any {
	return map[string]any{
		"id":            fmt.Sprintf("msg_%d", x.req.Number),
		"type":          "message",
		"role":          "assistant",
		"model":         x.req.Model,
		"content":       []any{},
		"stop_reason":   nil,
		"stop_sequence": nil,
		"usage":         wireUsage(u),
	}
}

// wire is a whole block as JSON has it.
func (x *exchange) wire(i int, b Block) map[string]any {
	switch b.Type {
	case "tool_use":
		id := b.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%d_%d", x.req.Number, i)
		}
		return map[string]any{"type": b.Type, "id": id, "name": b.Name, "input": b.Input}
	case "thinking":
		return map[string]any{"type": b.Type, "thinking": b.Text, "signature": fmt.Sprintf("sig_%d_%d", x.req.Number, i)}
	default:
		return map[string]any{"type": b.Type, "text": b.Text}
	}
}

func wireUsage(u Usage) map[string]any {
	return map[string]any{
		"input_tokens":                u.Input,
		"output_tokens":               u.Output,
		"cache_read_input_tokens":     u.CacheRead,
		"cache_creation_input_tokens": u.CacheCreate,
	}
}

func (x *exchange) fail(f fault) {
	switch f {
	case faultStall:
		x.hang()
	case faultReset:
		x.reset()
	}
}

// hang waits until the client goes or the server closes. It does not return, so that the closing server leaves the request
// without an answer.
func (x *exchange) hang() {
	select {
	case <-x.gone:
	case <-x.done:
	}
	panic(http.ErrAbortHandler)
}

// pause waits for d. Like hang it does not return when the client goes or the server closes before that.
func (x *exchange) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.gone:
		panic(http.ErrAbortHandler)
	case <-x.done:
		panic(http.ErrAbortHandler)
	}
}

// reset closes the connection without lingering, which the kernel turns into a TCP reset.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
