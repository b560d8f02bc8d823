package goal

import (
	"path"
	"slices"
	"strings"
)

// filesOf finds the files that a clause asks for and notes them.
func (r *reading) filesOf(i int) []string {
	c := &r.clauses[i]
	if c.negated || c.purpose {
		return nil
	}
	var out []string
	add := func(w word) {
		p := pathOf(w)
		out = append(out, p)
		r.addFile(p, w.start)
	}
	verb, after := c.verb.text, c.object()
	if c.verb.class == noVerb {
		verb, after = announced(r.clauses, i), c.words
	}
	for _, w := range targets(verb, after) {
		add(w)
	}
	if c.verb.class != noVerb || len(out) > 0 {
		return out
	}
	if w, ok := subject(c.words); ok {
		add(w)
	} else if w, ok := leading(c.words); ok && i+1 < len(r.clauses) && slices.Contains(allows(r.clauses[i+1].verb.text), "in") {
		add(w)
	}
	return out
}

func (r *reading) addFile(p string, at int) {
	key := path.Clean(p)
	if r.known[key] || len(r.files) >= maxDeliverables {
		return
	}
	r.known[key] = true
	r.files = append(r.files, p)
	r.found = append(r.found, place{at, p})
	r.addCriterion(Criterion{Text: p + " is there and is what the goal asks for", Kind: File, File: p})
}

// announced gives the verb for a clause without one when the words before its list
// have it: "create these: a.md and b.md".
func announced(all []clause, i int) string {
	const far = maxDeliverables // items
	c := &all[i]
	k := i - 1
	for k > 0 && i-k < far && c.item && all[k].item {
		k--
	}
	if k < 0 || all[k].negated || all[k].section != c.section || all[k].item != c.item && !all[k].intro {
		return ""
	}
	last := all[k].words[len(all[k].words)-1]
	if source(last.text) || !last.colon() && !all[k].intro {
		return ""
	}
	return all[k].verb.text
}

// subject finds a file that a sentence demands: "docs/a.md must ...", "there is a
// file a.md".
func subject(ws []word) (word, bool) {
	for i, w := range ws {
		if pathOf(w) == "" {
			if w.quoted || !function(w.text) && w.text != "file" && w.text != "document" && w.text != "exists" {
				return word{}, false
			}
			continue
		}
		if i > 0 && ws[0].text == "there" {
			return w, true
		}
		for k := i + 1; k < min(len(ws), i+4); k++ {
			switch ws[k].text {
			case "must", "should", "shall", "exists", "created", "written", "generated", "added", "updated":
				return w, true
			}
		}
		return word{}, false
	}
	return word{}, false
}

// leading finds the file in "in docs/a.md, ...", before the verb.
func leading(ws []word) (word, bool) {
	if len(ws) < 2 || len(ws) > 4 || ws[0].text != "in" && ws[0].text != "to" && ws[0].text != "under" {
		return word{}, false
	}
	last := ws[len(ws)-1]
	return last, pathOf(last) != ""
}

// targets finds the files that a verb makes or changes. Which words stand between
// tells: "write a summary of a.md to b.md" has the target b.md.
func targets(verb string, object []word) []word {
	var out []word
	main, relation := verb, ""
	weak := 0 // files found so far that only stand in something
	for i, w := range object {
		prev := word{}
		if i > 0 {
			prev = object[i-1]
		}
		switch {
		case pathOf(w) != "":
			if !slices.Contains(allows(verb), relation) {
				continue
			}
			if relation == "to" || relation == "into" || relation == "as" {
				out, weak = out[weak:], 0 // "the notes in a.md to b.md"
			}
			out = append(out, w)
			if relation == "in" && weak == len(out)-1 {
				weak++
			}
		case relative(w.text):
			return out // what follows says what the thing does, not what to make
		case w.text == "to":
			relation = "to"
			if points(prev.text) {
				relation = "from"
			} else if v := verbOf(object[i+1 : min(len(object), i+6)]); v.class != noVerb {
				if i > 0 && slices.Contains(allows(main), "") {
					return out // a script to do something
				}
				verb, relation = v.text, ""
			}
		case target(w.text):
			relation = w.text
			if participle(prev.text) || follows(verb) && guides(prev.text) {
				relation = "from"
			}
		case source(w.text):
			relation = "from"
		case w.text == "named" || w.text == "called":
			relation = ""
		}
	}
	return out
}

// follows reports verbs that take a plan as their object, guides nouns for plans:
// "implement the design in design.md" does not change design.md.
func follows(verb string) bool {
	return slices.Contains([]string{"implement", "build", "develop", "compare"}, verb)
}

func guides(noun string) bool {
	return slices.Contains([]string{"design", "designs", "spec", "specs", "specification", "requirements", "plan", "plans", "checklist", "task", "tasks", "notes", "instructions", "issues", "todos", "items", "steps", "paper", "schema", "template", "mockup", "mockups", "proposal", "outline", "numbers", "results", "values", "figures", "data", "stories"}, noun)
}

func relative(s string) bool {
	return slices.Contains([]string{"that", "which", "who", "whose", "where", "because", "if", "when", "whenever", "while", "since", "whether", "how", "what", "why"}, s)
}

func target(s string) bool {
	return slices.Contains([]string{"in", "into", "as", "at", "under", "inside", "onto"}, s)
}

func source(s string) bool {
	return slices.Contains([]string{"from", "of", "by", "for", "about", "with", "using", "via", "on", "than", "like", "against", "per", "see", "following", "through", "over", "between", "after", "before", "regarding", "reading", "reads", "based", "according", "described", "within", "without", "not", "parsing", "matching", "mirroring"}, s)
}

// points reports words before "to" that only point to something.
func points(s string) bool {
	return slices.Contains([]string{"according", "similar", "refer", "refers", "referring", "link", "links", "linking", "reference", "references", "related", "relative", "compared", "pointer", "pointing", "points", "due", "equal", "identical", "next", "respect", "regard", "path", "corresponding", "analogous", "close", "belonging", "conform", "conforming", "adhering", "thanks"}, s)
}

// participle reports forms after which "in" says where something stands already.
func participle(s string) bool {
	switch s {
	case "given", "shown", "seen", "found", "written", "is", "are", "as", "was", "were", "stands", "kept", "set", "bug", "bugs", "failing", "occurring":
		return true
	case "need", "feed", "embed", "speed", "seed":
		return false
	}
	return len(s) > 3 && strings.HasSuffix(s, "ed")
}

// allows gives the words that may stand between a verb and a file that it makes or
// changes; "" is for none.
func allows(verb string) []string {
	switch verb {
	case "create", "write", "generate", "produce", "draft", "compose", "author", "prepare", "provide", "emit", "export", "render", "write up", "write down", "put together", "design", "define":
		return []string{"", "in", "into", "to", "as", "at", "under", "inside", "onto"}
	case "add", "append", "insert", "introduce", "extend", "update", "edit", "modify", "change", "amend", "set up", "fill in", "fill out", "set":
		return []string{"", "in", "into", "to", "at", "under", "inside", "onto"}
	case "rewrite", "refactor", "fix", "improve", "polish", "enhance", "simplify", "complete", "correct", "format", "tidy", "tidy up", "clean", "clean up", "optimize", "optimise", "refresh", "restore", "finish", "redo", "rework", "reorganize", "restructure", "revamp", "overhaul", "maintain", "modernize":
		return []string{""}
	case "implement", "build", "document", "note", "list", "describe", "explain", "summarize", "summarise", "collect", "record", "log", "report", "outline", "replace", "bump", "configure", "compile", "plot", "draw", "sketch", "print", "scaffold", "develop", "compare", "identify", "count", "measure", "make", "rename":
		return []string{"in", "into", "to", "as", "at", "under", "inside", "onto"}
	case "put", "save", "store", "place", "publish", "dump", "persist", "move", "copy", "port", "convert", "translate", "extract", "merge", "split", "load", "download", "fetch", "turn into", "bundle", "package", "cache":
		return []string{"in", "into", "to", "as", "at", "under", "inside", "onto"}
	}
	return nil
}

const maxPath = 200 // bytes

// pathOf gives the file or folder that a word names, as written, or "". Absolute
// paths, paths that leave the folder, addresses, versions, patterns and names of
// libraries are none.
func pathOf(w word) string {
	s := strings.TrimSuffix(strings.TrimSuffix(w.raw, "'s"), "’s")
	if k := strings.IndexByte(s, ':'); k > 0 && strings.Trim(s[k:], ":0123456789") == "" {
		s = s[:k]
	}
	if s == "" || len(s) > maxPath || strings.HasSuffix(w.lead, "*") && strings.HasPrefix(s, ".") || !safe(s) {
		return ""
	}
	folder, name := path.Split(s)
	if folder == "" && name != "" {
		if named(name) {
			return s
		}
		return ""
	}
	if domain(s) {
		return ""
	}
	if name == "" {
		return trimmed(s)
	}
	if ext := path.Ext(name); ext != "" && ext != name && lettered(ext[1:]) || named(name) {
		return s
	}
	if path.Ext(name) != "" && !strings.HasPrefix(name, ".") {
		return ""
	}
	return trimmed(s)
}

// trimmed accepts a folder or a file without an ending only when it cannot be a
// pair of words such as read/write.
func trimmed(s string) string {
	first, _, _ := strings.Cut(s, "/")
	if strings.HasPrefix(s, "./") && len(s) > 2 || strings.HasSuffix(s, "/") || strings.Count(s, "/") > 1 && s == strings.ToLower(s) {
		return s
	}
	switch first {
	case "cmd", "pkg", "internal", "docs", "doc", "src", "lib", "test", "tests", "scripts", "app", "apps", "config", "configs", "bin", "tools", "examples", "example", "api", "web", "assets", "build", "dist", "data", "packages", "notes", "reports", "migrations", "crates", "benches", "deploy", ".github", "public", "static", "templates":
		return s
	}
	return ""
}

// safe reports a relative path inside the folder, of plain characters.
func safe(s string) bool {
	if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~") || strings.HasPrefix(s, "-") || strings.Contains(s, "//") || strings.ContainsAny(s, "\\*?<>|{}$@%!&=,;:'\"`()[]# \t\r\n") {
		return false
	}
	for _, c := range s {
		if c < ' ' || c == 0x7f || c == '\uFFFD' {
			return false
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		if strings.Trim(part, ".") == "" && part != "." && part != "" {
			return false
		}
	}
	return path.Clean(s) != "."
}

// domain reports a path that begins with the name of a host.
func domain(s string) bool {
	first, _, _ := strings.Cut(s, "/")
	return strings.Contains(strings.TrimLeft(first, "."), ".") || strings.HasPrefix(first, "www")
}

func lettered(ext string) bool {
	const longest = 10 // letters
	return ext != "" && len(ext) <= longest && (ext[0] >= 'a' && ext[0] <= 'z' || ext[0] >= 'A' && ext[0] <= 'Z') && !strings.ContainsAny(ext, "-+_")
}

// named reports the name of a file that needs no folder to be known as one.
func named(name string) bool {
	switch name {
	case "Makefile", "Dockerfile", "Jenkinsfile", "Procfile", "Justfile", "Vagrantfile", "Gemfile", "Rakefile", "Brewfile", "CODEOWNERS", ".gitignore", ".gitattributes", ".dockerignore", ".editorconfig", ".env", "go.mod", "go.sum", "go.work":
		return true
	}
	stem, ok := strings.CutSuffix(name, path.Ext(name))
	if !ok || stem == "" || path.Ext(name) == "" {
		return strings.HasPrefix(name, ".") && strings.HasSuffix(name, "rc")
	}
	ext := path.Ext(name)[1:]
	if ext == "js" && library(stem) {
		return false
	}
	return known(strings.ToLower(ext))
}

// library reports names such as Node.js, which are no files.
func library(stem string) bool {
	switch strings.ToLower(stem) {
	case "node", "vue", "next", "nuxt", "react", "express", "three", "d3", "ember", "backbone", "angular", "chart", "moment", "discord", "nest", "p5", "alpine", "knockout", "electron", "require", "solid", "handlebars", "mustache", "underscore", "jquery", "ext", "meteor", "phaser", "matter", "pixi", "babylon", "fastify", "hapi", "koa", "sails", "lit", "stimulus", "plotly", "leaflet", "socket", "date-fns", "lodash", "tensorflow", "brain", "day":
		return true
	}
	return stem[0] >= 'A' && stem[0] <= 'Z'
}

// known reports the endings that make a name without a folder a file.
func known(ext string) bool {
	switch ext {
	case "md", "txt", "rst", "adoc", "org", "tex", "pdf", "html", "htm", "css", "scss", "sass", "less", "js", "mjs", "cjs", "jsx", "ts", "tsx", "vue", "svelte", "go", "py", "pyi", "ipynb", "rs", "rb", "java", "kt", "kts", "scala", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "cs", "fs", "swift", "m", "mm", "php", "pl", "pm", "lua", "r", "jl", "ex", "exs", "erl", "hs", "ml", "clj", "dart", "zig", "nim", "sh", "bash", "zsh", "fish", "ps1", "bat", "sql", "graphql", "gql", "proto", "json", "jsonl", "json5", "jsonc", "yaml", "yml", "toml", "ini", "cfg", "conf", "env", "xml", "csv", "tsv", "xlsx", "docx", "pptx", "svg", "png", "jpg", "jpeg", "gif", "webp", "ico", "mp3", "mp4", "wav", "lock", "mod", "sum", "mk", "cmake", "gradle", "tf", "tfvars", "hcl", "nix", "dockerfile", "diff", "patch", "log", "db", "sqlite", "parquet", "wasm", "zip", "gz", "tar", "tgz", "tmpl", "tpl", "j2", "feature", "service", "plist", "asm", "s", "vim", "el", "lisp", "sol", "drawio", "mmd", "puml", "dot", "template", "example", "properties", "hurl", "http", "rkt", "awk", "sed", "po", "pot":
		return true
	}
	return false
}
