package config

import (
	"strings"
	"testing"
)

func TestTaskOptions(t *testing.T) {
	t.Parallel()
	const known = "there are team-tasks, swarm-tasks, file-checklist, task-master, specweave, markdown, github-issues"
	for _, tt := range []struct {
		key  string
		raw  []string
		want string
	}{
		{"task-sources", []string{"markdown", "team-tasks"}, ""},
		{"task-sources", []string{"markdown,team-tasks"}, ""},
		{"task-sources", []string{"nowhere"}, `unknown task source "nowhere"; ` + known},
		{"task-sources", []string{" "}, "no task source is named; " + known},
		{"task-sources", []string{"markdown", "markdown"}, "task source markdown is named twice"},
		{"task-files", []string{"docs/PLAN.md"}, ""},
		{"task-files", []string{"../PLAN.md"}, `"../PLAN.md" is no path inside the repository`},
		{"task-files", []string{"/etc/passwd"}, `"/etc/passwd" is no path inside the repository`},
	} {
		cfg, err := Resolve([]Value{{Key: tt.key, Raw: tt.raw, Origin: "here"}})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %q: got %q, want %q", tt.key, tt.raw, got, tt.want)
		}
		set := map[string][]string{"task-sources": cfg.TaskSources, "task-files": cfg.TaskFiles}[tt.key]
		if tt.want == "" && strings.Join(set, ",") != strings.Join(tt.raw, ",") {
			t.Errorf("%s %q: set to %q", tt.key, tt.raw, set)
		}
	}
}
