package act

import (
	"bytes"
	"testing"
)

func TestLimited(t *testing.T) {
	t.Parallel()
	var l limited
	part := bytes.Repeat([]byte("x"), 40<<10)
	for range 3 {
		if n, err := l.Write(part); n != len(part) || err != nil {
			t.Fatalf("%d bytes were taken, %v", n, err)
		}
	}
	if l.Len() != maxOutput {
		t.Errorf("%d bytes are kept, want %d", l.Len(), maxOutput)
	}
}
