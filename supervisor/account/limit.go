package account

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
)

const (
	reach   = 8 * 24 * time.Hour // the longest limits are of a week
	slack   = 5 * time.Minute    // that a clock may be set back without making limits void
	most    = 64                 // limits that are kept; a handful is usual
	maxWord = 80                 // runes
)

// Limit is a usage limit that a run has met.
type Limit struct {
	Until time.Time `json:"until"` // when the limit ends, as the server said
	Kind  string    `json:"kind"`  // five_hour, seven_day and so on, as Claude Code names it
	// Model is empty when the limit is for all models. Else it is a model or a family of
	// models, and holds for what has it in its name, and for what it has in its own.
	Model string    `json:"model,omitempty"`
	By    string    `json:"by"` // id of the run that met it
	At    time.Time `json:"at"` // when it was met
}

// ModelOf returns the family of models that a kind of limit is for, empty when the kind
// does not tell. A kind such as seven_day_overage_included is for some models too, and
// only the one who met it knows one of them.
func ModelOf(kind string) string {
	for _, family := range []string{"opus", "sonnet", "haiku"} {
		if strings.HasSuffix(kind, "_"+family) {
			return family
		}
	}
	return ""
}

// holds reports whether the limit is to be respected at now. One that was met more than
// eight days ago does not, because it makes no sense or is over.
func (l Limit) holds(now time.Time) bool {
	return l.Until.After(now) && !l.senseless() && l.At.Sub(now) <= slack
}

// senseless reports whether the limit can never hold. One that was met at no time is
// too long.
func (l Limit) senseless() bool { return l.Until.Sub(l.At) > reach }

// binds reports whether the limit is one for model; one whose name is not known is bound
// by no limit of a single model.
func (l Limit) binds(model string) bool {
	if l.Model == "" {
		return true
	}
	mine, other := strings.ToLower(l.Model), strings.ToLower(model)
	return other != "" && (strings.Contains(mine, other) || strings.Contains(other, mine))
}

// covers reports whether other adds nothing to l: it is of the same kind, ends no later
// and is cleared no later.
func (l Limit) covers(other Limit) bool {
	return l.Kind == other.Kind && l.Model == other.Model && !l.Until.Before(other.Until) && !l.At.Before(other.At)
}

// plain returns the limit as it may be written.
func (l Limit) plain() Limit {
	l.Until, l.At = l.Until.Round(0).UTC(), l.At.Round(0).UTC()
	l.Kind, l.Model, l.By = word(l.Kind), word(l.Model), word(l.By)
	return l
}

// word takes what a program said as one line of a name's length. What cannot be seen
// becomes a blank and does not glue a secret to what is before it.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return prompt.Cut(logs.Redact(strings.TrimSpace(s)), maxWord)
}

// with returns all limits and l, the one that ends last first, without those that are
// over at the time of l and those that another covers. One that was met after l for a
// clock that was set back since covers nothing: it does not hold, and l does.
func with(all []Limit, l Limit) []Limit {
	kept := slices.DeleteFunc(slices.Clone(all), func(o Limit) bool {
		return !o.Until.After(l.At) || o.senseless() || o.At.Sub(l.At) > reach || l.covers(o)
	})
	if !slices.ContainsFunc(kept, func(o Limit) bool { return o.covers(l) && o.At.Sub(l.At) <= slack }) {
		kept = append(kept, l)
	}
	slices.SortStableFunc(kept, func(a, b Limit) int { return b.Until.Compare(a.Until) })
	return kept[:min(len(kept), most)]
}
