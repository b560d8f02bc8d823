package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Lane are the paths that a session may edit, where others work in the same tree.
type Lane struct {
	Root     string   `json:"root"`     // top of the tree, absolute
	Patterns []string `json:"patterns"` // below it; none for all paths
}

// outside returns the path that a call would edit and that is not in the lane, or nothing.
// Only the tools that edit a file by its name are held to it: what a command changes cannot
// be told from its words.
func (l Lane) outside(tool string, input json.RawMessage, dir string) string {
	if len(l.Patterns) == 0 || !slices.Contains([]string{"Edit", "MultiEdit", "Write", "NotebookEdit"}, tool) {
		return ""
	}
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(input, &in) != nil {
		return "a file that cannot be told"
	}
	path := in.File
	if tool == "NotebookEdit" {
		path = in.Notebook
	}
	if path == "" {
		return "a file without a name"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(l.Root, real(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	for _, p := range l.Patterns {
		if ok, err := doublestar.Match(p, filepath.ToSlash(rel)); ok && err == nil {
			return ""
		}
	}
	return rel
}

// real is a path with the links of what exists of it followed.
func real(path string) string {
	path = filepath.Clean(path)
	for range 40 { // a link that leads nowhere yet is followed as well
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = filepath.Clean(to)
	}
	for dir, rest := path, ""; dir != filepath.Dir(dir); dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(found, rest)
		}
	}
	return path
}
