package testprogram

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program that may be started at once.
func Write(t *testing.T, path string, data []byte) {
	t.Helper()
	const mode = 0o755
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, data, mode)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
