// Package peer counts the Claude Code sessions that run on this machine and are
// not ours.
//
// # What counts as one session
//
// A process whose short name is claude: that is what the native program is
// called in every way of installing it, and what its JavaScript versions call
// themselves. Also a node or bun process whose script is the command line of the
// npm package (@anthropic-ai/claude-code/cli.js or cli-wrapper.cjs) or a file
// named claude, or that has written claude over its own command line. Whatever
// else mentions the name, in a file name or an argument, is none.
//
// A process whose parent is such a process as well is part of that session: a
// wrapper and the native program that it starts, or a child between fork and
// exec, which still bears its parent's name. To settle that, every process found
// in the first pass is looked at a second time, its parent after it.
//
// Zombies are not counted, and neither is what descends from our own process, in
// any generation. A session above us is: when this program was started out of
// a Claude Code session, that one is a peer.
//
// # Guarantees
//
// A process that ends during the count is left out. The count holds no
// descriptors and sends no signals. Of a command line only the executable and
// the script are kept, never an argument, since a prompt can stand there.
//
// # Limits
//
// What the system hides is not counted: other users' processes where /proc is
// mounted so, processes outside our pid namespace. A session of ours that was
// orphaned and inherited by process 1 no longer descends from us and counts as a
// peer; a supervisor that inherits its orphans does not meet that.
package peer
