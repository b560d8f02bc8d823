package nightly

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"autopilot/cmd/internal/outside"
)

// mostSecrets bounds a file of secrets, in bytes.
const mostSecrets = 64 << 10

// LoadSecrets reads a file of NAME=VALUE lines that only its owner may read. Lines that are
// empty or begin with # are left out, as is "export " at the beginning of one; one pair of
// quotes around a value is taken off, and nothing else is done to it. The errors never hold
// a value.
func LoadSecrets(path string) ([]string, error) {
	if !filepath.IsAbs(path) {
		return nil, outside.UsageHint("give its absolute path", "the file of secrets %s is a relative path", path)
	}
	info, err := os.Stat(path) // before it is opened: a pipe would be waited for
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, outside.UsageHint("make it with NAME=VALUE lines, mode 0600", "the file of secrets %s is not there", path)
	case err != nil:
		return nil, outside.Usage("read file of secrets: %v", err)
	case !info.Mode().IsRegular():
		return nil, outside.Usage("the file of secrets %s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, outside.UsageHint("chmod 600 "+path, "the file of secrets %s may be used by others (mode %04o)", path, info.Mode().Perm())
	case !ours(info):
		return nil, outside.Usage("the file of secrets %s belongs to somebody else", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, outside.Usage("read file of secrets: %v", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostSecrets+1))
	switch {
	case err != nil:
		return nil, outside.Usage("read file of secrets: %v", err)
	case len(data) > mostSecrets:
		return nil, outside.Usage("the file of secrets %s is longer than %d bytes", path, mostSecrets)
	}
	env, err := ParseSecrets(string(data))
	if err != nil {
		return nil, outside.UsageHint("each line is NAME=VALUE, empty, or a comment with #", "%s: %v", path, err)
	}
	return env, nil
}

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}

// ParseSecrets reads the lines of such a file. It is pure; an error names the line.
func ParseSecrets(text string) ([]string, error) {
	var env []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d is not NAME=VALUE", i+1)
		case !nameOK(name):
			return nil, fmt.Errorf("line %d does not begin with the name of a variable", i+1)
		case strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("line %d holds a NUL byte", i+1)
		}
		env = append(env, name+"="+unquoted(strings.TrimSpace(value)))
	}
	return env, nil
}

func unquoted(value string) string {
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		return value[1 : n-1]
	}
	return value
}
