package episode

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTerm = 64 // bytes; what is longer is no word

// eachTerm calls fn for the terms of an episode: those of its task, its critique
// and its tags. The term is good until fn returns.
func eachTerm(e Episode, fn func(term []byte)) {
	var buf [2 * maxTerm]byte
	termsOf(e.Task, buf[:0], fn)
	termsOf(e.Critique, buf[:0], fn)
	for _, tag := range e.Tags {
		termsOf(tag, buf[:0], fn)
	}
}

// termsOf calls fn for the terms of s: its words in lower case, without English
// plural endings and without stop words. An identifier counts as a whole and again
// by its parts: parseHTTPRequest, parse, http, request. What is written without
// spaces between words, as Chinese is, counts by pairs of characters.
func termsOf(s string, buf []byte, fn func(term []byte)) {
	emit := func(run string) {
		buf = lower(buf[:0], run)
		if len(buf) <= maxTerm && len(buf) > 0 && !isStop(buf) {
			fn(stem(buf))
		}
	}
	for run := range runs(s) {
		emit(run)
		if !isPlain(run) {
			eachPart(run, emit)
			eachPair(run, emit)
		}
	}
}

// runs yields the runs of letters, digits, marks and underscores in s, with the
// apostrophes inside them.
func runs(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(s); {
			i += skip(s[i:], false)
			n := skip(s[i:], true)
			if run := strings.TrimFunc(s[i:i+n], joins); run != "" && !yield(run) {
				return
			}
			i += n
		}
	}
}

// joins reports whether r belongs to a word only between letters.
func joins(r rune) bool { return r == '_' || r == '\'' || r == '’' }

// skip returns how many bytes at the beginning of s are inside a word, or outside.
func skip(s string, inside bool) int {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if isWordByte(c) != inside {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '’') != inside {
			return i
		}
		i += n
	}
	return len(s)
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '\''
}

// isPlain reports whether a run has no parts: it is ASCII, and has neither an
// underscore nor a capital behind its first letter.
func isPlain(run string) bool {
	for i := range len(run) {
		c := run[i]
		if c >= utf8.RuneSelf || c == '_' || i > 0 && 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// lower appends run in lower case, without apostrophes and combining marks.
func lower(buf []byte, run string) []byte {
	for _, r := range run {
		switch {
		case r < utf8.RuneSelf:
			if r == '\'' {
				continue
			}
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			buf = append(buf, byte(r))
		case r == '’', unicode.Is(unicode.Mn, r):
		default:
			buf = utf8.AppendRune(buf, unicode.ToLower(r))
		}
		if len(buf) > maxTerm {
			return buf
		}
	}
	return buf
}

// eachPart calls fn for the parts of an identifier, when it has several.
func eachPart(run string, fn func(part string)) {
	begin := 0
	take := func(end int) {
		if part := strings.Trim(run[begin:end], "_"); part != "" && len(part) < len(run) {
			fn(part)
		}
		begin = end
	}
	var before, last rune
	lastAt := 0
	for i, r := range run {
		switch {
		case i == 0:
		case r == '_':
			take(i)
		case unicode.IsUpper(r) && last != '_' && !unicode.IsUpper(last):
			take(i)
		case unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			take(lastAt) // the last capital begins the next part
		}
		before, last, lastAt = last, r, i
	}
	take(len(run))
}

// eachPair calls fn for each two characters in a row that are written without spaces
// between words.
func eachPair(run string, fn func(pair string)) {
	before := -1 // where the character before began, when it was one of those
	for i, r := range run {
		if !unspaced(r) {
			before = -1
			continue
		}
		if end := i + utf8.RuneLen(r); before >= 0 && end-before < len(run) {
			fn(run[before:end])
		}
		before = i
	}
}

func unspaced(r rune) bool {
	const first = 0x0E00
	return r >= first && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// stem makes the plural and the singular of English words the same, after Harman's
// S-stemmer ("How effective is suffixing?", 1991), with more endings. The result need
// not be a word: cache and caches give cach, cookies and cookie give cooky. It may
// write to word.
func stem(word []byte) []byte {
	n := len(word)
	ends := func(list ...string) bool {
		for _, s := range list {
			if n > len(s) && string(word[n-len(s):]) == s {
				return true
			}
		}
		return false
	}
	switch {
	case n < 4:
	case word[n-1] == 'e':
		switch {
		case n > 4 && ends("ie"):
			return append(word[:n-2], 'y')
		case ends("che"):
			return word[:n-1]
		}
	case word[n-1] != 's' || ends("us", "ss", "is"):
	case n > 4 && ends("ies"):
		return append(word[:n-3], 'y')
	case ends("sses", "xes", "zzes", "shes", "ches"):
		return word[:n-2]
	default:
		return word[:n-1]
	}
	return word
}

// isStop reports whether word is too common in English to tell anything.
func isStop(word []byte) bool {
	if len(word) > 7 {
		return false
	}
	switch string(word) {
	case "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because",
		"been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "don",
		"dont", "during", "each", "etc", "for", "from", "further", "had", "has", "have", "having", "he", "her",
		"here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "more", "most",
		"must", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out",
		"over", "own", "same", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them",
		"then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up",
		"very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "will",
		"with", "would", "you", "your":
		return true
	}
	return false
}
