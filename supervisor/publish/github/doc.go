// Package github tells of the work in a comment on an issue or a pull request of GitHub,
// or of a GitHub Enterprise Server.
//
// A subject has one comment, found again by a hidden first line and edited in place (see
// package entry for what that guarantees when an answer is lost). The first update in a
// process takes three requests, and up to one more for each hundred comments where there
// are more than that; later ones take two. Nothing else of the issue is changed, not even by the last update.
//
// What others wrote is shown as words: it mentions nobody, refers to no other issue, and
// holds no HTML, pictures or boxes to check; code stays a block of code.
//
// A rate limit, primary or secondary, is an error with the moment to come back; the client
// library remembers it and asks nobody before. The token of a workflow or an app does not
// say whose it is: with such a one a new process begins a new comment for a subject.
//
// It refuses to send a token to any host but the configured one.
package github
