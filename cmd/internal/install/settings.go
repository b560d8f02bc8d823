package install

import (
	"fmt"
	"slices"

	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

const (
	settingsFile  = ".claude/settings.json"
	localSettings = ".claude/settings.local.json"
	serverFile    = ".mcp.json"
)

func limitsPath() []string { return []string{"claudeFlow", "autopilot"} }
func serverPath() []string { return []string{"mcpServers", "autopilot"} }

// limits are the defaults of persistent completion, written out so that a person
// sees what can be changed.
type limits struct {
	MaxIterations      int      `json:"maxIterations"`
	TimeoutMinutes     int      `json:"timeoutMinutes"`
	TaskSources        []string `json:"taskSources"`
	CompletionCriteria string   `json:"completionCriteria"`
}

func usualLimits() limits {
	return limits{completion.UsualIterations, completion.UsualMinutes, task.Usual(), completion.AllDone}
}

// server is an entry under mcpServers, as Claude Code defines it.
type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func settingsPart(us program) part {
	return part{
		path: settingsFile,
		runs: func(d doc) bool {
			return slices.ContainsFunc(events(), func(e event) bool {
				_, line := findHook(d, us, e)
				return line == e.line(us[0])
			})
		},
		put: func(now state) (state, []string, error) {
			return putJSON(now, func(d doc) (doc, []string, error) { return putSettings(d, us) })
		},
		cut: func(now state, before *state) (state, []string, error) {
			return cutJSON(now, before, func(d doc, before *doc) (target, error) { return findInSettings(d, before, us) })
		},
	}
}

func serverPart(us program) part {
	return part{
		path: serverFile,
		runs: func(d doc) bool {
			at := d.lookup(serverPath()...)
			return at != nil && sameJSON(at, usualServer(us[0]))
		},
		put: func(now state) (state, []string, error) {
			return putJSON(now, func(d doc) (doc, []string, error) { return putServer(d, us) })
		},
		cut: func(now state, before *state) (state, []string, error) {
			return cutJSON(now, before, func(d doc, before *doc) (target, error) { return findServer(d, before, us) })
		},
	}
}

func putSettings(d doc, us program) (doc, []string, error) {
	if err := checkSettings(d); err != nil {
		return doc{}, nil, err
	}
	var notes []string
	if d.switchesHooksOff() {
		notes = append(notes, hooksOff)
	}
	for _, e := range events() {
		next, note, err := putHook(d, us, e)
		if err != nil {
			return doc{}, nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		d = next
	}
	next, err := putLimits(d)
	return next, notes, err
}

// checkSettings comes before the first addition, so that the lines it names are
// those of the person's file.
func checkSettings(d doc) error {
	for _, e := range events() {
		if err := d.want(e.path(), "an array"); err != nil {
			return err
		}
	}
	return d.want(limitsPath(), "an object")
}

// uniqueSettings comes before the first cut, for the same reason.
func uniqueSettings(d doc) error {
	for _, e := range events() {
		if err := d.unique(e.path()); err != nil {
			return err
		}
	}
	return d.unique(limitsPath())
}

func putLimits(d doc) (doc, error) {
	if d.lookup(limitsPath()...) != nil {
		return d, nil
	}
	return d.add(limitsPath(), usualLimits(), false)
}

const hooksOff = "sets disableAllHooks: no hook will run"

func (d doc) switchesHooksOff() bool {
	off := d.lookup("disableAllHooks")
	return off != nil && off.Value.Kind() == 't'
}

func putServer(d doc, us program) (doc, []string, error) {
	at, missing, err := d.find(serverPath()...)
	if err != nil {
		return doc{}, nil, err
	}
	want := usualServer(us[0])
	if len(missing) > 0 {
		d, err = d.add(serverPath(), want, false)
		return d, nil, err
	}
	if !sameJSON(at, want) {
		return d, []string{`has a server "autopilot" with other content: it was left as it is`}, nil
	}
	return d, nil, nil
}

func usualServer(command string) server { return server{Command: command, Args: []string{"mcp"}} }

// findInSettings names the first hook, or when they are gone the limits.
func findInSettings(d doc, before *doc, us program) (target, error) {
	if err := uniqueSettings(d); err != nil {
		return target{}, err
	}
	var notes []string
	for _, e := range events() {
		t, line := findHook(d, us, e)
		if line == "" {
			continue
		}
		if !before.hasHook(us, e) {
			return t, nil
		}
		notes = append(notes, fmt.Sprintf("had the %s hook before init: it stays", e.name))
	}
	at := d.lookup(limitsPath()...)
	switch {
	case at == nil || before != nil && before.lookup(limitsPath()...) != nil:
	case before == nil && !sameJSON(at, usualLimits()):
		notes = append(notes, "has limits in claudeFlow.autopilot that are not those of init: they stay")
	default:
		return d.member(limitsPath()), nil
	}
	return target{notes: notes}, nil
}

// findServer names the server when it is ours, which somebody may have added to.
func findServer(d doc, before *doc, us program) (target, error) {
	if err := d.unique(serverPath()); err != nil {
		return target{}, err
	}
	at := d.lookup(serverPath()...)
	if at == nil {
		return target{}, nil
	}
	if before != nil && before.lookup(serverPath()...) != nil {
		return target{notes: []string{`had a server "autopilot" before init: it stays`}}, nil
	}
	var s server
	if decode(at, &s) != nil || !us.is(s.Command) || len(s.Args) == 0 || s.Args[0] != "mcp" {
		return target{notes: []string{`has a server "autopilot" that runs something else: it stays`}}, nil
	}
	return d.member(serverPath()), nil
}
