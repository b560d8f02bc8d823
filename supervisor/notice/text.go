package notice

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/report/wording"
)

// Lengths of texts, in runes.
const (
	maxTitle   = 160
	maxText    = 1500
	maxCommand = 300
	maxPlace   = 300
	maxName    = 100
)

// old is how late a notice is when it says from when it is.
const old = 10 * time.Minute

// Held is a notice with those of its kind that are summed up in it.
type Held struct {
	Notice Notice   `json:"notice"`         // the latest one
	More   int      `json:"more,omitempty"` // how many others of its kind
	Also   []string `json:"also,omitempty"` // titles of the last ones of them
}

// Message is what a person reads: plain text, clean, without markup.
type Message struct {
	Title string // one line
	Body  string // lines; never empty
}

// Clean returns a notice whose texts can be shown and kept: cut, redacted and without
// what is not text. It is idempotent.
func (n Notice) Clean() Notice {
	n.Title = wording.Line(n.Title, maxTitle)
	n.Text = wording.Text(n.Text, maxText)
	n.Command = wording.Line(n.Command, maxCommand)
	n.Repo = wording.Line(n.Repo, maxPlace)
	n.RunID, n.Schedule, n.Key = wording.Line(n.RunID, maxName), wording.Line(n.Schedule, maxName), wording.Line(n.Key, maxPlace)
	n.Kind = Kind(wording.Line(string(n.Kind), maxName))
	if n.Title == "" {
		n.Title = string(n.Kind)
	}
	n.At = n.At.Round(0)
	return n
}

// Message puts a notice into words at a moment.
func (h Held) Message(now time.Time) Message {
	n := h.Notice.Clean()
	place := ""
	if n.Repo != "" {
		place = " (" + filepath.Base(n.Repo) + ")"
	}
	var parts []string
	if n.Text != "" {
		parts = append(parts, n.Text)
	}
	if h.More > 0 {
		parts = append(parts, h.others())
	}
	if n.Command != "" {
		parts = append(parts, "Next: "+n.Command)
	}
	return Message{Title: "autopilot" + place + ": " + n.Title, Body: strings.Join(append(parts, n.footer(now)), "\n\n")}
}

// others tells of those that are summed up.
func (h Held) others() string {
	s := fmt.Sprintf("%d more of this kind", h.More)
	if len(h.Also) == 0 {
		return s
	}
	for i, t := range h.Also {
		if i == 0 {
			s += ":"
		}
		s += "\n- " + wording.Line(t, maxTitle)
	}
	if rest := h.More - len(h.Also); rest > 0 {
		s += fmt.Sprintf("\n- and %d before them", rest)
	}
	return s
}

func (n Notice) footer(now time.Time) string {
	parts := []string{string(n.Kind)}
	if n.RunID != "" {
		parts = append(parts, "run "+n.RunID)
	}
	if n.Schedule != "" {
		parts = append(parts, "schedule "+n.Schedule)
	}
	if n.Repo != "" {
		parts = append(parts, n.Repo)
	}
	if !n.At.IsZero() && now.Sub(n.At) > old {
		parts = append(parts, "of "+n.At.Local().Format("2 January 15:04"))
	}
	return strings.Join(parts, " · ")
}
