// Package track follows work that can be counted from outside: tasks that are over
// or not. It says when all of it is over, when it does not go forward any more, and
// what an episode of it teaches.
//
// What a session claims about the tasks does not count. That the work is over is
// decided before any limit is looked at; failed tasks are over and are no success.
// Progress is a higher number of completed tasks than ever before in the run, so a
// task that is undone and done again is none, and neither is one that is added.
//
// It is pure. Its state is plain data, part of the run's state file.
package track
