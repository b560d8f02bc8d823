// Package upgradecmd has the commands about the program itself: 'version', and 'upgrade',
// which tells whether a newer version is there and how to get it.
//
// Nothing is asked over the network but by 'upgrade --check', which reads one small file
// and ends within ten seconds. No command here downloads or replaces the program: a
// supervisor at work must not change under its sessions, and a person should choose when.
package upgradecmd
