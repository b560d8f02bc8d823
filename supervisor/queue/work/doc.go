// Package work has sessions work through the queue: one item after the other, each
// until it is done, has failed, or needs a person.
//
// # When an item is done
//
// An increment is done when all of its tasks are over in its own file, a goal when a
// session says so and its checks hold; in both cases only when the promise, where one is
// asked for, was made on a line of its own in the last answer, and when the test gate is
// green. What a session says is no proof of any of it. A red gate is handed to a session
// that is to repair it, three times at most, then to a person with the failing output.
//
// # What happens to the others
//
// An item that needs a person or has failed is kept apart with the reason, and the next
// one is taken up. When nothing is left that could be begun, the run ends: with a
// success if all are done, else with what is wanted of a person.
//
// # Order of writing
//
// The status of an increment is changed on disk before the queue is: a process that dies
// in between finds the increment where it left it, and takes the same step again without
// effect.
package work
