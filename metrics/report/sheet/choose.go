package sheet

import "autopilot/metrics/report/wording"

// Choose picks at most a number of places out of n, in order: those that matter, the
// latest of them first, and then the latest of the others.
func Choose(n, most int, matters func(int) bool) []int {
	keep := make([]bool, n)
	left := most
	for _, important := range []bool{true, false} {
		for i := n - 1; i >= 0 && left > 0; i-- {
			if !keep[i] && matters(i) == important {
				keep[i], left = true, left-1
			}
		}
	}
	var out []int
	for i, k := range keep {
		if k {
			out = append(out, i)
		}
	}
	return out
}

// Fill makes the rows of a table out of those of n that fit into it: those that matter, the
// latest first, and then the latest of the others.
func (p *Part) Fill(n, most int, matters func(int) bool, one func(int) Row) {
	for _, i := range Choose(n, most, matters) {
		p.Rows = append(p.Rows, one(i))
	}
	if left := n - len(p.Rows); left > 0 {
		p.Left = wording.Number(int64(left)) + " more are not shown."
	}
}
