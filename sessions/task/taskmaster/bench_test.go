package taskmaster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyTasks is a tagged file as Task Master writes it, with tasks of five subtasks.
func manyTasks(n int) []byte {
	var b strings.Builder
	b.WriteString("{\n  \"master\": {\n    \"tasks\": [")
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `
      {
        "id": %d,
        "title": "Build part %d of the parser",
        "description": "Write the part with its tests. The tests come first, and the old ones \"have to pass\" as before.",
        "details": "Look at the part before.\nThen at the one behind it.\nKeep the words of the errors; they are documented.",
        "testStrategy": "One table of inputs and one of refusals.",
        "priority": "medium",
        "dependencies": [
          %d
        ],
        "status": "done",
        "subtasks": [`, i+1, i+1, max(i, 1))
		for k := range 5 {
			if k > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `
          {
            "id": %d,
            "title": "Step %d",
            "description": "Write it with its tests, before the next one.",
            "dependencies": [],
            "details": "Nothing of note.",
            "status": "pending",
            "testStrategy": ""
          }`, k+1, k+1)
		}
		b.WriteString("\n        ]\n      }")
	}
	b.WriteString("\n    ],\n    \"metadata\": {\n      \"created\": \"2025-10-07T14:30:00.000Z\"\n    }\n  }\n}\n")
	return []byte(b.String())
}

func BenchmarkScan(b *testing.B) {
	data := text(manyTasks(2000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if data.skip(0) < 0 {
			b.Fatal("broken")
		}
	}
}

// BenchmarkLoadTask is the whole way to the last task of a file.
func BenchmarkLoadTask(b *testing.B) {
	repo := b.TempDir()
	if err := os.MkdirAll(filepath.Join(repo, filepath.Dir(tasksFile)), 0o700); err != nil {
		b.Fatal(err)
	}
	data := manyTasks(2000)
	if err := os.WriteFile(filepath.Join(repo, tasksFile), data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f, err := Load(repo, "")
		if err != nil {
			b.Fatal(err)
		}
		if t, err := f.Task("2000"); err != nil || len(t.Subtasks) != 5 {
			b.Fatal(t, err)
		}
	}
}

func BenchmarkWithStatus(b *testing.B) {
	f, err := parse(tasksFile, manyTasks(2000), masterTag, true)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, changed, err := f.WithStatus("2000.3", "done"); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}
