// Package azure tells of the work in a comment on a work item of Azure DevOps, of the
// service or of an own server, through the comments of its work item tracking API.
//
// A subject has one comment, found again by its last line and edited in place (see
// package entry for what that guarantees when an answer is lost). The line is seen in
// small letters, since comments of HTML are removed there. The text is HTML, the one
// form that all versions take: Markdown is turned into it, everything else is escaped.
//
// The first update for an organization takes four requests: which resources there are
// (remembered by the client library for the process), whose the token is, the newest
// comments, the comment itself; and one more for each further two hundred comments.
// Later updates take two. Nothing else of the work item is changed.
//
// Everything is asked of the configured address: where the service says that a resource
// lives at another host, that is not followed, and the token is not sent there.
package azure
