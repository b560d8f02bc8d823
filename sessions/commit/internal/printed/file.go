package printed

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

const (
	lookEvery = 200 * time.Millisecond // at how much has been printed
	maxPrint  = 64 << 20               // bytes of output on disk; what is older is forgotten
)

// Open opens a file for output that is gone when nobody has it open any more.
func Open() (*os.File, error) {
	name := filepath.Join(os.TempDir(), "autopilot-git-"+rand.Text())
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file for the output: %w", err)
	}
	return f, nil
}

// Wait waits for the end of a program, and keeps the file of its output from growing
// without bound. The error is that of [exec.Cmd.Wait].
func Wait(cmd *exec.Cmd, out *os.File) error {
	var (
		wg  sync.WaitGroup
		err error
	)
	over := make(chan struct{})
	wg.Go(func() {
		err = cmd.Wait()
		close(over)
	})
	defer wg.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return err
		case <-tick.C:
			if fi, err := out.Stat(); err == nil && fi.Size() > maxPrint {
				_ = out.Truncate(0) // it is open for appending, so that writers go on from the new end
			}
		}
	}
}

// End returns the last part of a file, of at most so many bytes, from the beginning of a
// line or of a word where something stands before it.
func End(f *os.File, most int64) string {
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, fi.Size()-most)
	data, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return ""
	}
	if from > 0 {
		data = whole(data)
	}
	return string(data)
}

// whole leaves out what may have been cut in two at the beginning, a line or else a
// word: a secret that has lost its first letters is not known as one.
func whole(data []byte) []byte {
	begin := data[:len(data)/2]
	for _, at := range []int{bytes.IndexAny(begin, "\n\r"), bytes.IndexAny(begin, " \t"), bytes.IndexAny(data, "\n\r")} {
		if at >= 0 {
			return data[at+1:]
		}
	}
	return nil
}
