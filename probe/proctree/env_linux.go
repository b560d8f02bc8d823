package proctree

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"autopilot/probe/internal/procfile"
)

// envBytes is the piece in which an environment is searched; most fit in one.
const envBytes = 32 << 10

func withEnv(root, name, value string) ([]int, error) {
	mark, err := envMark(name, value)
	if err != nil {
		return nil, err
	}
	pids, err := procfile.Pids(root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	buf := make([]byte, max(envBytes, 4*len(mark)))
	marked := slices.DeleteFunc(pids, func(pid int) bool { return !environHas(root, pid, mark, buf) })
	slices.Sort(marked)
	return marked, nil
}

func hasEnv(root string, pid int, name, value string) bool {
	mark, err := envMark(name, value)
	if err != nil {
		return false
	}
	return environHas(root, pid, mark, make([]byte, max(envBytes, 4*len(mark))))
}

func environHas(root string, pid int, mark, buf []byte) bool {
	f, err := procfile.Open(processFile(root, pid, "environ"))
	if err != nil {
		return false
	}
	defer f.Close()
	return searchEnv(f, mark, buf)
}

// searchEnv looks for mark, which begins and ends with a zero byte, in entries
// that each end with one. It reads in pieces, so a long environment takes no
// more memory than a short one; buf must be longer than twice the mark.
func searchEnv(r io.Reader, mark, buf []byte) bool {
	buf[0] = 0
	have := 1
	for {
		n, err := r.Read(buf[have : len(buf)-1])
		have += n
		if err != nil {
			// The last entry may have lost its zero byte.
			buf[have] = 0
			return bytes.Contains(buf[:have+1], mark)
		}
		if bytes.Contains(buf[:have], mark) {
			return true
		}
		if have > len(buf)/2 {
			have = copy(buf, buf[have-len(mark)+1:have])
		}
	}
}
