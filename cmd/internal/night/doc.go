// Package night opens what an unattended run has beside its sessions, as the settings of
// a work tree say: the queue, the hook that holds calls for a person, the test gate, the
// outbox, and breakers.
package night
