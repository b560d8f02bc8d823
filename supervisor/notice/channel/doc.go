// Package channel is the ways to a person: a service that shoutrrr knows, a command that
// gets JSON on stdin, and the desktop.
//
// Guarantees:
//
//   - Send ends within its limits, whatever the other side does: each try has ten seconds,
//     there are at most three, and the waits between them are seconds. It ends with its
//     context too. Each try is a process of its own (see package shout), so a service that
//     stalls holds nothing back and leaves nothing behind. The caller makes one call for a
//     channel at a time.
//   - Another try is made where it may help: no answer, a broken line, 429, 5xx. A refusal
//     (4xx) is final. A service that asks to be left alone for longer than a try may wait is
//     left alone, and the error says for how long.
//   - A text of a model or of a stranger is only text where it arrives: no mention of
//     everyone, no link with other words than its address, no formatting, no further header,
//     no option and no piece of a script. Texts are cut to what the service takes.
//   - Secrets are shown nowhere: a channel's label names its kind and at most a host, and
//     errors are cleaned of every part of the address.
//
// # What counts as sent
//
// A service that has answered with 2xx; a mail server that has taken the text; a command
// that ended with 0; for the desktop, that the program to tell it has ended with 0. When an
// answer does not come, nobody knows whether the message was taken, and it is sent again:
// a person may hear twice, at most three times in one Send. Of several chats or recipients
// in one address those before the one that failed are told again as well.
//
// It refuses addresses without TLS in the form generic+http://, unless they are of this
// machine; ?disabletls=yes says that it is meant.
package channel
