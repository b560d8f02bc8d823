package testgate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd/suite"
	"autopilot/supervisor/testgate/playwright"
)

// None in a field of Settings switches a suite off.
const None = "none"

const maxManifest = 1 << 20 // bytes of a package.json

// Plan is what a run would do.
type Plan struct {
	Suites []Planned // at least one, in the order of levels
	Notes  []string  // why a level has no suite; one line each
}

// Planned is a suite that would run.
type Planned struct {
	Name    Level
	Command string // as it is configured or found; a run adds options for results
	Why     string // where it is from, such as "go.mod" or "configured"

	runner suite.Runner // of those that are no Playwright
}

// PlanError is returned when the gate cannot run. A gate that cannot run is red.
type PlanError struct {
	Class   Class
	Message string
	Way     string // what a person can do about it
}

// Error is what is wrong.
func (e *PlanError) Error() string { return e.Message }

// Hint is the way out.
func (e *PlanError) Hint() string { return e.Way }

// Plan returns the suites that would run. It reads files of the repository and runs
// nothing. An error is a *PlanError: a setting is wrong, there is no such repository, or
// there is nothing to run.
func (g Gate) Plan() (Plan, error) {
	if err := g.check(); err != nil {
		return Plan{}, err
	}
	var p Plan
	for _, l := range []struct {
		name    Level
		command string
		find    func() (Planned, string)
	}{
		{Unit, g.Unit, g.findUnit},
		{Integration, g.Integration, func() (Planned, string) { return Planned{}, "no command is set" }},
		{EndToEnd, g.EndToEnd, g.findEndToEnd},
	} {
		s, why := g.planned(l.command, l.find)
		if why != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("no %s tests: %s", l.name, line(why, maxLine)))
			continue
		}
		s.Name = l.name
		p.Suites = append(p.Suites, s)
	}
	if len(p.Suites) > 0 {
		return p, nil
	}
	if strings.TrimSpace(g.Unit) == None && strings.TrimSpace(g.EndToEnd) == None {
		return Plan{}, &PlanError{Unfixable, "all tests are switched off", "set a command for the unit tests, or switch the test gate off as a whole"}
	}
	return Plan{}, &PlanError{
		Structural, "nothing can be run: " + strings.Join(p.Notes, "; "),
		"set the command that runs the project's tests, or add the tests and what runs them",
	}
}

func (g Gate) planned(command string, find func() (Planned, string)) (Planned, string) {
	switch command = strings.TrimSpace(command); command {
	case None:
		return Planned{}, "switched off"
	case "":
		return find()
	}
	return Planned{Command: command, Why: "configured", runner: suite.Tell(g.Repo, command)}, ""
}

// check looks at the settings, and whether there is a repository.
func (g Gate) check() error {
	for _, l := range []struct {
		name    Level
		command string
	}{{Unit, g.Unit}, {Integration, g.Integration}, {EndToEnd, g.EndToEnd}} {
		if strings.TrimSpace(l.command) == "" {
			continue
		}
		if _, err := gate.ParseCommand(l.command); err != nil {
			return &PlanError{Unfixable, fmt.Sprintf("%s tests: %v", l.name, err), "correct the command in the settings"}
		}
	}
	if !(g.Coverage >= 0 && g.Coverage <= 100) { // also what is no number
		return &PlanError{Unfixable, fmt.Sprintf("a coverage of %v percent cannot be reached or missed", g.Coverage), "set one from 0, which is none, to 100"}
	}
	if info, err := os.Stat(g.Repo); err != nil || !info.IsDir() {
		return &PlanError{External, fmt.Sprintf("repository %s is not there, or no folder", line(g.Repo, maxName)), "see whether it was moved, or its disk is away"}
	}
	return nil
}

// findUnit takes the project's own test command, unless that is its end-to-end tests.
func (g Gate) findUnit() (Planned, string) {
	why := "no test command was found; there is none of go.mod, package.json with a test script, files of pytest, " +
		"Cargo.toml and Makefile with a target test"
	for _, s := range suite.Detect(g.Repo) {
		if strings.HasPrefix(s.Command, "npm test") && strings.Contains(scripts(g.Repo)["test"], "playwright") {
			why = "the test script of package.json runs Playwright"
			continue
		}
		return Planned{Command: s.Command, Why: s.Why, runner: s.Runner}, ""
	}
	return Planned{}, why
}

func (g Gate) findEndToEnd() (Planned, string) {
	if name := playwright.Config(g.Repo); name != "" {
		return Planned{Command: playwright.Command, Why: name}, ""
	}
	return Planned{}, "there is no playwright.config"
}

// scripts returns those of package.json; what cannot be read has none.
func scripts(dir string) map[string]string {
	f, err := os.Open(filepath.Join(dir, "package.json"))
	if err != nil {
		return nil
	}
	defer f.Close()
	var m struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&m) != nil {
		return nil
	}
	return m.Scripts
}
