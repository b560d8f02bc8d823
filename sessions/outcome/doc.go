// Package outcome turns the events of a session into facts and the facts into
// an ending.
//
// A Tally takes events one by one and keeps counts; it is bounded by the number
// of sub-agents and edited files, not by the length of the session: of the tool
// calls it keeps the last ones, in one line each. Classify is a pure function from
// facts to one of ten endings.
//
// Nothing is decided by what the model or an error message says in words: only
// fields of the stream, the exit status and what git saw count. A success that
// did nothing is not a success, and neither is an empty answer: Claude Code
// prints one with status 0 when a Stop hook was overridden.
package outcome
