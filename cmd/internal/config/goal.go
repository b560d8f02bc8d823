package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"autopilot/metrics/spelling"
)

// Values of the mode option.
const (
	ModeFixed      = "fixed"
	ModeContinuous = "continuous"
)

// Mode is a mode that is known, or nothing.
func Mode(s string) string {
	if s == ModeFixed || s == ModeContinuous {
		return s
	}
	return ""
}

// Values of the reflector option.
const (
	ReflectorAuto   = "auto"
	ReflectorOpenAI = "openai"
	ReflectorClaude = "claude"
	ReflectorRules  = "rules"
)

// Values of the matrix option.
const (
	MatrixExtended = "extended"
	MatrixStrict   = "strict"
)

func goalOptions() []Option {
	verify := list("verify", nil, "shell command that must succeed before a goal counts as reached; may be repeated", func(c *Config, v []string) { c.Verify = v })
	verify.Separator = "\n"
	return []Option{
		boolean("require-concrete-goals", "true", "refuse a goal that names nothing by which its end could be told", func(c *Config, v bool) { c.RequireConcreteGoals = v }),
		boolean("auto-refine-goals", "false", "replace such a goal by the suggested one", func(c *Config, v bool) { c.AutoRefineGoals = v }),
		boolean("proceed-with-time-limit", "false", "work on such a goal within the limits; it may not be reached", func(c *Config, v bool) { c.ProceedWithTimeLimit = v }),
		verify,
		list("expect-file", nil, "file, or pattern of files, that must be there before a goal counts as reached; may be repeated", func(c *Config, v []string) { c.ExpectFiles = v }),
		duration("verify-timeout", "10m", span[time.Duration]{time.Second, 6 * time.Hour}, "time for one command of --verify", func(c *Config, d time.Duration) { c.VerifyTimeout = d }),
		integer("checkpoint-interval", "1", span[int]{1, 1000}, "sessions between two copies in checkpoint-dir", func(c *Config, n int) { c.CheckpointInterval = n }),
		text("checkpoint-dir", "", "folder for copies of the run's state, relative to the repository; empty keeps the one in the state folder alone", func(c *Config, v string) { c.CheckpointDir = v }),
	}
}

func reflectOptions() []Option {
	every := integer("reflect-every", "0", span[int]{0, 100}, "sessions between two looks back; more often when it goes badly, less when well; 0 is never", func(c *Config, n int) { c.ReflectEvery = n })
	every.Continuous = "3"
	url := text("reflect-url", "", "base URL of a service that speaks OpenAI's API", func(c *Config, v string) { c.ReflectURL = v })
	url.NotInRepo = true // what a session did is sent there
	return []Option{
		every,
		choice("reflector", ReflectorAuto, []string{ReflectorAuto, ReflectorOpenAI, ReflectorClaude, ReflectorRules}, "who looks back; auto is openai with a key or URL, else claude, else rules", func(c *Config, v string) { c.Reflector = v }),
		text("reflect-model", "", "model that looks back; empty leaves the choice to the reflector", func(c *Config, v string) { c.ReflectModel = v }),
		url,
		number("reflect-temperature", "0.7", span[float64]{0, 2}, "sampling temperature, for openai", func(c *Config, v float64) { c.ReflectTemperature = v }),
		number("reflect-top-p", "0.6", span[float64]{0, 1}, "nucleus sampling, for openai", func(c *Config, v float64) { c.ReflectTopP = v }),
		duration("reflect-timeout", "2m", span[time.Duration]{time.Second, time.Hour}, "time for one answer", func(c *Config, d time.Duration) { c.ReflectTimeout = d }),
		choice("matrix", MatrixExtended, []string{MatrixExtended, MatrixStrict}, "rules that decide after a look back; strict leaves out those that close holes", func(c *Config, v string) { c.Matrix = v }),
	}
}

// guardrail gives an option another default and other bounds in continuous mode,
// where it may not be switched off: nothing else ends such a run for certain.
func guardrail(o Option, continuous string, wide Option) Option {
	fixed := o.apply
	o.Continuous = continuous
	if o.Bounds != wide.Bounds {
		o.Bounds += "; in continuous mode " + wide.Bounds
	}
	o.apply = func(c *Config, raw []string) (moved, error) {
		if c.Mode != ModeContinuous {
			return fixed(c, raw)
		}
		if s, v, err := oneNumber(raw); err == nil && v <= 0 {
			return moved{}, fmt.Errorf("%s would switch a guardrail off; in continuous mode a number above 0 is wanted", s)
		}
		return wide.apply(c, raw)
	}
	return o
}

const autonomousPrefix = "AUTONOMOUS_"

// autonomous names the option behind each AUTONOMOUS_* variable and how its value
// is read, where that is not as it stands.
func autonomous() map[string]struct {
	key  string
	read func(string) (string, error)
} {
	type entry = struct {
		key  string
		read func(string) (string, error)
	}
	return map[string]entry{
		"MODE":                   {key: "mode"},
		"REFLECTION_INTERVAL":    {"reflect-every", positive},
		"REFLECTION_MODEL":       {"reflect-model", coreModel},
		"REFLECTION_TEMPERATURE": {key: "reflect-temperature"},
		"REFLECTION_TOP_P":       {key: "reflect-top-p"},
		"MAX_WALL_TIME_MS":       {"max-hours", hoursOf},
		"MAX_ITERATIONS":         {"max-sessions", positive},
		"MAX_TOKENS":             {"max-tokens", positive},
		"MAX_CONSECUTIVE_ERRORS": {"max-consecutive-errors", positive},
		"REQUIRE_CONCRETE_GOALS": {key: "require-concrete-goals"},
		"AUTO_REFINE_GOALS":      {key: "auto-refine-goals"},
		"CHECKPOINT_INTERVAL":    {"checkpoint-interval", positive},
		"CHECKPOINT_DIR":         {key: "checkpoint-dir"},
	}
}

// fromAutonomous reads the AUTONOMOUS_* variables. Others may use that prefix as
// well, so an unknown name is passed over unless it looks like one of ours with a
// typing mistake.
func fromAutonomous(environ []string) []Value {
	var out []Value
	known := autonomous()
	var names []string
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		suffix, ours := strings.CutPrefix(name, autonomousPrefix)
		if !ours || value == "" {
			continue
		}
		v := Value{Raw: []string{value}, Origin: "environment " + name}
		e, ok := known[suffix]
		if !ok {
			if near := spelling.Meant(suffix, names); near != "" && spelling.Distance(suffix, near) <= 2 {
				v.Key, v.Err = name, errors.New("unknown variable; did you mean "+autonomousPrefix+near+"?")
				out = append(out, v)
			}
			continue
		}
		if v.Key = e.key; e.read != nil {
			v.Raw[0], v.Err = e.read(strings.TrimSpace(value))
		}
		out = append(out, v)
	}
	return out
}

// positive refuses 0, which would not be a limit, and what is no number.
func positive(s string) (string, error) {
	v, err := parseNumber(s)
	if err == nil && v <= 0 {
		err = fmt.Errorf("%s is no limit; a number above 0 is wanted", s)
	}
	return s, err
}

// coreModel is the name of no model: it stands for the one that is configured
// otherwise.
func coreModel(s string) (string, error) {
	if s == "core" {
		return "", nil
	}
	return s, nil
}

// hoursOf turns milliseconds into hours.
func hoursOf(s string) (string, error) {
	if _, err := positive(s); err != nil {
		return s, err
	}
	ms, err := parseNumber(s)
	return strconv.FormatFloat(ms/float64(time.Hour/time.Millisecond), 'f', -1, 64), err
}
