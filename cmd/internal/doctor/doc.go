// Package doctor looks at everything that a run needs and says how to mend what is
// not well.
package doctor
