// Package meter gathers how a machine's runs are, from what they have written down, and
// writes it where monitoring reads it: into a file for node_exporter's textfile collector,
// and to a collector of the OpenTelemetry protocol. Nothing is written or sent unless the
// person has asked for it.
//
// # Guarantees
//
// Both are about the whole machine, so that it does not matter which of several runs does
// it: each may replace the file, and one of them at a time pushes, which a lock in the state
// folder decides. What is gathered is that of the user's own state folder.
//
// The file is replaced as a whole at most every 15 seconds and when the run ends, and has
// mode 0644, because node_exporter runs as another user; so everybody on the machine can
// read it. It holds names of repositories and ids of runs, and nothing that an agent wrote.
//
// A push takes at most 5 seconds and is tried again only where the collector says that this
// may help (429, 502, 503, 504), after the time that it names. Counters are cumulative, so
// what was not pushed is in the next push. Redirections are not followed, because the headers
// may hold a key.
//
// # On failure
//
// Neither delays or ends a run. What fails is one line in the log, however often it does. A
// process that is killed leaves the file as it was; the temporary file beside it is taken
// away by the next writer after a minute.
//
// A ledger is read once and from then on from where the last look ended. One that was
// replaced is read anew; what was counted stays counted.
package meter
