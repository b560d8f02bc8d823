// Package flow holds what the readers of commands speak of: one simple command as it
// would run, the text that flows from one to another, and the marks that stand in a word
// for what is not known. It does nothing by itself.
package flow
