package proctree

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errProcArgs = errors.New("block of arguments is cut short")

// parseProcArgs takes apart what macOS answers to kern.procargs2 (sysctl(3)):
// the number of arguments as a 32-bit integer, the path of the executable,
// zero bytes up to an aligned address, the arguments and then the environment,
// each ended by a zero byte. An empty string ends the environment.
func parseProcArgs(data []byte) (args, env []string, err error) {
	if len(data) < 4 {
		return nil, nil, errProcArgs
	}
	count := int(int32(binary.LittleEndian.Uint32(data)))
	_, rest, ok := bytes.Cut(data[4:], []byte{0})
	if !ok || count < 0 {
		return nil, nil, errProcArgs
	}
	rest = bytes.TrimLeft(rest, "\x00")
	for range count {
		arg, after, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return nil, nil, errProcArgs
		}
		args, rest = append(args, string(arg)), after
	}
	for {
		entry, after, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(entry) == 0 {
			return args, env, nil
		}
		env, rest = append(env, string(entry)), after
	}
}
