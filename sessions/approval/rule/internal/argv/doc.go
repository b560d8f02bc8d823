// Package argv reads the arguments of a command by the conventions that most programs
// share: which are flags, which of them have a value, and which are operands. It knows no
// program.
package argv
