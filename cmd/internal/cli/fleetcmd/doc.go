// Package fleetcmd has the commands for all that is on of this program on a machine: to
// look at it, to stop it, and to clear away what it left. They work outside of any
// repository and read no settings.
//
// Stopping and clearing are for a person. Inside a session of a run they are refused, in
// whatever folder it stands and whatever it has taken out of its environment.
package fleetcmd
