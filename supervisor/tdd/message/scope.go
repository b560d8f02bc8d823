package message

import (
	"path"
	"slices"
	"strings"
)

const (
	scopeLength = 30
	noScope     = "misc"
)

// Scope is the part of the project to which most of the files belong, from [a-z0-9-]
// and with at most 30 characters: the folder in apps, packages, services, cmd and the
// like, or the first folder. Where all files lie at the top it is the name of one of
// them, and "misc" where nothing can be said. Folders of tests count as what they test.
// Of two parts with as many files it is the first by name.
func Scope(files []string) string {
	folders, tops := map[string]int{}, map[string]int{}
	for _, f := range files {
		f = path.Clean(strings.TrimLeft(f, "/"))
		if ofTasks(f) {
			continue
		}
		if s := folderScope(f); s != "" {
			folders[s]++
		} else if s := fileScope(path.Base(f)); s != "" {
			tops[s]++
		}
	}
	if len(folders) > 0 {
		return mostOf(folders)
	}
	return mostOf(tops)
}

// ofTasks reports whether a file belongs to the list of tasks, which changes with every
// subtask.
func ofTasks(file string) bool {
	rest, ok := strings.CutPrefix(file, ".taskmaster/")
	return ok && (strings.HasPrefix(rest, "tasks/") || path.Base(rest) == "tasks.json")
}

func mostOf(counts map[string]int) string {
	best := noScope
	for s, n := range counts {
		if n > counts[best] || n == counts[best] && s < best {
			best = s
		}
	}
	return best
}

// folderScope is the scope that the folders of a file give.
func folderScope(file string) string {
	var folders []string
	for segment := range strings.SplitSeq(path.Dir(file), "/") {
		if segment != "." && segment != ".." && !isTestFolder(segment) {
			folders = append(folders, segment)
		}
	}
	if len(folders) == 0 {
		return ""
	}
	s := folders[0]
	if len(folders) > 1 && holdsParts(s) {
		rest := folders[1:]
		// cmd/internal/x and src/lib/x are about x.
		for len(rest) > 1 && (rest[0] == "internal" || rest[0] == "src" || s == "src" && rest[0] == "lib") {
			rest = rest[1:]
		}
		s = strings.TrimPrefix(rest[0], "tm-")
	}
	return asScope(s)
}

func holdsParts(folder string) bool {
	return slices.Contains([]string{"apps", "packages", "services", "crates", "cmd", "internal", "src", "lib"}, folder)
}

func isTestFolder(segment string) bool {
	return slices.Contains([]string{"__tests__", "test", "tests"}, segment)
}

// fileScope is the name of a file without what says that it is one of tests, and
// without its extensions.
func fileScope(base string) string {
	stem, _, _ := strings.Cut(strings.TrimLeft(base, "."), ".")
	return asScope(strings.TrimSuffix(strings.TrimPrefix(stem, "test_"), "_test"))
}

func asScope(s string) string { return hyphened(s, scopeLength) }

// hyphened keeps ASCII letters, in lower case, and digits; all else becomes a hyphen
// between them. A longer text is cut between two words where there are some.
func hyphened(s string, most int) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r < 'a' || r > 'z' {
			if r < '0' || r > '9' {
				gap = b.Len() > 0
				continue
			}
		}
		if gap {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
		if b.Len() > 2*most { // enough to see where the last word that fits ends
			break
		}
	}
	out := b.String()
	if len(out) <= most {
		return out
	}
	if i := strings.LastIndexByte(out[:most+1], '-'); i > 0 {
		return out[:i]
	}
	return out[:most]
}
