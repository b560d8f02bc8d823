package suitability

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const (
	// DefaultFloor is the least confidence that is enough when nothing else is asked for.
	DefaultFloor = 0.5
	// LeastRuns is how many runs there have to be before their endings are weighed.
	LeastRuns = 5
	// MaxFired is the share of runs ended by trouble that is too much.
	MaxFired = 0.2
)

// The names of the gates, in the order in which they are listed.
const (
	GateConfidence = "confidence"
	GateHistory    = "kill-switch"
	GateCI         = "ci"
	GateResource   = "resource"
)

// Verdict is what Judge answers. Its lists are never nil.
type Verdict struct {
	// Suitable is true when every gate passed.
	Suitable bool `json:"suitable"`
	// Confidence is the one that was judged; 0 where there was none.
	Confidence float64 `json:"confidence"`
	// Floor is the one that was applied, 0 to 1.
	Floor float64 `json:"floor"`
	// Rationale is one line: parts joined by "; ", the verdict first, then what forces it,
	// then the gates in their order.
	Rationale string `json:"rationale"`
	// Gates are the four gates.
	Gates []Gate `json:"gates"`
	// Warnings say what was absent, malformed or odd.
	Warnings []string `json:"warnings"`
	// Dial is the one that was applied.
	Dial Dial `json:"dial"`
	// Autonomous is true when a run may begin without asking: the dial says
	// autonomous-gated, and Suitable is true.
	Autonomous bool `json:"autonomous"`
}

// Gate is one condition and how it came out.
type Gate struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Detail string `json:"detail"`
}

// Judge puts the signals to the four gates. The dial does not change whether a repository is
// suitable, only what follows from it.
func Judge(s Signals) Verdict {
	j := judge{signals: s}
	v := Verdict{Floor: j.floor()}
	if c := finite(s.Confidence); c != nil {
		v.Confidence = *c
	}
	confidence, history, ci, resource := j.confidence(v.Floor), j.history(), j.ci(), j.resource()
	v.Gates = []Gate{confidence, history, ci, resource}
	v.Suitable = confidence.Passed && history.Passed && ci.Passed && resource.Passed
	v.Dial = j.dial()
	v.Autonomous = v.Suitable && v.Dial == AutonomousGated
	v.Warnings = append([]string{}, j.warnings...)

	parts := []string{fmt.Sprintf("suitable=%t", v.Suitable)}
	if forced := forced(ci, resource); forced != "" {
		parts = append(parts, forced)
	}
	for i, label := range []string{"confidence", "kill-switch", "CI", "resource"} {
		parts = append(parts, label+" "+v.Gates[i].Detail+" "+word(v.Gates[i].Passed))
	}
	v.Rationale = strings.Join(parts, "; ")
	return v
}

// forced words what no confidence outweighs.
func forced(ci, resource Gate) string {
	switch {
	case !ci.Passed && !resource.Passed:
		return "FORCED: CI red + resource critical"
	case !ci.Passed:
		return "FORCED: CI red"
	case !resource.Passed:
		return "FORCED: resource critical"
	}
	return ""
}

func word(passed bool) string {
	if passed {
		return "ok"
	}
	return "FAIL"
}

// judge collects the warnings while the gates are gone through.
type judge struct {
	signals  Signals
	warnings []string
}

func (j *judge) warn(format string, args ...any) {
	j.warnings = append(j.warnings, fmt.Sprintf(format, args...))
}

// malformed says what stood in the place of a signal, and false when nothing did.
func (j *judge) malformed(key string) (string, bool) {
	found, ok := j.signals.Malformed[key]
	return line(found), ok
}

func (j *judge) floor() float64 {
	const instead = "; 0.5 is used"
	if found, ok := j.malformed(keyFloor); ok {
		j.warn("floor malformed: it is %s"+instead, found)
		return DefaultFloor
	}
	f := j.signals.Floor
	switch {
	case f == nil:
		return DefaultFloor
	case !(*f >= 0 && *f <= 1):
		j.warn("floor is %s, want 0 to 1"+instead, number(*f))
		return DefaultFloor
	}
	return *f
}

// confidence fails closed: what is not known is not enough.
func (j *judge) confidence(floor float64) Gate {
	g := Gate{Name: GateConfidence}
	found, odd := j.malformed(keyConfidence)
	c := finite(j.signals.Confidence)
	switch {
	case c == nil && odd:
		j.warn("confidence malformed: it is %s, which counts as none", found)
		g.Detail = "malformed"
	case c == nil && j.signals.Confidence != nil:
		j.warn("confidence is not a finite number, which counts as none")
		g.Detail = "malformed"
	case c == nil:
		j.warn("confidence absent, which counts as none")
		g.Detail = "absent"
	case *c >= floor:
		g.Passed, g.Detail = true, number(*c)+" >= "+number(floor)
	default:
		g.Detail = number(*c) + " < " + number(floor)
	}
	if c != nil && (*c < 0 || *c > 1) {
		j.warn("confidence is %s, which is no share of 1", number(*c))
	}
	return g
}

func (j *judge) history() Gate {
	if found, ok := j.malformed(keyRuns); ok {
		j.warn("history malformed: recentRuns is %s, want a list; it counts as empty", found)
	}
	runs, fired := 0, 0
	for _, r := range j.signals.RecentRuns {
		if !r.counts() {
			continue
		}
		runs++
		if r.Fired() {
			fired++
		}
	}
	if runs < LeastRuns {
		j.warn("history skipped: %d of at least %d runs", runs, LeastRuns)
		return Gate{GateHistory, true, fmt.Sprintf("skipped (%d<%d runs)", runs, LeastRuns)}
	}
	rate := float64(fired) / float64(runs)
	return Gate{GateHistory, rate < MaxFired, fmt.Sprintf("fired in %d of %d runs (%.3g)", fired, runs, rate)}
}

func (j *judge) ci() Gate {
	if found, ok := j.malformed(keyCI); ok {
		j.warn("CI signal malformed: ci is %s, want an object with a status; it counts as absent", found)
		return Gate{GateCI, true, "malformed"}
	}
	if j.signals.CI == nil {
		j.warn("CI signal absent")
		return Gate{GateCI, true, "absent"}
	}
	status := j.signals.CI.Status
	switch status {
	case "red", "green", "unknown":
		return Gate{GateCI, status != "red", status}
	case "":
		j.warn("CI signal malformed: the status is empty; it counts as absent")
		return Gate{GateCI, true, "malformed"}
	}
	j.warn("CI status is %s, want green, red or unknown; only red holds a run back", quoted(status))
	return Gate{GateCI, true, quoted(status)}
}

func (j *judge) resource() Gate {
	if found, ok := j.malformed(keyResource); ok {
		j.warn("resource signal malformed: resourceVerdict is %s, want a text; it counts as absent", found)
		return Gate{GateResource, true, "malformed"}
	}
	if j.signals.ResourceVerdict == nil {
		j.warn("resource signal absent")
		return Gate{GateResource, true, "absent"}
	}
	tier := strings.ToLower(strings.TrimSpace(*j.signals.ResourceVerdict))
	switch tier {
	case "critical", "green", "warn", "degraded":
		return Gate{GateResource, tier != "critical", tier}
	case "":
		j.warn("resource signal malformed: resourceVerdict is empty; it counts as absent")
		return Gate{GateResource, true, "malformed"}
	}
	j.warn("resource verdict is %s, want green, warn, degraded or critical; only critical holds a run back", quoted(tier))
	return Gate{GateResource, true, quoted(tier)}
}

// dial is the position that counts. What cannot be understood is the most careful one.
func (j *judge) dial() Dial {
	d, ok := ParseDial(string(j.signals.Dial))
	switch found, odd := j.malformed(keyDial); {
	case odd:
		j.warn("dial malformed: it is %s, want a text; it counts as off", found)
	case !ok && j.signals.Dial != "":
		j.warn("dial is %s, want off, advisory or autonomous-gated; it counts as off", quoted(string(j.signals.Dial)))
	}
	if d == Off {
		j.warn("the dial is off: the verdict is advice")
	}
	return d
}

// number shows a number in the fewest digits that say it.
func number(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// quoted shows a word that is none of the expected ones, so that it cannot be taken for one.
func quoted(text string) string { return fmt.Sprintf("%.40q", text) }

const maxLine = 60 // characters of a text from outside

// line makes a text from outside safe to show in one line: valid UTF-8, no blanks around it,
// at most maxLine characters, none of which moves the cursor or turns the text around.
func line(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
	if runes := []rune(text); len(runes) > maxLine {
		text = string(runes[:maxLine-1]) + "…"
	}
	return text
}
