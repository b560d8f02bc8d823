// Package page draws the live page: what is on and what was, one run in full, and the few
// pages around them. It is pure: it is given what board found and returns HTML.
//
// # What a page is made of
//
// A page is a frame with parts. A part is a section that can be drawn anew by itself; its
// version says whether it is another than before. The script of the page, which nothing
// depends on, takes parts from the event stream and puts them in the place of the old ones.
//
// # Guarantees
//
// There is no script and no style in a page, no address of another server, and no form but
// for the few things that a person can do. Every text is one of strangers: secrets are
// taken out, it is cut, and escaped for where it stands; characters that cannot be seen or
// that turn the direction of writing are named instead of followed. Nothing in a text
// becomes markup or a link.
//
// Whatever a state is, it is said in a word and not by its colour alone. A call that is
// held is never shown in part without saying so, because a person decides by what they see.
//
// Within one process the same facts give the same bytes, but for the marks against forged
// forms.
package page
