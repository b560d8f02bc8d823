package account

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/metrics/statedir"
	"autopilot/sessions/launch"
)

const (
	limitsDir  = "limits"
	defaultURL = "https://api.anthropic.com"
	idBytes    = 8 // of the hash: two accounts of one machine never meet, and nothing can be told from it
)

// Account is one account on this machine. The zero one has no limits and keeps none.
type Account struct {
	Dir string // folder of the limits of all accounts
	ID  string // a hash, fit for a file name
}

// Of returns the account that sessions with an environment use; stateRoot is the folder
// of all state. ANTHROPIC_API_KEY counts only when it is handed on. The credential is
// the first of those that Claude Code looks for: those of a cloud provider, a bearer
// token, a key, a long-lived token, a login. For a login it reads the global
// configuration of Claude Code, which says who is logged in; when it does not say so,
// the configuration folder stands for the account.
func Of(stateRoot string, environ []string, useAPIKey bool) Account {
	parts := cloud(environ)
	if parts == nil {
		url := cmp.Or(launch.Lookup(environ, "ANTHROPIC_BASE_URL"), defaultURL)
		parts = append([]string{strings.TrimRight(url, "/")}, credential(environ, useAPIKey)...)
	}
	// No part can hold a zero byte, since none can be in an environment.
	sum := sha256.Sum256([]byte("autopilot account\x00" + strings.Join(parts, "\x00")))
	return Account{Dir: filepath.Join(stateRoot, limitsDir), ID: hex.EncodeToString(sum[:idBytes])}
}

// cloud returns what names the account at a cloud provider, nil when none is used. The
// providers' own folders of credentials are below HOME.
func cloud(environ []string) []string {
	for _, provider := range []struct {
		use   string
		names []string
	}{
		{"CLAUDE_CODE_USE_BEDROCK", []string{
			"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION", "AWS_DEFAULT_REGION",
			"ANTHROPIC_BEDROCK_BASE_URL", "HOME",
		}},
		{"CLAUDE_CODE_USE_VERTEX", []string{
			"ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_REGION", "ANTHROPIC_VERTEX_BASE_URL", "HOME",
		}},
		{"CLAUDE_CODE_USE_FOUNDRY", []string{
			"ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_API_KEY", "HOME",
		}},
	} {
		if !isOn(launch.Lookup(environ, provider.use)) {
			continue
		}
		parts := []string{provider.use}
		for _, name := range provider.names {
			parts = append(parts, launch.Lookup(environ, name))
		}
		return parts
	}
	return nil
}

// isOn reads a switch as Claude Code does.
func isOn(value string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(value)))
}

func credential(environ []string, useAPIKey bool) []string {
	for _, name := range []string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} {
		if name == "ANTHROPIC_API_KEY" && !useAPIKey {
			continue
		}
		if value := launch.Lookup(environ, name); value != "" {
			return []string{name, value}
		}
	}
	if who := loggedIn(environ); who != nil {
		return append([]string{"login"}, who...)
	}
	return []string{"folder", filepath.Clean(launch.ConfigDir(environ))}
}

// loggedIn returns account and organisation of a login, nil when they cannot be told.
func loggedIn(environ []string) []string {
	dir := cmp.Or(launch.Lookup(environ, "CLAUDE_CONFIG_DIR"), launch.Lookup(environ, "HOME"))
	if dir == "" {
		return nil
	}
	var global struct {
		Account struct {
			ID           string `json:"accountUuid"`
			Organization string `json:"organizationUuid"`
		} `json:"oauthAccount"`
	}
	if err := statedir.LoadJSON(filepath.Join(dir, ".claude.json"), &global); err != nil || global.Account.ID == "" {
		return nil
	}
	return []string{global.Account.ID, global.Account.Organization}
}
