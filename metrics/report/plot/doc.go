// Package plot has the drawings that the reports have in common: what sessions took, how
// fast the work went, and how the machine was. Each is a drawing of package chart with the
// words for who cannot see it; without anything to show it is the empty text.
//
// It is pure. Numbers that cannot be count as zero or are left out.
package plot
