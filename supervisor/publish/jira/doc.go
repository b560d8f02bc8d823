// Package jira tells of the work in a comment on an issue of Jira, in the cloud or on an
// own server, through version 2 of its REST API.
//
// A subject has one comment, found again by its last line and edited in place (see
// package entry for what that guarantees when an answer is lost). The line is seen in
// small grey letters, since Jira keeps nothing hidden through its conversions of markup.
// The body is turned from Markdown into the wiki markup of Jira: headings, lists, code,
// quotations, strong words and links; a table is shown as it was written.
//
// The first update in a process takes three requests and one more for each further
// hundred comments; later ones take two. Nothing else of the issue is changed.
//
// It refuses to send name and token to any host but the configured one.
package jira
