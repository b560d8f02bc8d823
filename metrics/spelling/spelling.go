// Package spelling finds what a misspelt word was meant to be.
package spelling

import (
	"cmp"
	"slices"
)

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

// Nearest is the candidate with the least [Distance], or "" when there are none. Of those that
// are equally near it is the one that begins like the word for longest, then one of the word's
// own length, then the first.
func Nearest(word string, candidates []string) string {
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b string) int {
		return cmp.Or(Distance(word, a)-Distance(word, b), alike(word, b)-alike(word, a), other(word, a)-other(word, b))
	})
}

// alike counts the bytes with which two words begin alike.
func alike(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// other is 1 for two words of other lengths, else 0.
func other(a, b string) int {
	if len(a) == len(b) {
		return 0
	}
	return 1
}

// Meant is the [Nearest] candidate, or "" when it is not near enough to be meant.
func Meant(word string, candidates []string) string {
	if best := Nearest(word, candidates); Distance(word, best) < len(word)/3+2 {
		return best
	}
	return ""
}
