// Package watch is the terminal view of what is on: all runs of the machine in a list, one of
// them in full, and what a person can do about it with a key.
//
// # Guarantees
//
// Watching changes nothing. What is done about a run is done by the commands of this program,
// after a question where it cannot be taken back, and what they say is shown. Leaving the view
// ends no run, however it is left.
//
// Every text is cleaned once more when it is drawn: no control character that an agent, a
// path or another program has put into one reaches the terminal. Each line fits the terminal,
// from 40 columns and 10 lines on; on a smaller one the rest is not drawn.
//
// The screen is drawn from the model alone, and only what has changed on it is sent. Times
// are told in minutes, so a machine on which nothing happens sends nothing.
//
// # On failure
//
// What cannot be read is named at the top, beside what can. A look that takes long delays the
// next one and not the keys. A terminal that goes away ends the view.
package watch
