// Package sheet writes a report that is there in words, as Markdown and as one HTML page:
// some lines that come first, numbers, drawings, tables, and details to unfold.
//
// It is pure. Texts have to be clean, cut and on one line each (see package wording); they
// are escaped here for where they stand, so that nothing in them becomes markup or a link.
// The page is one file, without script and without anything from the network; it is
// well-formed XML, follows the light or dark setting of the reader, fits a phone and can be
// printed. The same sheet gives the same bytes.
package sheet
