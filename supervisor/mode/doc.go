// Package mode decides which kind of session comes next, and how sure it is.
//
// [Select] is a pure function from [Signals] to a [Recommendation]: the same signals give the same answer, bit for bit,
// on every platform. The numbers and the order of the floating point operations are those of session-orchestrator's own
// selector, so that both agree on every confidence. One thing is read that session-orchestrator overlooks: a session
// record whose completion rate stands inside its effectiveness object counts with that rate. Without it the confidence
// of a healthy repository ends at 0.83, below the usual threshold of 0.85. Every recommendation says which signal added
// how much and which signals were missing, so that a fall back to manual work can be explained.
//
// [Load] gathers the signals of a repository from the files session-orchestrator keeps there, [LoadWith] also those that
// a caller has, and [LoadState] says whether an earlier session was left open, in which case a new one would stop at a
// question. They only read. They see other programs' files as they are at that moment and take no lock: a line that is
// being appended is a broken line to them, skipped and warned of.
//
// [RecordAccuracy] gives back which mode was recommended and which was chosen, as one line at the end of a file that
// session-orchestrator rewrites now and then. It is all that this package writes.
//
// A source that is missing is normal and silent. A source that is broken costs that source alone and gives a [Warning].
// Memory is bounded: at most the last 32 MiB of a ledger and the first MiB of any other file are read. What is not a
// regular file is refused, never waited for. A crash leaves nothing behind but, when it comes in the middle of that one
// line, the beginning of it, which readers skip.
//
// The package refuses to replace a recommended mode that cannot be run by one that can: [Executable] says so, and the
// caller falls back by name.
package mode
