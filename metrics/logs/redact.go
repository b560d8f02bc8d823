package logs

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// Redacted stands for what looked like a secret.
const Redacted = "[redacted]"

// secrets matches tokens by their published prefixes, and values that follow a telling
// name. What the groups match is no part of it and stays: the end of a colour or of
// an escape in JSON is a letter, and still no part of it.
var secrets = sync.OnceValue(func() *regexp.Regexp {
	const (
		before = `(^|[^A-Za-z0-9]|\x1b\[[0-9;]*m|\\[nrt])`
		tokens = `(?:sk-[A-Za-z0-9_-]{8,}|[sr]k_(?:live|test)_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}` +
			`|xox[abprs]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{12,}|pypi-[A-Za-z0-9_-]{16,}|dckr_pat_[A-Za-z0-9_-]{8,}|npm_[A-Za-z0-9]{20,})`
		names = `(?i:API[_-]?KEY|(?:ACCESS|ACCOUNT|SECRET)[_-]?KEY|TOKEN|SECRET|PASSW(?:OR)?D)["']?\s*[=:]\s*["']?[^\s"']{6,}`
		flags = `--(?i:token|password|api-key|secret)\s+[^\s"']{6,}`
		hooks = `(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/[^\s"']+`
		users = `(://[^\s/:@"']*:)[^\s/@"']+(@)`
	)
	return regexp.MustCompile(before + tokens + "|" + users + "|" + names + "|" + flags + "|" + hooks)
})

// Redact replaces what looks like a secret. Most text holds nothing that even
// begins like one, which is cheap to see; the expression looks only at the lines
// that do.
func Redact(s string) string {
	if !suspicious(s) {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		if suspicious(line) {
			line = secrets().ReplaceAllString(line, "${1}${2}"+Redacted+"${3}")
		}
		b.WriteString(line)
	}
	return b.String()
}

// suspicious reports whether a text holds a piece that every secret we know has.
func suspicious(s string) bool {
	for _, piece := range []string{"sk-", "k_live_", "k_test_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-", "AKIA", "pypi-", "dckr_pat_", "npm_", "hooks.slack.com", "/webhooks/"} {
		if strings.Contains(s, piece) {
			return true
		}
	}
	if at := strings.Index(s, "://"); at >= 0 && strings.Contains(s[at:], "@") {
		return true
	}
	lower := strings.ToLower(s)
	for _, piece := range []string{"key", "token", "secret", "passw"} {
		if strings.Contains(lower, piece) {
			return true
		}
	}
	return false
}

// ReplaceAttr redacts text attributes; for slog.HandlerOptions.
func ReplaceAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(Redact(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.StringValue(Redact(err.Error()))
		}
	}
	return a
}

// RedactJSON redacts every text in a JSON value. What is not JSON is redacted as
// text and becomes a JSON string.
func RedactJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		v = string(raw)
	}
	out, err := json.Marshal(redactValue(v))
	if err != nil {
		return nil
	}
	return out
}

func redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return Redact(v)
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = redactValue(v[k])
		}
	}
	return v
}
