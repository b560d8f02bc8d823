// Package mcpserver offers persistent completion to an agent as tools of the
// Model Context Protocol, over standard input and output.
//
// # Guarantees
//
// Output carries protocol messages only, one per line. What a tool refuses, or
// cannot do, is a result that is marked as an error and says in words what is
// wrong and what would be right, so that the model can read it; a protocol error
// is left for what is no call of a tool of this server. A tool that panics is such
// a refusal too. Limits that the schema of a tool publishes are the ones that are
// enforced, by the same schema. An argument that is null counts as left out.
//
// A result has the data once as structured content and one text: words for a
// reader, or the same data as JSON where the caller wants that and where there is
// nothing to put in words. Lists are bounded, because an answer costs the
// model tokens: a source's tasks are cut to the first fifty with the open ones
// first, subjects to one line of 200 characters, and episodes come without their
// steps.
//
// Which of data and text reaches the model is up to the client. Claude Code gives
// it the data alone when there is any, so the data is what has to be short.
//
// # Further tools
//
// Other packages bring tools with NewTool and need to know nothing of the protocol. All
// that is said here holds for them as well, except for the bounds of their lists, which
// are theirs.
//
// # Start of a conversation
//
// The method server/discover, with which newer clients begin, is answered with
// "method not found": the client then initializes in the usual way. The library
// would answer it, which serves clients that go on without initialize; but it then
// refuses an initialize that follows as a second one.
//
// # Input that is no message
//
// A line that is no JSON-RPC message is dropped and logged. Where it still has an
// id, the sender gets an error for that id, so that it does not wait. Batches are
// refused in this way. A line of more than 4 MiB ends the connection with an
// error, because nobody could be told: its id may be in the part that was not
// read.
//
// # The end
//
// Serve returns nil when its input ends and when its context ends. At the end of
// input, calls that came before are answered first, for up to five seconds; then
// they are cancelled. The end of the context cancels them at once. In both cases
// Serve waits for the running tools, so that none is cut off while it writes.
//
// # Failure and crash
//
// The server holds no state. Whatever it does is done by the desk before the
// answer goes out, so a crash loses at most the answer. Several servers may work
// on one project, as far as the desk allows it.
//
// # What it refuses
//
// Unknown arguments, values out of range, and input that is larger than any
// honest use. It starts no process and opens no file of its own.
package mcpserver
