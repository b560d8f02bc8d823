// Package smalldisk gives tests a file system that is really full, where the system
// lets them mount one: the test binary starts itself again in a mount namespace of
// its own. Only Linux has that; elsewhere the package is empty.
package smalldisk
