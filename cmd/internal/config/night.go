package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/approval/rule"
	"autopilot/supervisor/publish"
)

// Groups of options that 'autopilot config' explains, so that the help of a run stays
// short.
const (
	GroupGates = "gates"
	GroupQueue = "queue"
	GroupTests = "tests"
	GroupSync  = "sync"
)

// Values of the test-gate option.
const (
	TestGateAuto = "auto"
	TestGateOn   = "on"
	TestGateOff  = "off"
)

// Night is what a run without anybody there is allowed to do, and what it tells.
type Night struct {
	Enabled bool

	Increments []string // of the queue; empty for all items
	AllBacklog bool
	MaxActive  int    // increments at once; 0 is no limit
	Promise    string // what a session has to say before it counts as done; empty for nothing

	HumanGates  bool
	GateRules   []string
	GateTimeout time.Duration
	PreApprove  []string // rules

	TestGate    string
	Integration string // shell command
	EndToEnd    string // shell command

	Sync             []publish.Target
	SyncInterval     time.Duration
	BreakerThreshold int
	BreakerReset     time.Duration
}

func queueOptions() []Option {
	return []Option{
		list("increments", nil, "items of the queue that are worked on, and increments that are added to it; empty for the whole queue", func(c *Config, v []string) {
			c.Night.Increments = filled(strings.Split(strings.Join(v, ","), ","))
		}),
		boolean("all-backlog", "false", "add every increment that is neither completed nor abandoned to the queue", func(c *Config, v bool) { c.Night.AllBacklog = v }),
		grouped(GroupQueue, integer("max-active", "3", span[int]{0, 100}, "increments that may be active at once; 0 is no limit", func(c *Config, n int) { c.Night.MaxActive = n })),
		text("completion-promise", "", "words that a session has to print on a line of their own, in <auto-complete> tags, before its work counts as done; empty asks for none", func(c *Config, v string) { c.Night.Promise = v }),
		grouped(GroupQueue, boolean("enabled", "true", "allow runs in this repository", func(c *Config, v bool) { c.Night.Enabled = v })),
	}
}

func gateOptions() []Option {
	on := boolean("human-gates", "true", "hold calls that deploy, publish, force or destroy until a person approves", func(c *Config, v bool) { c.Night.HumanGates = v })
	on.trusted = func(raw []string) bool {
		return !slices.Contains(raw, "false") && len(raw) == 1 && strings.EqualFold(raw[0], "true")
	}
	rules := list("gate", nil, "further rule for calls that need a person: 'command: WORDS', 'path: GLOB', 'tool: GLOB', or 'off: NAME'; may be repeated", nil)
	rules.Separator = "\n"
	rules.apply = func(c *Config, raw []string) (moved, error) {
		c.Night.GateRules = filled(raw)
		_, err := rule.Default().With(c.Night.GateRules)
		return moved{}, err
	}
	rules.trusted = func(raw []string) bool { // a repository may add rules
		return !slices.ContainsFunc(filled(raw), func(s string) bool { return strings.HasPrefix(s, "off") })
	}
	before := list("pre-approve", nil, "rules whose calls are approved in advance; some never are", nil)
	before.apply = func(c *Config, raw []string) (moved, error) {
		c.Night.PreApprove = filled(strings.Split(strings.Join(raw, ","), ","))
		return moved{}, checkAdvance(c.Night.PreApprove)
	}
	before.NotInRepo = true
	return []Option{
		on, rules, before,
		grouped(GroupGates, duration("gate-timeout", "30m", span[time.Duration]{time.Second, 7 * 24 * time.Hour}, "time in which a person can approve a call that is held before it counts as denied", func(c *Config, d time.Duration) { c.Night.GateTimeout = d })),
	}
}

// checkAdvance refuses names of rules that are none, and rules that only hold what is
// never approved in advance.
func checkAdvance(names []string) error {
	var all []string
	for _, r := range rule.Default().Rules() {
		if !r.Never {
			all = append(all, r.Name)
		}
		if r.Never && slices.Contains(names, r.Name) {
			return fmt.Errorf("%s is never approved in advance; 'autopilot approve' lets one call through", r.Name)
		}
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return fmt.Errorf("%q is no rule; there are %s", n, strings.Join(all, ", "))
		}
	}
	return nil
}

func testOptions() []Option {
	return []Option{
		choice("test-gate", TestGateAuto, []string{TestGateAuto, TestGateOn, TestGateOff}, "run the tests before work counts as done: on, off, or where the queue is worked on and tests are found", func(c *Config, v string) { c.Night.TestGate = v }),
		grouped(GroupTests, text("integration-command", "", "shell command of the integration tests; empty for none", func(c *Config, v string) { c.Night.Integration = v })),
		grouped(GroupTests, text("end-to-end-command", "", "shell command of the end-to-end tests; empty runs Playwright where it is set up, none runs nothing", func(c *Config, v string) { c.Night.EndToEnd = v })),
	}
}

func syncOptions() []Option {
	targets := list("sync", nil, "who is told of the progress: github:OWNER/REPO#N, jira:KEY-N, azure:ORG/PROJECT#N, webhook:URL, webhook:$VARIABLE, file:PATH.md; may be repeated", nil)
	targets.apply = func(c *Config, raw []string) (moved, error) {
		c.Night.Sync = nil
		for _, s := range filled(raw) {
			t, err := publish.ParseTarget(s)
			if err != nil {
				return moved{}, err
			}
			if !slices.Contains(c.Night.Sync, t) {
				c.Night.Sync = append(c.Night.Sync, t)
			}
		}
		return moved{}, nil
	}
	targets.trusted = func(raw []string) bool { // what a run does is told only where the person says
		return !slices.ContainsFunc(filled(raw), func(s string) bool { return !strings.HasPrefix(s, string(publish.File)+":") })
	}
	return []Option{
		targets,
		grouped(GroupSync, duration("sync-interval", "300s", span[time.Duration]{time.Second, 24 * time.Hour}, "least time between two updates of one place, but at the end of an item and of a run", func(c *Config, d time.Duration) { c.Night.SyncInterval = d })),
		grouped(GroupSync, integer("breaker-threshold", "3", span[int]{1, 100}, "failures of a service after which it is left alone for a while", func(c *Config, n int) { c.Night.BreakerThreshold = n })),
		grouped(GroupSync, duration("breaker-reset", "5m", span[time.Duration]{time.Second, 24 * time.Hour}, "how long it is left alone", func(c *Config, d time.Duration) { c.Night.BreakerReset = d })),
	}
}

func grouped(group string, o Option) Option {
	o.Group = group
	return o
}
