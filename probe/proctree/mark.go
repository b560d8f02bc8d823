package proctree

import (
	"fmt"
	"strings"
)

// envMark is NAME=value between the zero bytes that divide an environment, so
// that it can match only a whole entry.
func envMark(name, value string) ([]byte, error) {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return nil, fmt.Errorf("%q cannot name an environment variable", name)
	}
	if strings.ContainsRune(value, 0) {
		return nil, fmt.Errorf("value of environment variable %s holds a zero byte", name)
	}
	return []byte("\x00" + name + "=" + value + "\x00"), nil
}
