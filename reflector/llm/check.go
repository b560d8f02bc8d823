package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"autopilot/sessions/prompt"
)

const shownModels = 8

// Check looks whether the service can be reached, takes the key and, where it
// lists its models, has ours. A service that does not list them is taken to be
// well. Nothing is asked of a model, so it costs nothing.
func (m *Model) Check(ctx context.Context) error {
	if m.invalid != nil {
		return m.invalid
	}
	address := *m.endpoint
	address.Path = strings.TrimSuffix(address.Path, completions) + "/models"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("ask %s for its models: %w", m.endpoint.Host, err)
	}
	if m.options.Key != "" {
		r.Header.Set("Authorization", "Bearer "+m.options.Key)
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return m.fail(*exchange{host: m.endpoint.Host, timeout: m.options.Timeout}.broken("reach", err))
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		what := "refuses the key"
		if m.options.Key == "" {
			what = "wants a key"
		}
		return m.fail(failure{words: fmt.Sprintf("%s %s (HTTP %d)", m.endpoint.Host, what, resp.StatusCode)})
	case http.StatusOK:
		return m.offered(io.LimitReader(resp.Body, maxBody))
	}
	return nil
}

// offered looks for the model in a list of models.
func (m *Model) offered(body io.Reader) error {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(body).Decode(&list); err != nil || len(list.Data) == 0 {
		return nil // not the list that was asked for
	}
	var names []string
	for _, d := range list.Data {
		if d.ID == m.options.Model || strings.TrimPrefix(d.ID, "models/") == m.options.Model || strings.TrimSuffix(d.ID, ":latest") == m.options.Model {
			return nil
		}
		names = append(names, d.ID)
	}
	slices.Sort(names)
	shown := strings.Join(names[:min(len(names), shownModels)], ", ")
	return m.fail(failure{words: fmt.Sprintf("%s does not offer the model %q; it has %s", m.endpoint.Host, m.options.Model, prompt.Cut(shown, maxWords))})
}
