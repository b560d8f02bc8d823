// Package stream decodes what a Claude Code session prints with
// --output-format stream-json: one JSON object per line, from a few hundred
// bytes to many megabytes each.
//
// A [Decoder] is an io.Writer. It takes the bytes as the terminal delivers
// them, in pieces of any size, and calls a function with one [Event] per line.
//
// # Guarantees
//
// The events depend on the bytes alone, never on how they were cut into
// pieces: a piece may end inside an escape sequence or a UTF-8 character.
//
// Memory is bounded by [Limits], whatever is printed. While a line arrives, each
// string in it is cut to a number of bytes, at the boundary of a character and
// of an escape sequence, so that what is left of a valid line is a valid line.
// Strings under the keys event and tool_use_result, which no field of an Event
// holds, are cut to 256 bytes. The answer of a session, that is the values of
// the top-level keys result and structured_output, has a larger limit of its
// own, wherever in the line it stands. A line that is too long even so is
// reported by an Event without contents.
//
// A line counts as an event only if all of it is valid JSON in the sense of
// encoding/json: broken UTF-8 is replaced, of duplicate keys the last wins, a
// raw control character or a missing bracket is an error. That goes for the
// parts of strings that are cut off, too. Only of a structured_output beyond its
// limit no more is checked than its strings and the number of its brackets.
//
// Events of unknown type and fields of unknown name are not errors: the event
// is passed on with what is known of it. A known field of another type than
// expected is left at its zero value, the rest is filled, and the event says so
// in Odd.
//
// An Event holds copies. It may be kept as long as one likes and keeps nothing
// else alive.
//
// # Terminal noise
//
// The program resets the terminal when it ends, without a newline, and some
// versions do so in front of a line that is yet to come. A terminal that echoes
// writes ^C between the lines. So what precedes the first brace of a line is
// cut off; lines that hold nothing but white space, control characters and
// escape sequences are passed over without a word. Other lines that are not
// JSON are counted, and the beginning of the first is kept in [Stats].
//
// # Failure and crash
//
// Write fails only after Close. Nothing that is printed makes the package fail:
// what cannot be used is counted. If the program dies in the middle of a line,
// Close decodes the rest if it is whole and counts it as torn if it is not.
//
// # What it refuses
//
// It does not keep partial messages (of a stream_event only its kind and its
// token counts), the model's thinking, or the raw lines. It draws no conclusion
// from text written for people, and it does not know when a session is over:
// one process may print several init and several result events, or none.
package stream
