package senders

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/azure"
	"autopilot/supervisor/publish/document"
	"autopilot/supervisor/publish/github"
	"autopilot/supervisor/publish/jira"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/publish/webhook"
)

const (
	callTime = 30 * time.Second
	// SecretVar holds what webhooks are signed with. It is for this program alone.
	SecretVar = "AUTOPILOT_WEBHOOK_SECRET"
)

// Secrets are the variables of the environment that hold what only this program may
// know: the secret of webhooks, the tokens of services that no session needs, and every
// variable in which the address of a webhook stands. The token of GitHub is not among
// them, since sessions work with it. The names are in a fixed order, each once.
func Secrets(targets []publish.Target) []string {
	out := []string{SecretVar, jira.EnvToken, azure.EnvToken}
	for _, t := range targets {
		if name, ok := held(t); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// held is the variable that holds the address of a target.
func held(t publish.Target) (name string, ok bool) {
	if t.Service != publish.Webhook {
		return "", false
	}
	return strings.CutPrefix(t.Ref, "$")
}

// Of finds who brings an update to a target, for a repository. Tokens come from the
// environment. What it returns may be called by several goroutines.
func Of(repo string, std outside.Stdio) outbox.Senders {
	client := &http.Client{Timeout: callTime}
	var mu sync.Mutex
	made := map[publish.Target]publish.Sender{}
	return func(t publish.Target) (publish.Sender, error) {
		mu.Lock()
		defer mu.Unlock()
		if s, ok := made[t]; ok {
			return s, nil
		}
		s, err := sender(repo, std, t, client)
		if err == nil {
			made[t] = s
		}
		return s, err
	}
}

func sender(repo string, std outside.Stdio, t publish.Target, client *http.Client) (publish.Sender, error) {
	switch t.Service {
	case publish.GitHub:
		return github.New(t, gitHub(std, client))
	case publish.Jira:
		return jira.New(t, jiraOf(std, client))
	case publish.Azure:
		return azure.New(t, azureOf(std, client))
	case publish.Webhook:
		return hook(std, t, client)
	case publish.File:
		return document.New(repo, t), nil
	}
	return nil, fmt.Errorf("internal error: nobody brings anything to %s", t)
}

func gitHub(std outside.Stdio, client *http.Client) github.Options {
	return github.Options{Client: client, BaseURL: std.Getenv(github.EnvURL), Token: first(std, github.EnvToken, github.EnvTokenToo)}
}

func jiraOf(std outside.Stdio, client *http.Client) jira.Options {
	return jira.Options{Client: client, BaseURL: std.Getenv(jira.EnvURL), Email: std.Getenv(jira.EnvEmail), Token: std.Getenv(jira.EnvToken)}
}

func azureOf(std outside.Stdio, client *http.Client) azure.Options {
	return azure.Options{Client: client, BaseURL: std.Getenv(azure.EnvURL), Token: std.Getenv(azure.EnvToken)}
}

// Preview says what would be posted to a target, without asking anybody. It needs no
// tokens.
func Preview(repo string, std outside.Stdio, t publish.Target, key string, u publish.Update) (string, error) {
	switch t.Service {
	case publish.GitHub:
		return github.Preview(t, gitHub(std, nil), key, u)
	case publish.Jira:
		return jira.Preview(t, jiraOf(std, nil), key, u)
	case publish.Azure:
		return azure.Preview(t, azureOf(std, nil), key, u)
	case publish.Webhook:
		return webhook.New(t, std.Getenv(SecretVar), nil).Preview(key, u), nil
	case publish.File:
		return document.New(repo, t).Preview(key, u), nil
	}
	return "", fmt.Errorf("internal error: nobody brings anything to %s", t)
}

// hook is the sender for an address, or for the one that a variable holds: the address of
// a hook is often a secret itself.
func hook(std outside.Stdio, t publish.Target, client *http.Client) (publish.Sender, error) {
	if name, ok := held(t); ok {
		there, err := publish.ParseTarget(string(publish.Webhook) + ":" + std.Getenv(name))
		if err != nil || strings.HasPrefix(there.Ref, "$") {
			return nil, fmt.Errorf("set %s to an address that begins with https://", name) // what stands there is not repeated
		}
		t = there
	}
	return webhook.New(t, std.Getenv(SecretVar), client), nil
}

func first(std outside.Stdio, names ...string) string {
	for _, n := range names {
		if v := std.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

// Check refuses a target that could not be told anything: a token is missing.
func Check(find outbox.Senders, targets []publish.Target) error {
	for _, t := range targets {
		if _, err := find(t); err != nil {
			return outside.Usage("sync %s: %v", t, err)
		}
	}
	return nil
}
