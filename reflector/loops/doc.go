// Package loops finds repetition in the tool calls of sessions.
//
// # What is found
//
//	repeat     A A A                       the same call, three times in a row
//	ping-pong  A B A B                     two calls in turn, twice
//	cycle      A B C A B C A B C           three or four calls in turn, three times
//
// Two calls are the same when tool and arguments are. A test that runs again after
// each of several different edits is therefore no repetition. A call whose
// arguments are unknown is the same as no other.
//
// # Where it looks
//
// A repetition must lie wholly within the last twelve calls that count, which is
// the length of the longest cycle: one that ended long ago is over. Of several the
// one that ends last is told, and of those that end together the one with the
// shortest round.
//
// Calls that only wait, ask how something goes, or keep a list of what is to be
// done neither count nor stand between two others: to ask again and again whether a
// build has ended is no loop, and a note between two equal calls does not make them
// differ.
//
// # What it refuses
//
// It does not judge whether calls fail or what they are good for. It keeps nothing,
// reads nothing, and never fails.
package loops
