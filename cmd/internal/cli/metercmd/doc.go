// Package metercmd has the command for metrics: the sums over a repository's runs for a
// person, and what monitoring reads.
package metercmd
