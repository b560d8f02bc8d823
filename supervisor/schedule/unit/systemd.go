package unit

import (
	"fmt"
	"io"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"autopilot/supervisor/schedule"
)

const (
	ownSection = "X-Autopilot" // systemd leaves sections alone that begin so
	heading    = "# Written by autopilot. Installing the schedule again writes it anew.\n"
	jumpYears  = 10
)

// ServiceName is the name of the service of a schedule.
func ServiceName(name string) string { return "autopilot-" + name + ".service" }

// TimerName is the name of its timer.
func TimerName(name string) string { return "autopilot-" + name + ".timer" }

// section collects the options of a unit file.
type section struct {
	name string
	to   *[]*unit.UnitOption
}

func (s section) set(name, value string) {
	*s.to = append(*s.to, unit.NewUnitOption(s.name, name, value))
}

func systemdFiles(e schedule.Entry) ([]File, error) {
	service, err := service(e)
	if err != nil {
		return nil, err
	}
	timer, err := timer(e)
	if err != nil {
		return nil, err
	}
	return []File{{ServiceName(e.Name), service}, {TimerName(e.Name), timer}}, nil
}

func service(e schedule.Entry) ([]byte, error) {
	if strings.ContainsAny(e.Program, `"'\`) {
		return nil, cannotHold("program", e.Program)
	}
	if err := checkRaw("work tree", e.Dir, ""); err != nil {
		return nil, err
	}
	if err := checkRaw("file of variables", e.EnvFile, "*?[]{}"); err != nil {
		return nil, err
	}
	var opts []*unit.UnitOption
	head := section{"Unit", &opts}
	head.set("Description", percent("autopilot "+e.Name+": "+e.Spec.Words()))

	s := section{"Service", &opts}
	s.set("Type", "notify")
	s.set("NotifyAccess", "all")
	s.set("ExecStart", execLine(command(e)))
	s.set("WorkingDirectory", "-"+percent(e.Dir))
	for _, kv := range e.Environ {
		s.set("Environment", quoted(kv))
	}
	if e.EnvFile != "" {
		s.set("EnvironmentFile", "-"+percent(e.EnvFile))
	}
	s.set("StandardInput", "null")
	s.set("SyslogIdentifier", "autopilot-"+e.Name)
	s.set("TimeoutStartSec", "2min")
	s.set("WatchdogSec", "5min")
	s.set("KillMode", "mixed")
	s.set("KillSignal", "SIGINT")
	s.set("TimeoutStopSec", "3min")
	s.set("SuccessExitStatus", "4 6 7 130 143")
	if e.Spec.Until != "" { // a night that was killed goes on
		s.set("Restart", "on-abnormal")
		s.set("RestartSec", "30s")
	} else {
		s.set("Restart", "no")
	}
	s.set("OOMPolicy", "continue")
	s.set("LimitCORE", "0")

	return serialise(e, opts)
}

func timer(e schedule.Entry) ([]byte, error) {
	lines, err := e.Spec.Lines()
	if err != nil {
		return nil, err
	}
	var opts []*unit.UnitOption
	head := section{"Unit", &opts}
	head.set("Description", percent("Time of autopilot "+e.Name+": "+e.Spec.Words()))

	s := section{"Timer", &opts}
	for _, l := range lines {
		s.set("OnCalendar", onCalendar(l)+" "+e.Spec.Zone)
	}
	for _, t := range e.Spec.Jumped(e.CreatedAt, e.CreatedAt.AddDate(jumpYears, 0, 0)) {
		s.set("OnCalendar", t.Format("2006-01-02 15:04:05")+" "+e.Spec.Zone)
	}
	if e.Spec.Until != "" {
		// A night that began without the machine is shorter, not left out, and one that lost
		// the machine goes on.
		s.set("Persistent", "true")
		s.set("OnStartupSec", "1min")
	}
	s.set("AccuracySec", "1s")
	s.set("Unit", ServiceName(e.Name))

	install := section{"Install", &opts}
	install.set("WantedBy", "timers.target")
	return serialise(e, opts)
}

func serialise(e schedule.Entry, opts []*unit.UnitOption) ([]byte, error) {
	own := section{ownSection, &opts}
	own.set("Schedule", e.Name)
	text, err := io.ReadAll(unit.Serialize(opts))
	if err != nil {
		return nil, fmt.Errorf("write unit of %s: %w", e.Name, err)
	}
	return append([]byte(heading), text...), nil
}

// ofSystemd is the name in the section that only our units have.
func ofSystemd(text []byte) string {
	own, name := false, ""
	for _, l := range lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") {
			own = l == "["+ownSection+"]"
			continue
		}
		if value, ok := strings.CutPrefix(l, "Schedule="); ok && own {
			name = strings.TrimSpace(value)
		}
	}
	if schedule.CheckName(name) != nil {
		return ""
	}
	return name
}

// onCalendar is a line as systemd.time(7) writes it.
func onCalendar(l schedule.Line) string {
	out := ""
	if len(l.Weekdays) > 0 {
		days := [daysOfWeek]bool{}
		for _, d := range l.Weekdays {
			days[(d+daysOfWeek-1)%daysOfWeek] = true // it counts from Monday on
		}
		var from []int
		for d, on := range days {
			if on {
				from = append(from, d)
			}
		}
		names := []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
		out = list(from, func(d int) string { return names[d] }) + " "
	}
	two := func(n int) string { return fmt.Sprintf("%02d", n) }
	return out + "*-" + list(l.Months, two) + "-" + list(l.Days, two) + " " + list(l.Hours, two) + ":" + list(l.Minutes, two) + ":00"
}

const daysOfWeek = 7

// list writes numbers in order, with three and more in a row as a range.
func list(values []int, name func(int) string) string {
	if len(values) == 0 {
		return "*"
	}
	var parts []string
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, name(values[i])+".."+name(values[j]))
			i = j + 1
			continue
		}
		parts = append(parts, name(values[i]))
		i++
	}
	return strings.Join(parts, ",")
}

// percent keeps systemd from reading a specifier into a text.
func percent(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// quoted is a word in the quotes of systemd, if it needs them.
func quoted(word string) string {
	word = percent(word)
	if word != "" && !strings.ContainsAny(word, " \t\"'\\;#") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// execLine is a command line of systemd. A dollar sign would be read as a variable in every word
// but the path, so where there is one that is switched off; managers before 244 cannot do that.
func execLine(words []string) string {
	var parts []string
	for _, w := range words {
		parts = append(parts, quoted(w))
	}
	line := strings.Join(parts, " ")
	if strings.Contains(line, "$") {
		line = ":" + line
	}
	return line
}

// checkRaw refuses what cannot be written where systemd takes a text as it is, without quotes.
func checkRaw(what, path, special string) error {
	if strings.TrimSpace(path) != path || strings.HasSuffix(path, `\`) || special != "" && strings.ContainsAny(path, special+`\`) {
		return cannotHold(what, path)
	}
	return nil
}

func cannotHold(what, path string) error {
	return &schedule.InvalidError{
		Fact: fmt.Sprintf("systemd cannot be told the %s %q", what, path),
		Way:  "rename it, or use --backend cron",
	}
}
