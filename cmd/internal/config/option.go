package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"autopilot/supervisor/tdd"
)

// Config is the set of values a run is started with.
type Config struct {
	MaxSessions         int
	MaxHours            float64 // hours of wall clock
	ConfidenceThreshold float64 // 0..1
	MaxTokens           int64   // 0 is no limit
	MaxCostUSD          float64 // 0 is no limit
	StallTimeout        time.Duration
	ToolStallTimeout    time.Duration
	SessionTimeout      time.Duration // 0 is no limit
	ExitGrace           time.Duration
	LimitMargin         time.Duration
	BackoffInitial      time.Duration
	BackoffMax          time.Duration
	ProbeInterval       time.Duration
	PeerAbort           int
	CarryoverThreshold  float64 // 0..1
	AgentsPerWave       int
	AgentsPerWaveMode   map[string]int // by mode, from Session Config
	Claude              string         // path or name of the CLI
	Model               string         // empty leaves the choice to the CLI
	PermissionMode      string
	AllowedTools        []string
	Source              string
	LifecycleSteps      []string
	UseAPIKey           bool
	MetricsDir          string // relative to the repository, or absolute
	LogFormat           string
	Persistence         bool

	Mode                 string
	MaxErrors            int // broken sessions in a row
	ReflectEvery         int // sessions between two reflections; 0 is never
	Reflector            string
	ReflectModel         string // empty leaves the choice to the reflector
	ReflectURL           string // base URL of a service that speaks OpenAI's API
	ReflectTemperature   float64
	ReflectTopP          float64
	ReflectTimeout       time.Duration
	Matrix               string
	RequireConcreteGoals bool
	AutoRefineGoals      bool
	ProceedWithTimeLimit bool
	Verify               []string // shell commands
	ExpectFiles          []string
	VerifyTimeout        time.Duration
	CheckpointInterval   int // sessions
	CheckpointDir        string

	TaskSources  []string
	TaskFiles    []string // with check boxes, relative to the repository
	TaskList     string   // id of a task list of Claude Code; empty for the project's own
	Task         string   // id of a task that is worked on test by test
	TaskTag      string
	NoMCP        bool
	NoLearning   bool
	EpisodesKept int

	TDD   tdd.Settings
	Night Night

	Stories Stories

	Until        string // as it was given; see [Until]
	InhibitSleep bool
	Notify       Notify
	Telemetry    Telemetry
	Keep         Keep
}

// Option describes one setting: its key in files, its flag and variable, its
// default and bounds, and how a raw value is read into a Config.
type Option struct {
	Key       string
	Default   string
	Bounds    string // for people; empty when every value of the type is fine
	Help      string
	List      bool // may be given several times
	Bool      bool // a flag without a value means true
	NotInRepo bool // refused in the files of a repository
	// Continuous is the default in the mode of that name, where it is another.
	Continuous string
	// Group names what the option is for when that is not every command; commands that
	// have nothing to do with it need no flag for it.
	Group string
	// Separator is what separates the values of a list in an environment variable;
	// a comma unless it says otherwise.
	Separator string
	// trusted reports whether a value may stand in the files of a repository, for an
	// option where that depends on the value.
	trusted func(raw []string) bool
	apply   func(c *Config, raw []string) (moved, error)
}

// moved says that another value holds than the one that was given. It is zero
// when the value was taken as it is.
type moved struct {
	to   string
	note string
}

// Env is the name of the option's environment variable.
func (o Option) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(o.Key, "-", "_"))
}

// EnvPrefix starts the name of every variable that sets an option.
const EnvPrefix = "AUTOPILOT_"

// GroupTDD is the group of the options for test-driven work.
const GroupTDD = "tdd"

// Values of the source option.
const (
	SourceAuto      = "auto"
	SourceLifecycle = "lifecycle"
	SourceGoal      = "goal"
	SourceTasks     = "tasks"
	SourceTDD       = "tdd"
	SourceQueue     = "queue"
)

// BypassPermissions is the permission mode that asks nothing and refuses
// nothing.
const BypassPermissions = "bypassPermissions"

// Options returns every option in the order in which help and listings show
// them. Whoever gets it must not change it.
func Options() []Option { return all() }

// all makes them once: each command has a flag for each of them.
var all = sync.OnceValue(func() []Option {
	return slices.Concat(limitOptions(), watchOptions(), sessionOptions(), goalOptions(), reflectOptions(), taskOptions(), queueOptions(), gateOptions(), testOptions(), syncOptions(), storyOptions(), tddOptions(), placeOptions(),
		untilOptions(), notifyOptions(), telemetryOptions(), keepOptions())
})

func limitOptions() []Option {
	sessions := func(in span[int]) Option {
		return integer("max-sessions", "5", in, "sessions to run at most", func(c *Config, n int) { c.MaxSessions = n })
	}
	hours := func(in span[float64]) Option {
		return number("max-hours", "4.0", in, "hours of wall clock for the whole run; checked between sessions", func(c *Config, v float64) { c.MaxHours = v })
	}
	tokens := offAtZero(integer("max-tokens", "0", span[int]{0, math.MaxInt}, "tokens for the whole run (input, output and cache writes); 0 is no limit", func(c *Config, n int) { c.MaxTokens = int64(n) }))
	errs := func(in span[int]) Option {
		return integer("max-consecutive-errors", "1", in, "sessions in a row that may go wrong; 1 stops at the first", func(c *Config, n int) { c.MaxErrors = n })
	}
	return []Option{
		choice("mode", ModeFixed, []string{ModeFixed, ModeContinuous}, "fixed runs its sessions; continuous goes on until a look back says that the goal is reached, within guardrails", func(c *Config, v string) { c.Mode = v }),
		guardrail(sessions(span[int]{1, 50}), "200", sessions(span[int]{1, 1000})),
		guardrail(hours(span[float64]{0.5, 24}), "2", hours(span[float64]{0.0001, 720})),
		number("confidence-threshold", "0.85", span[float64]{0, 1}, "confidence below which no session is started without a person", func(c *Config, v float64) { c.ConfidenceThreshold = v }),
		guardrail(tokens, "500000", tokens),
		offAtZero(number("max-cost-usd", "0", span[float64]{0, math.MaxFloat64}, "US dollars for the whole run; the rest is handed to each session; 0 is no limit", func(c *Config, v float64) { c.MaxCostUSD = v })),
		guardrail(errs(span[int]{1, 100}), "5", errs(span[int]{1, 100})),
		integer("peer-abort", "6", span[int]{0, 1000}, "other Claude sessions above which a critical machine stops the run", func(c *Config, n int) { c.PeerAbort = n }),
		number("carryover-threshold", "0.5", span[float64]{0, 1}, "share of a session's plan left undone above which the run stops", func(c *Config, v float64) { c.CarryoverThreshold = v }),
		integer(agentsPerWave, "6", span[int]{0, maxAgentsPerWave}, "sub-agents at once in a session on a green machine", func(c *Config, n int) { c.AgentsPerWave = n }),
	}
}

func watchOptions() []Option {
	const day = 24 * time.Hour
	return []Option{
		duration("stall-timeout", "600s", span[time.Duration]{time.Second, day}, "a session without event, transcript growth or CPU for this long is hung", func(c *Config, d time.Duration) { c.StallTimeout = d }),
		duration("tool-stall-timeout", "30m", span[time.Duration]{time.Second, day}, "the same while a tool runs", func(c *Config, d time.Duration) { c.ToolStallTimeout = d }),
		offAtZero(duration("session-timeout", "0s", span[time.Duration]{0, day}, "end a session after this long; 0 is no limit", func(c *Config, d time.Duration) { c.SessionTimeout = d })),
		duration("exit-grace", "60s", span[time.Duration]{time.Second, time.Hour}, "time for a session's process to exit after its last result", func(c *Config, d time.Duration) { c.ExitGrace = d }),
		duration("limit-margin", "60s", span[time.Duration]{0, time.Hour}, "wait this much longer than the reset time of a usage limit", func(c *Config, d time.Duration) { c.LimitMargin = d }),
		duration("backoff-initial", "30s", span[time.Duration]{time.Millisecond, time.Hour}, "first wait after an overloaded API; it grows from there", func(c *Config, d time.Duration) { c.BackoffInitial = d }),
		duration("backoff-max", "10m", span[time.Duration]{time.Millisecond, 6 * time.Hour}, "longest single wait after an overloaded API", func(c *Config, d time.Duration) { c.BackoffMax = d }),
		duration("probe-interval", "15s", span[time.Duration]{100 * time.Millisecond, time.Hour}, "time between two looks at the machine while a session runs", func(c *Config, d time.Duration) { c.ProbeInterval = d }),
	}
}

func sessionOptions() []Option {
	modes := []string{"acceptEdits", "auto", BypassPermissions, "default", "dontAsk", "plan"}
	perm := choice(permissionMode, "acceptEdits", modes, "permission mode of the sessions", func(c *Config, v string) { c.PermissionMode = v })
	perm.trusted = func(raw []string) bool { return !slices.Contains(filled(raw), BypassPermissions) }
	claude := required(text("claude", "claude", "the claude binary: a path, or a name looked up in PATH", func(c *Config, v string) { c.Claude = v }))
	claude.NotInRepo = true
	key := boolean("use-api-key", "false", "hand ANTHROPIC_API_KEY of the environment on to the sessions", func(c *Config, v bool) { c.UseAPIKey = v })
	key.NotInRepo = true
	return []Option{
		claude,
		text("model", "", "model of the sessions; empty leaves the choice to claude", func(c *Config, v string) { c.Model = v }),
		perm,
		list("allowed-tools", nil, "tools that run without asking, in claude's own notation", func(c *Config, v []string) { c.AllowedTools = v }),
		choice("source", SourceAuto, []string{SourceAuto, SourceLifecycle, SourceGoal, SourceTasks, SourceTDD, SourceQueue}, "where assignments come from", func(c *Config, v string) { c.Source = v }),
		required(list("lifecycle-steps", []string{"/session {mode}", "/go", "/close"}, "prompts of a lifecycle session, one turn each", func(c *Config, v []string) { c.LifecycleSteps = v })),
		key,
	}
}

func placeOptions() []Option {
	return []Option{
		required(text("metrics-dir", ".orchestrator/metrics", "folder of the two ledgers, relative to the repository", func(c *Config, v string) { c.MetricsDir = v })),
		choice("log-format", "auto", []string{"auto", "text", "json"}, "form of the log on stderr", func(c *Config, v string) { c.LogFormat = v }),
		boolean("persistence", "true", "keep ledgers and run state; false skips lifecycle runs", func(c *Config, v bool) { c.Persistence = v }),
	}
}

// one returns the single value of an option that takes no list.
func one(raw []string) (string, error) {
	if len(raw) != 1 {
		return "", fmt.Errorf("takes one value, got %d", len(raw))
	}
	return strings.TrimSpace(raw[0]), nil
}

// offAtZero is for a limit that 0 switches off: a value that would only be moved
// there is refused, because a typing mistake must not take a limit away.
func offAtZero(o Option) Option {
	apply := o.apply
	o.apply = func(c *Config, raw []string) (moved, error) {
		m, err := apply(c, raw)
		if err == nil && (m.to == "0" || m.to == "0s") {
			return moved{}, fmt.Errorf("%s would mean no limit; write 0 if that is meant", raw[0])
		}
		return m, err
	}
	return o
}

// span is the bounds of an option, both within.
type span[T any] struct{ low, high T }

func integer(key, def string, in span[int], help string, set func(*Config, int)) Option {
	o := number(key, def, span[float64]{float64(in.low), float64(in.high)}, help, nil)
	o.apply = func(c *Config, raw []string) (moved, error) {
		s, v, err := oneNumber(raw)
		if err != nil {
			return moved{}, err
		}
		n, bound := 0, ""
		switch down := math.Floor(v); {
		case down < float64(in.low):
			n, bound = in.low, "below"
		case down >= float64(math.MaxInt), down > float64(in.high):
			n, bound = in.high, "above"
		default:
			n = int(down)
		}
		set(c, n)
		switch {
		case bound != "":
			return moved{strconv.Itoa(n), fmt.Sprintf("%s is %s %d, using %d", s, bound, n, n)}, nil
		case float64(n) != v:
			return moved{strconv.Itoa(n), fmt.Sprintf("%s is rounded down to %d", s, n)}, nil
		}
		return moved{}, nil
	}
	return o
}

func number(key, def string, in span[float64], help string, set func(*Config, float64)) Option {
	bounds := trim(in.low) + ".." + trim(in.high)
	if in.high >= float64(math.MaxInt) {
		bounds = trim(in.low) + " or more"
	}
	return Option{Key: key, Default: def, Bounds: bounds, Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, v, err := oneNumber(raw)
		if err != nil {
			return moved{}, err
		}
		clamped := min(max(v, in.low), in.high)
		set(c, clamped)
		if clamped != v {
			return moved{trim(clamped), fmt.Sprintf("%s is outside %s, using %s", s, bounds, trim(clamped))}, nil
		}
		return moved{}, nil
	}}
}

func oneNumber(raw []string) (string, float64, error) {
	s, err := one(raw)
	if err != nil {
		return s, 0, err
	}
	v, err := parseNumber(s)
	return s, v, err
}

func trim(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// parseNumber reads a decimal number. One that is too large for a float64 is the
// largest one. Infinity, hexadecimal and digit separators are refused: they are
// typing mistakes in a limit.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	tooLarge := errors.Is(err, strconv.ErrRange)
	if err != nil && !tooLarge || strings.ContainsAny(s, "xX_") || math.IsNaN(v) || math.IsInf(v, 0) && !tooLarge {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return min(max(v, -math.MaxFloat64), math.MaxFloat64), nil
}

func duration(key, def string, in span[time.Duration], help string, set func(*Config, time.Duration)) Option {
	bounds := short(in.low) + ".." + short(in.high)
	return Option{Key: key, Default: def, Bounds: bounds, Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		d, err := parseDuration(s)
		if err != nil {
			return moved{}, err
		}
		clamped := min(max(d, in.low), in.high)
		set(c, clamped)
		if clamped != d {
			return moved{short(clamped), fmt.Sprintf("%s is outside %s, using %s", s, bounds, short(clamped))}, nil
		}
		return moved{}, nil
	}}
}

// parseDuration reads "90s", "10m", "1h30m", or a plain number of seconds.
func parseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	v, err := parseNumber(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 90s, 10m or 1h30m", s)
	}
	switch v *= float64(time.Second); {
	case v >= math.MaxInt64:
		return math.MaxInt64, nil
	case v <= math.MinInt64:
		return math.MinInt64, nil
	}
	return time.Duration(v), nil
}

func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func text(key, def, help string, set func(*Config, string)) Option {
	return Option{Key: key, Default: def, Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err == nil {
			set(c, s)
		}
		return moved{}, err
	}}
}

func choice(key, def string, allowed []string, help string, set func(*Config, string)) Option {
	return Option{Key: key, Default: def, Bounds: strings.Join(allowed, ", "), Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		if !slices.Contains(allowed, s) {
			return moved{}, fmt.Errorf("%q is none of %s", s, strings.Join(allowed, ", "))
		}
		set(c, s)
		return moved{}, nil
	}}
}

func boolean(key, def, help string, set func(*Config, bool)) Option {
	return Option{Key: key, Default: def, Bool: true, Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		v, err := strconv.ParseBool(strings.ToLower(s))
		if err != nil {
			return moved{}, fmt.Errorf("%q is neither true nor false", s)
		}
		set(c, v)
		return moved{}, nil
	}}
}

func list(key string, def []string, help string, set func(*Config, []string)) Option {
	return Option{Key: key, Default: strings.Join(def, ", "), List: true, Help: help, apply: func(c *Config, raw []string) (moved, error) {
		set(c, filled(raw))
		return moved{}, nil
	}}
}

// filled returns the entries of a list that say something.
func filled(raw []string) []string {
	var out []string
	for _, s := range raw {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// required makes an option refuse to be empty.
func required(o Option) Option {
	apply := o.apply
	o.apply = func(c *Config, raw []string) (moved, error) {
		if len(filled(raw)) == 0 {
			return moved{}, errors.New("is empty")
		}
		return apply(c, raw)
	}
	return o
}
