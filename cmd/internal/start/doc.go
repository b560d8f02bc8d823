// Package start carries a job out: it asks a person what has to be asked, starts
// the supervisor under its guard, finishes what earlier runs left behind, wires
// the loop together and says how it ended.
package start
