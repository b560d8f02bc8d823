package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// reasoning says in plain words what the assessment rests on. Every part of it is
// short, so the whole stays within what an assessment may hold.
func (f facts) reasoning(stuck string) string {
	parts := []string{f.checks()}
	if n := len(f.Milestones); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s reached.", f.reached, count(n, "milestone")))
	}
	if strings.TrimSpace(f.Claim) != "" {
		parts = append(parts, "The last session says that nothing is left to do.")
	}
	parts = append(parts, f.reports(), f.effects(), stuck)
	if f.Loop != "" && !strings.Contains(stuck, "again and again") {
		parts = append(parts, "Tool calls repeat: "+oneLine(f.Loop, maxStep)+".")
	}
	if f.before != nil {
		parts = append(parts, fmt.Sprintf("It was %g %% before.", f.before.PercentComplete))
	}
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, " ")
}

func (f facts) checks() string {
	n := len(f.Checks)
	if n == 0 {
		return "There are no checks."
	}
	verb := "hold"
	if n == 1 {
		verb = "holds"
	}
	return fmt.Sprintf("%d of %s %s.", f.holding, count(n, "check"), verb)
}

func (f facts) reports() string {
	if f.report == nil {
		return "No session reported what it did."
	}
	return fmt.Sprintf("The last report has %d completed, %d carried over and %s.",
		len(f.report.Completed), len(f.report.CarriedOver), count(len(f.report.NextSteps), "next step"))
}

func (f facts) effects() string {
	if f.last == nil {
		return "There was no session yet."
	}
	return fmt.Sprintf("The last session changed %s and made %s.", count(f.last.Files, "file"), count(f.last.Commits, "commit"))
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}
