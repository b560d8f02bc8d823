// Package courier tells others of a run while it is on: it makes updates of what has
// happened, keeps them in the outbox, and has them delivered beside the run, which never
// waits for the network but a bounded time at its end. Only the targets that are set are
// told; what waits for others is left to a person.
//
// At the end no call is cut off while there is time: the one that runs is waited for, and
// what is left is sent after it.
package courier
