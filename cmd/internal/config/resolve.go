package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autopilot/metrics/spelling"
)

// Value is one raw value of one layer.
type Value struct {
	Key    string   `json:"key"`
	Raw    []string `json:"raw"`
	Origin string   `json:"origin"`            // where a person finds it: "flag --max-hours", "autopilot.yaml:3"
	InRepo bool     `json:"in_repo,omitempty"` // it stands in a file of the repository
	Err    error    `json:"-"`                 // why it cannot be used; nil in most cases
}

// Setting is one effective value with its origin, for plans and listings.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // the one that holds, after clamping
	Origin string `json:"origin"`
	Note   string `json:"note,omitempty"` // what was clamped, in words
}

// Resolved is a valid configuration.
type Resolved struct {
	Config
	Settings []Setting
	Notes    []string // one line for each value that was moved to a bound
}

// Resolve applies the layers over the defaults, later ones over earlier ones.
// The error joins every problem found, each as "key: fact (origin)".
func Resolve(layers ...[]Value) (Resolved, error) {
	var r Resolved
	var problems []error
	byKey := map[string]Value{}
	options := Options()
	for _, layer := range layers {
		for _, v := range layer {
			o, ok := among(options, v.Key)
			switch {
			case v.Err != nil:
				problems = append(problems, fmt.Errorf("%s: %w (%s)", v.Key, v.Err, v.Origin))
			case v.Key == agentsPerWaveByMode:
				byKey[v.Key] = v
			case !ok:
				problems = append(problems, unknownKey(v))
			case v.InRepo && (o.NotInRepo || o.trusted != nil && !o.trusted(v.Raw)):
				problems = append(problems, fmt.Errorf("%s: may not be set to this by a repository (%s); use a flag, %s or your own config.yaml",
					v.Key, v.Origin, o.Env()))
			default:
				byKey[v.Key] = v
				if v.Key == agentsPerWave {
					delete(byKey, agentsPerWaveByMode) // it goes with the number it stood behind
				}
			}
		}
	}
	for _, o := range options {
		v, given := byKey[o.Key]
		if !given {
			v = defaultValue(o, r.Mode)
		}
		m, err := o.apply(&r.Config, v.Raw)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w (%s)", o.Key, err, v.Origin))
			continue
		}
		s := Setting{Key: o.Key, Value: o.shown(v.Raw), Origin: v.Origin, Note: m.note}
		if m.note != "" {
			s.Value = m.to
			r.note(v, o.Key, m.note)
		}
		r.Settings = append(r.Settings, s)
	}
	if v, ok := byKey[agentsPerWaveByMode]; ok {
		if err := r.setByMode(v); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w (%s)", agentsPerWave, err, v.Origin))
		}
	}
	return r, errors.Join(problems...)
}

func (r *Resolved) note(v Value, key, text string) {
	r.Notes = append(r.Notes, fmt.Sprintf("%s: %s (%s)", key, text, v.Origin))
}

// setByMode reads the overrides by mode and shows them behind the number that
// they override.
func (r *Resolved) setByMode(v Value) error {
	byMode, notes, err := parseByMode(v.Raw)
	if err != nil {
		return err
	}
	r.AgentsPerWaveMode = byMode
	for _, n := range notes {
		r.note(v, agentsPerWave, n)
	}
	var words []string
	for _, mode := range slices.Sorted(maps.Keys(byMode)) {
		words = append(words, fmt.Sprintf("%s: %d", mode, byMode[mode]))
	}
	for i := range r.Settings {
		if s := &r.Settings[i]; s.Key == agentsPerWave && len(words) > 0 {
			s.Value += " (" + strings.Join(words, ", ") + ")"
		}
	}
	return nil
}

func defaultValue(o Option, mode string) Value {
	v := Value{Key: o.Key, Raw: []string{o.Default}, Origin: "default"}
	if mode == ModeContinuous && o.Continuous != "" {
		v.Raw, v.Origin = []string{o.Continuous}, "default of mode continuous"
	}
	if o.List {
		v.Raw = nil
		if o.Default != "" {
			v.Raw = strings.Split(o.Default, ", ")
		}
	}
	return v
}

func find(key string) (Option, bool) { return among(Options(), key) }

func among(options []Option, key string) (Option, bool) {
	for _, o := range options {
		if o.Key == key {
			return o, true
		}
	}
	return Option{}, false
}

func unknownKey(v Value) error {
	if near := spelling.Meant(v.Key, keys()); near != "" {
		return fmt.Errorf("%s: unknown key (%s); did you mean %s?", v.Key, v.Origin, near)
	}
	return fmt.Errorf("%s: unknown key (%s); 'autopilot config' lists them", v.Key, v.Origin)
}

func keys() []string {
	var out []string
	for _, o := range Options() {
		out = append(out, o.Key)
	}
	return out
}
