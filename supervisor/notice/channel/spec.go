package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"autopilot/metrics/logs"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/notice/channel/shout"
)

const maxSpec = 8 << 10

// Channel is one way to a person.
type Channel struct {
	// ID is a digest of what the channel was made of; it holds no secret.
	ID string
	// Label names the channel without its secrets, such as "ntfy://ntfy.sh/…".
	Label string

	spec    string
	scheme  string // of a service; command or desktop
	words   string // of a command
	secrets []string
}

// String is the label.
func (c Channel) String() string { return c.Label }

// GoString is the label too: a channel in a log must not show its secrets.
func (c Channel) GoString() string { return c.Label }

// SpecError says what is wrong with a spec, without repeating more of it than its scheme.
type SpecError struct {
	Scheme string // as it was written, when that is no known one; it may be empty
	Words  string
	Way    string // how it is written
}

// Error is what is wrong.
func (e *SpecError) Error() string { return e.Words }

// Hint is how it is written.
func (e *SpecError) Hint() string { return e.Way }

// Parse reads what a person wrote: an address of a service, command:WORDS, or desktop. The
// error is a *SpecError.
func Parse(spec string) (Channel, error) {
	spec = strings.TrimSpace(spec)
	sum := sha256.Sum256([]byte(spec))
	c := Channel{ID: hex.EncodeToString(sum[:8]), spec: spec}
	if len(spec) > maxSpec || strings.ContainsFunc(spec, unicode.IsControl) {
		return Channel{}, &SpecError{Words: "is too long or holds control characters", Way: "write one channel in one line"}
	}
	if spec == desktopWord {
		c.scheme, c.Label = desktopWord, desktopWord
		return c, nil
	}
	if words, ok := strings.CutPrefix(spec, commandScheme+":"); ok {
		return c.command(strings.TrimSpace(words))
	}
	return c.address(spec)
}

func (c Channel) command(words string) (Channel, error) {
	if words == "" {
		return Channel{}, &SpecError{Words: "the command is empty", Way: "command:WORDS, as in command:notify-me --urgent"}
	}
	first, rest, _ := strings.Cut(words, " ")
	c.scheme, c.words, c.secrets = commandScheme, words, hidden(append(strings.FieldsFunc(rest, inWords), words))
	plain := !strings.ContainsFunc(first, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-", r)
	})
	switch name := path.Base(first); {
	case !plain || len(name) > 40:
		c.Label = commandScheme + ":…"
	case rest == "":
		c.Label = commandScheme + ":" + name
	default:
		c.Label = commandScheme + ":" + name + " …"
	}
	return c, nil
}

func (c Channel) address(spec string) (Channel, error) {
	scheme, _, ok := strings.Cut(spec, ":")
	if !ok || !isScheme(scheme) {
		return Channel{}, &SpecError{Words: "does not begin with the name of a service and ://", Way: "as in ntfy://ntfy.sh/TOPIC; 'autopilot notify list' shows all kinds"}
	}
	name, kind, _ := strings.Cut(strings.ToLower(scheme), "+")
	f, known := forms()[name]
	if !known {
		return Channel{}, unknown(scheme, spec)
	}
	wrong := &SpecError{Words: scheme + "://… is not written as it has to be", Way: "as in " + f.example}
	u, err := url.Parse(spec)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return Channel{}, wrong
	}
	if kind != "" && (name != shout.Generic || kind != "https" && kind != "http") {
		return Channel{}, wrong
	}
	if kind == "http" && !loopback(u.Hostname()) {
		return Channel{}, &SpecError{
			Words: scheme + "://… goes over the network without TLS",
			Way:   "write generic+https://, or generic://HOST/PATH?disabletls=yes if that is meant",
		}
	}
	if name == shout.Generic && u.Host == "" {
		return Channel{}, wrong
	}
	if err := shout.Check(u); err != nil {
		if bad, ok := errors.AsType[*shout.Unsafe](err); ok {
			return Channel{}, &SpecError{Words: fmt.Sprintf("%s://…: %s", scheme, bad.Words), Way: "as in " + f.example}
		}
		return Channel{}, wrong
	}
	c.scheme, c.Label, c.secrets = name, strings.ToLower(scheme)+"://…", secrets(u, f.host)
	if f.host {
		c.Label = strings.ToLower(scheme) + "://" + wording.Line(u.Host, 100) + "/…"
	}
	return c, nil
}

func isScheme(s string) bool {
	return len(s) > 0 && len(s) <= 20 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '+')
	})
}

// unknown refuses a service that is none. Addresses that a service shows to be copied are
// told how to be written.
func unknown(scheme, spec string) error {
	e := &SpecError{Scheme: scheme, Words: scheme + "://… is no known service", Way: "there are " + strings.Join(Schemes(), ", ")}
	if !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) {
		return e
	}
	e.Scheme = ""
	e.Way = "a hook of your own is written generic+" + strings.ToLower(scheme) + "://HOST/PATH"
	for host, name := range map[string]string{
		"hooks.slack.com": shout.Slack, "discord.com": shout.Discord, "discordapp.com": shout.Discord, "api.telegram.org": shout.Telegram,
		"ntfy.sh": shout.Ntfy, "chat.googleapis.com": shout.GoogleChat, "api.pushover.net": shout.Pushover,
	} {
		if u, err := url.Parse(spec); err == nil && strings.EqualFold(u.Hostname(), host) {
			e.Way = "for this service write " + forms()[name].example
		}
	}
	return e
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// secrets are the parts of an address that are shown nowhere.
func secrets(u *url.URL, hostShown bool) []string {
	password, _ := u.User.Password()
	all := []string{u.User.String(), u.User.Username(), password}
	if !hostShown {
		all = append(all, u.Host)
	}
	for _, p := range []string{u.Path, u.EscapedPath()} {
		all = append(all, strings.Trim(p, "/"))
		all = append(all, strings.Split(p, "/")...)
	}
	for _, values := range u.Query() {
		all = append(all, values...)
		for _, v := range values {
			all = append(all, url.QueryEscape(v))
			all = append(all, strings.Split(v, ",")...)
		}
	}
	// Tokens of Slack are written with other signs between their parts when they are used.
	for _, s := range slices.Clone(all) {
		all = append(all, strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(":-,/", r) })...)
	}
	return hidden(all)
}

// inWords reports whether a rune parts the words of a shell.
func inWords(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'`, r) }

// hidden are those of some texts that can be taken out of others, the longest first.
func hidden(all []string) []string {
	const short = 4 // what is shorter hides nothing and would tear words apart
	all = slices.DeleteFunc(all, func(s string) bool { return len(s) < short })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // a part must not break the whole
	return slices.Compact(all)
}

// clean is an error's text as it may be shown.
func (c Channel) clean(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, logs.Redacted)
	}
	return wording.Line(s, 300)
}
