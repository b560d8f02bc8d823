// Package spelling finds what a misspelt word was meant to be.
package spelling

// longest is the number of bytes of a word that are compared: that takes the product of the
// lengths.
const longest = 200

// Distance is the number of bytes to put in, leave out, exchange or swap with their neighbour to
// get from one word to the other (optimal string alignment); of long words only the beginnings
// are compared.
func Distance(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost = min(last[j], last[j+1], row[j]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Nearest is the candidate with the least [Distance], or "" when there are none. Of two that
// are equally near it is the one of the word's own length, else the first.
func Nearest(word string, candidates []string) string {
	best, least := "", 0
	for i, c := range candidates {
		d := Distance(word, c)
		if i == 0 || d < least || d == least && len(c) == len(word) && len(best) != len(word) {
			best, least = c, d
		}
	}
	return best
}

// Meant is the [Nearest] candidate, or "" when it is not near enough to be meant.
func Meant(word string, candidates []string) string {
	if best := Nearest(word, candidates); Distance(word, best) < len(word)/3+2 {
		return best
	}
	return ""
}
