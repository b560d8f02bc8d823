package servecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"autopilot/cmd/internal/serve"
	"autopilot/metrics/plainfile"
)

const (
	leastToken = 32 // characters
	mostToken  = 1024
)

// token is that in a file, which is made when it is not there, or a new one.
func token(file string) (string, error) {
	if file == "" {
		return serve.NewToken(), nil
	}
	made, err := makeToken(file)
	if err == nil || !errors.Is(err, os.ErrExist) {
		return made, err
	}
	f, info, err := plainfile.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(st.Uid) != os.Geteuid():
		return "", fmt.Errorf("%s belongs to somebody else", file)
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be read by others (%04o)", file, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, mostToken+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if len(text) < leastToken || len(text) > mostToken {
		return "", fmt.Errorf("the token in %s has %d characters, from %d to %d are wanted", file, len(text), leastToken, mostToken)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", fmt.Errorf("the token in %s has spaces or characters that cannot be sent", file)
	}
	return text, nil
}

// makeToken writes a new token into a file that is not there yet.
func makeToken(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	made := serve.NewToken()
	_, err = f.WriteString(made + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file))
	}
	return made, nil
}
