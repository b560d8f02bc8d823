// Package senders finds who brings updates to a target: the one place that knows every
// service and where its token comes from.
package senders
