package page

import (
	"html/template"
	"time"

	"autopilot/cmd/internal/board"
)

// eventList are events as the page shows them: the latest first.
type eventList struct{ Items []eventItem }

type eventItem struct {
	Stamp, Clock, Kind, Class, Text string
}

// Events draws events for the script, which puts them on top of those that are there.
func Events(events []board.Event, now time.Time) (template.HTML, error) {
	b, err := draw("event-items", eventItems(events, now))
	return template.HTML(b), err
}

func eventItems(events []board.Event, now time.Time) eventList {
	var l eventList
	for i := range events {
		e := events[len(events)-1-i]
		item := eventItem{Stamp: stamp(e.At), Clock: e.At.Local().Format("15:04:05"), Kind: line(e.Kind, shortText), Class: quiet, Text: text(e.Text, eventText)}
		switch e.Kind {
		case "error":
			item.Class = bad
		case "text":
			item.Class = "said"
		}
		switch e.Level {
		case "WARN":
			item.Kind, item.Class = "warning", limit
		case "ERROR":
			item.Kind, item.Class = "error", bad
		}
		if e.At.IsZero() {
			item.Stamp, item.Clock = "", ""
		}
		l.Items = append(l.Items, item)
	}
	return l
}
