package code

import (
	"regexp"
	"strings"
	"sync"
)

// The calls that run a command, names, and pieces of a text that are put together.
var (
	calling = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(\.)?\b(system|popen\d?|Popen|subprocess\.\w+|exec\w*|spawn\w*|fork|call|run|check_call|check_output|getoutput|getstatusoutput|shell_exec|passthru|proc_open|capture\w*|sh|\$|qx|sudo|execa\w*)\s*([(` + "`" + `\[]|\s["'])|%x[({\[]|\bqx[({/]|` + "`")
	})
	renamed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(exec\w*|spawn\w*|system|Popen|check_\w+)\s*(:|\bas\b)\s*\w+\s*[},\n;]`)
	})
	imports = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`child_process|\bimport subprocess|from subprocess|Open3`)
	})
	identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_$@][\w]*`) })
	filled     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$?\{\s*["']([^"'{}]*)["']\s*\}`) })
	joinedRows = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\s*\+\s*\[`) })
)

// Handed is what code hands to the calls that run a command: their arguments, with the
// values of the names in them. It is the whole code, and whole is set, where such a name
// has no value that is seen.
func Handed(s string) (text string, whole bool) {
	var b strings.Builder
	if renamed().MatchString(s) || imports().MatchString(s) && !calling().MatchString(s) {
		return s, true
	}
	for _, m := range calling().FindAllStringSubmatchIndex(s, maxCalls) {
		at := m[1] - 1
		method := m[2] >= 0
		switch word := s[m[0]:m[1]]; {
		case s[at] == '`': // a text in marks of its own
			end := strings.IndexByte(s[at+1:], '`')
			if end >= 0 && m[0] == at && strings.Count(s[:at], "`")%2 == 0 || m[0] != at {
				b.WriteString(cut(s[at:], 0) + "\n;")
			}
			continue
		case strings.HasPrefix(word, "%x") || strings.HasPrefix(word, "qx"):
			piece := cut(s[m[1]:], strings.IndexAny(s[m[1]:], ")}]/"))
			b.WriteString("`" + piece + "`\n;")
			continue
		case method && strings.Contains(word, "exec") && !strings.Contains(s, "child_process") && !strings.Contains(s, "os.exec") && !strings.Contains(s, "execa") && !strings.Contains(s, "Runtime"):
			continue // of an expression that is looked for
		}
		piece := argument(s, at)
		piece, open := substituted(s, piece, method)
		if open {
			return s, true
		}
		b.WriteString(piece + "\n;")
	}
	text = filled().ReplaceAllString(b.String(), "$1")
	return joinedRows().ReplaceAllString(text, ","), false
}

func cut(s string, n int) string {
	if n <= 0 {
		n = maxHanded
	}
	return s[:min(len(s), n)]
}

// argument is what stands between the bracket at a place and its other end, or what is
// left of the line where there is none.
func argument(s string, at int) string {
	end := min(len(s), at+maxHanded)
	if s[at] != '(' && s[at] != '[' {
		if i := strings.IndexAny(s[at:end], "\n;"); i >= 0 {
			end = at + i
		}
		return s[at:end]
	}
	depth := 0
	for i := at; i < end; i++ {
		switch s[i] {
		case '"', '\'', '`':
			_, n := literal(s[i:end], s[i])
			i += n - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return s[at+1 : i]
			}
		}
	}
	return s[at:end]
}

// substituted puts the values of names into the argument of a call; open says that one
// has none. A method of something else is not asked for its names.
func substituted(s, piece string, method bool) (string, bool) {
	var b strings.Builder
	names, open := 0, false
	for i := 0; i < len(piece); {
		c := piece[i]
		if c == '"' || c == '\'' || c == '`' {
			_, n := literal(piece[i:], c)
			b.WriteString(piece[i : i+n])
			i += n
			continue
		}
		m := identifier().FindStringIndex(piece[i:])
		if m == nil || m[0] != 0 {
			b.WriteByte(c)
			i++
			continue
		}
		name := piece[i : i+m[1]]
		rest := piece[i+m[1]:]
		i += m[1]
		trimmed := strings.TrimLeft(rest, " ")
		option := strings.HasPrefix(trimmed, "=") || strings.HasPrefix(trimmed, ":") || strings.HasPrefix(trimmed, "(") || strings.HasPrefix(trimmed, ".") && !strings.HasPrefix(trimmed, ".split") ||
			strings.HasPrefix(trimmed, "\"") || strings.HasPrefix(trimmed, "'") // the mark of a kind of literal
		if option || strings.HasSuffix(b.String(), ".") || strings.HasSuffix(strings.TrimRight(b.String(), " "), "=") || isKeyword(name) {
			b.WriteString(name)
			continue
		}
		if names++; names > maxNames {
			return piece, true
		}
		value, ok := valueOf(s, name)
		if !ok {
			open = open || !method && !strings.Contains(b.String(), ",")
			b.WriteString(name)
			continue
		}
		b.WriteString(value)
	}
	return b.String(), open
}

func isKeyword(s string) bool {
	switch s {
	case "True", "False", "None", "true", "false", "null", "nil", "shell", "sys", "executable", "os", "env", "text", "check", "cwd", "stdout", "stderr", "stdin", "PIPE", "DEVNULL",
		"encoding", "stdio", "self", "this", "for", "in", "if", "else", "subprocess", "f", "r", "b":
		return true
	}
	return false
}

// valueOf is what code assigns to a name, all such values one after another, with what is
// put behind it.
func valueOf(s, name string) (string, bool) {
	quoted := regexp.QuoteMeta(name)
	set, err := regexp.Compile(`(?m)(?:^|[^\w.$@])` + quoted + `\s*(?::=|=|\+=| in | of )\s*([^=>\n][^\n]*)`)
	if err != nil {
		return "", false
	}
	var values []string
	for _, m := range set.FindAllStringSubmatchIndex(s, 8) {
		value := s[m[2]:m[3]]
		if strings.HasPrefix(value, "[") || strings.HasPrefix(value, "(") {
			value = "[" + argument(s, m[2]) + "]"
		} else if i := strings.IndexByte(value, ';'); i >= 0 && !strings.ContainsAny(value[:i], "\"'`") {
			value = value[:i]
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return "", false
	}
	more, err := regexp.Compile(`(?:^|[^\w.])` + quoted + `\.(?:append|extend|push|concat)\(([^)\n]*)\)`)
	if err == nil {
		for _, m := range more.FindAllStringSubmatch(s, 8) {
			last := values[len(values)-1]
			if strings.HasSuffix(last, "]") {
				values[len(values)-1] = strings.TrimSuffix(last, "]") + "," + strings.Trim(m[1], "[]") + "]"
			}
		}
	}
	if len(values) == 1 {
		return values[0], true
	}
	return strings.Join(values, "\n;"), true
}

// Removed is the folder that a call which removes one is given: a text where it stands
// there, or is assigned to the name that does; temporary where it is one for temporary
// files; else the mark for what is not known.
func Removed(s string, at int, unknown string) (folder string, temporary bool) {
	open := strings.IndexByte(s[at:], '(')
	if open < 0 || open > 2 {
		return literalOf(s, cut(s[at:], 200), unknown)
	}
	first := argument(s, at+open)
	depth := 0
	for i := 0; i < len(first); i++ {
		switch first[i] {
		case '"', '\'', '`':
			_, n := literal(first[i:], first[i])
			i += n - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				return literalOf(s, first[:i], unknown)
			}
		}
	}
	return literalOf(s, first, unknown)
}

var temporaries = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)tmpdir|mkdtemp|gettempdir|tempfile|TemporaryDirectory|mktmpdir|tmp_path`)
})

func literalOf(s, argument, unknown string) (string, bool) {
	argument = strings.TrimSpace(argument)
	for range 3 {
		if temporaries().MatchString(argument) {
			return "", true
		}
		if identifier().FindString(argument) != argument || argument == "" {
			break
		}
		value, ok := valueOf(s, argument)
		if !ok {
			return unknown, false
		}
		argument = strings.TrimSpace(value)
	}
	_, plain := Literals(argument, unknown)
	joined := strings.ContainsAny(argument, "+%{") && !strings.HasPrefix(argument, "{")
	if len(plain) != 1 || joined {
		return unknown, false
	}
	return plain[0], false
}

var writing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`open\(\s*["']([^"'\n]+)["']\s*,\s*["'][wa]\w*["']\)\.write\(|writeFileSync\(\s*["']([^"'\n]+)["']\s*,`)
})

// Written are the files into which code writes a text of its own, with the texts.
func Written(s string) (files, texts []string) {
	for _, m := range writing().FindAllStringSubmatchIndex(s, 16) {
		rest := s[m[1]:]
		_, plain := Literals(rest[:min(len(rest), maxHanded)], "")
		if len(plain) == 0 || !strings.HasPrefix(strings.TrimLeft(rest, " \n\t"), rest[strings.IndexAny(rest, "\"'`"):][:1]) {
			continue
		}
		file := ""
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				file = s[m[i]:m[i+1]]
			}
		}
		files, texts = append(files, file), append(texts, plain[0])
	}
	return files, texts
}
