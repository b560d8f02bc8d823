package statedir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLoadJSONOfOddFiles has what would hold a reader up or fill its memory.
func TestLoadJSONOfOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 700<<20); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "it is not a regular file", large: "too large, more than 67108864 bytes", dir: "it is not a regular file"} {
		var v any
		if err := LoadJSON(path, &v); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
