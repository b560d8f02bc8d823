package report

import "html/template"

// model is the report in words, the same for both forms. Its texts are clean and cut,
// and not yet escaped.
type model struct {
	Title   string
	State   string // good, limit, person, bad or open
	Ending  string // in a word or two
	Wanted  []string
	Ended   []string
	Done    []string
	ToDo    []task
	Tiles   []tile
	Figures []figure
	Parts   []part
	Details []detail
	Left    string // what of the sessions is not told in full
	Foot    []tile
}

// task is something that a person has to do.
type task struct{ Text, Command string }

// tile is a number with its name.
type tile struct{ Name, Value string }

// figure is a drawing.
type figure struct {
	Caption string
	SVG     template.HTML // made by package chart, which escapes what it is given
}

// part is a table under a heading.
type part struct {
	ID    string
	Title string
	Note  string
	Head  []column
	Rows  []row
	Left  string // what is left out
}

type column struct {
	Name   string
	Number bool
}

type row struct {
	Cells []string
	State string // good, person, bad or nothing; the cells say it in words
}

// detail is one session in full.
type detail struct {
	Title string
	Open  bool
	Lines []tile
}

// texts are columns of words, in order; a name that begins with # is one of numbers.
func texts(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{Name: n}
		if n[0] == '#' {
			out[i] = column{n[1:], true}
		}
	}
	return out
}
