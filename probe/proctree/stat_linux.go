package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// tick is the unit of the processor times in /proc. The kernel scales them to
// 100 per second for user space whatever its own rate is.
const tick = time.Second / 100

var errStat = errors.New("line is not in the form pid (name) state and numbers")

// parseStat reads /proc/PID/stat: the pid, the name in brackets, then fields
// divided by blanks (proc_pid_stat(5)). The name may hold blanks and brackets
// itself, so the fields are counted from the last closing bracket.
func parseStat(line []byte) (Process, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 2 || end < open || len(line) < end+4 || line[end+1] != ' ' || line[end+3] != ' ' {
		return Process{}, errStat
	}
	pid, ok := number(bytes.TrimSuffix(line[:open], []byte(" ")))
	if !ok || pid <= 0 {
		return Process{}, errStat
	}
	p := Process{PID: int(pid), Comm: string(line[open+1 : end]), State: line[end+2]}

	// Fields are numbered as in the manual; the one after the state is the fourth.
	rest := line[end+4:]
	var own, reaped int64
	for field := 4; field <= 22; field++ {
		var word []byte
		word, rest, _ = bytes.Cut(rest, []byte(" "))
		v, ok := number(bytes.TrimSuffix(word, []byte("\n")))
		if !ok {
			return Process{}, fmt.Errorf("field %d is no number: %w", field, errStat)
		}
		switch field {
		case 4:
			p.PPID = int(v)
		case 5:
			p.PGID = int(v)
		case 6:
			p.SID = int(v)
		case 14, 15: // in user and in system mode
			own += v
		case 16, 17:
			reaped += v
		case 22:
			p.Start = uint64(v)
		}
	}
	p.CPU, p.Reaped = time.Duration(own)*tick, time.Duration(reaped)*tick
	return p, nil
}

// number reads a decimal integer without allocating. A value beyond 63 bits,
// which some unsigned fields can reach, is cut to the largest.
func number(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := int64(c - '0')
		if v > (1<<63-1-d)/10 {
			v = 1<<63 - 1
			continue
		}
		v = v*10 + d
	}
	if negative {
		v = -v
	}
	return v, true
}
