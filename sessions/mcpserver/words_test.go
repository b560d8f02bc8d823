package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

func TestStatusText(t *testing.T) {
	t.Parallel()
	full := someStatus()
	full.Others = []string{"s2", "s3"}
	full.Broken, full.Warning = []task.Fault{{Path: "list.json", Why: "cut\noff"}}, "disk full"
	full.Stalled = 4
	full.Remaining, _ = firstTasks(full.Remaining)
	for _, tt := range []struct {
		name   string
		status completion.Status
		want   []string
	}{
		{"on", full, []string{
			"Persistent completion is on for session 0b5e6c1a-0000-4000-8000-000000000001.",
			"Iteration 3 of 50, minute 12 of 240, about 4200 tokens.",
			"Tasks: 3 of 8 complete (38 %), 1 of them failed, from team-tasks, swarm-tasks, file-checklist.",
			"No further task was completed for 4 iterations.",
			"Remaining:",
			"- test it (pending, team-tasks)",
			"- ship it (in_progress, swarm-tasks, blocked, its owner is gone)",
			"- and 3 more",
			"Cannot be read: list.json: cut off.",
			"Warning: disk full.",
			"Other sessions of the project: s2, s3.",
		}},
		{"waiting", completion.Status{Enabled: true, Waiting: true, MaxIterations: 50, TimeoutMinutes: 240, Tasks: task.Count{Percent: 100}, TaskSources: []string{"markdown"}}, []string{
			"Persistent completion is on; the next session that stops here is bound to it.",
			"Iteration 0 of 50, minute 0 of 240, about 0 tokens.",
			"Tasks: 0 of 0 complete (100 %), from markdown.",
		}},
		{"off", completion.Status{}, []string{
			"Persistent completion is off.",
			"Iteration 0 of 0, minute 0 of 0, about 0 tokens.",
			"Tasks: 0 of 0 complete (0 %), from nowhere.",
		}},
	} {
		if d := cmp.Diff(strings.Join(tt.want, "\n"), statusText(tt.status)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestOtherTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, got, want string }{
		{
			"settings",
			settingsText(completion.Settings{MaxIterations: 1, TimeoutMinutes: 30, MaxTokens: 5000, Criteria: completion.AllSucceeded, TaskSources: []string{"markdown"}}),
			"Settings: at most 1 iteration, 30 minutes and 5000 tokens; complete means all-tasks-succeeded; tasks from markdown.",
		},
		{"empty log", logText(nil), "The log is empty."},
		{
			"log",
			logText([]completion.Event{
				{"ts": json.Number("1700000000000"), "event": "re-engaging", "remaining": 2, "completed": json.Number("6")},
				{"ts": 1_700_000_001_000.0, "event": "stopped", "reason": "a\nb <c>"},
				{"event": "odd"},
			}),
			"2023-11-14T22:13:20Z re-engaging completed=6 remaining=2\n" +
				"2023-11-14T22:13:21Z stopped reason=\"a\\nb <c>\"\n" +
				"(no time) odd",
		},
		{"no episodes", learnedText(episode.Learned{}), "There are no episodes yet, so there is nothing to learn from."},
		{
			"lessons",
			learnedText(episode.Learned{
				Episodes: 3, Successes: 2, Failures: 1, AvgReward: 0.5, Confidence: 0.06,
				Patterns:        []episode.Pattern{{Pattern: "tests", Frequency: 2, AvgReward: 0.75}},
				FailurePatterns: []episode.Pattern{{Pattern: "deploy", Frequency: 1}},
				Recommendations: []string{"smaller\nsteps"},
			}),
			"3 episodes: 2 succeeded, 1 failed. Mean reward 0.50, confidence 0.06.\n" +
				"Successes have in common:\n- tests (2 episodes, mean reward 0.75)\n" +
				"Failures have in common:\n- deploy (1 episode, mean reward 0.00)\n" +
				"Recommended:\n- smaller steps",
		},
		{
			"prediction",
			predictionText(episode.Prediction{Action: "test it", Confidence: 0.25, Remaining: 1, Alternatives: []episode.Alternative{{Action: "ship it", Reward: 0.5}}}),
			"Next: test it\nConfidence 0.25: no reason is given\n1 task left.\nOr: ship it (expected reward 0.50)",
		},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
