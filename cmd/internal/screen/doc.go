// Package screen is what a person sees of a run: its log, and on a terminal a
// last line that is always true.
//
// The log goes to the screen and, as JSON lines, to the run's folder. Secrets are
// redacted in both. A screen that is gone takes nothing with it: errors of writing
// to it are the log's alone.
package screen
