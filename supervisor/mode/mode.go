package mode

import "fmt"

// Mode is a kind of session. A value read from a file may be none of the known ones; [Select] never answers with such.
type Mode string

// The known modes. Only the first three can be run by /session; the others are reached by other commands.
const (
	Housekeeping Mode = "housekeeping"
	Feature      Mode = "feature"
	Deep         Mode = "deep"
	Discovery    Mode = "discovery"
	Evolve       Mode = "evolve"
	PlanRetro    Mode = "plan-retro"
)

// modes returns the known modes in the order that settles ties between alternatives.
func modes() []Mode {
	return []Mode{Housekeeping, Feature, Deep, Discovery, Evolve, PlanRetro}
}

func known(m Mode) bool {
	for _, k := range modes() {
		if m == k {
			return true
		}
	}
	return false
}

// Runnable reports whether /session knows m. It takes any other word for deep, so no other word may be passed to it.
func Runnable(m Mode) bool {
	return m == Housekeeping || m == Feature || m == Deep
}

// Executable returns the recommended mode and whether /session can run it. When it cannot, reason says so; the mode is
// still the recommended one, never a substitute. The confidence is not looked at.
func Executable(rec Recommendation) (m Mode, ok bool, reason string) {
	if Runnable(rec.Mode) {
		return rec.Mode, true, ""
	}
	return rec.Mode, false, fmt.Sprintf("mode %q is not one that /session runs (%s, %s, %s)",
		string(rec.Mode), Housekeeping, Feature, Deep)
}

// preparesOnly reports whether m only reads and plans. Scoring never promotes such a mode over the recommended one.
func preparesOnly(m Mode) bool {
	return m == Discovery || m == PlanRetro
}

// aligned returns the mode that a bootstrap tier stands for, and false for an unknown tier.
func aligned(tier string) (Mode, bool) {
	switch tier {
	case "fast":
		return Housekeeping, true
	case "standard":
		return Feature, true
	case "deep":
		return Deep, true
	}
	return "", false
}
