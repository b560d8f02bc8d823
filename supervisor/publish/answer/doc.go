// Package answer tells what the answer of a service means for an update that was to be
// sent: taken, come again later and when, or of no use before a person has mended
// something.
//
// It asks nobody and keeps nothing. What it makes of an error carries no address, since
// an address may be a secret. It does not trust the clock of a service: times are taken
// relative to the Date of the answer where there is one, and never further away than
// [Longest].
package answer
