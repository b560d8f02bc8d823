// Package notifycmd is the command 'notify': who is told of a run, whether they can be
// told, and what is still to be told.
//
// It shows no more of a channel than its kind and host.
package notifycmd
