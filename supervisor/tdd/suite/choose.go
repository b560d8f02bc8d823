package suite

import (
	"fmt"
	"slices"
	"strings"

	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite/shell"
)

const wayOut = "set test-command to the project's test command (in autopilot.yaml or with --test-command); " +
	"test-command: none believes what is reported"

// Choose returns the test command of the project in dir as the settings want it. It
// is nil without an error when nothing is to be run. An error is a *tdd.Refusal of
// kind tdd.Invalid, and names the way out: nothing was found, or a setting is wrong.
func Choose(dir string, s tdd.Settings) (*Suite, error) {
	r := Runner(s.TestRunner)
	if r == "" {
		r = Auto
	}
	if !slices.Contains(Runners(), string(r)) {
		return nil, invalid(fmt.Sprintf("test-runner: %q is no runner", line(s.TestRunner, maxCommand)),
			"use one of "+strings.Join(Runners(), ", "))
	}
	switch command := strings.TrimSpace(s.TestCommand); command {
	case tdd.TestsNone:
		return nil, nil
	case tdd.TestsAuto, "":
		return detected(dir, r)
	default:
		if _, err := gate.ParseCommand(command); err != nil {
			return nil, invalid("test-command: "+err.Error(), wayOut)
		}
		if r == Auto {
			r = Tell(dir, command)
		}
		return &Suite{Command: command, Runner: r, Why: "configured"}, nil
	}
}

func invalid(message, way string) error {
	return &tdd.Refusal{Kind: tdd.Invalid, Message: message, Way: way}
}

func detected(dir string, want Runner) (*Suite, error) {
	found := Detect(dir)
	for _, s := range found {
		switch {
		case want == Auto || want == s.Runner:
			return &s, nil
		case want == Exit, want == TAP && s.Runner == Exit:
			s.Runner = want
			return &s, nil
		}
	}
	if len(found) > 0 {
		return nil, invalid(fmt.Sprintf("no test command for the runner %s found: the project has %s", want, found[0].Why), wayOut)
	}
	return nil, invalid("no test command found: there is none of go.mod, package.json with a test script, "+
		"files of pytest, Cargo.toml and Makefile with a target test", wayOut)
}

// Tell returns the runner that a command's words name: the command's own, or those of
// the script in package.json of dir that it runs. It is Exit when they name none, or
// more than one.
func Tell(dir, command string) Runner {
	a := locate(dir, command)
	if len(a.spots) == 0 {
		return Exit
	}
	r := a.spots[0].runner
	for _, s := range a.spots {
		if s.runner != r {
			return Exit
		}
	}
	return r
}

// aim says where in a command options for runners can stand.
type aim struct {
	spots []spot
	lead  string // what has to stand before options
	words string // everything that was looked at, to find options that are there already
	only  bool   // there is but one simple command, and it is not in package.json
}

// locate finds the runners that a command names.
func locate(dir, command string) aim {
	parts, ok := shell.Split(command)
	if !ok {
		return aim{words: command}
	}
	a := aim{spots: spots(parts), words: command, only: len(parts) == 1}
	name, lead, ok := script(parts)
	if !ok {
		return a
	}
	text := readPackage(dir).Scripts[name]
	if text == "" {
		return a
	}
	inner, ok := shell.Split(text)
	if !ok {
		return aim{words: command + " " + text}
	}
	a = aim{spots: spots(inner), lead: lead, words: command + " " + text}
	for i := range a.spots {
		// A package manager puts options at the end of the script.
		if a.spots[i].part != len(inner)-1 {
			a.spots[i].end = -1
		} else {
			a.spots[i].end = len(command)
		}
	}
	return a
}
