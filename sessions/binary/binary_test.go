package binary_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/metrics/testprogram"
	"autopilot/sessions/binary"
)

func TestOlderThan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v, than string
		want    bool
	}{
		{"2.1.0", "2.1.0", false},
		{"2.0.99", "2.1.0", true},
		{"1.9.9", "2.1.0", true},
		{"2.1.10", "2.1.9", false},
		{"2.1.9", "2.1.10", true},
		{"3.0.0", "2.9.9", false},
		{"", "2.1.0", false},
		{"x", "2.1.0", false},
		{"2.1.330 (Claude Code)", "2.1.331", true},
	} {
		if got := binary.OlderThan(c.v, c.than); got != c.want {
			t.Errorf("OlderThan(%q, %q) = %v, want %v", c.v, c.than, got, c.want)
		}
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"2.1.330 (Claude Code)\n": "2.1.330", "claude 2.1.197": "2.1.197", "hello": "", "1.2": ""} {
		if got := binary.ParseVersion(answer); got != want {
			t.Errorf("ParseVersion(%q) = %q, want %q", answer, got, want)
		}
	}
}

// script writes an executable shell script.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	testprogram.Write(t, path, []byte("#!/bin/sh\n"+body+"\n"))
	return path
}

func TestFind(t *testing.T) {
	t.Parallel()
	path := script(t, "exit 0")
	if got, err := binary.Find(path); err != nil || got != path {
		t.Errorf("Find = %q, %v, want %q", got, err, path)
	}
	for _, name := range []string{"/does/not/exist", "no-such-program-here", t.TempDir()} {
		if _, err := binary.Find(name); !errors.Is(err, binary.ErrMissing) {
			t.Errorf("Find(%q) = %v, want ErrMissing", name, err)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got, err := binary.Version(t.Context(), script(t, "echo '2.1.330 (Claude Code)'"), nil)
	if err != nil || got != "2.1.330" {
		t.Errorf("Version = %q, %v", got, err)
	}
	_, err = binary.Version(t.Context(), script(t, "echo one >&2; echo 'node: not found' >&2; exit 3"), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "exit status 3: node: not found") {
		t.Errorf("Version of a broken binary = %v", err)
	}
}

func TestAskLogin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		env        []string
		want       binary.Login
	}{
		{"by a token", "exit 9", []string{"CLAUDE_CODE_OAUTH_TOKEN=x"}, binary.Login{Known: true, In: true, How: "CLAUDE_CODE_OAUTH_TOKEN"}},
		{"logged in", `echo '{"loggedIn":true,"authMethod":"claude.ai"}'`, nil, binary.Login{Known: true, In: true, How: "claude.ai"}},
		{"not logged in", `echo '{"loggedIn":false,"authMethod":"none"}'; exit 1`, nil, binary.Login{Known: true, How: "none"}},
		{"an older CLI", "echo error; exit 1", nil, binary.Login{How: "cannot be told without a request (exit status 1)"}},
	} {
		if got := binary.AskLogin(t.Context(), script(t, c.body), c.env); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
