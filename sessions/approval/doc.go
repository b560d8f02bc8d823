// Package approval keeps the tool calls that wait for a person, and what the person said.
//
// A call that a rule holds becomes a gate: a file of its own in the folder of a [Desk].
// Hold decides about a call. The same call, made again, meets the same gate; an approved
// one lets it through exactly once, however many processes ask at that moment. A gate that
// nobody answers in time is refused, and so is every call that cannot be written down: the
// default is no. A person may still approve such a gate, and the next try then succeeds.
//
// Two calls are the same when tool, arguments, folder and findings are. What only describes
// a shell command, its description and its time limit, does not count. The files that were
// read to judge a call count with all that stands in them, so that a script whose contents
// have changed is asked for anew.
//
// A gate that was denied, or that expired, stands for the run that asked; the same call in
// another run is asked for anew. An approval counts for any run, for a day.
//
// Texts of a gate are bounded, one line where they are shown in one, valid UTF-8 without
// control characters, and without what looks like a secret. The fingerprint is of the call
// as it was, so it tells calls apart that look the same in the record.
//
// # Failure and crash
//
// Files are replaced as a whole and synced, under one lock for the folder, so a process
// killed at any moment leaves each gate as it was or as it is to be. The use of an approval
// is written before the answer goes out: a process killed in between has used it up, and
// no call is let through twice. A file that is broken is named by List and stays where it
// is; it lets nothing through.
package approval
