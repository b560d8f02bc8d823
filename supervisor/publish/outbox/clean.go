package outbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/publish"
)

const (
	maxTitle = 200      // runes
	maxRunID = 100      // runes
	maxWhy   = 300      // runes
	maxBody  = 16 << 10 // bytes
	maxPlace = 2000     // bytes of the address of an entry at a target
)

// clean is an update as it may be written and told.
func clean(u publish.Update) (publish.Update, error) {
	if !regexp.MustCompile(`^[A-Za-z0-9._/-]{1,200}$`).MatchString(u.Subject) {
		return u, fmt.Errorf("subject %q: want 1 to 200 letters, digits, '-', '_', '.' or '/'", prompt.Cut(u.Subject, maxTitle))
	}
	if !regexp.MustCompile(`^[A-Za-z0-9]{0,40}$`).MatchString(u.Project) {
		return u, fmt.Errorf("project %q: want at most 40 letters and digits", prompt.Cut(u.Project, maxTitle))
	}
	if !slices.Contains(publish.States(), u.State) {
		return u, fmt.Errorf("state %q of %s is not known", prompt.Cut(string(u.State), maxRunID), u.Subject)
	}
	u.Title, u.RunID = oneLine(u.Title, maxTitle), oneLine(u.RunID, maxRunID)
	u.Body = cutBytes(logs.Redact(gate.Plain(u.Body)), maxBody)
	u.Percent = min(max(u.Percent, 0), 100)
	u.At = u.At.UTC().Round(0)
	return u, nil
}

func oneLine(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(s)), " ")), n)
}

// cutBytes shortens a text to n bytes, the last three of which then are an ellipsis.
func cutBytes(s string, n int) string {
	const more = "…"
	if len(s) <= n {
		return s
	}
	n -= len(more)
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}

// cleanReceipt is what a target says of itself, as it may be shown.
func cleanReceipt(r publish.Receipt) publish.Receipt {
	r.URL, r.ID = oneLine(r.URL, maxPlace), oneLine(r.ID, maxTitle)
	return r
}

// keyOf is the SHA-256 of the target and of everything the update says, cut to 128 bits.
func keyOf(t publish.Target, u publish.Update) string {
	return digest(struct {
		Target publish.Target
		Update publish.Update
	}{t, u}, 16)
}

// slotOf names a subject at a target.
func slotOf(t publish.Target, subject string) string {
	return digest([]any{t, subject}, 6)
}

func digest(v any, n int) string {
	data, err := json.Marshal(v)
	if err != nil {
		data = fmt.Append(nil, v) // a moment far from our era has no JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:n])
}

// BreakerName is the name of the breaker that guards a target: its service, for a hook with
// its host, or with the variable that holds its address; empty for a file, which needs
// none.
func BreakerName(t publish.Target) string {
	switch t.Service {
	case publish.File:
		return ""
	case publish.Webhook:
		if name, ok := strings.CutPrefix(t.Ref, "$"); ok {
			return string(t.Service) + ":" + name
		}
		if u, err := url.Parse(t.Ref); err == nil && u.Host != "" {
			return string(t.Service) + ":" + u.Host
		}
	}
	return string(t.Service)
}
