package forge

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

// Reason says why a call did not give what was asked for.
type Reason string

// Reasons of a [*CallError].
const (
	Absent      Reason = "not-installed"
	Login       Reason = "not-logged-in"
	RateLimited Reason = "rate-limited"
	Missing     Reason = "not-found" // there is no such thing, or the login may not see it
	Overtime    Reason = "overtime"
	TooMuch     Reason = "too-much-output"
	Unreadable  Reason = "unreadable-answer" // it lacks what was asked for
	Diverged    Reason = "diverged"          // the remote's branch has commits that ours has not
	Refused     Reason = "refused"           // everything else: what was said is in the text
)

// CallError is returned when a program did not do what was asked of it. Its text holds no
// credential and at most a few hundred characters of what the program said.
type CallError struct {
	Op      string // what was to be done
	Program string // that was asked; empty when none was
	Reason  Reason
	Said    string // by the program, or what is wrong; one line
	hint    string
	code    int // that the program ended with; 0 when it did not end by itself
}

// Error returns the operation, the program and what was said, on one line.
func (e *CallError) Error() string {
	s := e.Op + ": "
	if e.Program != "" {
		s += e.Program + ": "
	}
	return s + e.Said
}

// Hint returns what a person can do about it, or nothing.
func (e *CallError) Hint() string { return e.hint }

// MoreError is returned along with issues when there are more of them.
type MoreError struct {
	Limit int // number of issues that were asked for
}

// Error returns the limit that is exceeded.
func (e *MoreError) Error() string {
	return fmt.Sprintf("there are more than %d open issues", e.Limit)
}

// Hint returns what a person can do about it.
func (e *MoreError) Hint() string {
	return "raise the limit, or give the label to fewer issues"
}

const (
	mostSaid   = 300 // runes of what a program said
	mostErrors = 3   // of a refusal that has several
)

// refusal reads what a program said that ended with a code other than 0.
func (p program) refusal(op string, code int, stdout []byte, stderr string) *CallError {
	said := firstLine(stderr)
	if more := p.details(stdout); more != "" && !strings.Contains(said, more) {
		said = strings.TrimPrefix(said+": "+more, ": ")
	}
	if said == "" {
		said = fmt.Sprintf("exit status %d without a word", code)
	}
	e := &CallError{Op: op, Program: p.name, Reason: p.reason(code, strings.ToLower(stderr+"\n"+said)), Said: p.clean(said), code: code}
	switch e.Reason {
	case Login:
		e.Said = "not logged in: " + e.Said
		e.hint = p.loginHint()
	case RateLimited:
		e.hint = "the host wants to be asked less often: wait, and look again later"
	case Missing:
		e.hint = fmt.Sprintf("either it does not exist, or the login of %s may not see it: look at '%s auth status'", p.name, p.name)
	default:
	}
	return e
}

func (p program) loginHint() string {
	if p.name == "git" {
		return "let git log in without a question: a key in the ssh agent, or a credential helper such as 'gh auth setup-git'"
	}
	hint := fmt.Sprintf("run '%s auth login --hostname %s'", p.name, p.host)
	switch {
	case p.name == "glab" && p.host != publicGitLab:
		hint += "; a token in GITLAB_TOKEN is passed on only to the host that GITLAB_HOST names"
	case p.name == "gh" && p.host != publicGitHub:
		hint += "; a token in GH_ENTERPRISE_TOKEN is passed on only to the host that GH_HOST names"
	}
	return hint
}

// reason sorts a refusal by the exit code and the words, in lower case.
func (p program) reason(code int, words string) Reason {
	has := func(pieces ...string) bool {
		for _, piece := range pieces {
			if strings.Contains(words, piece) {
				return true
			}
		}
		return false
	}
	switch {
	case p.name == "gh" && code == 4:
		return Login
	case has("rate limit", "http 429", "too many requests"):
		return RateLimited
	case has("http 401", "401 unauthorized", "bad credentials", " auth login", "not logged in",
		"authentication failed", "could not read username", "could not read password", "permission denied (publickey"):
		return Login
	case p.name != "git" && has("http 404", "http 410", "404 not found", "404 issue not found", "404 project not found", "could not resolve to a "):
		return Missing
	}
	return Refused
}

// details are what an answer that is a refusal says beyond its first line.
func (p program) details(stdout []byte) string {
	if p.name == "git" {
		return ""
	}
	var a struct {
		Message json.RawMessage `json:"message"`
		Errors  json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(stdout, &a) != nil {
		return ""
	}
	words := texts(a.Errors)
	if len(words) == 0 && len(a.Message) > 0 && a.Message[0] != '"' { // GitLab also says it as a list
		words = texts(a.Message)
	}
	return strings.Join(words[:min(len(words), mostErrors)], "; ")
}

// texts are the texts in a JSON value that says what is wrong: a text, a list of them, or
// objects with a message.
func texts(raw json.RawMessage) []string {
	var one string
	var list []json.RawMessage
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(raw, &one) == nil && one != "":
		return []string{one}
	case json.Unmarshal(raw, &list) == nil:
		var out []string
		for _, r := range list {
			out = append(out, texts(r)...)
		}
		return out
	case json.Unmarshal(raw, &object) == nil && object.Message != "":
		return []string{object.Message}
	}
	return nil
}

// firstLine is the first line that says something.
func firstLine(text string) string {
	for line := range strings.Lines(gate.Plain(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line == "ERROR", strings.HasPrefix(line, "DEPRECATION WARNING"), strings.HasPrefix(strings.ToLower(line), "warning:"):
			continue
		}
		line = strings.TrimPrefix(line, "gh: ")
		return strings.TrimPrefix(line, "glab: ")
	}
	return ""
}

// clean makes one line of a text, without secrets, and cuts it.
func (p program) clean(s string) string {
	s = strings.Join(strings.Fields(gate.Plain(s)), " ")
	s = userInfo().ReplaceAllString(s, "${1}")
	for _, v := range p.search {
		name, value, _ := strings.Cut(v, "=")
		if len(value) >= 8 && strings.Contains(name, "TOKEN") {
			s = strings.ReplaceAll(s, value, logs.Redacted)
		}
	}
	return prompt.Cut(logs.Redact(s), mostSaid)
}

// userInfo matches what stands in front of the host of an address.
var userInfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s'"]*@`)
})

// unreadable is the error of an answer that lacks what is needed.
func (p program) unreadable(op, format string, args ...any) *CallError {
	return &CallError{
		Op: op, Program: p.name, Reason: Unreadable, Said: p.clean(fmt.Sprintf(format, args...)),
		hint: fmt.Sprintf("look at '%s --version': it may be too old, or something between here and %s has answered in its place", p.name, p.host),
	}
}
