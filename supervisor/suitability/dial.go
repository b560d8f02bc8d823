package suitability

import "strings"

// Dial is how far a person lets runs begin without asking.
type Dial string

// The positions of the dial.
const (
	Off             Dial = "off"              // a person is asked, always
	Advisory        Dial = "advisory"         // the verdict is shown, and a person is asked
	AutonomousGated Dial = "autonomous-gated" // a run begins unasked where the verdict is good
)

// Dials are the positions, the most careful first.
func Dials() []Dial { return []Dial{Off, Advisory, AutonomousGated} }

// ParseDial reads a position; blanks around it and the case of its letters do not count.
// Anything else is Off and false.
func ParseDial(text string) (Dial, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, d := range Dials() {
		if text == string(d) {
			return d, true
		}
	}
	return Off, false
}

// FirstDial returns the first of the texts that is a position, the most binding text first,
// and Off when none is. session-orchestrator asks in the order of the variable
// SO_DISPATCHER_AUTONOMY, the owner's own file, the repository's Session Config.
func FirstDial(texts ...string) Dial {
	for _, text := range texts {
		if d, ok := ParseDial(text); ok {
			return d
		}
	}
	return Off
}
