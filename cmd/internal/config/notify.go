package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/spelling"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
)

// GroupNotify is the group of the options for notices to a person.
const GroupNotify = "notify"

const notifyKey = "notify"

// Notify says which news a person is told, and by which channels.
type Notify struct {
	Channels []channel.Channel
	Events   []notice.Kind
	Interval time.Duration // least time between two of a kind to one channel
	Hourly   int           // to one channel; 0 is no limit
}

func notifyOptions() []Option {
	channels := list(notifyKey, nil, "who is told when a person is needed: an address such as ntfy://ntfy.sh/TOPIC, slack://, discord://, telegram://, smtp://, generic+https://; command:WORDS, which gets JSON on stdin; or desktop; may be repeated", nil)
	channels.Separator = "\n" // an address may hold commas
	channels.apply = func(c *Config, raw []string) (moved, error) {
		n := &c.Notify
		n.Channels = nil
		for i, s := range filled(raw) {
			ch, err := channel.Parse(s)
			if err != nil {
				return moved{}, fmt.Errorf("channel %d: %w", i+1, near(err))
			}
			if !slices.ContainsFunc(n.Channels, func(o channel.Channel) bool { return o.ID == ch.ID }) {
				n.Channels = append(n.Channels, ch)
			}
		}
		return moved{}, nil
	}
	events := list("notify-events", names(notice.Kinds()), "kinds of news that are told: "+strings.Join(names(notice.Kinds()), ", "), nil)
	events.apply = func(c *Config, raw []string) (moved, error) {
		n := &c.Notify
		n.Events = nil
		for _, s := range filled(strings.Split(strings.Join(raw, ","), ",")) {
			k := notice.Kind(strings.ToLower(s))
			if !slices.Contains(notice.Kinds(), k) {
				return moved{}, fmt.Errorf("%q is no kind of news%s; there are %s", s, meant(s, names(notice.Kinds())), strings.Join(names(notice.Kinds()), ", "))
			}
			if !slices.Contains(n.Events, k) {
				n.Events = append(n.Events, k)
			}
		}
		return moved{}, nil
	}
	out := []Option{
		channels, events,
		duration("notify-interval", "5m", span[time.Duration]{0, 24 * time.Hour}, "least time between two notices of a kind to one channel; what comes meanwhile is summed up in the next", func(c *Config, d time.Duration) { c.Notify.Interval = d }),
		integer("notify-hourly", "20", span[int]{0, 1000}, "notices within an hour to one channel; what is more is summed up; 0 is no limit", func(c *Config, n int) { c.Notify.Hourly = n }),
	}
	for i := range out { // a repository neither chooses who is told nor keeps it from them
		out[i] = grouped(GroupNotify, out[i])
		out[i].NotInRepo = true
	}
	return out
}

// near adds to the refusal of a channel how it is written, and which known one may be meant.
// It says nothing of what was written but its scheme.
func near(err error) error {
	e, ok := errors.AsType[*channel.SpecError](err)
	if !ok {
		return err
	}
	words := e.Words
	if e.Scheme != "" {
		words += meant(strings.ToLower(e.Scheme), bare(channel.Schemes()))
	}
	if e.Way != "" {
		words += " (" + e.Way + ")"
	}
	return errors.New(words)
}

func meant(word string, known []string) string {
	if n := spelling.Meant(word, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

// bare are the schemes without what stands behind them.
func bare(schemes []string) []string {
	out := make([]string, len(schemes))
	for i, s := range schemes {
		out[i] = strings.TrimRight(s, ":/")
	}
	return out
}

func names(kinds []notice.Kind) []string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return out
}

// Secret reports whether the values of an option may hold secrets: they are neither shown
// nor kept with what a run was started with.
func Secret(key string) bool { return key == notifyKey }

// shown are the values of an option as they may be seen.
func (o Option) shown(raw []string) string {
	if !Secret(o.Key) {
		return strings.Join(raw, ", ")
	}
	var out []string
	for _, s := range filled(raw) {
		c, err := channel.Parse(s)
		if err != nil {
			out = append(out, "…")
			continue
		}
		out = append(out, c.Label)
	}
	return strings.Join(out, ", ")
}
