package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"autopilot/reflector"
	"autopilot/sessions/prompt"
)

// format is what the service is asked to do about JSON.
type format string

const (
	asSchema format = "json_schema"
	asObject format = "json_object"
	asText   format = "text" // nothing is asked for
)

// form is a way to put a question.
type form struct {
	format format
	bare   bool // without temperature and top_p, which some models refuse
}

// simpler returns the form to try after a problem with this one.
func (f form) simpler(p *failure) (form, bool) {
	switch {
	case !p.form:
		return f, false
	case p.sampling && !f.bare:
		f.bare = true
	case f.format == asSchema:
		f.format = asObject
	case f.format == asObject:
		f.format = asText
	default:
		return f, false
	}
	return f, true
}

func (f form) response(q reflector.Question) *openai.ChatCompletionResponseFormat {
	switch f.format {
	case asSchema:
		return &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Name, Schema: json.RawMessage(q.Schema)},
		}
	case asObject:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	case asText:
	}
	return nil
}

const maxModel = 200 // runes

// request asks once.
func (m *Model) request(ctx context.Context, q reflector.Question, f form) (reflector.Answer, *failure) {
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	e := exchange{client: m.client, host: m.endpoint.Host, timeout: m.options.Timeout}
	if !f.bare {
		e.sampling = &sampling{m.options.Temperature, m.options.TopP}
	}
	config := openai.DefaultConfig(m.options.Key)
	config.BaseURL, config.HTTPClient = strings.TrimSuffix(m.endpoint.String(), completions), e
	resp, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: m.options.Model,
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.System + "\nThe JSON schema of the answer: " + q.Schema},
			{Role: openai.ChatMessageRoleUser, Content: q.Prompt},
		},
		ResponseFormat: f.response(q),
	})
	if err != nil {
		return reflector.Answer{}, m.explain(err, resp.Header())
	}
	return m.answer(resp)
}

// answer reads a completion.
func (m *Model) answer(resp openai.ChatCompletionResponse) (reflector.Answer, *failure) {
	a := reflector.Answer{Model: m.options.Model, Usage: usage(resp.Usage)}
	if name := strings.TrimSpace(resp.Model); name != "" {
		a.Model = prompt.Cut(name, maxModel)
	}
	if len(resp.Choices) == 0 {
		return a, m.fail(failure{words: m.endpoint.Host + " answers without a choice"})
	}
	c := resp.Choices[0]
	if refusal := c.Message.Refusal; refusal != "" {
		return a, m.fail(failure{words: fmt.Sprintf("model %q refuses to answer: %s", m.options.Model, refusal), refused: true})
	}
	if c.FinishReason == openai.FinishReasonContentFilter {
		return a, m.fail(failure{words: "the content filter of " + m.endpoint.Host + " holds the answer back", refused: true})
	}
	text := c.Message.Content
	for _, part := range c.Message.MultiContent {
		text += part.Text
	}
	a.Text = []byte(withoutThought(text))
	return a, nil
}

// withoutThought cuts off what a model thought before its answer, where a server
// leaves it in the text. The opening mark may be part of the prompt and so be
// missing. A thought without an end has no answer after it.
func withoutThought(text string) string {
	const begin, end = "<think>", "</think>"
	start := strings.TrimSpace(text)
	if strings.HasPrefix(start, "{") {
		return text
	}
	if _, answer, ok := strings.Cut(text, end); ok {
		return answer
	}
	if strings.HasPrefix(start, begin) {
		return ""
	}
	return text
}

// usage counts tokens that the service had in its cache once, as read from it:
// the service counts them among the tokens of the prompt as well.
func usage(u openai.Usage) reflector.Usage {
	in, cached := int64(max(u.PromptTokens, 0)), int64(0)
	if d := u.PromptTokensDetails; d != nil {
		cached = min(int64(max(d.CachedTokens, 0)), in)
	}
	return reflector.Usage{Input: in - cached, Output: int64(max(u.CompletionTokens, 0)), CacheRead: cached}
}
