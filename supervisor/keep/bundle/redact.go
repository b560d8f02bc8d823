package bundle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
)

const (
	leastValue = 6 // bytes of a value of the environment that is looked for
	leastCore  = 8 // letters of its base64 form
	homeMark   = "~"
	slugMark   = "-HOME"
	userMark   = "USER"
	hostMark   = "HOST"
)

// Counts are how often something was taken out.
type Counts struct {
	Secrets     int `json:"secrets"`     // that look like one
	Environment int `json:"environment"` // values of variables that hold one
	Names       int `json:"names"`       // home folder, user, host
}

func (c Counts) plus(o Counts) Counts {
	return Counts{c.Secrets + o.Secrets, c.Environment + o.Environment, c.Names + o.Names}
}

// Words says what was taken out.
func (c Counts) Words() string {
	return fmt.Sprintf("%d that look like secrets, %d from the environment, %d names of home folder, user or host", c.Secrets, c.Environment, c.Names)
}

// Person is who the texts are from. Empty fields are not looked for.
type Person struct {
	Environ []string // NAME=VALUE
	Home    string   // absolute
	User    string
	Host    string
}

// Redactor takes secrets out of texts. Its methods must not be called at the same time.
type Redactor struct {
	values []string // of the environment, the longest first
	names  []name
	counts Counts
}

// name is a text that stands for the person.
type name struct {
	text, mark string
	path       bool // a path or part of one, not a word
}

// NewRedactor looks for what identifies a person unless keepNames is set, and for the secrets
// of the environment in any case.
func NewRedactor(p Person, keepNames bool) *Redactor {
	r := &Redactor{values: secretValues(p.Environ)}
	if keepNames {
		return r
	}
	homes := []string{p.Home}
	if real, err := filepath.EvalSymlinks(p.Home); err == nil {
		homes = append(homes, real)
	}
	slices.SortFunc(homes, func(a, b string) int { return len(b) - len(a) })
	for _, h := range slices.Compact(homes) {
		if h = strings.TrimRight(h, "/"); len(h) > 1 && filepath.IsAbs(h) {
			r.names = append(r.names, name{h, homeMark, true}, name{statedir.Slug(h), slugMark, true})
		}
	}
	short, _, _ := strings.Cut(p.Host, ".")
	for _, n := range []name{{p.Host, hostMark, false}, {short, hostMark, false}, {p.User, userMark, false}} {
		if len(n.text) >= 3 && !slices.Contains(common(), strings.ToLower(n.text)) {
			r.names = append(r.names, n)
		}
	}
	return r
}

// common are names that tell nothing of anybody and stand in many texts.
func common() []string {
	return []string{"root", "user", "admin", "home", "git", "runner", "ubuntu", "debian", "nobody", "localhost", "claude", "autopilot", "main", "test", "dev", "build"}
}

// secretName matches names of variables and of JSON fields whose texts are secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passw(?:or)?d|passphrase|credential|authorization|cookie)s?$`)
})

// secretVariable is wider: a variable with such a part in its name is rarely anything else.
var secretVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|credential|auth|cookie|webhook|dsn|_pat$`)
})

// secretValues are the values of variables that look like secrets, and the forms that they
// have in other places.
func secretValues(environ []string) []string {
	var out []string
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		v = strings.TrimSpace(v)
		if u, err := url.Parse(v); err == nil && u.User != nil {
			if pass, ok := u.User.Password(); ok && len(pass) >= leastValue {
				out = append(out, forms(pass)...)
			}
		}
		// A path is no secret, and would take half of each text away.
		if len(v) < leastValue || filepath.IsAbs(v) || !secretVariable().MatchString(k) && logs.Redact(v) == v {
			continue
		}
		out = append(out, forms(v)...)
	}
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}

// forms are a value as it is, and as it stands in URLs, in JSON and in base64 at each of the
// three places that it can begin at.
func forms(v string) []string {
	out := []string{v, url.QueryEscape(v), url.PathEscape(v)}
	if data, err := json.Marshal(v); err == nil {
		out = append(out, string(data[1:len(data)-1]))
	}
	for skip := range 3 {
		enc := base64.RawStdEncoding.EncodeToString(append(make([]byte, skip), v...))
		core := enc[(skip*8+5)/6 : (skip+len(v))*8/6]
		if len(core) >= leastCore {
			out = append(out, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
		}
	}
	return out
}

// Take returns what was taken out since the last call.
func (r *Redactor) Take() Counts {
	c := r.counts
	r.counts = Counts{}
	return c
}

// privateKey matches a private key, also one whose end was cut off.
var privateKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
})

// further matches secrets in a line that have a form which package logs does not know.
var further = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}` +
		`|\b(?:ASIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,})` +
		`|(?i:\b(?:Bearer|Basic)\s+[A-Za-z0-9+/_.~=-]{12,})` +
		`|(?i:\b(?:set-)?cookie\s*:[^\r\n]{6,})`)
})

// pieces are what each of those has, in small letters: the expression is slow.
func pieces() []string {
	return []string{"eyj", "asia", "aiza", "npm_", "hf_", "bearer", "basic", "cookie"}
}

// furtherIn takes those secrets out of a text.
func furtherIn(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = privateKey().ReplaceAllString(s, logs.Redacted)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		lower := strings.ToLower(line)
		if slices.ContainsFunc(pieces(), func(p string) bool { return strings.Contains(lower, p) }) {
			line = further().ReplaceAllString(line, logs.Redacted)
		}
		b.WriteString(line)
	}
	return b.String()
}

// address matches the password in a URL.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s/:@"']*:)([^\s/@"']+)(@)`)
})

// escapes matches the escape of a printable character, also one that is escaped again.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\+u00[2-7][0-9a-fA-F]`) })

// Text takes secrets and names out of a text. What is no UTF-8 in it goes, and so do zero
// bytes, between whose sight a secret could hide.
func (r *Redactor) Text(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	s = r.seen(s)
	if escapes().MatchString(s) {
		var b strings.Builder
		for line := range strings.Lines(s) {
			b.WriteString(r.unescaped(line))
		}
		s = b.String()
	}
	for _, n := range r.names {
		s = r.swap(s, n)
	}
	return s
}

// unescaped is the line as it is, unless a secret shows without its escapes.
func (r *Redactor) unescaped(line string) string {
	if !escapes().MatchString(line) {
		return line
	}
	before := r.counts
	bare := escapes().ReplaceAllStringFunc(line, func(e string) string {
		var c rune
		if _, err := fmt.Sscanf(e[len(e)-4:], "%x", &c); err != nil || c == '"' || c == '\\' || c == 0x7f {
			return e
		}
		return string(c)
	})
	if clean := r.seen(bare); r.counts != before {
		return clean
	}
	return line
}

// seen takes out what can be seen as it stands there.
func (r *Redactor) seen(s string) string {
	for _, v := range r.values {
		if n := strings.Count(s, v); n > 0 {
			r.counts.Environment += n
			s = strings.ReplaceAll(s, v, logs.Redacted)
		}
	}
	before := strings.Count(s, logs.Redacted)
	s = furtherIn(s)
	if strings.Contains(s, "://") {
		s = address().ReplaceAllString(s, "${1}"+logs.Redacted+"${3}")
	}
	s = logs.Redact(s)
	r.counts.Secrets += max(0, strings.Count(s, logs.Redacted)-before)
	return s
}

// swap puts a mark in the place of a name where it stands alone.
func (r *Redactor) swap(s string, n name) string {
	var b strings.Builder
	for rest, before := s, rune(-1); ; {
		i := strings.Index(rest, n.text)
		if i < 0 {
			if b.Len() == 0 {
				return s
			}
			b.WriteString(rest)
			return b.String()
		}
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		end := i + len(n.text)
		after := rune(-1)
		if end < len(rest) {
			after, _ = utf8.DecodeRuneInString(rest[end:])
		}
		b.WriteString(rest[:i])
		if n.alone(before, after) {
			r.counts.Names++
			b.WriteString(n.mark)
		} else {
			b.WriteString(n.text)
		}
		before, _ = utf8.DecodeLastRuneInString(n.text)
		rest = rest[end:]
	}
}

func (n name) alone(before, after rune) bool {
	if !n.path {
		return !wordy(before) && !wordy(after)
	}
	if n.mark == slugMark { // a whole name of a folder, or its beginning
		return !wordy(before) && before != '-' && before != '.' && !wordy(after)
	}
	return !wordy(before) && before != '-' && before != '.' && !wordy(after) && after != '-'
}

func wordy(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// JSON takes secrets and names out of all texts and keys of one JSON value, and out of each
// text whose key says that it is a secret. Numbers stay as they are written. It fails for
// what is not one JSON value. The result is indented by two spaces unless flat is set.
func (r *Redactor) JSON(data []byte, flat bool) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !flat {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(r.value(v, false)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// value cleans a JSON value; hidden says that the key above it names a secret.
func (r *Redactor) value(v any, hidden bool) any {
	switch v := v.(type) {
	case string:
		if hidden && v != "" {
			r.counts.Secrets++
			return logs.Redacted
		}
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i], hidden)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			clean := r.Text(k)
			for n := 2; ; n++ { // two may be the same without what was taken out
				if _, taken := out[clean]; !taken {
					break
				}
				clean = fmt.Sprintf("%s %d", r.Text(k), n)
			}
			out[clean] = r.value(v[k], hidden || secretName().MatchString(k))
		}
		return out
	}
	return v
}
