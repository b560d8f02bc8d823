// Package proctest gives the tests of this folder processes to look at: made-up
// ones as files in a folder that looks like /proc, and real ones that are copies
// of the test binary under any name.
//
// A test binary that starts real ones calls [Main] from its TestMain. They end
// when the test does, also when the test binary is killed, because each waits
// for the end of a pipe that the test binary holds open.
package proctest
