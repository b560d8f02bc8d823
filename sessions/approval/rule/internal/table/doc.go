// Package table lists what programs do that a rule holds, and knows the forms of the same
// commands that change nothing.
package table
