// Package chart draws a few numbers as SVG: bars, lines, and a band of levels over
// time. It is small on purpose: libraries that plot parse fonts when a program starts,
// and this program starts often.
//
// # Guarantees
//
// Every drawing is well-formed XML, has a title and a description, axes with units, and
// a size that does not grow with its input: many values are brought together into at
// most 120 columns, each of which says what it stands for. Numbers that cannot be
// (negative, not finite) count as zero. Without values there is no drawing, which is
// the empty text. The same input gives the same bytes.
//
// Colours are classes (s0 to s3 for series, l0 to l3 for levels, red for a mark, line k1
// for a second curve, band for levels below curves), so that the page decides on them.
// Nothing is said by colour alone: levels differ in height, marks are crosses, a second
// curve is dashed, and each column says its numbers in words.
package chart
