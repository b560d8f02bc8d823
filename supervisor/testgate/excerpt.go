package testgate

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"autopilot/supervisor/tdd/suite"
)

const maxExcerpt = 30 // lines

// excerpts are the parts of an output that belong to failing tests, by the heading that
// the runner gives them.
type excerpts struct {
	runner suite.Runner
	text   map[string]string // of go: by top-level test, and by package for what does not build
	heads  []head            // of the others
}

type head struct{ title, text string }

type excerptForms struct{ heading, tail, place *regexp.Regexp }

var excerptForm = sync.OnceValue(func() excerptForms {
	return excerptForms{
		// jest, vitest, pytest, node, cargo and TAP, in this order.
		heading: regexp.MustCompile(`^\s*(?:● |FAIL +|_{3,} |✖ |---- |not ok )`),
		tail:    regexp.MustCompile(`(?: _{3,}| stdout ----| \([\d.]+ ?m?s\)| \[ .* \])?\s*$`),
		place:   regexp.MustCompile(`([\w@./-]*[\w-]\.(?:go|[cm]?[jt]sx?|py|rs)):(\d{1,7})\b`),
	}
})

func excerptsOf(runner suite.Runner, output string) excerpts {
	x := excerpts{runner: runner, text: map[string]string{}}
	lines := strings.Split(output, "\n")
	if runner == suite.Go {
		x.readGo(lines)
		return x
	}
	form := excerptForm()
	for i, l := range lines {
		if !form.heading.MatchString(l) {
			continue
		}
		end := i + 1
		for end < len(lines) && end-i < maxExcerpt && !form.heading.MatchString(lines[end]) {
			end++
		}
		x.heads = append(x.heads, head{form.tail.ReplaceAllString(l, ""), strings.Join(lines[i:end], "\n")})
	}
	return x
}

// readGo reads what go test prints with -v, where the text of a test stands in front of
// the line that says that it failed, and that of a panic behind it.
func (x *excerpts) readGo(lines []string) {
	var pending []string
	key := "" // of the part that is open
	add := func(l string) { x.text[key] += l + "\n" }
	panicking := false
	for _, l := range lines {
		name, failing := strings.CutPrefix(l, "--- FAIL: ")
		pkg, building := strings.CutPrefix(l, "# ")
		switch {
		case failing && strings.Contains(name, "/"): // a subtest; its test follows
			pending = append(pending, l)
			key, panicking = "", false
		case failing:
			key, _, _ = strings.Cut(name, " ")
			for _, p := range pending {
				add(p)
			}
			add(l)
			pending, panicking = nil, false
		case building:
			key, _, _ = strings.Cut(pkg, " ")
			key, panicking = "# "+key, true
		case l == "FAIL" || strings.HasPrefix(l, "FAIL\t") || strings.HasPrefix(l, "ok  \t"):
			pending, key, panicking = nil, "", false
		case key != "" && (panicking || strings.HasPrefix(l, "    --- ")):
			add(l)
		case key != "" && (strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ")):
			panicking = true
			add(l)
		default:
			key = ""
			pending = append(pending, l)
		}
	}
}

// of returns the part of a failing test, package or file, or "".
func (x excerpts) of(name string) string {
	if x.runner == suite.Go {
		if text := x.text["# "+name]; text != "" {
			return text
		}
		return x.text[path.Base(name)]
	}
	leaf := leafOf(name)
	if leaf == "" {
		return ""
	}
	found := ""
	for i, h := range x.heads { // the last: some runners list what failed again, with more words
		before, ok := strings.CutSuffix(h.title, leaf)
		if !ok || wordEnd(before) {
			continue
		}
		if found = h.text; i+1 < len(x.heads) && strings.HasSuffix(x.heads[i+1].title, "Test suite failed to run") {
			found += "\n" + x.heads[i+1].text
		}
	}
	return found
}

// leafOf returns the last part of the name of a test.
func leafOf(name string) string {
	for _, sep := range []string{" > ", "::", "/"} {
		if at := strings.LastIndex(name, sep); at >= 0 {
			return name[at+len(sep):]
		}
	}
	return name
}

func wordEnd(s string) bool {
	if s == "" {
		return false
	}
	c := s[len(s)-1]
	return c == '_' && !strings.HasSuffix(s, "__") || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// placeOf finds the file of a failure: the first one that its text names and that is in
// the repository, with its line; else the one that its name begins with.
func placeOf(repo, name, text string) string {
	for _, m := range excerptForm().place.FindAllStringSubmatch(text, 20) {
		for _, dir := range folders(name) {
			if file := within(repo, path.Join(dir, m[1])); file != "" {
				return file + ":" + m[2]
			}
		}
	}
	if file, _, ok := strings.Cut(name, " > "); ok {
		return within(repo, file)
	}
	if class, _, ok := strings.Cut(name, "::"); ok { // pytest's a.b.Class
		for parts := strings.Split(class, "."); len(parts) > 0; parts = parts[:len(parts)-1] {
			if file := within(repo, path.Join(parts...)+".py"); file != "" {
				return file
			}
		}
	}
	return ""
}

// folders returns where a file may be that is named beside a test: below the package
// of a test of go, in front of which its module stands, and in the repository itself.
func folders(name string) []string {
	if strings.Contains(name, " ") || strings.Contains(name, "::") {
		return []string{""}
	}
	var all []string
	for rest := name; rest != ""; {
		all = append(all, rest)
		if dir := path.Dir(rest); dir != "." {
			all = append(all, dir)
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return append(all, "")
}

// within returns a file's path relative to the repository if it is a file in it.
func within(repo, file string) string {
	if filepath.IsAbs(file) {
		for _, root := range []string{repo, real(repo)} {
			if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
				file = rel
				break
			}
		}
	}
	if !filepath.IsLocal(file) {
		return ""
	}
	if info, err := os.Stat(filepath.Join(repo, file)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(file))
}

func real(dir string) string {
	if r, err := filepath.EvalSymlinks(dir); err == nil {
		return r
	}
	return dir
}

// placed writes a file and a line as people do, relative to the repository where it is
// in it.
func placed(repo, file string, line int) string {
	if in := within(repo, file); in != "" {
		file = in
	}
	if file == "" || line <= 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}
