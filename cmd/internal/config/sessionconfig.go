package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	agentsPerWave    = "agents-per-wave"
	maxAgentsPerWave = 100
	permissionMode   = "permission-mode"

	// agentsPerWaveByMode is an internal key: the overrides by mode that Session
	// Config writes as "6 (deep: 18)".
	agentsPerWaveByMode = "agents-per-wave by mode"

	byteOrderMark = "\ufeff"
)

// LoadSessionConfig reads the "## Session Config" section of CLAUDE.md, or of
// AGENTS.md where CLAUDE.md has none. It takes agents-per-wave and persistence,
// and from the autopilot block every option of this program and
// autopilot-peer-abort, the dial of the block dispatcher-autonomy, and how learnings
// age in evolve; other keys of the section belong to other programs.
func LoadSessionConfig(repo string) ([]Value, error) {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md"} {
		data, err := readRegular(filepath.Join(repo, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read Session Config: %w", err)
		}
		if values, found := ParseSessionConfig(name, data); found {
			return values, nil
		}
	}
	return nil, nil
}

// ParseSessionConfig reads the section from the text of a Markdown file. It
// reports whether the section was there.
func ParseSessionConfig(name string, data []byte) ([]Value, bool) {
	var out []Value
	found, inSection, inBlock, block, line := false, false, false, "", 0
	for text := range strings.Lines(strings.TrimPrefix(string(data), byteOrderMark)) {
		line++
		text = strings.TrimRight(text, " \t\r\n")
		if strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "###") {
			inSection = text == "## Session Config"
			found = found || inSection
			inBlock, block = false, ""
			continue
		}
		if !inSection || strings.TrimSpace(text) == "" {
			continue
		}
		key, value, ok := keyValue(text)
		if !ok {
			continue
		}
		indented := strings.TrimLeft(text, " \t") != text
		if !indented {
			inBlock, block = key == "autopilot" && value == "", ""
		}
		if value == "" && isBlock(key) && !indented {
			block = key
			continue
		}
		origin := fmt.Sprintf("%s:%d Session Config", name, line)
		if indented && block != "" {
			out = append(out, sessionBlock(block, key, value, origin)...)
			continue
		}
		out = append(out, sessionValues(key, value, origin, indented && inBlock)...)
	}
	return out, found
}

// keyValue splits "key: value", "- key: value" and "- **key:** value"; a value
// loses its comment.
func keyValue(text string) (key, value string, ok bool) {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimPrefix(text, "- "))
	text = strings.ReplaceAll(strings.Replace(text, "**", "", 1), ":**", ":")
	key, value, ok = strings.Cut(text, ":")
	if i := strings.Index(value, " #"); i >= 0 {
		value = value[:i]
	}
	return strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`), ok && !strings.Contains(strings.TrimSpace(key), " ")
}

func sessionValues(key, value, origin string, inBlock bool) []Value {
	v := Value{Key: key, Raw: []string{value}, Origin: origin, InRepo: true}
	switch {
	case key == "autopilot-peer-abort":
		v.Key = "peer-abort"
		return []Value{v}
	case key == agentsPerWave:
		return splitByMode(v)
	case inBlock:
		if o, ok := find(key); ok && o.List {
			v.Raw = splitList(value, o.Separator)
		}
		return []Value{v}
	case key == "persistence":
		return []Value{v}
	default:
		return nil
	}
}

// splitByMode reads "6" and "6 (deep: 18, feature: 4)".
func splitByMode(v Value) []Value {
	def, modes, ok := strings.Cut(v.Raw[0], "(")
	out := []Value{{Key: v.Key, Raw: []string{strings.TrimSpace(def)}, Origin: v.Origin, InRepo: true}}
	if ok {
		out = append(out, Value{Key: agentsPerWaveByMode, Raw: splitList(strings.TrimSuffix(strings.TrimSpace(modes), ")"), ""), Origin: v.Origin, InRepo: true})
	}
	return out
}

// parseByMode reads entries such as "deep: 18". The notes name what was moved to
// the bound.
func parseByMode(raw []string) (byMode map[string]int, notes []string, err error) {
	form := regexp.MustCompile(`^([a-z-]+)\s*:\s*(\d{1,9})$`)
	byMode = map[string]int{}
	for _, r := range raw {
		m := form.FindStringSubmatch(r)
		if m == nil {
			return nil, nil, fmt.Errorf("%q is not 'mode: number'", r)
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, nil, fmt.Errorf("%q is not 'mode: number'", r)
		}
		if n > maxAgentsPerWave {
			notes = append(notes, fmt.Sprintf("%s is above %d, using %d", r, maxAgentsPerWave, maxAgentsPerWave))
		}
		byMode[m[1]] = min(n, maxAgentsPerWave)
	}
	return byMode, notes, nil
}

// AgentsFor is the number of sub-agents at once that a session of a mode may
// have on a green machine.
func (c Config) AgentsFor(mode string) int {
	if n, ok := c.AgentsPerWaveMode[mode]; ok {
		return n
	}
	return c.AgentsPerWave
}

// Known reports whether key is an option.
func Known(key string) bool { return slices.Contains(keys(), key) }
