package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"autopilot/probe/internal/procfile"
)

var errNoList = errors.New("kernel lists no children")

func childrenOf(root string, pid int) ([]int, error) {
	task := processFile(root, pid, "task")
	threads, err := procfile.Pids(task)
	if err != nil {
		return nil, gone(pid, err)
	}
	var kids []int
	buf := make([]byte, 4096)
	for _, thread := range threads {
		kids, err = appendChildren(kids, task+"/"+strconv.Itoa(thread), buf)
		switch {
		case errors.Is(err, errNoList):
			return childrenByTable(root, pid)
		case err != nil && !unseen(err) && !errors.Is(err, unix.ESRCH):
			return nil, fmt.Errorf("list children of process %d: %w", pid, err)
		}
	}
	slices.Sort(kids)
	return kids, nil
}

// appendChildren adds the children that one thread has started. A missing list
// has two reasons, which the thread's folder tells apart: the thread has ended,
// or the kernel was built without such lists.
func appendChildren(kids []int, thread string, buf []byte) ([]int, error) {
	f, err := procfile.Open(thread + "/children")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(thread); err == nil {
			return kids, errNoList
		}
		return kids, nil
	}
	if err != nil {
		return kids, err
	}
	defer f.Close()
	return readPids(kids, f, buf)
}

// readPids appends numbers divided by blanks. A number that a read cuts in two
// is carried over to the next one.
func readPids(pids []int, r io.Reader, buf []byte) ([]int, error) {
	have := 0
	for {
		n, err := r.Read(buf[have:])
		have += n
		end := have
		if err == nil {
			end = bytes.LastIndexByte(buf[:have], ' ') + 1
		}
		for word := range bytes.FieldsSeq(buf[:end]) {
			pid, ok := number(word)
			if !ok {
				return pids, fmt.Errorf("%q is no pid", word)
			}
			pids = append(pids, int(pid))
		}
		if errors.Is(err, io.EOF) {
			return pids, nil
		}
		if err != nil {
			return pids, err
		}
		have = copy(buf, buf[end:have])
		if have == len(buf) {
			return pids, fmt.Errorf("%.20q... is no pid", buf)
		}
	}
}
