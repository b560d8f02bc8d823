// Package forge asks GitHub and GitLab for what a run needs of them: the issues to work on,
// whether one of them is still open, how continuous integration stands, and a draft of a
// pull or merge request for a branch that was pushed. It does so through the programs that
// the person uses, gh and glab, and with their login; it holds no credential of its own.
//
// # Guarantees
//
// [Detect] finds out from the remote of a repository who hosts it, without the network.
// What stands in the remote's address in front of the host never gets into a text.
//
// Programs are found in the PATH of the environment that is handed in, in absolute folders
// of it only: a program that lies in the repository is not run by accident. They run
// without a terminal, without questions, pager and colours, in a session of their own that
// is killed as a whole at the time limit, and their output is bounded. A token in the
// environment goes only to the host that it is meant for: the public one, or the one that
// GH_HOST or GITLAB_HOST names.
//
// An answer counts only if the fields that are needed are in it. One that lacks them, is no
// JSON or is too long is an error that says so, never an empty list. Fields that nobody
// asked for are left alone.
//
// What stands in an issue is a stranger's text: it comes cut, as valid UTF-8 and without
// control characters. The patterns of a line "Paths:" come as they were written; who uses
// them has to check that they stay below the repository.
//
// Whoever can write into a repository can say there where a push goes and what it runs.
// [Pin] reads that before such work begins, and a [Push] that is given it refuses what has
// changed since. Of a draft's words none calls for somebody, closes an issue or is a command
// to the host, but for the issue that [Draft] names.
//
// # On failure and after a crash
//
// Nothing is tried again here. A call that fails is a [*CallError] with a [Reason] and, if
// something can be done about it, a hint. Reading changes nothing. [Forge.OpenDraft] looks
// for an open request of the branch before it makes one, and again when it does not hear
// that one was made; both hosts refuse a second one for the same pair of branches. So a
// crash between the making and the hearing of it leaves one, which the next call finds.
// [Push] may be repeated: what is there already is not pushed again.
//
// # Refusals
//
// It never pushes by force, never to a default branch, and no tags. It closes, merges,
// labels and comments nothing, forks nothing, and makes no request that is not a draft.
//
// # Why the programs' api commands
//
// Both programs have comfortable lists and an access to the host's documented REST
// interface. The lists change their flags from version to version, ask a search index that
// lags behind, or change the repository on the way: making a merge request can add a
// remote. The REST interface does neither. The comfortable ones are used where they know
// more: which repository a pull request's branch is in, and the backlog, whose form other
// programs share.
//
// # Rough edges
//
// A request is looked for and made in the repository of the remote alone: who pushes to a
// fork and proposes to its parent does so by hand. Of GitHub only the workflows of Actions
// count as continuous integration, not what other services report on a commit. An issue
// that is closed while a list is read page by page can hide another one until the next
// time.
//
// What a pinned push does not see: a change between its last look and the push itself, the
// files that a hook calls, and what changed before it was pinned. Settings that are
// included on a condition, such as the branch that is checked out, may be read differently
// in another worktree, and the push is refused then. Who a GitLab issue is from is told by
// the name alone, and nobody is trusted for it.
package forge
