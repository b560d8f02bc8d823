package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
	"autopilot/supervisor/tdd/suite"
)

const homePrefix = "~/"

func tddOptions() []Option {
	out := []Option{
		boolean("tdd", "true", "allow test-driven runs of tasks: a failing test, code until it passes, a commit", func(c *Config, v bool) { c.TDD.Enabled = v }),
		boolean("clean-tree", "true", "start no test-driven run in a work tree with changes", func(c *Config, v bool) { c.TDD.RequireClean = v }),
		checked(text("commit-template", "{type}({scope}): {msg} (task {taskId})", "first line of the commits of a test-driven run", func(c *Config, v string) { c.TDD.CommitTemplate = v }), message.CheckTemplate),
		choice("commit-type", message.Feat, message.Types(), "type of a commit whose files do not say another", func(c *Config, v string) { c.TDD.CommitType = v }),
		integer("max-attempts", "3", span[int]{1, 100}, "tries at one step of a test-driven run, after which it waits for a person", func(c *Config, n int) { c.TDD.MaxAttempts = n }),
		required(text("test-command", tdd.TestsAuto, "shell command that runs the tests; auto tells it from the project, none believes what is reported", func(c *Config, v string) { c.TDD.TestCommand = v })),
		choice("test-runner", "auto", suite.Runners(), "form of the output of test-command; auto tells it from the command, exit looks at the exit status alone", func(c *Config, v string) { c.TDD.TestRunner = v }),
		duration("test-timeout", "5m", span[time.Duration]{time.Second, 6 * time.Hour}, "time for one run of the tests", func(c *Config, d time.Duration) { c.TDD.TestTimeout = d }),
		text("test-pattern", "", "pattern of the files with tests, such as **/*.test.ts; empty tells them by their names", func(c *Config, v string) { c.TDD.TestPattern = v }),
		threshold("lines", func(c *tdd.Coverage, v *float64) { c.Lines = v }),
		threshold("branches", func(c *tdd.Coverage, v *float64) { c.Branches = v }),
		threshold("functions", func(c *tdd.Coverage, v *float64) { c.Functions = v }),
		threshold("statements", func(c *tdd.Coverage, v *float64) { c.Statements = v }),
		checked(text("branch-pattern", "{tag}/task-{id}-{slug}", "name of the branch of a task", func(c *Config, v string) { c.TDD.BranchPattern = v }), message.CheckPattern),
		checked(text("remote", "origin", "name of the remote to which a branch is pushed when that is asked for", func(c *Config, v string) { c.TDD.Remote = v }), checkRemote),
		boolean("already-implemented", "false", "take new tests that all pass for a subtask that is done already", func(c *Config, v bool) { c.TDD.AlreadyImplemented = v }),
		storage(),
	}
	for i := range out {
		out[i].Group = GroupTDD
	}
	return out
}

func threshold(of string, set func(*tdd.Coverage, *float64)) Option {
	return offAtZero(number("coverage-"+of, "0", span[float64]{0, 100}, "percent of "+of+" below which nothing is committed, where coverage is known; 0 is no limit", func(c *Config, v float64) {
		if v == 0 {
			set(&c.TDD.Thresholds, nil)
			return
		}
		set(&c.TDD.Thresholds, &v)
	}))
}

// storage is an option whose value a repository may choose only below the person's
// home: what it names is written to.
func storage() Option {
	o := checked(text("tdd-storage", "", "folder for what is kept of test-driven runs: absolute, or ~/ and a path; empty is the state folder", func(c *Config, v string) { c.TDD.Storage = v }), func(v string) error {
		if v == "" || filepath.IsAbs(v) || inHome(v) {
			return nil
		}
		return fmt.Errorf("%q is neither an absolute path nor one below %s", v, homePrefix)
	})
	o.trusted = func(raw []string) bool {
		v, err := one(raw)
		return err != nil || v == "" || inHome(v)
	}
	return o
}

func inHome(path string) bool {
	rest, ok := strings.CutPrefix(path, homePrefix)
	return ok && filepath.IsLocal(rest)
}

// checkRemote takes names alone: git would take an option, a path or a URL as well.
func checkRemote(name string) error {
	if !regexp.MustCompile(`^[\pL\pN_][\pL\pN_./-]*$`).MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("%q is no name of a remote", name)
	}
	return nil
}

// checked makes an option refuse what is wrong with its text.
func checked(o Option, check func(string) error) Option {
	apply := o.apply
	o.apply = func(c *Config, raw []string) (moved, error) {
		v, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		if err := check(v); err != nil {
			return moved{}, err
		}
		return apply(c, raw)
	}
	return o
}
