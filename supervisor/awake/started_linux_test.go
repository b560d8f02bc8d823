package awake

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestStarted compares with what the kernel says of itself.
func TestStarted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	var up float64
	if _, err := fmt.Sscan(string(text), &up); err != nil {
		t.Fatal(err)
	}
	want := time.Now().Add(-time.Duration(up * float64(time.Second)))
	if got, known := Started(); !known || got.Sub(want).Abs() > time.Minute {
		t.Errorf("started at %v (%t), the kernel says %v", got, known, want)
	}
}
