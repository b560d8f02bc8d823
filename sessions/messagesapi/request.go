package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is one POST to /v1/messages. It is a value of its own: changing it changes nothing on the server, except that
// the body and the messages are shared with [Server.Requests].
type Request struct {
	Model    string
	System   string    // all system blocks, joined by newlines
	Messages []Message // the conversation as the model would see it
	Tools    []string  // names of the tools offered, in the request's order
	Stream   bool
	Header   http.Header
	Body     []byte // as it was sent

	// Session is the CLI's session id. Agent is the id of the sub-agent that asks, empty for the main loop.
	Session, Agent string

	// Number counts all requests to the server, from 1.
	Number int
	// Turn is 1 plus the number of answers of the model in Messages. It goes on over a resumed conversation, and a
	// request that is tried again has the same one.
	Turn int
	// Step is Turn counted from the last text of the user: 1 for the first request after a prompt.
	Step int
	// Attempt counts the requests for this Turn of this conversation, from 1.
	Attempt int
}

// Message is one entry of a conversation. Role is "user" or "assistant"; the CLI also sends "system" in the middle.
type Message struct {
	Role    string
	Content []Block
}

// Block is one content block of a message. Which fields are set depends on Type: "text" and "thinking" have Text,
// "tool_use" has ID, Name and Input, "tool_result" has ID (of the call it answers), Text and IsError.
type Block struct {
	Type    string
	Text    string
	ID      string
	Name    string
	Input   json.RawMessage
	IsError bool
}

// IsSubAgent reports whether a sub-agent asks, not the main loop. The CLI says so by a header of its own.
func (r Request) IsSubAgent() bool { return r.Agent != "" }

// HasTool reports whether the tool is offered to the model.
func (r Request) HasTool(name string) bool { return slices.Contains(r.Tools, name) }

// UserTexts returns what the user said, oldest first: the text blocks of user messages without those in which the CLI
// reminds the model of something.
func (r Request) UserTexts() []string {
	var texts []string
	for _, m := range r.Messages {
		texts = append(texts, m.userTexts()...)
	}
	return texts
}

// LastUserText returns the last of [Request.UserTexts], empty if there is none.
func (r Request) LastUserText() string {
	texts := r.UserTexts()
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// LastToolResults returns the "tool_result" blocks since the model's last answer, in the request's order, which need not
// be the order of the calls.
func (r Request) LastToolResults() []Block {
	var results []Block
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			results = nil
			continue
		}
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				results = append(results, b)
			}
		}
	}
	return results
}

func (m Message) userTexts() []string {
	if m.Role != "user" {
		return nil
	}
	var texts []string
	for _, b := range m.Content {
		if b.Type == "text" && !strings.HasPrefix(strings.TrimSpace(b.Text), "<system-reminder>") {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// count sets Turn and Step from the messages. Neighbouring messages of the model are one answer.
func (r *Request) count() {
	r.Turn, r.Step = 1, 1
	previous := ""
	for _, m := range r.Messages {
		switch {
		case m.Role == "assistant" && previous != "assistant":
			r.Turn++
			r.Step++
		case len(m.userTexts()) > 0:
			r.Step = 1
		}
		previous = m.Role
	}
}

func parseRequest(header http.Header, body []byte) (Request, error) {
	var wire struct {
		Model    string    `json:"model"`
		System   content   `json:"system"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("parse request: %w", err)
	}
	r := Request{
		Model:   wire.Model,
		System:  wire.System.text(),
		Stream:  wire.Stream,
		Header:  header.Clone(),
		Body:    body,
		Session: header.Get("X-Claude-Code-Session-Id"),
		Agent:   header.Get("X-Claude-Code-Agent-Id"),
	}
	for _, t := range wire.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	for _, m := range wire.Messages {
		r.Messages = append(r.Messages, Message{Role: m.Role, Content: m.Content.blocks()})
	}
	r.count()
	return r, nil
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is either a string or a list of blocks on the wire.
type content []wireBlock

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

// UnmarshalJSON accepts both forms.
func (c *content) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	var blocks []wireBlock
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

func (c content) text() string {
	var texts []string
	for _, b := range c {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (c content) blocks() []Block {
	blocks := make([]Block, 0, len(c))
	for _, w := range c {
		b := Block{Type: w.Type, Text: w.Text, ID: w.ID, Name: w.Name, Input: w.Input, IsError: w.IsError}
		switch w.Type {
		case "thinking":
			b.Text = w.Thinking
		case "tool_result":
			b.ID = w.ToolUseID
			b.Text = resultText(w.Content)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// resultText is the text of a tool result, whose content has the forms of a message and may be absent. Content of
// another kind, which the API would refuse, reads as it was sent.
func resultText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var c content
	if json.Unmarshal(raw, &c) != nil {
		return string(raw)
	}
	return c.text()
}
