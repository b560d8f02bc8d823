// Package code finds in code of any usual language what may go to a shell: its string
// literals, and what it calls. It knows no grammar, only literals, commas and brackets,
// which is enough for code that is short and does not hide what it does.
package code

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// What code that is of interest holds: calls that run a command, that remove a folder, that
// turn a text into another; and what sed is told to run.
var (
	Running = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("system|popen|subprocess|child_process|exec|spawn|shell_exec|passthru|`|\\bqx\\b|%x|check_call|check_output|Open3|\\bsh\\b|\\$`")
	})
	Removing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`rmtree|rmSync|rmdirSync|rm_rf|rm_r\b|remove_tree|rimraf|fs\.rm\b|fs\.rmdir|remove_dir_all`)
	})
	SedRuns = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[;{\n/\d$])\s*e\s+([^;\n}]+)`)
	})
	// Reading is code that runs what stands in a file, and Replacing a script that only
	// replaces pieces of texts.
	Reading = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:run_path|exec\(\s*open|execfile|require|require_relative|load|import)\s*\(?\s*["'](\.{0,2}/?[\w./-]+\.(?:py|js|cjs|mjs|rb|ts))["']`)
	})
	Replacing = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(s|tr|y)([/|{#!,])[^\n]*[/|}#!,][gimsx]*;?\s*$`) })
	Decoding  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`b64decode|fromCharCode|atob\(|'base64'|"base64"|fromhex|unpack|decode64|urlopen|bytes\(\[|\bchr\(`)
	})
)

const (
	maxHanded = 2000 // bytes of what is handed to one call
	maxCalls  = 64
	maxNames  = 8 // names within one call that are looked up
)

// Literals are the string literals of code, those joined by an operator as one, and the
// rows of literals divided by commas, each with a zero byte between its words.
func Literals(s, unknown string) (rows, plain []string) {
	var row, before []string // before is what stands in front of a list within a call
	emit := func(words []string) {
		if len(words) > 1 {
			rows = append(rows, strings.Join(words, "\x00"))
		}
	}
	flush := func() {
		emit(row)
		if len(row) > 2 && row[0] == row[1] {
			emit(row[1:]) // a program and the name it is told it has
		}
		if len(before) > 0 {
			emit(append(before, row...))
		}
		row, before = nil, nil
	}
	join := false
	for i := 0; i < len(s) && len(plain) < 2000; i++ {
		switch ch := s[i]; {
		case ch == '"' || ch == '\'' || ch == '`':
			text, n := literal(s[i:], ch)
			i += n - 1
			if join && len(plain) > 0 && len(row) > 0 {
				plain[len(plain)-1] += text
				row[len(row)-1] += text
			} else {
				plain = append(plain, text)
				row = append(row, text)
			}
			join = true // literals side by side are one
		case ch == ' ' || ch == '\n' || ch == '\t' || ch == '\r':
		case ch == '+' || ch == '.' && join:
			join = true
		case ch == '[':
			before, row, join = row, nil, false
		case ch == ',' || ch == '=' && i+1 < len(s) && s[i+1] == '>':
			join = false
		case ch == ']' || ch == ';' || ch == '(' || ch == '{':
			join = false
			if ch != '(' || len(row) != 1 {
				flush()
			} else {
				row = nil
			}
		default:
			if join && len(row) > 0 && !isWord(ch) {
				join = false
			} else if isWord(ch) && (i == 0 || !isWord(s[i-1])) {
				if join && i > 0 { // a name joined to a literal: not known
					join = false
				}
				if len(row) > 0 && precededByComma(s, i) {
					row = append(row, unknown)
				}
			}
		}
	}
	flush()
	return rows, plain
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func precededByComma(s string, i int) bool {
	return strings.HasSuffix(strings.TrimRight(s[:i], " \n\t*."), ",")
}

// literal reads a string literal and the number of bytes that it takes.
func literal(s string, quote byte) (string, int) {
	if strings.HasPrefix(s, strings.Repeat(string(quote), 3)) {
		if end := strings.Index(s[3:], s[:3]); end >= 0 {
			return s[3 : 3+end], end + 6
		}
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case quote:
			return b.String(), i + 1
		case '\\':
			if n, size := escape(s[i:]); size > 0 {
				b.WriteByte(n)
				i += size - 1
				continue
			}
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), len(s)
}

// escape reads an escape that names a character by its number, or a space.
func escape(s string) (byte, int) {
	switch {
	case len(s) >= 4 && s[1] == 'x':
		if n, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(n), 4
		}
	case len(s) >= 6 && s[1] == 'u':
		if n, err := strconv.ParseUint(s[2:6], 16, 16); err == nil && n < 128 {
			return byte(n), 6
		}
	case len(s) >= 2 && (s[1] == 'n' || s[1] == 't'):
		return ' ', 2
	}
	return 0, 0
}
