package flow

import (
	"path"
	"strings"
)

// Marks of what is not known, in a word.
const (
	Unset = "\ue000" // a variable that the text does not set, or the output of a tool that only looks something up
	Made  = "\ue001" // something that the text computes and that cannot be seen
	// Fetched is what comes from a network or was turned from another form.
	Fetched = "\ue002"
	// Taken is a piece that a tool takes out of a text, which is not known.
	Taken = "\ue003"

	// Marks are all of them.
	Marks = Unset + Made + Fetched + Taken
)

// Environment stands for the reader of what becomes the value of a variable for one command,
// or is exported.
const Environment = "=environment"

// Known reports whether nothing in a word is unknown.
func Known(word string) bool { return !strings.ContainsAny(word, Marks) }

// Command is one simple command as it would run.
type Command struct {
	Args []string // the name and its arguments; empty where there are only redirections
	Env  []string // NAME=value in front of it
	Uses []string // names of variables whose values it is given
	Fed  []string // names of variables whose values its input is made of
	Out  []string // files that its output goes to
	In   []string // files that its input comes from
	Next []string // the command that reads its output
	Dir  string   // where it runs; holds a mark where that is not known
	Away bool     // on another machine, or in a container
	File bool     // stands in a file, not in the text itself
	Code bool     // a string in code of another language, of which not all is known to be a command

	// Input is what it reads, and Reads what stands in a file as it would find it; nil
	// where nothing is known.
	Input func() Feed
	Reads func(path string) Feed
}

// Name is the name of the program without its folder.
func (c *Command) Name() string {
	if len(c.Args) == 0 {
		return ""
	}
	return path.Base(c.Args[0])
}

// Stdin is what it reads; unknown where it is not redirected.
func (c *Command) Stdin() Feed {
	if c.Input == nil {
		return Feed{}
	}
	return c.Input()
}

// Content is what stands in a file, as the command would find it.
func (c *Command) Content(file string) Feed {
	if c.Reads == nil {
		return Feed{}
	}
	return c.Reads(c.Abs(file))
}

// Piped reports whether its input comes from the text.
func (c *Command) Piped() bool { return c.Input != nil }

// Text is the command in one line for a person.
func (c *Command) Text() string {
	return strings.NewReplacer(Unset, "…", Made, "…", Fetched, "…", Taken, "…", "\n", " ").Replace(strings.Join(c.Args, " "))
}

// Abs is a path as the command would find it. A path that begins with '~' or with what
// is not known stays as it is.
func (c *Command) Abs(p string) string { return Join(c.Dir, p) }

// Join is a path as it is found from a folder.
func Join(dir, p string) string {
	if p == "" || p[0] == '/' || p[0] == '~' || strings.IndexAny(p, Marks) == 0 {
		return p
	}
	return path.Join(dir, p)
}

// With is the same command with other arguments.
func (c *Command) With(args []string) *Command {
	in := *c
	in.Args = args
	return &in
}

// Source says where a text comes from that cannot be seen.
type Source string

// Sources.
const (
	Remote  Source = "remote"  // fetched from a network
	Decoded Source = "decoded" // turned from another form, such as base64
	Looked  Source = "looked"  // a path, a name or a number that a tool looks up
	Read    Source = "read"    // a piece that a tool takes out of a text
	Unseen  Source = "unseen"
)

// Feed is a text that flows from one command to another.
type Feed struct {
	Text   string
	Known  bool
	Source Source // where it is not known
}

// Word is the feed within a word.
func (f Feed) Word() string {
	switch {
	case f.Known:
		return f.Text
	case f.Source == Looked:
		return Unset
	case f.Source == Read:
		return Taken
	case f.Source == Unseen:
		return Made
	}
	return Fetched
}

// And puts one feed behind another.
func (f Feed) And(g Feed) Feed {
	if f.Known && g.Known {
		return Feed{Text: f.Text + g.Text, Known: true}
	}
	for _, s := range []Source{Remote, Decoded, Unseen, Read} {
		if !f.Known && f.Source == s || !g.Known && g.Source == s {
			return Feed{Source: s}
		}
	}
	return Feed{Source: Looked}
}
