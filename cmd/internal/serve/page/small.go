package page

import (
	"net/http"

	"autopilot/cmd/internal/board"
	"autopilot/supervisor/fleet"
)

// smallModel is a page without parts of its own.
type smallModel struct {
	Title string
	Words string
	Bad   bool
	Path  string // of the run
	Form  string
	On    bool // the run is on
	Style string
}

// Login asks for the token.
func Login(words string, style string) ([]byte, error) {
	return draw("login", smallModel{Title: "Log in - autopilot", Words: line(words, longText), Style: style})
}

// Entered leads on to the page by itself.
func Entered(style string) ([]byte, error) {
	return draw("entered", smallModel{Title: "Logged in - autopilot", Style: style})
}

// Refused says why a request was refused.
func Refused(status int, words, style string) ([]byte, error) {
	return draw("refused", smallModel{Title: http.StatusText(status), Words: line(words, longText), Bad: true, Style: style})
}

// StopNow asks whether a session is to be ended at once.
func StopNow(r board.Run, v Viewer) ([]byte, error) {
	m := smallModel{Title: "Stop " + runTitle(r) + " now?", Path: RunPath(r.Ref), Form: v.Form, Style: "/static/style.css", On: on(r.Row) && !v.ReadOnly}
	if r.Kind == fleet.KindCohort {
		m.Words = "The sessions of all of its stories end at once. What they have committed stays; what they have begun may be half done."
	} else {
		m.Words = "The session that runs ends at once. What it has committed stays; what it has begun may be half done."
	}
	return draw("stop", m)
}
