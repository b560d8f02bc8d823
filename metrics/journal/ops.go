package journal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/statedir"
)

// fileOps are the operations that change the journal, so that tests can make each
// of them fail, and the wait between two looks at its end.
type fileOps struct {
	write    func(f *os.File, b []byte) (int, error)
	sync     func(f *os.File) error
	truncate func(f *os.File, size int64) error
	syncDir  func(dir string) error
	wait     func(d time.Duration)
}

func realOps() fileOps {
	return fileOps{
		write:    writeOnce,
		sync:     syncData,
		truncate: (*os.File).Truncate,
		syncDir:  statedir.SyncDir,
		wait:     pause,
	}
}

// writeOnce is one write(2). os.File.Write would go on after a short write, and a
// foreign line may have come in between.
func writeOnce(f *os.File, b []byte) (int, error) {
	for {
		n, err := unix.Write(int(f.Fd()), b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return max(n, 0), os.NewSyscallError("write", err)
	}
}

func pause(d time.Duration) { <-time.After(d) }
