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

func TestRedactWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[32mghp_abcdefghijklmnopqrstuv5555 ok":         "\x1b[32m[redacted] ok",
		"\x1b[1msk-ant-api03-abcdefgh12345678":              "\x1b[1m[redacted]",
		`{"msg":"line1\nghp_abcdefghijklmnopqrstuv5555"}`:   `{"msg":"line1\n[redacted]"}`,
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI":               "AWS_SECRET_[redacted]",
		"SECRET_KEY = 'abcdefghij'":                         "[redacted]'",
		"AccountKey=abcdefghij==":                           "[redacted]",
		"x-api-key: abcdefghij":                             "x-[redacted]",
		"tool --token abcdefghij now":                       "tool [redacted] now",
		"passwd: hunter2hunter2":                            "[redacted]",
		"sk_live_abcdefghijkl":                              "[redacted]",
		"https://hooks.slack.com/services/T000/B000/abcdef": "https://[redacted]",
		"clone https://me:hunter2hunter2@host/x":            "clone https://me:[redacted]@host/x",
		"cumulative_tokens=1234567 > max-tokens=500000":     "cumulative_tokens=1234567 > max-tokens=500000",
		"see https://host/a and mail me@host":               "see https://host/a and mail me@host",
		"task-list npm_ci":                                  "task-list npm_ci",
	} {
		if got := logs.Redact(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
