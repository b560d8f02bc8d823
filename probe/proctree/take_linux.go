package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"autopilot/probe/internal/procfile"
)

// statBytes holds any stat line: 52 fields of at most 20 digits and a name.
const statBytes = 2048

// argsBytes is how much of a command line Args looks at: an executable and a
// script fit, a prompt on the command line may not and is not wanted.
const argsBytes = 4096

// Take reads the whole table under root, which is [Root] on a live system. An
// error that names a process means that its row could not be understood; the
// table then holds all the others.
func Take(root string) (Table, error) {
	pids, err := procfile.Pids(root)
	if err != nil {
		return Table{}, fmt.Errorf("list processes: %w", err)
	}
	var errs []error
	procs := make([]Process, 0, len(pids))
	buf := make([]byte, statBytes)
	for _, pid := range pids {
		p, err := readStat(root, pid, buf)
		switch {
		case err == nil:
			procs = append(procs, p)
		case !unseen(err):
			errs = append(errs, err)
		}
	}
	return newTable(procs), errors.Join(errs...)
}

// Read returns the row of one process under root. The error wraps
// [fs.ErrNotExist] when there is no such process.
func Read(root string, pid int) (Process, error) {
	return readStat(root, pid, make([]byte, statBytes))
}

// Args returns the command line of a process under root: the executable as it
// was called, then its arguments, as far as they fit in 4 KiB; an argument that
// is cut off there is left out unless it is the only one. A program may have
// overwritten it. A zombie or a kernel thread has none. The call may wait for
// the process when that is stuck in the kernel.
func Args(root string, pid int) ([]string, error) {
	f, err := procfile.Open(processFile(root, pid, "cmdline"))
	if err != nil {
		return nil, gone(pid, err)
	}
	defer f.Close()
	buf := make([]byte, argsBytes)
	have := 0
	for have < len(buf) {
		n, err := f.Read(buf[have:])
		if err != nil {
			break // the end, or the process ended under our hands
		}
		have += n
	}
	return splitArgs(buf[:have], have == len(buf)), nil
}

func splitArgs(data []byte, full bool) []string {
	if len(data) == 0 {
		return nil
	}
	if last := bytes.LastIndexByte(data, 0); full && last > 0 {
		data = data[:last]
	}
	data = bytes.TrimSuffix(data, []byte{0})
	var args []string
	for arg := range bytes.SplitSeq(data, []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}

func readStat(root string, pid int, buf []byte) (Process, error) {
	line, err := procfile.Read(processFile(root, pid, "stat"), buf)
	if err != nil {
		return Process{}, gone(pid, err)
	}
	p, err := parseStat(line)
	if err != nil {
		return Process{}, fmt.Errorf("read stat of process %d: %w", pid, err)
	}
	return p, nil
}

func processFile(root string, pid int, name string) string {
	return root + "/" + strconv.Itoa(pid) + "/" + name
}

// gone gives the one name ErrNotExist to both ways in which the kernel says
// that a process has ended: no such folder, or a folder opened too late.
func gone(pid int, err error) error {
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("read process %d: %w", pid, err)
}

// unseen reports whether a process is no part of the picture: it has ended, or
// the system hides it from us.
func unseen(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
