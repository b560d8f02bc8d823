package gate_test

import (
	"runtime"
	"testing"
	"time"
)

// TestMemory is not parallel: it counts what this process allocates while a command
// prints without end.
func TestMemory(t *testing.T) {
	p := newPlace(t)
	p.Timeout = 2 * time.Second
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := p.run(note + "exec yes 0123456789")
	runtime.ReadMemStats(&after)
	if got.OK || !got.TimedOut {
		t.Errorf("got %v, %q", got.OK, got.Detail)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	p.nothingLeft(1)
}
