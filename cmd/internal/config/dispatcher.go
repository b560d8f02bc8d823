package config

import (
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"autopilot/supervisor/suitability"
)

// dispatcherVar is the variable with which session-orchestrator's dial is turned.
const dispatcherVar = "SO_DISPATCHER_AUTONOMY"

// FromDispatcher reads the dial for runs that nobody has confirmed where
// session-orchestrator keeps it: in its variable, and below that in the owner's own file.
// As there, what is no position says nothing.
func FromDispatcher(getenv func(string) string) []Value {
	var out []Value
	if home := getenv("HOME"); filepath.IsAbs(home) {
		path := filepath.Join(home, ".config", "session-orchestrator", "owner.yaml")
		if data, err := readRegular(path); err == nil {
			var owner struct {
				Dispatcher struct {
					Autonomy string `yaml:"autonomy"`
				} `yaml:"dispatcher"`
			}
			if yaml.Unmarshal(data, &owner) == nil {
				out = append(out, dial(owner.Dispatcher.Autonomy, path)...)
			}
		}
	}
	return append(out, dial(getenv(dispatcherVar), "environment "+dispatcherVar)...)
}

func dial(text, origin string) []Value {
	d, ok := suitability.ParseDial(text)
	if !ok {
		return nil
	}
	return []Value{{Key: "autonomy", Raw: []string{string(d)}, Origin: origin}}
}

// sessionBlock are the keys of the blocks of Session Config that other programs share with
// us, and the options that they are.
func sessionBlock(block, key, value, origin string) []Value {
	names := map[string]map[string]string{
		"dispatcher-autonomy": {"autonomy": "autonomy", "confidence-floor": "confidence-floor"},
		"evolve":              {"decay-enabled": "learning-decay", "decay-half-life-days": "learning-half-life", "decay-floor-factor": "learning-decay-floor"},
	}
	name := names[block][key]
	if name == "" {
		return nil
	}
	if name == "autonomy" {
		if d, _ := suitability.ParseDial(value); d != suitability.AutonomousGated {
			return nil // off is what holds anyway, and less than the person has said is not for a repository
		}
		out := dial(value, origin)
		out[0].InRepo = true
		return out
	}
	// What that program would not take it passes over, and so do we.
	var c Config
	o, _ := find(name)
	v := Value{Key: name, Raw: []string{value}, Origin: origin, InRepo: true}
	if m, err := o.apply(&c, v.Raw); err != nil || m.note != "" || o.trusted != nil && !o.trusted(v.Raw) {
		return nil
	}
	return []Value{v}
}

// isBlock knows the blocks of Session Config that are read besides our own.
func isBlock(key string) bool {
	return slices.Contains([]string{"dispatcher-autonomy", "evolve"}, key)
}
