// Package hook answers the hooks that a supervised Claude Code session calls.
// A hook is a process of its own inside the session; it shares nothing with
// the supervisor but files in the session's state folder.
//
// # The cap on sub-agents
//
// AgentCap keeps the number of sub-agents that run at once at or below the cap
// that holds now. The supervisor writes the cap when a session starts and
// whenever the machine's tier changes; the hook counts under the same file
// lock, so agents that are started together cannot slip past each other. A slot
// is given back when the tool call ends, by the hook, and by the supervisor when
// it sees the end in the stream, whichever comes first.
//
// It fails closed: when the file cannot be read the sub-agent is refused with
// the reason, because a machine in trouble is what the cap is for. It never
// grants a permission: what it does not refuse goes through the session's own
// rules.
//
// The file is replaced, never changed in place, and needs no fsync: it means
// nothing once the session is over.
//
// # Calls that need a person
//
// Gate holds a call that the rules of package approval/rule are about until a person has
// approved it, once. What it needs to know stands in a file of the session, not in
// settings that the session could change. It fails closed for every tool that can do
// harm, and costs a free call neither a process nor a look at the disk beyond that file.
//
// # The end and the beginning of a turn's work
//
// Stop sends an agent on that wants to stop while tasks remain, and Start tells a
// session that begins what remains, where persistent completion is on; the package
// completion decides and counts. They fail open: what is wrong with us keeps no
// session from starting or stopping.
package hook
