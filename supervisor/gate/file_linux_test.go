package gate_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"autopilot/supervisor/gate"
)

// TestUnreadable looks at files that this user may not read. Root may read all, so
// for it the thread gives that up and ends with its goroutine.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "file", "x")
	write(t, dir, "folder/x", "x")
	write(t, dir, "closed/x", "x")
	write(t, dir, "half/closed/x", "x")
	write(t, dir, "half/open", "x")
	for name, mode := range map[string]os.FileMode{"file": 0, "folder": 0o311, "closed": 0, "half/closed": 0} {
		name = filepath.Join(dir, name)
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(name, 0o700) })
	}
	names := []string{"file", "folder", "closed/x", "closed", "half/closed", "half", "folder/x"}
	var checks []gate.Check
	for _, name := range names {
		checks = append(checks, gate.Check{Kind: gate.File, File: name})
	}
	results := make(chan []gate.Result)
	go func() {
		runtime.LockOSThread() // for good
		if os.Geteuid() == 0 {
			_, _ = unix.SetfsuidRetUid(65534)
		}
		results <- gate.Runner{Dir: dir}.Run(t.Context(), checks)
	}()
	for i, r := range <-results {
		ok, want := false, "cannot be read: permission denied"
		switch names[i] {
		case "half":
			ok, want = true, "is a folder with 2 entries"
		case "folder/x":
			ok, want = true, "exists, 1 bytes, sha256 2d711642…"
		}
		if r.OK != ok || r.Detail != want {
			t.Errorf("%s: got %v, %q; want %v, %q", names[i], r.OK, r.Detail, ok, want)
		}
	}
}
