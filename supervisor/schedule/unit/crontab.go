package unit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"autopilot/supervisor/schedule"
)

const (
	lineLimit  = 60
	lineLength = 990 // bytes; cron reads a command of 1,000
	tag        = "# autopilot:"
)

// Block are the lines of a crontab for an entry, without line ends: a comment that says what they
// are, and a line for each line of its calendar. Each ends with a tag that names the schedule.
func Block(e schedule.Entry, machineZone string) ([]string, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	calendar, err := localLines(e, machineZone)
	if err != nil {
		return nil, err
	}
	if len(calendar) > lineLimit {
		return nil, tooMany(e, len(calendar), lineLimit, "lines of a crontab")
	}
	words := []string{"/usr/bin/env"}
	for _, name := range []string{"HOME", "XDG_STATE_HOME"} {
		if value := variable(e, name); value != "" {
			words = append(words, name+"="+value)
		}
	}
	words = append(words, command(e)...)
	for i, w := range words {
		if strings.Contains(w, `\`) {
			return nil, &schedule.InvalidError{
				Fact: fmt.Sprintf("a crontab cannot hold the backslash in %q", w),
				Way:  "rename it, or use another backend",
			}
		}
		words[i] = shell(w)
	}
	var times []string
	for _, l := range calendar {
		times = append(times, l.String())
	}
	if e.Spec.Until != "" { // for a night that began without the machine, or lost it
		times = append(times, "@reboot")
	}
	out := []string{"# autopilot " + e.Name + ": " + e.Spec.Words() + " " + tag + e.Name}
	for _, at := range times {
		line := at + " " + strings.Join(words, " ") + " " + tag + e.Name
		if len(line) > lineLength {
			return nil, &schedule.InvalidError{
				Fact: fmt.Sprintf("the line of the crontab has %d bytes, at most %d are read by every cron", len(line), lineLength),
				Way:  "install the program under a shorter path, or choose times that are easier to say",
			}
		}
		out = append(out, line)
	}
	return out, nil
}

// shell is a word in the quotes of a shell, if it needs them, with what cron itself reads in
// it taken back. There is no backslash in it but before a percent sign.
func shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:=+,@-", r)
	}
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		word = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
	}
	return strings.ReplaceAll(word, "%", `\%`)
}

// Found is a schedule in a crontab.
type Found struct {
	Name  string
	Lines []string // as they are, without line ends
}

// OfCrontab are the schedules in a crontab, in the order of their first lines.
func OfCrontab(text []byte) []Found {
	var out []Found
	for _, l := range lines(text) {
		name := tagOf(l)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(out, func(f Found) bool { return f.Name == name })
		if i < 0 {
			i, out = len(out), append(out, Found{Name: name})
		}
		out[i].Lines = append(out[i].Lines, strings.TrimRight(l, "\r\n"))
	}
	return out
}

// tagOf is the name of the schedule that a line ends with, or empty.
func tagOf(line string) string {
	line = strings.TrimRight(line, " \t\r\n")
	i := strings.LastIndex(line, tag)
	if i < 0 || i > 0 && line[i-1] != ' ' && line[i-1] != '\t' {
		return ""
	}
	name := line[i+len(tag):]
	if schedule.CheckName(name) != nil {
		return ""
	}
	return name
}

// Splice puts the lines of a schedule into a crontab, in place of those that it has there; none
// takes it out. Everything else stays as it is; only a last line without a line end gets one.
func Splice(text []byte, name string, block []string) []byte {
	var rest []string
	at := -1
	for _, l := range lines(text) {
		if tagOf(l) == name {
			if at < 0 {
				at = len(rest)
			}
			continue
		}
		rest = append(rest, l)
	}
	if i := slices.IndexFunc(rest, assigns); i >= 0 && (at < 0 || at > i) {
		at = i // what a crontab sets is for the lines after it
	}
	if at < 0 {
		at = len(rest)
	}
	var out bytes.Buffer
	put := func(list []string) {
		for _, l := range list {
			if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
				out.WriteByte('\n')
			}
			out.WriteString(l)
		}
	}
	put(rest[:at])
	for _, l := range block {
		put([]string{l + "\n"})
	}
	put(rest[at:])
	return out.Bytes()
}

// assigns reports that a line of a crontab sets a variable.
func assigns(line string) bool {
	name, _, ok := strings.Cut(strings.TrimSpace(line), "=")
	name = strings.Trim(strings.TrimSpace(name), `"'`)
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
}
