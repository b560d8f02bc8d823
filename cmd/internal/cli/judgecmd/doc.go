// Package judgecmd has the commands that only judge: whether a run may begin unasked, and
// which mode the next session is to have. They print what packages suitability and mode
// decide, from the signals of the repository as they are or from signals in a file.
//
// Nothing is started and nothing is written. Texts of signals come from strangers: a person
// sees them in one line each, without control characters; JSON has none either. Signals in
// a file that cannot be read or understood are refused with exit status 2, and for a key
// that is unknown the nearest known one is named.
package judgecmd
