// Package job turns what a person typed and configured into something that can
// be planned, run or continued. Everything that can be checked without starting
// anything is checked here, and refused in words.
package job
