package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// RepoFile is the name of the versioned configuration in a repository.
const RepoFile = "autopilot.yaml"

// handedDown are the variables that this program sets for its sessions. They
// start with the prefix of the options but are none.
func handedDown() []string {
	return []string{
		"AUTOPILOT_AGREED", "AUTOPILOT_DESK", "AUTOPILOT_GUARD", "AUTOPILOT_REFLECT_KEY", "AUTOPILOT_RUN_ID", "AUTOPILOT_RUN_TOKEN", "AUTOPILOT_SESSION_ID",
		"AUTOPILOT_STORY", "AUTOPILOT_VERDICT", "AUTOPILOT_WEBHOOK_SECRET",
	}
}

// FromEnv reads the AUTONOMOUS_* variables and over them the AUTOPILOT_* ones. A variable that names no option
// becomes an unknown key, because a limit with a typing mistake in its name is no
// limit. An empty variable counts as one that is not set.
func FromEnv(environ []string) []Value {
	var out []Value
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(handedDown(), name) || value == "" {
			continue
		}
		key := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, EnvPrefix), "_", "-"))
		raw := []string{value}
		if o, ok := find(key); ok && o.List {
			raw = splitList(value, o.Separator)
		}
		out = append(out, Value{Key: key, Raw: raw, Origin: "environment " + name})
	}
	return slices.Concat(fromAutonomous(environ), out)
}

func splitList(s, separator string) []string {
	if separator == "" {
		separator = ","
	}
	var out []string
	for part := range strings.SplitSeq(s, separator) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// UserFile is the path of the person's own configuration file. It is empty when
// neither XDG_CONFIG_HOME nor HOME is an absolute path: a relative one would be
// looked up in the repository, which is not trusted as much.
func UserFile(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(getenv("HOME"), ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "autopilot", "config.yaml")
}

// LoadFile reads one YAML file of flat keys. A missing file is an empty layer.
// Errors name the file and the line.
func LoadFile(name string, inRepo bool) ([]Value, error) {
	data, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return ParseFile(name, data, inRepo)
}

// ParseFile reads the content of a YAML file of flat keys. The name is used in
// origins and errors.
func ParseFile(name string, data []byte, inRepo bool) ([]Value, error) {
	root, line, err := parseYAML(data)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s:%d: %w", name, line, err)
	}
	if root == nil || root.Kind == yaml.ScalarNode && root.Tag == nullTag {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("read configuration %s:%d: want keys with values, as in 'max-sessions: 3'", name, root.Line)
	}
	var out []Value
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		origin := fmt.Sprintf("%s:%d", name, k.Line)
		if k.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("read configuration %s: want a plain word as the key", origin)
		}
		if first, dup := seen[k.Value]; dup {
			return nil, fmt.Errorf("read configuration %s: %s stands there twice, also in line %d", origin, k.Value, first)
		}
		seen[k.Value] = k.Line
		raw, err := scalars(v)
		if err != nil {
			return nil, fmt.Errorf("read configuration %s: %s: %w", origin, k.Value, err)
		}
		out = append(out, Value{Key: k.Value, Raw: raw, Origin: origin, InRepo: inRepo})
	}
	return out, nil
}

const nullTag = "!!null"

// parseYAML returns the root of the only document, or nil when there is none. An
// error comes with the line it is in.
func parseYAML(data []byte) (root *yaml.Node, line int, err error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err = dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, 0, nil
	}
	if err == nil {
		if err = dec.Decode(&second); errors.Is(err, io.EOF) {
			return doc.Content[0], 0, nil
		}
		if err == nil {
			return nil, second.Line, errors.New("want one document, a second one begins here")
		}
	}
	m := regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))`).FindStringSubmatch(err.Error())
	if m == nil {
		return nil, 1, err
	}
	near, _ := strconv.Atoi(m[1]) // 0 when the parser names no line
	return nil, brokenLine(data, near), errors.New(m[2])
}

// maxLineSearch bounds the search for a broken line.
const maxLineSearch = 500

// brokenLine is the number of the first line, from the one the parser names, up
// to which the text cannot be parsed. The parser's own number is one too low in
// some errors, and some have none.
func brokenLine(data []byte, near int) int {
	text := string(data)
	for line, end := 1, 0; line < near+maxLineSearch; line++ {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return line
		}
		end += next + 1
		if line >= near && !parses(data[:end]) {
			return line
		}
	}
	return max(near, 1)
}

func parses(data []byte) bool {
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		if err := dec.Decode(new(yaml.Node)); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// scalars returns the texts of a value as they stand in the file. null is empty.
func scalars(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == nullTag {
			return []string{""}, nil
		}
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		var out []string
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, errors.New("want a list of plain values")
			}
			out = append(out, e.Value)
		}
		return out, nil
	default:
		return nil, errors.New("want a plain value or a list of them")
	}
}

// readRegular reads a file, and nothing that could make the reader wait for ever.
func readRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return os.ReadFile(name)
}
