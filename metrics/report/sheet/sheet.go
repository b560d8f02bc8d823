package sheet

import "html/template"

// Classes of how something ended, which the page has colours for. The words beside them say
// the same.
const (
	Good   = "good"
	Limit  = "limit"
	Person = "person"
	Bad    = "bad"
	Open   = "open"
)

// Sheet is a report in words, the same for both forms.
type Sheet struct {
	Title   string
	State   string // one of the classes
	Ending  string // in a word or two
	Lead    []Section
	Tiles   []Tile
	Figures []Figure
	Parts   []Part
	// Details are under the heading DetailsTitle, and Left says what is not among them.
	DetailsTitle string
	Details      []Detail
	Left         string
	FootTitle    string
	Foot         []Tile
}

// Section is one of the first things that are said.
type Section struct {
	Title string
	Lines []Line
	Now   bool // a person has to do something about it, when there are lines
}

// Line is a sentence, with a command that belongs to it.
type Line struct{ Text, Command string }

// Tile is a number with its name.
type Tile struct{ Name, Value string }

// Figure is a drawing, which is for the page alone.
type Figure struct {
	Caption string
	SVG     template.HTML // made by package chart, which escapes what it is given
}

// Part is a table under a heading.
type Part struct {
	ID    string
	Title string
	Note  string
	Head  []Column
	Rows  []Row
	Left  string // what is left out
}

// Column is a column of a table.
type Column struct {
	Name   string
	Number bool
}

// Row is a line of a table.
type Row struct {
	Cells []string
	State string // one of the classes, or nothing; the cells say it in words
}

// Detail is one thing in full.
type Detail struct {
	Title string
	Open  bool
	Lines []Tile
}

// Columns are columns of words, in order; a name that begins with # is one of numbers.
func Columns(names ...string) []Column {
	out := make([]Column, len(names))
	for i, n := range names {
		out[i] = Column{Name: n}
		if n[0] == '#' {
			out[i] = Column{n[1:], true}
		}
	}
	return out
}

// Lines are sentences without commands.
func Lines(texts []string) []Line {
	var out []Line
	for _, t := range texts {
		out = append(out, Line{Text: t})
	}
	return out
}
