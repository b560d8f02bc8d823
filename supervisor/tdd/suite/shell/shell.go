package shell

import (
	"slices"
	"strings"
)

// Word is one word of a shell command.
type Word struct {
	Text string // without quotes
	End  int    // offset behind it in the command
}

// lexer splits a shell command, as far as that can be done without running it.
type lexer struct {
	src   string
	at    int
	parts [][]Word // simple commands
	cur   []Word
	skip  bool // the next word is the target of a redirection
}

// Split returns the simple commands of a shell command. It is false for one whose
// parts may run more than once, or that holds what is not understood.
func Split(command string) ([][]Word, bool) {
	l := &lexer{src: command}
	for l.at < len(l.src) {
		if !l.step() {
			return nil, false
		}
	}
	l.finish()
	for _, p := range l.parts {
		if slices.Contains([]string{"for", "while", "until", "case", "select", "function", "eval", "if"}, p[0].Text) {
			return nil, false
		}
	}
	return l.parts, true
}

func (l *lexer) finish() {
	if len(l.cur) > 0 {
		l.parts, l.cur = append(l.parts, l.cur), nil
	}
	l.skip = false
}

func (l *lexer) step() bool {
	rest := l.src[l.at:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t' || c == '\r' || strings.HasPrefix(rest, "\\\n"):
		l.at++
		if c == '\\' {
			l.at++
		}
	case c == '#':
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		l.at += end
	case c == '>' || c == '<' || strings.HasPrefix(rest, "&>"):
		if strings.HasPrefix(rest, "<<") || strings.HasPrefix(rest, "<(") || strings.HasPrefix(rest, ">(") {
			return false
		}
		l.at += len(rest) - len(strings.TrimLeft(rest, "<>&|"))
		l.skip = true
	case strings.HasPrefix(rest, "()"):
		return false // defines a function
	case strings.IndexByte("\n;&|()", c) >= 0:
		l.at++
		l.finish()
	default:
		return l.word()
	}
	return true
}

// word reads one word. What the shell would put there in place of something else is
// taken as it stands, except for the output of commands, which is refused.
func (l *lexer) word() bool {
	var b strings.Builder
	var quote byte
	for ; l.at < len(l.src); l.at++ {
		c := l.src[l.at]
		switch {
		case c == '`' && quote != '\'', c == '$' && quote != '\'' && strings.HasPrefix(l.src[l.at:], "$("):
			return false
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			continue
		case c == '\\' && quote != '\'' && l.at+1 < len(l.src):
			l.at++
			c = l.src[l.at]
		case quote == 0 && strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			l.add(b.String())
			return true
		}
		b.WriteByte(c)
	}
	l.add(b.String())
	return quote == 0
}

func (l *lexer) add(text string) {
	number := strings.Trim(text, "0123456789") == ""
	switch {
	case l.skip:
		l.skip = false
	case number && l.at < len(l.src) && (l.src[l.at] == '<' || l.src[l.at] == '>'):
		// the number of a file descriptor
	default:
		l.cur = append(l.cur, Word{text, l.at})
	}
}
