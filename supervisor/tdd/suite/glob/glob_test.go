package glob_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/supervisor/tdd/suite/glob"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"**/*_test.go", "a_test.go", true},
		{"**/*_test.go", "x/y/a_test.go", true},
		{"**/*_test.go", "x/a.go", false},
		{"*_test.go", "x/y/a_test.go", true},
		{"./x/*.go", "x/a.go", true},
		{"x/*.go", "x/y/a.go", false},
		{"x/**", "x/y/a.go", true},
		{"x/**", "x", true},
		{"x/**", "xx/a", false},
		{"**", "a/b", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/c/d/b", true},
		{"a**b/c", "axxb/c", true},
		{"a**b/c", "a/b/c", false},
		{"**/*.{test,spec}.*", "src/a.spec.tsx", true},
		{"**/{*.{test,spec}.*,__tests__/**}", "src/__tests__/deep/a.ts", true},
		{"**/{*.{test,spec}.*,__tests__/**}", "src/a.ts", false},
		{"{a}", "{a}", true},
		{"{a{b,c}}", "{ac}", true},
		{"{a,b", "{a,b", true},
		{"a?c", "aüc", true},
		{"a?c", "a/c", false},
		{"*.[jt]s", "a.ts", true},
		{"*.[!jt]s", "a.ts", false},
		{"[a-c]", "b", true},
		{"[", "[", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`\{a,b\}`, "{a,b}", true},
		{"", "a", false},
		{strings.Repeat("{a,b}", 150), strings.Repeat("b", 150), false},
		{strings.Repeat("*a", 200) + "b", strings.Repeat("a", 2000), false},
	} {
		if got := glob.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%.40q, %.40q) = %v", c.pattern, c.name, got)
		}
	}
}

// TestMatchAgainstRegexp makes patterns together with the expression for them.
func TestMatchAgainstRegexp(t *testing.T) {
	t.Parallel()
	type pair struct{ text, expr string }
	atoms := []pair{{"a", "a"}, {"b", "b"}, {".", `\.`}, {"*", "[^/]*"}, {"?", "[^/]"}, {"[ab]", "[ab]"}, {"[!a]", "[^a/]"}, {`\*`, `\*`}}
	join := func(t *rapid.T, n int) pair {
		var p pair
		for range rapid.IntRange(1, n).Draw(t, "atoms") {
			a := rapid.SampledFrom(atoms).Draw(t, "atom")
			p.text, p.expr = p.text+a.text, p.expr+a.expr
		}
		return p
	}
	element := func(t *rapid.T) pair {
		if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
			return join(t, 3)
		}
		x, y := join(t, 2), join(t, 2)
		return pair{"{" + x.text + "," + y.text + "}", "(?:" + x.expr + "|" + y.expr + ")"}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "parts")
		var texts, expr []string
		for range n {
			if rapid.IntRange(0, 2).Draw(t, "stars") == 0 {
				texts, expr = append(texts, "**"), append(expr, "\x00")
				continue
			}
			p := element(t)
			if p.text == "*" || strings.Contains(p.text, "**") { // ** as a part is another thing
				p = pair{"a*", "a[^/]*"}
			}
			texts, expr = append(texts, p.text), append(expr, p.expr)
		}
		// Every part of the path ends with a slash.
		text := "^"
		for _, e := range expr {
			if e == "\x00" {
				text += "(?:[^/]+/)*"
				continue
			}
			text += e + "/"
		}
		re := regexp.MustCompile(text + "$")
		name := strings.Join(rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab.*")), 1, 4, -1), 1, 4).Draw(t, "name"), "/")
		for _, part := range strings.Split(name, "/") {
			if part == "." || part == ".." {
				return // the path would be another one
			}
		}
		pattern := strings.Join(texts, "/")
		if strings.HasPrefix(pattern, "./") {
			return // means the project
		}
		if got, want := glob.Match(pattern, name), re.MatchString(name+"/"); got != want {
			t.Fatalf("Match(%q, %q) = %v, want %v by %s", pattern, name, got, want, re)
		}
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("**/{a,b[c-d]}*?", "x/y")
	f.Add("{{,},{", "{")
	f.Add("[]-]", "]")
	f.Fuzz(func(_ *testing.T, pattern, name string) { glob.Match(pattern, name) })
}
