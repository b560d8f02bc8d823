package source

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/mode"
)

const (
	stateFile    = ".claude/STATE.md"
	lockFile     = ".orchestrator/bootstrap.lock"
	sessionsFile = ".orchestrator/metrics/sessions.jsonl"
)

func put(t *testing.T, repo, name, text string) {
	t.Helper()
	path := filepath.Join(repo, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func state(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\n" }

func steps() []string { return []string{"/session {mode}", "/go", "/close"} }

func request() Request {
	return Request{Objective: prompt.Objective{Goal: "x", Iteration: 1, MaxSessions: 5}, Now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
}

func TestGoal(t *testing.T) {
	t.Parallel()
	g := Goal{}
	past := []prompt.Past{{Iteration: 1, Ending: "completed", Report: &prompt.Report{Summary: "did one half"}}}
	o := prompt.Objective{Goal: `make "all" tests pass`, Iteration: 2, MaxSessions: 3, Past: past}
	got := g.Next(Request{Objective: o})
	want := Assignment{
		Mode: "goal", SessionType: "feature", Confidence: 1, Rationale: "the goal was given",
		Alternatives: []mode.Alternative{}, Missing: []string{},
		Steps: []sessions.Step{{Prompt: prompt.Goal(o)}}, Schema: prompt.ReportSchema,
		Manual: `claude "make \"all\" tests pass"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assignment (-want +got):\n%s", diff)
	}
	if h := killswitch.CheckConfidence(killswitch.Limits{ConfidenceThreshold: 1}, got.Mode, got.Confidence); h != nil {
		t.Errorf("a given goal is not certain enough: %v", h)
	}
	if !strings.Contains(got.Steps[0].Prompt, "did one half") {
		t.Errorf("prompt %q lacks the last report", got.Steps[0].Prompt)
	}
}

// TestGoalWithSlash is a goal that must not become a slash command.
func TestGoalWithSlash(t *testing.T) {
	t.Parallel()
	got := Goal{}.Next(Request{Objective: prompt.Objective{Goal: "/close the gap"}}).Steps
	if len(got) != 1 || got[0].AsArgument || strings.HasPrefix(got[0].Prompt, "/") {
		t.Errorf("got %+v, want one prompt for stdin that is no slash command", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := (Goal{}).Name(); got != "goal" {
		t.Errorf("got %q, want goal", got)
	}
	if got := (Lifecycle{}).Name(); got != "lifecycle" {
		t.Errorf("got %q, want lifecycle", got)
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	runnable := []sessions.Step{{Prompt: "/session feature", AsArgument: true}, {Prompt: "/go", AsArgument: true}, {Prompt: "/close", AsArgument: true}}
	tests := []struct {
		name  string
		files map[string]string
		want  Assignment // of the fields that a source decides
	}{
		{
			"recommended",
			map[string]string{stateFile: state("status: completed", "recommended-mode: feature", "carryover-ratio: 0", "completion-rate: 1")},
			Assignment{Mode: "feature", SessionType: "feature", Confidence: 0.5, Steps: runnable, Manual: `claude "/session feature"`},
		},
		{
			"idle",
			map[string]string{stateFile: state("status: idle", "carryover-ratio: 0.4", "completion-rate: 0.6")},
			Assignment{
				Mode: "deep", SessionType: "deep", Confidence: 0.75, Manual: `claude "/session deep"`,
				Steps: []sessions.Step{{Prompt: "/session deep", AsArgument: true}, {Prompt: "/go", AsArgument: true}, {Prompt: "/close", AsArgument: true}},
			},
		},
		{"no signals", nil, Assignment{Mode: "feature", SessionType: "feature", Steps: runnable, Manual: `claude "/session feature"`, Rationale: "there are no signals"}},
		{
			"a mode that /session does not run",
			map[string]string{stateFile: state("status: completed", "completion-rate: 0.3")},
			Assignment{Steps: []sessions.Step{}, Manual: "claude", Rationale: `mode "plan-retro" is not one that /session runs (housekeeping, feature, deep)`},
		},
		{
			"discovery",
			map[string]string{stateFile: state("recommended-mode: discovery")},
			Assignment{Steps: []sessions.Step{}, Manual: "claude", Rationale: `mode "discovery" is not one that /session runs (housekeeping, feature, deep)`},
		},
		{
			"active",
			map[string]string{stateFile: state("status: active", "session: main-2026-09-01-deep-1", "recommended-mode: feature")},
			Assignment{
				Steps: []sessions.Step{}, Manual: `claude "/close"`,
				Rationale: "session main-2026-09-01-deep-1 is active in .claude/STATE.md and would ask whether to resume; end it with /close first",
			},
		},
		{
			"paused",
			map[string]string{stateFile: state("status: paused", "session: x", "recommended-mode: feature")},
			Assignment{
				Steps: []sessions.Step{}, Manual: `claude "/close"`,
				Rationale: "session x is paused in .claude/STATE.md and would ask whether to resume; end it with /close first",
			},
		},
		{
			"active matters more than the mode",
			map[string]string{stateFile: state("status: active", "session: x", "completion-rate: 0.3")},
			Assignment{
				Steps: []sessions.Step{}, Manual: `claude "/close"`,
				Rationale: "session x is active in .claude/STATE.md and would ask whether to resume; end it with /close first",
			},
		},
		{
			"broken",
			map[string]string{stateFile: "---\nstatus active\n---\n"},
			Assignment{
				Steps: []sessions.Step{}, Manual: `claude "/close"`,
				Rationale: ".claude/STATE.md cannot be understood, an unfinished session cannot be ruled out: load state: .claude/STATE.md: line 2 of the frontmatter has no colon",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			for name, text := range tt.files {
				put(t, repo, name, text)
			}
			got := Lifecycle{Repo: repo, Steps: steps()}.Next(request())
			if !got.Records || got.Schema != "" {
				t.Errorf("records %v, schema %q: want a session that writes its own record and no report", got.Records, got.Schema)
			}
			if tt.want.Rationale == "" {
				got.Rationale = "" // the selector's words are its own
			}
			got.Records, got.Alternatives, got.Missing, got.Warnings = false, nil, nil, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("assignment (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedAtAnyThreshold is the reason why such an assignment has no mode.
func TestRefusedAtAnyThreshold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		state("status: active", "session: x", "recommended-mode: feature"), state("status: paused", "recommended-mode: feature"),
		state("completion-rate: 0.1"), state("recommended-mode: evolve"), "---\nbroken\n---\n", "no frontmatter",
	} {
		repo := t.TempDir()
		put(t, repo, stateFile, text)
		a := Lifecycle{Repo: repo, Steps: steps()}.Next(request())
		if h := killswitch.CheckConfidence(killswitch.Limits{ConfidenceThreshold: 0}, a.Mode, a.Confidence); h == nil {
			t.Errorf("%q: a session would be started with %+v", text, a)
		}
	}
}

func TestLifecycleTellsWhy(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, state("recommended-mode: feature", "carryover-ratio: many"))
	put(t, repo, lockFile, "tier: standard\n")
	put(t, repo, sessionsFile, "{broken\n")
	got := Lifecycle{Repo: repo, Steps: steps()}.Next(request())
	signals, warnings := mode.Load(repo, request().Now)
	rec := mode.Select(signals)
	if diff := cmp.Diff([]any{rec.Confidence, rec.Rationale, rec.Alternatives, rec.Missing}, []any{got.Confidence, got.Rationale, got.Alternatives, got.Missing}); diff != "" {
		t.Errorf("the selector's answer is not passed on (-want +got):\n%s", diff)
	}
	var want []string
	for _, w := range warnings {
		want = append(want, w.Source+": "+w.Text)
	}
	if len(want) < 2 {
		t.Fatalf("%d warnings, want one for each broken file", len(want))
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLifecycleReadsAgain(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	l := Lifecycle{Repo: repo, Steps: steps()}
	for _, m := range []string{"feature", "deep", "housekeeping"} {
		put(t, repo, stateFile, state("recommended-mode: "+m))
		if got := l.Next(request()).Mode; got != m {
			t.Errorf("got mode %q, want %q", got, m)
		}
	}
}

func TestLifecycleSteps(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, state("recommended-mode: housekeeping"))
	given := []string{"/session {mode} and {mode}", "say {mode}", "{mode}", "/go", " /go", "/other {MODE}"}
	got := Lifecycle{Repo: repo, Steps: given}.Next(request())
	want := []sessions.Step{
		{Prompt: "/session housekeeping and housekeeping", AsArgument: true},
		{Prompt: "say housekeeping"},
		{Prompt: "housekeeping"},
		{Prompt: "/go", AsArgument: true},
		{Prompt: " /go"},
		{Prompt: "/other {MODE}", AsArgument: true},
	}
	if diff := cmp.Diff(want, got.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("/session {mode} and {mode}", given[0]); diff != "" {
		t.Errorf("the configured steps were changed:\n%s", diff)
	}
	if none := (Lifecycle{Repo: repo}).Next(request()); len(none.Steps) != 0 || none.Manual != "" {
		t.Errorf("without steps: got %+v, want nothing to run", none)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	active := t.TempDir()
	put(t, active, stateFile, state("status: active"))
	for _, a := range []Assignment{
		Goal{}.Next(request()), Lifecycle{Repo: t.TempDir(), Steps: steps()}.Next(request()),
		Lifecycle{Repo: active, Steps: steps()}.Next(request()),
	} {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "null") {
			t.Errorf("a list is null in %s", data)
		}
	}
}

func TestHasLifecycle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		lockFile: true, stateFile: true, sessionsFile: false, ".claude/settings.json": false, "STATE.md": false, "CLAUDE.md": false,
	} {
		repo := t.TempDir()
		put(t, repo, name, "")
		if got := HasLifecycle(repo); got != want {
			t.Errorf("with %s alone: got %v, want %v", name, got, want)
		}
	}
	if HasLifecycle(filepath.Join(t.TempDir(), "missing")) {
		t.Error("a folder that is not there has a lifecycle")
	}
}

// TestManualIsOneWord pastes what a person would type into a shell.
func TestManualIsOneWord(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{
		"plain", "two words", `a "quoted" word`, "$HOME `id` $(id)", `back\slash`, `ends with \`, `\$HOME`, `\\`, "it's", "two\nlines", "-x", "",
	} {
		script := strings.Replace(Goal{}.Next(Request{Objective: prompt.Objective{Goal: goal}}).Manual, "claude ", "printf %s. ", 1)
		got, err := exec.Command("sh", "-c", script).CombinedOutput()
		if want := goal + "."; err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", script, got, err, want)
		}
	}
}
