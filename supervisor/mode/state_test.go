package mode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFrontmatter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     map[string]any
	}{
		{"nothing in it", "---\n\n---\n", map[string]any{}},
		{
			"scalars", "---\na: text of words\nb: true\nc: false\nd: null\ne: ~\nf:\ng: 42\nh: -7\ni: 0.25\nj: -1.50\nk: 007\n---\n",
			map[string]any{"a": "text of words", "b": true, "c": false, "d": nil, "e": nil, "f": nil, "g": 42.0, "h": -7.0, "i": 0.25, "j": -1.5, "k": 7.0},
		},
		{
			"what only looks like a number", "---\na: .5\nb: 5.\nc: 1e3\nd: +1\ne: 1.2.3\nf: -\n---\n",
			map[string]any{"a": ".5", "b": "5.", "c": "1e3", "d": "+1", "e": "1.2.3", "f": "-"},
		},
		{
			"quotes", "---\na: \"x: \\\"y\\\" \\u00e9\"\nb: 'it''s'\nc: \"bad \\q\"\nd: \"\ne: '\nf: \"42\"\ng: ''\n---\n",
			map[string]any{"a": `x: "y" é`, "b": "it''s", "c": `bad \q`, "d": "", "e": "", "f": "42", "g": ""},
		},
		{
			"flow lists", "---\na: [1, 2.5, x, \"y\", null,]\nb: []\nc: [ ]\nd: [[1]]\ne: [\n---\n",
			map[string]any{"a": []any{1.0, 2.5, "x", "y", nil, nil}, "b": []any{}, "c": []any{}, "d": []any{"[1]"}, "e": "["},
		},
		{"comments and blank lines", "---\n# c\n\n  # indented\na: 1 # not a comment\n---\n", map[string]any{"a": "1 # not a comment"}},
		{"colons in values", "---\nat: 2026-09-01T10:00:00Z\n---\n", map[string]any{"at": "2026-09-01T10:00:00Z"}},
		{"the last of two keys", "---\na: 1\na: 2\n---\n", map[string]any{"a": 2.0}},
		{"windows line ends", "---\r\na: 1\r\nb: x\r\n---\r\nbody", map[string]any{"a": 1.0, "b": "x"}},
		{"no newline at the end", "---\na: 1\n---", map[string]any{"a": 1.0}},
		{"dashes in the body", "---\na: 1\n---\nb: 2\n---\n", map[string]any{"a": 1.0}},
		{
			"a list of maps", "---\ntasks:\n  - id: 1\n    what: x\n\n    # c\n    done: true\n  - id: 2\nafter: y\n---\n",
			map[string]any{"tasks": []any{map[string]any{"id": 1.0, "what": "x", "done": true}, map[string]any{"id": 2.0}}, "after": "y"},
		},
		{"a key without value at the end", "---\na:\n---\n", map[string]any{"a": nil}},
		{"a key without value before another", "---\na:\n\nb: 1\n---\n", map[string]any{"a": nil, "b": 1.0}},
	}
	for _, tt := range tests {
		got, err := parseFrontmatter(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseFrontmatterRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", "there is no frontmatter at the first byte"},
		{"# State\n---\na: 1\n---\n", "there is no frontmatter at the first byte"},
		{" ---\na: 1\n---\n", "there is no frontmatter at the first byte"},
		{"--- \na: 1\n---\n", "there is no frontmatter at the first byte"},
		{"---", "there is no frontmatter at the first byte"},
		{"---\na: 1\n", "the frontmatter does not end"},
		{"---\n---\n", "the frontmatter does not end"},
		{"---\na: 1\n b: 2\n---\n", "line 3 of the frontmatter is indented"},
		{"---\na: 1\nb\n---\n", "line 3 of the frontmatter has no colon"},
		{"---\n: 1\n---\n", "line 2 of the frontmatter has no key"},
		{"---\na:\n- b: 1\n  c: 2\n---\n", "line 4 of the frontmatter is indented"},
		{"---\na:\n  - b\n---\n", "line 3 of the frontmatter has no colon"},
		{"---\na:\n  - b: 1\n      c: 2\n---\n", "line 4 of the frontmatter is indented too far"},
		{"---\na:\n  - b: 1\n    c\n---\n", "line 4 of the frontmatter has no colon"},
		{"---\na:\n    - b: 1\n  - c: 1\n---\n", "line 4 of the frontmatter is indented"},
		{"---\na:\n  b: 1\n---\n", "line 3 of the frontmatter is indented"},
		{"---\na: x\n  - b: 1\n---\n", "line 3 of the frontmatter is indented"},
	}
	for _, tt := range tests {
		got, err := parseFrontmatter(tt.in)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: got %v %v, want %s", tt.in, got, err, tt.want)
		}
	}
}

func FuzzParseFrontmatter(f *testing.F) {
	for _, seed := range []string{
		"---\nstatus: active\ntop-priorities: [1, 2]\n---\n", "---\r\na:\r\n  - b: \"\r\n    c: '\r\n---", "---\n\n---",
		"---\na: [\nb: ]\nc: [,]\n---\n", "---\na:\n\u00a0- b: 1\n---\n", "---\n\ufeffa: 1\n---\n", "---\na:\n  -\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		front, err := parseFrontmatter(text)
		if (front == nil) == (err == nil) {
			t.Fatalf("got %v and %v, want exactly one", front, err)
		}
		for key, value := range front {
			if key == "" || key != strings.TrimSpace(key) || strings.ContainsAny(key, ":\n") {
				t.Fatalf("key %q", key)
			}
			switch value.(type) {
			case nil, bool, float64, string, []any:
			default:
				t.Fatalf("%s is a %T", key, value)
			}
		}
		r := stateReader{front: front}
		r.text("a")
		r.integer("a")
		r.integers("a")
		r.ratio("a")
		if err == nil {
			if more, err := parseFrontmatter(text + "\nbody\n"); err != nil || !cmp.Equal(front, more, cmp.Comparer(sameNumber)) {
				t.Fatalf("a body changes the frontmatter to %v, %v", more, err)
			}
		}
	})
}

func sameNumber(a, b float64) bool { return a == b }

// put writes a file below a repository, with its folders.
func put(t *testing.T, repo, name, text string) {
	t.Helper()
	name = filepath.Join(repo, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadState(t *testing.T) {
	t.Parallel()
	full := "---\nschema-version: 1\nsession-type: deep\nbranch: main\nissues: [4, 5]\nstarted_at: 2026-09-01T10:00:00+02:00\n" +
		"status: active\ncurrent-wave: 2\ntotal-waves: 5\nsession: main-2026-09-01-deep-1\nrecommended-mode: feature\n" +
		"top-priorities: [7, 8]\ncarryover-ratio: 0.10\ncompletion-rate: 1\nrationale: \"v0: fine\"\n" +
		"docs-tasks:\n  - id: 1\n    why: x\n---\n\n## Current Wave\n---\n"
	tests := []struct {
		name, in string
		want     State
		asks     bool
	}{
		{"full", full, State{
			Status: StatusActive, Session: "main-2026-09-01-deep-1", SessionType: Deep,
			StartedAt: "2026-09-01T10:00:00+02:00", CurrentWave: 2, TotalWaves: 5, RecommendedMode: Feature,
			TopPriorities: []int64{7, 8}, CarryoverRatio: num(0.1), CompletionRate: num(1), Rationale: "v0: fine",
		}, true},
		{"paused", "---\nstatus: paused\n---\n", State{Status: StatusPaused}, true},
		{"completed", "---\r\nstatus: completed\r\n---\r\n", State{Status: StatusCompleted}, false},
		{"idle", "---\nstatus: 'idle'\n---\n", State{Status: StatusIdle}, false},
		{"no status", "---\nbranch: main\n---\n", State{}, false},
		{"another status", "---\nstatus: Active\n---\n", State{Status: "Active"}, false},
		{"byte-order mark", "\ufeff---\nstatus: active\n---\n", State{Status: StatusActive}, true},
		{"wrong types", "---\nstatus: 1\nsession: true\ncurrent-wave: two\ntop-priorities: [1, x]\ncarryover-ratio: \"0.5\"\ncompletion-rate: [1]\nrecommended-mode: 5\n---\n", State{}, false},
		{"huge numbers", "---\ncarryover-ratio: " + strings.Repeat("9", 400) + "\ntop-priorities: [" + strings.Repeat("9", 30) + "]\n---\n", State{}, false},
	}
	for _, tt := range tests {
		repo := t.TempDir()
		put(t, repo, stateFile, tt.in)
		got, found, err := LoadState(repo)
		if err != nil || !found {
			t.Errorf("%s: found %t, %v", tt.name, found, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got.AsksToResume() != tt.asks {
			t.Errorf("%s: asks to resume %t, want %t", tt.name, got.AsksToResume(), tt.asks)
		}
	}
}

func TestLoadStateFails(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	if got, found, err := LoadState(repo); found || err != nil || !cmp.Equal(got, State{}) {
		t.Errorf("missing: got %v %t %v, want nothing", got, found, err)
	}
	put(t, repo, stateFile, "no dashes")
	_, found, err := LoadState(repo)
	want := "load state: .claude/STATE.md: there is no frontmatter at the first byte"
	if !found || err == nil || err.Error() != want {
		t.Errorf("broken: found %t, got %v, want %s", found, err, want)
	}
	put(t, repo, stateFile, "---\nstatus: active\n# "+strings.Repeat("x", maxHead)+"\n---\n")
	if _, found, err = LoadState(repo); !found || err == nil || !strings.HasSuffix(err.Error(), "the frontmatter does not end") {
		t.Errorf("endless: found %t, got %v", found, err)
	}
	put(t, repo, stateFile, "---\nstatus: active\n---\n"+strings.Repeat("x", 2*maxHead))
	if got, found, err := LoadState(repo); !found || err != nil || got.Status != StatusActive {
		t.Errorf("long body: got %v %t %v, want active", got, found, err)
	}
	repo = t.TempDir()
	if err := os.MkdirAll(filepath.Join(repo, stateFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, found, err = LoadState(repo); !found || err == nil || !strings.HasSuffix(err.Error(), "STATE.md: it is not a regular file") {
		t.Errorf("folder: found %t, got %v", found, err)
	}
}
