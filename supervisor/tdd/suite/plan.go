package suite

import (
	"path/filepath"
	"strings"

	"autopilot/sessions/launch"
)

// plan is a command as it is run.
type plan struct {
	command string
	env     []string // NAME=value, further ones
	result  string   // file of the results; empty when they are in the output
	cover   string   // file of the coverage
	blind   string   // why results cannot be had; empty when they can
	noCover string   // why coverage cannot be had
}

// planned is what is known before a command is made.
type planned struct {
	dir, folder string // the project, and the folder for what is written
	environ     []string
	cover       bool
	plugin      bool // pytest-cov is there
}

func (s Suite) plan(k planned) plan {
	p := plan{command: s.Command}
	a := locate(k.dir, s.Command)
	var mine []spot
	for _, sp := range a.spots {
		if sp.runner == s.Runner {
			mine = append(mine, sp)
		}
	}
	switch s.Runner {
	case Go, Cargo:
		s.stream(&p, a, mine, k)
	case Jest, Vitest, Pytest, Node:
		s.file(&p, a, mine, k)
	case TAP:
		p.noCover = "there is no way to ask for it"
	default:
		p.blind, p.noCover = "only the exit status is looked at", "there is no way to ask for it"
	}
	if p.blind != "" && p.noCover == "" {
		p.noCover = "the command cannot be asked for it"
	}
	return p
}

// stream extends a command whose results are in its output. It may stand in it more
// than once.
func (s Suite) stream(p *plan, a aim, mine []spot, k planned) {
	var options []string
	if s.Runner == Cargo {
		p.env, p.noCover = []string{"CARGO_TERM_COLOR=never"}, "there is no way to ask for it"
		options = missing(a.words, "--no-fail-fast")
	} else {
		options = missing(a.words, "-json")
		switch {
		case len(mine) != 1:
			p.noCover = "the command does not name go test once"
		case strings.Contains(a.words, "-coverprofile"):
			p.noCover = "the command writes a profile of its own"
		case k.cover:
			p.cover = filepath.Join(k.folder, "cover.out")
			options = append(options, "-coverprofile="+p.cover)
		}
	}
	for i := len(mine) - 1; i >= 0; i-- {
		if mine[i].end >= 0 {
			p.command = insert(p.command, mine[i].end, a.lead, options)
		}
	}
}

// file extends a command that writes its results into a file. There must be one only
// that does, or the results of one would take the place of the other's.
func (s Suite) file(p *plan, a aim, mine []spot, k planned) {
	own := map[Runner][]string{
		Jest: {"--outputFile"}, Vitest: {"--outputFile"}, Node: {"--test-reporter"}, Pytest: {"--junitxml", "--junit-xml"},
	}
	switch {
	case len(mine) == 0:
		p.blind = "the command does not name " + string(s.Runner)
	case len(mine) > 1:
		p.blind = "the command runs " + string(s.Runner) + " more than once"
	case mine[0].end < 0 && s.Runner != Node:
		p.blind = string(s.Runner) + " is not the last command of the script"
	}
	for _, option := range own[s.Runner] {
		if strings.Contains(a.words, option) {
			p.blind = "the command has " + option + " already"
		}
	}
	if p.blind != "" {
		return
	}
	p.result = filepath.Join(k.folder, "result")
	var options []string
	switch s.Runner {
	case Jest:
		options = jest(p, a, k)
	case Vitest:
		options = vitest(p, a, k)
	case Pytest:
		options = pytest(p, a, k)
	default:
		p.noCover = "there is no way to ask for it"
		const more = " --test-reporter=spec --test-reporter-destination=stdout"
		given := strings.TrimSpace(launch.Lookup(k.environ, "NODE_OPTIONS"))
		p.env = []string{"NODE_OPTIONS=" + strings.TrimSpace(given+" --test-reporter=tap --test-reporter-destination="+nodeQuote(p.result)+more)}
	}
	if len(options) > 0 {
		p.command = insert(p.command, mine[0].end, a.lead, options)
	}
}

func jest(p *plan, a aim, k planned) []string {
	p.env = unattended(k.environ)
	options := append(missing(a.words, "--json"), "--outputFile="+p.result)
	options = append(options, missing(a.words, "--passWithNoTests")...)
	if !k.cover {
		return options
	}
	folder := filepath.Join(k.folder, "coverage")
	p.cover = filepath.Join(folder, "coverage-summary.json")
	options = append(options, "--coverageReporters=json-summary", "--coverageDirectory="+folder)
	if !strings.Contains(a.words, "--coverage") {
		// A threshold of the project is its own gate only where it asks for coverage itself.
		options = append(options, "--coverage", "--coverageThreshold={}")
	}
	return options
}

func vitest(p *plan, a aim, k planned) []string {
	p.env = unattended(k.environ)
	options := []string{"--cache=false", "--reporter=default", "--reporter=json", "--outputFile=" + p.result}
	options = append(options, missing(a.words, "--passWithNoTests")...)
	if !k.cover {
		return options
	}
	switch {
	case !vitestCoverage(k.dir):
		p.noCover = "no coverage provider of the same version as vitest is installed"
	case strings.Contains(a.words, "--coverage"):
		p.noCover = "the command measures coverage itself"
	}
	if p.noCover != "" {
		return options
	}
	folder := filepath.Join(k.folder, "coverage")
	p.cover = filepath.Join(folder, "coverage-summary.json")
	options = append(options, "--coverage.enabled=true", "--coverage.reporter=json-summary",
		"--coverage.reportsDirectory="+folder, "--coverage.reportOnFailure=true")
	for _, what := range []string{"lines", "branches", "functions", "statements"} {
		options = append(options, "--coverage.thresholds."+what+"=0")
	}
	return options
}

// vitestCoverage reports whether a coverage provider is there that fits: with another
// version no test runs.
func vitestCoverage(dir string) bool {
	modules := filepath.Join(dir, "node_modules")
	want := readPackage(filepath.Join(modules, "vitest")).Version
	for _, provider := range []string{"coverage-v8", "coverage-istanbul"} {
		if want != "" && readPackage(filepath.Join(modules, "@vitest", provider)).Version == want {
			return true
		}
	}
	return false
}

func pytest(p *plan, a aim, k planned) []string {
	p.env = []string{"PYTHONDONTWRITEBYTECODE=1"}
	// Without the cache plug-in its options would be errors where a project has set them.
	options := []string{"--junitxml=" + p.result, "-o", "cache_dir=" + filepath.Join(k.folder, "cache")}
	switch {
	case !k.cover:
	case !k.plugin:
		p.noCover = "pytest-cov is not there, or the command cannot be asked for it"
	case strings.Contains(a.words, "coverage"):
		p.noCover = "the command measures coverage itself"
	default:
		p.cover = filepath.Join(k.folder, "coverage.xml")
		p.env = append(p.env, "COVERAGE_FILE="+filepath.Join(k.folder, "coverage.data"))
		options = append(options, "--cov-report=xml:"+p.cover)
		options = append(options, pytestSource(a.words, k.dir)...)
	}
	return options
}

// pytestSource returns the options by which coverage is measured where the project
// does not ask for it itself. A bare --cov takes what is to be measured from the
// configuration of coverage.py.
func pytestSource(words, dir string) []string {
	config := pytestConfig(dir)
	switch {
	case strings.Contains(words+config, "--cov"):
		return nil
	case exists(dir, ".coveragerc"), hasLine(config, "[tool.coverage"), hasLine(config, "[coverage:"):
		return []string{"--cov", "--cov-fail-under=0"}
	}
	return []string{"--cov=.", "--cov-fail-under=0"}
}

// probe returns the command by which pytest names its plug-ins and runs nothing. It is
// empty when that cannot be asked.
func (s Suite) probe(dir string) string {
	a := locate(dir, s.Command)
	if s.Runner != Pytest || !a.only || len(a.spots) != 1 || a.spots[0].runner != Pytest {
		return ""
	}
	return insert(s.Command, a.spots[0].end, "", []string{"--version", "--version"})
}

func pytestConfig(dir string) string {
	var b strings.Builder
	for _, name := range []string{"pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"} {
		b.WriteString(read(dir, name))
	}
	return b.String()
}

// unattended keeps tools from waiting for changes and from writing snapshots.
func unattended(environ []string) []string {
	if launch.Lookup(environ, "CI") != "" {
		return nil
	}
	return []string{"CI=true"}
}

// missing returns an option unless it is there.
func missing(words, option string) []string {
	for _, w := range strings.Fields(words) {
		if strings.Trim(w, `"'`) == option || strings.HasPrefix(w, option+"=") {
			return nil
		}
	}
	return []string{option}
}

func insert(command string, at int, lead string, options []string) string {
	var b strings.Builder
	b.WriteString(command[:at])
	b.WriteString(lead)
	for _, o := range options {
		b.WriteString(" " + quote(o))
	}
	b.WriteString(command[at:])
	return b.String()
}

// quote makes one word of a shell command; what needs no quotes gets none.
func quote(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,@%+") == "" {
		return s
	}
	return launch.Quote(s)
}

// nodeQuote makes one word of NODE_OPTIONS.
func nodeQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
