// Package address is where the live page listens: an address that only this machine can
// reach, or a socket that only its owner can.
//
// A host that is not loopback is refused, whatever it is called: a name is not looked up,
// because what it leads to can change. A socket stands in a folder that is its owner's
// alone; one that a program left behind is replaced, one that answers is not.
package address
