package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// RepoFile is the name of the versioned configuration in a repository.
const RepoFile = "autopilot.yaml"

// handedDown are the variables that this program sets for its sessions. They
// start with the prefix of the options but are none.
func handedDown() []string {
	return []string{
		"AUTOPILOT_RUN_ID", "AUTOPILOT_RUN_TOKEN", "AUTOPILOT_SESSION_ID",
	}
}

// FromEnv reads the AUTOPILOT_* variables. A variable that names no option is
// an error, because a limit with a typing mistake in its name is no limit.
func FromEnv(environ []string) []Value {
	var out []Value
	byEnv := map[string]Option{}
	for _, o := range Options() {
		byEnv[o.Env()] = o
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(handedDown(), name) || value == "" {
			continue
		}
		o, ok := byEnv[name]
		if !ok {
			o.Key = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, EnvPrefix), "_", "-"))
		}
		raw := []string{value}
		if o.List {
			raw = splitList(value)
		}
		out = append(out, Value{Key: o.Key, Raw: raw, Origin: "environment " + name})
	}
	return out
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// UserFile is the path of the person's own configuration file.
func UserFile(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if base == "" {
		base = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(base, "autopilot", "config.yaml")
}

// LoadFile reads one YAML file of flat keys. A missing file is an empty layer.
// Errors name the file and the line.
func LoadFile(name string, inRepo bool) ([]Value, error) {
	data, err := os.ReadFile(name)
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
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read configuration %s: %v", name, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
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

func scalars(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
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
