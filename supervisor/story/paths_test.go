package story

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for _, p := range []string{
		"src", "src/", "./src", ".", "src//api", "src/**", "**", "*.go", "a/?.go", "[a-m]*", "[^a-m]*", "[!x]", "{a,b}/**", "a{,b}", "a/{b,c/d}/e", `\!x`, `a\{b`, "src/[.]env",
		".github/**", "...", "a..b", "grüße/*", "{a}", "a/{,b}/c",
	} {
		if err := CheckPattern(p); err != nil {
			t.Errorf("%q: got %v, want no error", p, err)
		}
	}
	bad := map[string]string{
		"": "empty", "  ": "empty", "/etc": "top of the repository", "~/x": "top of the repository", "..": "leads out", "../x": "leads out", "a/../b": "leads out", "a/..": "leads out",
		"{a,..}/b": "leads out", `\.\./b`: "leads out", "{/a,b}": "may be empty", "a/{b,}": "may be empty", "{a,}": "may be empty", "!src": "take paths out",
		"[a": "malformed", "{a": "malformed", "a}": "malformed", "[]": "malformed", `a\`: "malformed",
		"[a/b]": "slash", "[+-9]": "slash", "a[^/]b": "slash", `a\/b`: "slash", "a\nb": "characters", "a\x00b": "characters", "\xff": "characters",
		strings.Repeat("x", 251): "longer", strings.Repeat("{a,b}", 7): "more than 64",
	}
	for p, part := range bad {
		if err := CheckPattern(p); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: got %v, want an error with %q", p, err, part)
		}
	}
	if err := CheckPattern(strings.Repeat("{a,b}", 6)); err != nil {
		t.Errorf("64 alternatives: got %v, want no error", err)
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	tests := []struct {
		paths string
		in    string
		out   string
	}{
		{"src", "src src/a src/a/b ./src/a src//a", "srcs a/src ../src /src . .. src/../x"},
		{"src/", "src/a src/a/b", "x"},
		{"src/*", "src/a", "src src/a/b"},
		{"src/*.go", "src/a.go src/.go", "src/a.ts src/b/a.go"},
		{"src/**", "src src/a src/a/b", "x/src/a"},
		{"**/*.go", "a.go x/a.go x/y/a.go", "a.ts"},
		{"**/vendor", "vendor/a x/vendor/a/b", "x/vendors/a"},
		{"a**b", "ab axb", "a/b ax/xb"},
		{"a/**/b", "a/b a/x/b a/x/y/b/c", "ab a/x"},
		{"a?c", "abc", "a/c ac abbc"},
		{"a[^b]c", "axc", "a/c abc"},
		{"a[^b-]c", "axc", "a/c abc a-c"},
		{"a[^-b]c", "axc", "a/c abc a-c"},
		{"[a-c]x [!a]y", "ax cx by", "dx ay"},
		{`[\]]x`, "]x", "x"},
		{"{a,b/c}/*.go", "a/x.go b/c/x.go", "b/x.go c/x.go"},
		{"{a,{b,c}}x", "ax bx cx", "x abx"},
		{"[{a,b}]x", "{x ax ,x", "abx"},
		{`\*x`, "*x", "ax"},
		{".", "a a/b .git/x", "../a"},
		{"Src", "Src/a", "src/a"},
		{"/etc ../x ok", "ok", "etc x etc/x"},
		{"", "a a/b", "../a /a . .."},
	}
	for _, tt := range tests {
		paths := strings.Fields(tt.paths)
		for _, f := range strings.Fields(tt.in) {
			if !Inside(paths, f) {
				t.Errorf("%q is not in %v", f, paths)
			}
		}
		for _, f := range strings.Fields(tt.out) {
			if Inside(paths, f) {
				t.Errorf("%q is in %v", f, paths)
			}
		}
	}
	if Inside([]string{"/bad"}, "bad") {
		t.Error("a pattern that is refused holds a file")
	}
	if Inside(nil, "") {
		t.Error("the repository itself is a file")
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{
		{"", "x", true},
		{"", "", true},
		{"src", "src", true},
		{"src", "docs", false},
		{"src", "src/api", true},
		{"src/api", "src/web", false},
		{"src/api", "src/api2", false},
		{"src/api/", "./src//api/x.go", true},
		{"src/*", "src/api/x.go", false},
		{"src/*", "src/api", true},
		{"src/**", "src/api/*.go", true},
		{"src/**", "docs/**", false},
		{"**/*.go", "docs/**", true},
		{"**/*.go", "docs/*.md", false},
		{"**/*.go", "**/*.md", false},
		{"**/test/**", "src/**", true},
		{"*.go", "main.*", true},
		{"*.go", "src/*.go", false},
		{"a*c", "*b*", true},
		{"a*c", "b*", false},
		{"a?", "ab", true},
		{"a?", "abc", false},
		{"[a-m]*", "[n-z]*", false},
		{"[a-m]*", "[m-z]*", true},
		{"[a-m]*", "[N-Z]*", false},
		{"[a-m]*", "[M-Z]*", true},
		{"[^a]*", "a*", true}, // for A
		{"[^ab]x", "cx", true},
		{"[0-9]*", "x*", false},
		{"[0-9]*", "[^0-9]*", false},
		{"[^0-9]*", "[^a]*", true},
		{"{a,b}/**", "{c,b}/x", true},
		{"{a,b}/**", "{c,d}/x", false},
		{"src/{a,b/c}", "src/b/d", false},
		{"Src", "src", true},
		{"ÄB", "äb", true},
		{`\*`, "a", false},
		{`\*`, "*", true},
		{"a docs", "b docs/x", true},
		{"a/**/z", "a/b/**", true},
		{"a/**/z", "b/**/z", false},
		{"**/a/**/b/**", "**/b/**/a/**", true},
		{"/bad", "x", true},
		{"x", "a/../b", true},
		{".", "x", true},
	}
	for _, tt := range tests {
		a, b := strings.Fields(tt.a), strings.Fields(tt.b)
		if got := Overlap(a, b); got != tt.want {
			t.Errorf("%v and %v: got %v, want %v", a, b, got, tt.want)
		}
		if got := Overlap(b, a); got != tt.want {
			t.Errorf("%v and %v: got %v, want %v", b, a, got, tt.want)
		}
	}
}

// What would take too long to compare counts as overlapping, so that nobody waits for it.
func TestOverlapGivesUp(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{a,b}", 6)
	a, b := many+strings.Repeat("*a", 100)+"x", many+strings.Repeat("*a", 100)+"y"
	if CheckPattern(a) != nil || !Overlap([]string{a}, []string{b}) {
		t.Errorf("%q and %q were compared to the end", a, b)
	}
	if a, b = strings.TrimPrefix(a, many), strings.TrimPrefix(b, many); Overlap([]string{a}, []string{b}) {
		t.Errorf("%q and %q overlap", a, b)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":                            nil,
		" , ,":                        nil,
		"a":                           {"a"},
		"a,b , c":                     {"a", "b", "c"},
		"src/{a,b}/**,docs":           {"src/{a,b}/**", "docs"},
		"{a,{b,c}},d":                 {"{a,{b,c}}", "d"},
		"[,]x,y":                      {"[,]x", "y"},
		`a\,b,c`:                      {`a\,b`, "c"},
		"a},b":                        {"a}", "b"},
		"[a,b":                        {"[a", "b"},
		"{a,b":                        {"{a,b"},
		"src/[a-m]*/**,src/[n-z]*/**": {"src/[a-m]*/**", "src/[n-z]*/**"},
	}
	for list, want := range tests {
		if diff := cmp.Diff(want, Patterns(list)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
}

// allPaths are all paths of up to three parts of up to two letters.
func allPaths() []string {
	letters := []string{"a", "b", "A", "-"}
	names := letters
	for _, x := range letters {
		for _, y := range letters {
			names = append(names[:len(names):len(names)], x+y)
		}
	}
	out, last := names, names
	for range 2 {
		var next []string
		for _, p := range last {
			for _, n := range []string{"a", "b", "ab", "B"} {
				next = append(next, p+"/"+n)
			}
		}
		out, last = append(out[:len(out):len(out)], next...), next
	}
	return out
}

// drawPattern draws a pattern that is accepted.
func drawPattern(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		"a", "b", "A", "*", "?", "[ab]", "[^a]", "[!-b]", "[a-]", "[A-Z]", "{a,b}", "{a,b/a}", "{,a}", "**", `\a`, "-", "{*,?b}", "[b-a]", "[^^]",
	})
	p := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			if rapid.IntRange(0, 3).Draw(t, "folders") == 0 {
				return "**"
			}
			return strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "pieces"), "")
		}), 1, 3).Draw(t, "parts")
		return strings.Join(parts, "/") + rapid.SampledFrom([]string{"", "", "/"}).Draw(t, "end")
	})
	return p.Filter(func(p string) bool { return CheckPattern(p) == nil }).Draw(t, "pattern")
}

// Two sets that hold one path overlap, whatever the patterns are.
func TestOverlapMissesNothing(t *testing.T) {
	t.Parallel()
	paths := allPaths()
	rapid.Check(t, func(t *rapid.T) {
		a, b := []string{drawPattern(t)}, []string{drawPattern(t)}
		if rapid.Bool().Draw(t, "more") {
			a = append(a, drawPattern(t))
		}
		overlap := Overlap(a, b)
		if overlap != Overlap(b, a) {
			t.Fatalf("%v and %v overlap in one direction only", a, b)
		}
		if overlap {
			return
		}
		for _, p := range paths {
			if Inside(a, p) && Inside(b, p) {
				t.Fatalf("%q is in %v and in %v, which do not overlap", p, a, b)
			}
		}
	})
}

// Where letters have one case and sets are small, overlap is exact: there is a path.
func TestOverlapSeesNoGhosts(t *testing.T) {
	t.Parallel()
	paths := allPaths()
	piece := rapid.SampledFrom([]string{"a", "b", "[ab]", "?", "{a,b}"})
	part := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 2).Draw(t, "pieces"), "")
	})
	pattern := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 1, 2).Draw(t, "parts"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := []string{pattern.Draw(t, "a")}, []string{pattern.Draw(t, "b")}
		if !Overlap(a, b) {
			return
		}
		for _, p := range append(paths, "ba/aa", "ba/ba", "ba/bb", "aa/aa", "aa/bb", "aa/ba", "ab/aa", "ab/ba", "ab/bb", "bb/aa", "bb/ba", "bb/bb", "a/aa", "a/ba", "a/bb", "b/aa", "b/ba", "b/bb") {
			if Inside(a, p) && Inside(b, p) {
				return
			}
		}
		t.Fatalf("%v and %v overlap, but on no path", a, b)
	})
}

func FuzzPatterns(f *testing.F) {
	for _, s := range []string{"src/**", "{a,b}/[^c]*", "a{b,{c,d}}", `\{a`, "[a-", "a/../b", "**/x/", "{a,b", "[]-a]"} {
		f.Add(s, "src/a")
	}
	f.Fuzz(func(t *testing.T, p, file string) {
		if len(file) > 4096 { // than which no path is longer
			return
		}
		if CheckPattern(p) != nil {
			if !Overlap([]string{p}, []string{"x"}) || Inside([]string{p}, file) {
				t.Errorf("%q is refused, but not taken for everything that others have and nothing that it has", p)
			}
			return
		}
		if !Overlap([]string{p}, []string{p}) {
			t.Errorf("%q does not overlap itself", p)
		}
		if CheckPattern(file) == nil && Inside([]string{p}, file) && Inside([]string{file}, file) && !Overlap([]string{p}, []string{file}) {
			t.Errorf("%q is in %q, but they do not overlap", file, p)
		}
	})
}
