package publish

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Target{
		"github:owner/repo#12":               {Service: GitHub, Owner: "owner", Project: "repo", Number: 12},
		"jira:PROJ-7":                        {Service: Jira, Ref: "PROJ-7"},
		"azure:org/My Project#3":             {Service: Azure, Owner: "org", Project: "My Project", Number: 3},
		"webhook:https://example.org/a?b=c":  {Service: Webhook, Ref: "https://example.org/a?b=c"},
		"webhook:http://127.0.0.1:8080/hook": {Service: Webhook, Ref: "http://127.0.0.1:8080/hook"},
		"webhook:$SLACK_HOOK":                {Service: Webhook, Ref: "$SLACK_HOOK"},
		"file:docs/progress.md":              {Service: File, Ref: "docs/progress.md"},
		"file:.github/progress.md":           {Service: File, Ref: ".github/progress.md"},
	} {
		got, err := ParseTarget(" " + text + " ")
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
		data, err := json.Marshal(got)
		var back Target
		if err != nil || json.Unmarshal(data, &back) != nil || back != want || !strings.Contains(string(data), text) {
			t.Errorf("%s in JSON is %s, %v, and back %+v", text, data, err, back)
		}
	}
	for text, want := range map[string]string{
		"":                                 "want github:",
		"github":                           "want github:",
		"gitlab:a/b#1":                     "want github:",
		"github:a/b":                       "want github:",
		"github:a/b#0":                     "no number 0",
		"github:a/b/c#1":                   "want github:",
		"github:a/b#12345678901":           "want github:",
		"jira:7":                           "key of an issue",
		"jira:PROJ-":                       "key of an issue",
		"webhook:$A-B":                     "https://",
		"webhook:ftp://x":                  "https://",
		"webhook:http://example.org":       "without TLS",
		"webhook:http://127.0.0.1.evil.io": "without TLS",
		"webhook:https://u:p@example.org":  "password",
		"file:/etc/x.md":                   "in the repository",
		"file:../x.md":                     "in the repository",
		"file:a/../../x.md":                "in the repository",
		"file:x.txt":                       "Markdown",
		"file:.git/x.md":                   "below .git",
		"file:./.git/x.md":                 "below .git",
		"file:a/./.GIT/x.md":               "below .GIT",
		"file:.//.specweave/a/x.md":        "below .specweave",
		"file:.taskmaster/x.md":            "below .taskmaster",
		"file:.claude/commands/x.md":       "below .claude",
		"file:x.md/":                       "in the repository",
	} {
		if got, err := ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestSendError(t *testing.T) {
	t.Parallel()
	e := &SendError{Service: Jira, Status: 404, Err: json.Unmarshal([]byte("x"), new(int))}
	if got := e.Error(); !strings.HasPrefix(got, "jira answered 404: invalid") || e.Unwrap() == nil {
		t.Errorf("got %q", got)
	}
	e.Status = 0
	if got := e.Error(); !strings.HasPrefix(got, "jira: invalid") {
		t.Errorf("got %q", got)
	}
}
