package logs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"autopilot/metrics/logs"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"sk-ant-api03-abcdefgh12345678", "ghp_abcdefghijklmnop1234", "github_pat_11ABCDEFG0123456789xyz", "glpat-abcdefghijklmnop12",
		"ANTHROPIC_API_KEY=verysecretvalue", `password: "hunter2hunter2"`, "AKIAABCDEFGHIJKLMNOP",
	} {
		if got := logs.Redact("before " + secret + " after"); !strings.Contains(got, "[redacted]") || strings.Contains(got, "hunter2") ||
			strings.Contains(got, "verysecret") || strings.Contains(got, "abcdefgh") || !strings.HasSuffix(got, " after") {
			t.Errorf("Redact(%q) = %q", secret, got)
		}
	}
	for _, plain := range []string{"max-tokens=500 reached", "tokens: 12", "feature/sk-ip", "cumulative_tokens=120000 >= max-tokens=100000"} {
		if got := logs.Redact(plain); got != plain {
			t.Errorf("Redact(%q) = %q, want it untouched", plain, got)
		}
	}
}

func TestReplaceAttr(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: logs.ReplaceAttr}))
	log.Info("x", "detail", "key sk-ant-api03-abcdefgh12345678", "err", errors.New("token: abcdefghijk"))
	if s := out.String(); strings.Contains(s, "abcdefgh") || strings.Count(s, "[redacted]") != 2 {
		t.Errorf("log line = %s", s)
	}
}

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	got := string(logs.RedactJSON([]byte(`{"summary":"used sk-ant-api03-abcdefgh12345678","list":["token=abcdefghij",3]}`)))
	if want := `{"list":["[redacted]",3],"summary":"used [redacted]"}`; got != want {
		t.Errorf("RedactJSON = %s, want %s", got, want)
	}
	if got := logs.RedactJSON(nil); got != nil {
		t.Errorf("RedactJSON(nil) = %s", got)
	}
	if got, want := string(logs.RedactJSON([]byte(`no json, password=abcdefghij`))), `"no json, [redacted]"`; got != want {
		t.Errorf("RedactJSON = %s, want %s", got, want)
	}
}
