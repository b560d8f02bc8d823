package unit

import (
	"path/filepath"
	"strings"

	"howett.net/plist"

	"autopilot/supervisor/schedule"
)

const (
	dateLimit   = 500
	exitTimeout = 180 // seconds between the signal to end and the kill
)

// Label is what launchd calls the agent of a schedule.
func Label(name string) string { return "autopilot." + name }

// agent is a property list of launchd.plist(5).
type agent struct {
	Label                 string
	ProgramArguments      []string
	EnvironmentVariables  map[string]string `plist:",omitempty"`
	WorkingDirectory      string            `plist:",omitempty"`
	StartCalendarInterval []map[string]int
	ProcessType           string
	AbandonProcessGroup   bool
	RunAtLoad             bool
	ExitTimeOut           int
	StandardOutPath       string
	StandardErrorPath     string
}

func launchdFiles(e schedule.Entry, machineZone string) ([]File, error) {
	lines, err := localLines(e, machineZone)
	if err != nil {
		return nil, err
	}
	var dates []map[string]int
	for _, l := range lines {
		product := []map[string]int{{}}
		for _, field := range []struct {
			key    string
			values []int
		}{{"Month", l.Months}, {"Day", l.Days}, {"Weekday", l.Weekdays}, {"Hour", l.Hours}, {"Minute", l.Minutes}} {
			product = times(product, field.key, field.values)
		}
		if dates = append(dates, product...); len(dates) > dateLimit {
			return nil, tooMany(e, len(dates), dateLimit, "dates for launchd")
		}
	}
	log := filepath.Join(e.Logs, "launchd.log")
	a := agent{
		Label:                 Label(e.Name),
		ProgramArguments:      command(e),
		EnvironmentVariables:  map[string]string{},
		WorkingDirectory:      variable(e, "HOME"),
		StartCalendarInterval: dates,
		ProcessType:           "Standard",
		RunAtLoad:             e.Spec.Until != "", // for a night that began without the machine, or lost it
		ExitTimeOut:           exitTimeout,
		StandardOutPath:       log,
		StandardErrorPath:     log,
	}
	for _, kv := range e.Environ {
		name, value, _ := strings.Cut(kv, "=")
		a.EnvironmentVariables[name] = value
	}
	text, err := plist.MarshalIndent(a, plist.XMLFormat, "\t")
	if err != nil {
		return nil, &schedule.InvalidError{Fact: "launchd cannot be told the schedule " + e.Name + ": " + err.Error()}
	}
	return []File{{Label(e.Name) + ".plist", append(text, '\n')}}, nil
}

// times gives each date every value of a further key; no values leave the key out, which means
// all.
func times(dates []map[string]int, key string, values []int) []map[string]int {
	if len(values) == 0 {
		return dates
	}
	var out []map[string]int
	for _, d := range dates {
		for _, v := range values {
			next := map[string]int{key: v}
			for k, old := range d {
				next[k] = old
			}
			if out = append(out, next); len(out) > dateLimit {
				return out
			}
		}
	}
	return out
}

// ofPlist is the name in a list that starts a schedule and is called after it.
func ofPlist(text []byte) string {
	var a agent
	if _, err := plist.Unmarshal(text, &a); err != nil {
		return ""
	}
	words := a.ProgramArguments
	if len(words) != 4 || words[1] != "schedule" || words[2] != "exec" || a.Label != Label(words[3]) || schedule.CheckName(words[3]) != nil {
		return ""
	}
	return words[3]
}
