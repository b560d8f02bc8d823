// Package entry keeps one comment per subject at a service that has comments, for the
// senders of GitHub, Jira and Azure DevOps.
//
// A [Board] finds the comment of a subject again by a [Mark] in its text, edits it when
// an update is newer, and leaves it alone when it holds this update or a later one. So an
// update whose answer was lost is not entered twice, by this process or by the next one.
// Only comments of the own account are edited. Where a service does not say whose the
// token is, the first comment a process makes tells it; before that, a comment with this
// very key counts as sent, and one with another key is left alone and a new one made.
//
// The mark names subject and project: those of other projects are left alone.
//
// [Markdown] and [Harmless] write what others wrote so that it does nothing.
//
// A [Line] is the way to a service: one host, no redirects away from it, answers of
// bounded size, errors without the token.
//
// Nothing is asked twice here after a failure: whoever sends keeps what was not taken. Nothing but comments is touched.
package entry
