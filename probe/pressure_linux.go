package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"autopilot/probe/internal/procfile"
)

var (
	errNoLevel = errors.New("linux states no such level")
	errNoPSI   = errors.New("kernel keeps no account of pressure")
	errPSILine = errors.New("no line of the form some avg10=N")
)

func readPressure(context.Context, Options) fill {
	return func(s *Snapshot) { s.absent(errNoLevel, fieldPressure) }
}

func readPSI(_ context.Context, o Options) fill {
	v, err := readSomeAvg10(o.ProcRoot + "/pressure/memory")
	return func(s *Snapshot) {
		if err != nil {
			s.absent(fmt.Errorf("read memory pressure: %w", err), fieldPSI)
			return
		}
		s.PSIMemorySomeAvg10 = &v
	}
}

// readSomeAvg10 tells a kernel without the account, or with the account turned
// off at boot, from a file that cannot be understood.
func readSomeAvg10(name string) (float64, error) {
	data, err := procfile.Read(name, make([]byte, 512))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EOPNOTSUPP) {
		return 0, errNoPSI
	}
	if err != nil {
		return 0, err
	}
	return parseSomeAvg10(data)
}

// parseSomeAvg10 reads the kernel's pressure stall format: a line that begins
// with "some", then name=value pairs.
func parseSomeAvg10(data []byte) (float64, error) {
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte("some "))
		if !ok {
			continue
		}
		for pair := range bytes.FieldsSeq(rest) {
			text, ok := bytes.CutPrefix(pair, []byte("avg10="))
			if !ok {
				continue
			}
			v, err := strconv.ParseFloat(string(text), 64)
			if err != nil || !(v >= 0 && v <= 100) {
				return 0, fmt.Errorf("avg10=%s is no percentage", text)
			}
			return v, nil
		}
	}
	return 0, errPSILine
}
