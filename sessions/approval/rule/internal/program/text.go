package program

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
)

// Echo is what echo prints.
func Echo(args []string) string {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	s := strings.Join(args, " ")
	if escapes {
		if out, _, err := expand.Format(nil, s, nil); err == nil {
			s = out
		}
	}
	return s + end
}

// Quote makes words of a shell text.
func Quote(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(word, "'", `'\''`) + "'")
	}
	return b.String()
}
