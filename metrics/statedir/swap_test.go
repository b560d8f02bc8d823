package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestSwap counts under the lock, from many at once, and looks at the file meanwhile.
func TestSwap(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "n")
	count := func() (n int) {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return 0
		}
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		if err != nil || len(data) != 4096 {
			t.Errorf("a reader found %d bytes: %v", len(data), err)
		}
		return n
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				err := Exclusive(path, func() error {
					text := strconv.Itoa(count() + 1)
					return Swap(path, []byte(text+strings.Repeat(" ", 4096-len(text))))
				})
				if err != nil {
					t.Error(err)
				}
				count()
			}
		})
	}
	wg.Wait()
	if got := count(); got != 160 {
		t.Errorf("counted to %d, want 160", got)
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("mode %v", got)
	}
}

func TestExclusiveSaysWhoIsInTheWay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	inner := errors.New("of its own")
	if err := Exclusive(path, func() error { return inner }); !errors.Is(err, inner) {
		t.Errorf("got %v, want the error of the function", err)
	}
	if err := Exclusive(filepath.Join(path, "below"), func() error { t.Error("it ran without the lock"); return nil }); err == nil || !strings.Contains(err.Error(), "below") {
		t.Errorf("no folder: %v", err)
	}
	err := Exclusive(path, func() error { return Exclusive(path, func() error { t.Error("two hold it"); return nil }) })
	if err == nil || !strings.Contains(err.Error(), "another process has held "+path+".lock") {
		t.Errorf("held: %v", err)
	}
}

func TestSwapThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "old", 0o600)
	if err := os.Mkdir(path+".tmp", 0o700); err != nil { // nothing can be written there
		t.Fatal(err)
	}
	if err := Swap(path, []byte("new")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the old content is %q", got)
	}
}
