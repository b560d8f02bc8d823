package task

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
)

func BenchmarkDiscoverTeamTasks(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h := newHome(b)
			for i := range n {
				h.config(fmt.Sprintf("tasks/%s/%d.json", sessionA, i+1), teamFile(b, i+1))
			}
			h.place.Session = sessionA
			for b.Loop() {
				if got := Discover(b.Context(), h.place, Usual()); len(got.Tasks) != n {
					b.Fatalf("got %d tasks: %+v", len(got.Tasks), got.Looks)
				}
			}
		})
	}
}

func BenchmarkDiscoverFiles(b *testing.B) {
	h := newHome(b)
	var list []map[string]any
	for i := range 1000 {
		var m map[string]any
		if err := json.Unmarshal([]byte(teamFile(b, i+1)), &m); err != nil {
			b.Fatal(err)
		}
		list = append(list, m)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	h.repo(swarmFile, string(data))
	h.repo(checklistFile, string(data))
	for b.Loop() {
		got := Discover(b.Context(), h.place, Usual())
		if len(got.Tasks) != 1000 || got.Tasks[0].Also == nil {
			b.Fatalf("got %d tasks", len(got.Tasks))
		}
	}
}

// teamFile is a task as Claude Code writes it.
func teamFile(tb testing.TB, i int) string {
	tb.Helper()
	data, err := json.MarshalIndent(map[string]any{
		"id": strconv.Itoa(i), "subject": fmt.Sprintf("Build part %d of the parser", i),
		"description": "Write the part with its tests.\nThe tests come first, and the old ones have to pass as before.",
		"activeForm":  "Building the parser", "owner": "agent-a", "status": "completed",
		"blocks": []string{strconv.Itoa(i + 1)}, "blockedBy": []string{strconv.Itoa(i - 1)},
		"metadata": map[string]any{"prio": 1},
	}, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func BenchmarkParseTeamTask(b *testing.B) {
	data := []byte(teamFile(b, 7))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parseTeamTask(data); err != nil {
			b.Fatal(err)
		}
	}
}
