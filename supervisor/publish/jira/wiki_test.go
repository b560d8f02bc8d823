package jira

import "testing"

func TestWiki(t *testing.T) {
	t.Parallel()
	for md, want := range map[string]string{
		"# A\ntext **b** `c{d}`\n\n- one\n  - two\n1. three": "h4. A\n\ntext *b* {{c\\{d\\}}}\n\n* one\n** two\n# three",
		"```go\nx := *y {noformat}\n```":                     "{noformat}\nx := *y { noformat}\n{noformat}",
		"> q\n> r\n\n---":                                    "{quote}\nq\nr\n{quote}\n\n----",
		"[t|x](https://e.com/a)":                             `[t\|x|https://e.com/a]`,
		"[~admin] {code} !x.png! a_b (!) (x) :) ??c??":       `\[\~admin\] \{code\} \!x.png\! a\_b \(\!) \(x) \:) \??c\??`,
		`C:\dir -done- +1 a-b 1 - 2`:                         `C:&#92;dir \-done- \+1 a-b 1 - 2`,
		"h1. no\nbq. no\n#no":                                "\\h1. no\n\\bq. no\n\\#no",
		"":                                                   "",
	} {
		if got := wiki(md); got != want {
			t.Errorf("wiki(%q) =\n%q, want\n%q", md, got, want)
		}
	}
}
