package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestLane(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(root, "docs", "out")); err != nil {
		t.Fatal(err)
	}
	lane := Lane{Root: root, Patterns: []string{"docs/**", "README.md"}}
	tests := []struct {
		tool, path string
		held       bool
	}{
		{"Write", filepath.Join(root, "docs", "a", "new.md"), false},
		{"Edit", "docs/a.md", false},
		{"Edit", "README.md", false},
		{"Edit", "src/a.go", true},
		{"Write", filepath.Join(root, "docs", "..", "src", "a.go"), true},
		{"Write", filepath.Join(root, "docs", "out", "a.md"), true},
		{"MultiEdit", elsewhere + "/a", true},
		{"NotebookEdit", "docs/a.ipynb", false},
		{"NotebookEdit", "a.ipynb", true},
		{"Write", "", true},
		{"Read", "src/a.go", false},
		{"Bash", "src/a.go", false},
	}
	for _, tt := range tests {
		key := "file_path"
		if tt.tool == "NotebookEdit" {
			key = "notebook_path"
		}
		input, err := json.Marshal(map[string]string{key: tt.path})
		if err != nil {
			t.Fatal(err)
		}
		if got := lane.outside(tt.tool, input, root); (got != "") != tt.held {
			t.Errorf("%s %q: outside is %q, want held %v", tt.tool, tt.path, got, tt.held)
		}
	}
	if got := lane.outside("Write", json.RawMessage(`[]`), root); got == "" {
		t.Error("an input that cannot be read is free")
	}
	if got := (Lane{Root: root}).outside("Write", json.RawMessage(`{"file_path":"x"}`), root); got != "" {
		t.Errorf("without patterns %q is outside", got)
	}
}
