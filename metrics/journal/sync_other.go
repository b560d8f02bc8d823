//go:build !linux

package journal

import "os"

// On darwin Sync is F_FULLFSYNC, which also empties the drive's cache.
func syncData(f *os.File) error { return f.Sync() }
