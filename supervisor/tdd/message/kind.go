package message

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Types of commits.
const (
	Feat     = "feat"     // new behaviour
	Fix      = "fix"      // of behaviour
	Test     = "test"     // tests alone
	Refactor = "refactor" // other code, the same behaviour
	Docs     = "docs"
	Chore    = "chore" // build and tools
)

// Types are the types of commits that there are.
func Types() []string { return []string{Feat, Fix, Test, Refactor, Docs, Chore} }

// CheckType says what is wrong with a type.
func CheckType(t string) error {
	if slices.Contains(Types(), t) {
		return nil
	}
	return fmt.Errorf("%q is none of %s", cut(t, titleLength), strings.Join(Types(), ", "))
}

// Type is the type of a commit, told from the files in it: Test, Docs or Chore when all
// of them are of that kind, else def, which is Feat when it is empty. isTest says
// whether a file is one of tests; nil for none.
func Type(files []string, isTest func(file string) bool, def string) string {
	def = cmp.Or(def, Feat)
	kind := ""
	for _, f := range files {
		f = path.Clean(f)
		k := def
		switch {
		case isTest != nil && isTest(f):
			k = Test
		case isTool(f):
			k = Chore
		case isDoc(f):
			k = Docs
		}
		if kind != "" && k != kind {
			return def
		}
		kind = k
	}
	return cmp.Or(kind, def)
}

func isDoc(file string) bool {
	base := strings.ToLower(path.Base(file))
	stem, _, _ := strings.Cut(base, ".")
	first, _, _ := strings.Cut(file, "/")
	inDocs := first != file && slices.Contains([]string{"doc", "docs", "documentation"}, strings.ToLower(first))
	switch path.Ext(base) {
	case ".md", ".mdx", ".markdown", ".rst", ".adoc":
		return true
	case "", ".txt":
		return inDocs || slices.Contains([]string{"readme", "changelog", "license", "licence", "contributing", "authors", "notice", "copying", "news"}, stem)
	case ".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp", ".pdf":
		return inDocs
	}
	return false
}

// isTool reports whether a file is one of build, continuous integration or tooling.
func isTool(file string) bool {
	for segment := range strings.SplitSeq(file, "/") {
		if strings.HasPrefix(segment, ".") && segment != ".." {
			return true
		}
	}
	base := strings.ToLower(path.Base(file))
	switch path.Ext(base) {
	case ".lock", ".lockb", ".mk", ".cmake", ".gradle":
		return true
	}
	if strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt") || strings.HasPrefix(base, "tsconfig") && strings.HasSuffix(base, ".json") {
		return true
	}
	if stem, rest, ok := strings.Cut(base, ".config."); ok && stem != "" && !strings.Contains(rest, ".") {
		return slices.Contains([]string{"js", "cjs", "mjs", "ts", "cts", "mts", "json"}, rest) // jest.config.js and its like
	}
	return slices.Contains([]string{
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "turbo.json", "nx.json", "lerna.json", "deno.json", "biome.json",
		"go.mod", "go.sum", "go.work", "go.work.sum", "cargo.toml", "pyproject.toml", "setup.cfg", "setup.py", "pipfile", "tox.ini", "pytest.ini", "noxfile.py",
		"makefile", "gnumakefile", "justfile", "taskfile.yml", "taskfile.yaml", "cmakelists.txt", "build.xml", "pom.xml", "gemfile", "rakefile", "composer.json",
		"dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml", "jenkinsfile", "azure-pipelines.yml", "flake.nix",
	}, base)
}
