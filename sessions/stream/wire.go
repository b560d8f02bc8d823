package stream

import (
	"encoding/json"
	"errors"
	"strings"
)

// wire is a line as it is printed. It differs from an Event where a name has
// several shapes; these are the usual ones.
type wire struct {
	*Event

	Message *wireMessage `json:"message"`
	Usage   *wireUsage   `json:"usage"`
	Stream  *wireStream  `json:"event"`
	Patch   wirePatch    `json:"patch"`
}

type wireMessage struct {
	Message

	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Block

	Content string `json:"content"` // of a tool_result
}

// wireUsage is that of a request or of a task: they have no name in common.
type wireUsage struct {
	Usage
	TaskUsage
}

type wirePatch struct {
	Status string `json:"status"`
}

type wireStream struct {
	Type  string `json:"type"`
	Delta struct {
		Type       string `json:"type"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Message struct {
		ID    string `json:"id"`
		Usage *Usage `json:"usage"`
	} `json:"message"`
	Usage *Usage `json:"usage"`
}

// unmarshal decodes a line into w, whose Event must be set and empty, and
// reports whether the line is valid JSON. If the line does not have the usual
// shape, it is decoded again piece by piece.
func (w *wire) unmarshal(line []byte) bool {
	err := json.Unmarshal(line, w)
	if isOdd(err) {
		*w = wire{Event: w.Event}
		w.unmarshalPieces(line)
	} else if err != nil {
		return false
	}
	w.finish()
	return true
}

func isOdd(err error) bool {
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

// finish moves what stands in the wire to its place in the event.
func (w *wire) finish() {
	e := w.Event
	if w.Message != nil && e.talks() {
		m := w.Message.Message
		for _, b := range w.Message.Content {
			if b.Type == BlockToolResult {
				b.Text = b.Content
			}
			m.Content = append(m.Content, b.Block)
		}
		e.Message = &m
	}
	if w.Stream != nil && e.Type == TypeStreamEvent {
		e.Stream = w.Stream.event()
	}
	switch {
	case w.Usage == nil:
	case e.isTask():
		e.TaskUsage = &w.Usage.TaskUsage
	default:
		e.Usage = &w.Usage.Usage
	}
	if e.Status == "" {
		e.Status = w.Patch.Status
	}
}

func (w *wireStream) event() *Stream {
	s := &Stream{
		Type:       w.Type,
		DeltaType:  w.Delta.Type,
		MessageID:  w.Message.ID,
		StopReason: w.Delta.StopReason,
		Usage:      w.Usage,
	}
	if s.Usage == nil {
		s.Usage = w.Message.Usage
	}
	return s
}

// unmarshalPieces decodes a valid line in which some name has another shape than
// usual. What is of no known shape is left empty and noted in Odd.
func (w *wire) unmarshalPieces(line []byte) {
	var raw struct {
		*Event

		Message json.RawMessage `json:"message"`
		Usage   json.RawMessage `json:"usage"`
		Stream  json.RawMessage `json:"event"`
		Patch   json.RawMessage `json:"patch"`
	}
	raw.Event = w.Event
	w.take("", line, &raw)
	if w.talks() && present(raw.Message) {
		w.Message = w.takeMessage(raw.Message)
	}
	if w.Type == TypeStreamEvent && present(raw.Stream) {
		w.Stream = new(wireStream)
		w.take("event", raw.Stream, w.Stream)
	}
	if present(raw.Usage) {
		w.Usage = new(wireUsage)
		w.take("usage", raw.Usage, w.Usage)
	}
	if w.isTask() && present(raw.Patch) {
		w.take("patch", raw.Patch, &w.Patch)
	}
}

// takeMessage decodes a message whose contents are a list of blocks or a string
// that stands for one block of text.
func (w *wire) takeMessage(raw json.RawMessage) *wireMessage {
	var m struct {
		Message

		Content json.RawMessage `json:"content"`
	}
	w.take("message", raw, &m)
	taken := &wireMessage{Message: m.Message}
	if !present(m.Content) {
		return taken
	}
	if m.Content[0] == '"' {
		taken.Content = make([]wireBlock, 1)
		taken.Content[0].Type = BlockText
		w.take("message.content", m.Content, &taken.Content[0].Text)
		return taken
	}
	var blocks []struct {
		Block

		Content json.RawMessage `json:"content"`
	}
	w.take("message.content", m.Content, &blocks)
	for _, b := range blocks {
		taken.Content = append(taken.Content, wireBlock{Block: b.Block, Content: w.takeText(b.Content)})
	}
	return taken
}

// takeText decodes the contents of a tool's result: a string or a list of
// blocks.
func (w *wire) takeText(raw json.RawMessage) string {
	const path = "message.content.content"
	if !present(raw) {
		return ""
	}
	if raw[0] == '"' {
		var s string
		w.take(path, raw, &s)
		return s
	}
	var blocks []Block
	w.take(path, raw, &blocks)
	var texts []string
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// take decodes raw, which stands at path and is valid JSON, into v. A field of
// another type than v's is left empty and noted while the rest is filled.
func (w *wire) take(path string, raw []byte, v any) {
	err := json.Unmarshal(raw, v)
	if odd, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && w.Odd == "" {
		w.Odd = jsonPath(path + "." + odd.Field)
	}
}

// jsonPath returns a path without the names of embedded structs, which are
// capitalised and do not stand in the line.
func jsonPath(path string) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		if name != "" && (name[0] < 'A' || name[0] > 'Z') {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

// present tells a value from none, which may be written as null.
func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}
