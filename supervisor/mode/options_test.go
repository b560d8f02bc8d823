package mode

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadWithDecay(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, learningsFile, `{"subject":"old","confidence":0.9,"created_at":"2020-01-01"}`+"\n"+`{"subject":"new","confidence":0.5,"created_at":"2026-09-01"}`+"\n")
	first := func(o Options) string {
		s, warnings := LoadWith(repo, noon(), o)
		if warnings != nil {
			t.Errorf("warnings: %v", warnings)
		}
		return s.Learnings[0].Subject
	}
	if got := first(Options{}); got != "new" {
		t.Errorf("by default %s comes first, want new", got)
	}
	if got := first(Options{Decay: &Decay{Enabled: false}}); got != "old" {
		t.Errorf("without decay %s comes first, want old", got)
	}
	if got := first(Options{Decay: &Decay{Enabled: true, HalfLifeDays: -3, FloorFactor: 7}}); got != "new" {
		t.Errorf("with numbers that mean nothing %s comes first, want new", got)
	}
	plain, _ := Load(repo, noon())
	with, _ := LoadWith(repo, noon(), Options{})
	if diff := cmp.Diff(plain, with); diff != "" {
		t.Errorf("Load and LoadWith without options differ:\n%s", diff)
	}
}

func TestLoadBacklog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		answer   string
		err      error
		want     string // empty for none
		warnings []Warning
	}{
		{"issues", ` {"total":3} `, nil, ` {"total":3} `, nil},
		{"no issues", `[]`, nil, `[]`, nil},
		{"nothing known", "null", nil, "", nil},
		{"a failure", `{"total":3}`, errors.New("gh is not logged in"), "", []Warning{{"backlog", "gh is not logged in"}}},
		{"a long failure", "", errors.New(strings.Repeat("x", 500)), "", []Warning{{"backlog", strings.Repeat("x", 120)}}},
		{"no JSON", "total: 3", nil, "", []Warning{{"backlog", "the answer is not one JSON value"}}},
		{"no answer", "", nil, "", []Warning{{"backlog", "the answer is not one JSON value"}}},
	}
	for _, tt := range tests {
		ask := Options{Backlog: func() (json.RawMessage, error) { return json.RawMessage(tt.answer), tt.err }}
		empty, files := t.TempDir(), t.TempDir()
		put(t, files, stateFile, "---\nrecommended-mode: deep\n---\n")

		alone, warnings := LoadWith(empty, noon(), ask)
		if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", tt.name, diff)
		}
		if (alone != nil) != (tt.want != "") || alone != nil && string(alone.Backlog) != tt.want {
			t.Errorf("%s: got %v without files, want the backlog %q", tt.name, alone, tt.want)
		}
		beside, warnings := LoadWith(files, noon(), ask)
		if string(beside.Backlog) != tt.want || beside.RecommendedMode != Deep || (beside.Backlog == nil) != (tt.want == "") {
			t.Errorf("%s: got %v beside files, want the backlog %q", tt.name, beside, tt.want)
		}
		if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings beside files (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestBacklogIsAskedAnew tells each session the backlog of its own time.
func TestBacklogIsAskedAnew(t *testing.T) {
	t.Parallel()
	repo, asked := t.TempDir(), 0
	o := Options{Backlog: func() (json.RawMessage, error) {
		asked++
		if asked == 2 {
			return nil, errors.New("offline")
		}
		return json.Marshal(asked)
	}}
	var got []string
	for range 3 {
		s, warnings := LoadWith(repo, noon(), o)
		if s == nil {
			got = append(got, warnings[0].Text)
			continue
		}
		got = append(got, string(s.Backlog))
	}
	if diff := cmp.Diff([]string{"1", "offline", "3"}, got); diff != "" {
		t.Errorf("backlogs (-want +got):\n%s", diff)
	}
}

// TestBacklogIsNotWeighed compares every recommendation with and without one.
func TestBacklogIsNotWeighed(t *testing.T) {
	t.Parallel()
	for _, m := range append(modes(), "") {
		plain := &Signals{RecommendedMode: m, TopPriorities: []int64{1}}
		with := &Signals{RecommendedMode: m, TopPriorities: []int64{1}, Backlog: json.RawMessage(`{"criticalCount":9}`)}
		if diff := cmp.Diff(Select(plain), Select(with)); diff != "" {
			t.Errorf("%s: a backlog changes the recommendation:\n%s", m, diff)
		}
	}
}
