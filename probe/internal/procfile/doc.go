// Package procfile reads the small files in which a kernel describes processes
// and control groups.
//
// Such a file is made up on the spot by the read itself, so the ordinary way
// through os.File, with its poller and finalizer, costs more than the read. A
// scan opens thousands of them; here each costs three system calls and, on
// success, one allocation for the path.
//
// # Guarantees
//
// A call that an interrupting signal cut short is repeated. Errors are
// *fs.PathError with the kernel's errno inside. Nothing is buffered, cached or
// left open.
//
// # What it refuses to do
//
// It writes nothing, and it sets no time limit: a read of a process's memory
// (its arguments, its environment) can wait for that process. Bound it outside.
package procfile
