package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

func tddDefaults() tdd.Settings {
	return tdd.Settings{
		Enabled: true, RequireClean: true, CommitTemplate: "{type}({scope}): {msg} (task {taskId})", CommitType: "feat", MaxAttempts: 3,
		TestCommand: tdd.TestsAuto, TestRunner: "auto", TestTimeout: 5 * time.Minute,
		BranchPattern: "{tag}/task-{id}-{slug}", Remote: "origin",
	}
}

// with is the default settings with a change.
func with(change func(*tdd.Settings)) tdd.Settings {
	s := tddDefaults()
	change(&s)
	return s
}

func TestTDDOptions(t *testing.T) {
	t.Parallel()
	half := 62.5
	for _, tt := range []struct {
		key, raw string
		want     tdd.Settings
		note     string
	}{
		{"tdd", "false", with(func(s *tdd.Settings) { s.Enabled = false }), ""},
		{"clean-tree", "FALSE", with(func(s *tdd.Settings) { s.RequireClean = false }), ""},
		{"commit-template", " {type}: {msg} ", with(func(s *tdd.Settings) { s.CommitTemplate = "{type}: {msg}" }), ""},
		{"commit-type", "fix", with(func(s *tdd.Settings) { s.CommitType = "fix" }), ""},
		{"max-attempts", "0", with(func(s *tdd.Settings) { s.MaxAttempts = 1 }), "0 is below 1, using 1"},
		{"max-attempts", "101", with(func(s *tdd.Settings) { s.MaxAttempts = 100 }), "101 is above 100, using 100"},
		{"test-command", "go test ./... | cat", with(func(s *tdd.Settings) { s.TestCommand = "go test ./... | cat" }), ""},
		{"test-command", "none", with(func(s *tdd.Settings) { s.TestCommand = tdd.TestsNone }), ""},
		{"test-runner", "tap", with(func(s *tdd.Settings) { s.TestRunner = "tap" }), ""},
		{"test-timeout", "90", with(func(s *tdd.Settings) { s.TestTimeout = 90 * time.Second }), ""},
		{"test-timeout", "7h", with(func(s *tdd.Settings) { s.TestTimeout = 6 * time.Hour }), "7h is outside 1s..6h, using 6h"},
		{"test-pattern", "**/*.test.ts", with(func(s *tdd.Settings) { s.TestPattern = "**/*.test.ts" }), ""},
		{"coverage-lines", "62.5", with(func(s *tdd.Settings) { s.Thresholds.Lines = &half }), ""},
		{"coverage-branches", "0", with(func(s *tdd.Settings) { s.Thresholds.Branches = nil }), ""},
		{"coverage-functions", "0.0", with(func(s *tdd.Settings) { s.Thresholds.Functions = nil }), ""},
		{"coverage-statements", "0", with(func(s *tdd.Settings) { s.Thresholds.Statements = nil }), ""},
		{"branch-pattern", "ai/{id}", with(func(s *tdd.Settings) { s.BranchPattern = "ai/{id}" }), ""},
		{"remote", "team/up-stream.2", with(func(s *tdd.Settings) { s.Remote = "team/up-stream.2" }), ""},
		{"already-implemented", "true", with(func(s *tdd.Settings) { s.AlreadyImplemented = true }), ""},
		{"tdd-storage", "~/.taskmaster", with(func(s *tdd.Settings) { s.Storage = "~/.taskmaster" }), ""},
		{"tdd-storage", "/var/lib/runs", with(func(s *tdd.Settings) { s.Storage = "/var/lib/runs" }), ""},
	} {
		r := resolve(t, flags(tt.key, tt.raw))
		if d := cmp.Diff(tt.want, r.TDD); d != "" {
			t.Errorf("%s %q (-want +got):\n%s", tt.key, tt.raw, d)
		}
		if got := setting(t, r, tt.key).Note; got != tt.note {
			t.Errorf("%s %q: note %q, want %q", tt.key, tt.raw, got, tt.note)
		}
	}
}

func TestTDDOptionsRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, raw, want string }{
		{"tdd", "maybe", `"maybe" is neither true nor false`},
		{"commit-template", "{type}: {message}", "unknown placeholder {message}; there are {type}, {scope}, {msg}, {taskId}"},
		{"commit-template", "{type}: work", `"{type}: work" has no {msg}`},
		{"commit-template", "", `"" has no {msg}`},
		{"commit-template", "{msg}\n\nSigned-off-by: me", "is not one line of text"},
		{"commit-type", "feature", `"feature" is none of feat, fix, test, refactor, docs, chore`},
		{"max-attempts", "many", `"many" is not a number`},
		{"test-command", " ", "is empty"},
		{"test-runner", "mocha", `"mocha" is none of auto, go, jest, vitest, node, pytest, cargo, tap, exit`},
		{"test-timeout", "soon", `"soon" is not a duration`},
		{"coverage-lines", "-1", "-1 would mean no limit; write 0 if that is meant"},
		{"coverage-lines", "80%", `"80%" is not a number`},
		{"branch-pattern", "{tag}/{slug}", `"{tag}/{slug}" has no {id}`},
		{"branch-pattern", "{tag}/{task}-{id}", "unknown placeholder {task}; there are {tag}, {id}, {slug}"},
		{"branch-pattern", "task {id}", `makes names such as task 1, which is no good name of a branch; task-1 would be one`},
		{"remote", "--receive-pack=touch /tmp/x", "is no name of a remote"},
		{"remote", "https://example.org/x.git", "is no name of a remote"},
		{"remote", "git@example.org:x.git", "is no name of a remote"},
		{"remote", "../elsewhere", "is no name of a remote"},
		{"remote", "/elsewhere", "is no name of a remote"},
		{"remote", "", "is no name of a remote"},
		{"tdd-storage", "runs", `"runs" is neither an absolute path nor one below ~/`},
		{"tdd-storage", "~/../../etc", "is neither an absolute path"},
		{"tdd-storage", "~other/runs", "is neither an absolute path"},
	} {
		_, err := Resolve(flags(tt.key, tt.raw))
		if err == nil || !strings.HasPrefix(err.Error(), tt.key+": ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: got %v, want %s", tt.key, tt.raw, err, tt.want)
		}
	}
}

func TestRepositoryStoresInHomeAlone(t *testing.T) {
	t.Parallel()
	for path, ok := range map[string]bool{"~/.taskmaster": true, "~/a/b": true, `""`: true, "/etc": false, "~/../x": false, "~": false, "runs": false, "[~/a, /etc]": false} {
		layer, err := ParseFile("autopilot.yaml", []byte("tdd-storage: "+path+"\n"), true)
		if path == "~" {
			layer, err = []Value{{Key: "tdd-storage", Raw: []string{"~"}, Origin: "autopilot.yaml:1", InRepo: true}}, nil // YAML has ~ for null
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Resolve(layer)
		if (err == nil) != ok {
			t.Errorf("%s: got %v, want allowed: %t", path, err, ok)
		}
	}
	layer, err := ParseFile("autopilot.yaml", []byte("tdd-storage: /srv/runs\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	want := "tdd-storage: may not be set to this by a repository (autopilot.yaml:1); use a flag, AUTOPILOT_TDD_STORAGE or your own config.yaml"
	if _, err := Resolve(layer, flags("tdd-storage", "~/mine")); fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Only the options of test-driven work are in the group, and all of them.
func TestGroupTDD(t *testing.T) {
	t.Parallel()
	var inside []string
	for _, o := range Options() {
		switch o.Group {
		case GroupTDD:
			inside = append(inside, o.Key)
		case "", GroupGates, GroupQueue, GroupTests, GroupSync, GroupStories, GroupNotify, GroupTelemetry, GroupKeep:
		default:
			t.Errorf("%s is in the group %q", o.Key, o.Group)
		}
	}
	if len(inside) != 17 || inside[0] != "tdd" || inside[16] != "tdd-storage" {
		t.Errorf("the group has %d options: %v", len(inside), inside)
	}
}
