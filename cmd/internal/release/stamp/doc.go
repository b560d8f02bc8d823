// Package stamp is what a binary knows of how it was built: version, commit, date,
// and where its releases are looked for.
//
// Whoever builds a release writes these with the linker's -X flag; the Makefile and
// package dist do. A binary that was built without them answers with what the Go
// toolchain noted, and says "devel" where that is nothing. Nothing here fails, reads a
// file or asks the network.
package stamp
