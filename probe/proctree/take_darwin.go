package proctree

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Take asks the kernel for the whole table; root is ignored.
func Take(string) (Table, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return Table{}, fmt.Errorf("list processes: %w", err)
	}
	procs := make([]Process, 0, len(rows))
	for i := range rows {
		procs = append(procs, fromKinfo(&rows[i]))
	}
	return newTable(procs), nil
}

// Read returns the row of one process; root is ignored. The error wraps
// [fs.ErrNotExist] when there is no such process.
func Read(_ string, pid int) (Process, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	if len(rows) == 0 {
		return Process{}, fmt.Errorf("read process %d: %w", pid, fs.ErrNotExist)
	}
	return fromKinfo(&rows[0]), nil
}

// Args returns the command line of a process: the executable as it was called,
// then its arguments; root is ignored. A program may have overwritten it.
func Args(_ string, pid int) ([]string, error) {
	data, err := procArgs(pid)
	if err != nil {
		return nil, err
	}
	args, _, err := parseProcArgs(data)
	if err != nil {
		return nil, fmt.Errorf("read arguments of process %d: %w", pid, err)
	}
	return args, nil
}

// procArgs is the block of memory in which a process keeps its arguments and
// its environment.
func procArgs(pid int) ([]byte, error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read arguments of process %d: %w", pid, err)
	}
	return data, nil
}

func fromKinfo(k *unix.KinfoProc) Process {
	pid := int(k.Proc.P_pid)
	// The row holds only the address of the session, not its id.
	sid, err := unix.Getsid(pid)
	if err != nil {
		sid = 0
	}
	return Process{
		PID:   pid,
		PPID:  int(k.Eproc.Ppid),
		PGID:  int(k.Eproc.Pgid),
		SID:   sid,
		Comm:  unix.ByteSliceToString(k.Proc.P_comm[:]),
		State: stateLetter(k.Proc.P_stat),
		Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
	}
}

// stateLetter translates the numbers of <sys/proc.h>.
func stateLetter(stat int8) byte {
	switch stat {
	case 1:
		return 'I'
	case 2:
		return 'R'
	case 3:
		return 'S'
	case 4:
		return 'T'
	case 5:
		return 'Z'
	}
	return '?'
}
