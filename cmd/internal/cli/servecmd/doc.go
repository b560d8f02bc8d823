// Package servecmd has the command that serves the live page. It decides where the page
// listens, makes or reads its token, says how to get in, and ends with the signal.
//
// The page has buttons that a person may press. Inside a session of a run the command is
// refused, unless the page only shows.
package servecmd
