package night

import (
	"path/filepath"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
	"autopilot/supervisor/breaker"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/testgate"
)

// Night is what a work tree has beside its sessions: the queue, the calls that wait for
// a person, what is to be told, and the services that are left alone.
type Night struct {
	Repo     string // top of the work tree
	Cfg      config.Config
	Dir      string // state folder of the work tree
	Queue    queue.Store
	Gates    approval.Desk
	Rules    rule.Set
	Outbox   outbox.Outbox
	Breakers breaker.Set
	// Protected are further folders that no session may change, and Lane the patterns of the
	// paths that it may; none for all.
	Protected []string
	Lane      []string
}

// Open opens what a work tree has below the root of the state folders. The folder of one
// that has none is made when create is set; else it has nothing.
func Open(root, repo string, cfg config.Config, create bool) (Night, error) {
	project, found, err := statedir.FindProject(root, repo)
	if err == nil && !found && create {
		project, err = statedir.OpenProject(root, repo)
		found = true
	}
	if err != nil {
		return Night{}, err
	}
	dir := project.Dir
	if !found {
		dir = filepath.Join(root, "none")
	}
	rules, err := rule.Default().With(cfg.Night.GateRules)
	if err != nil {
		return Night{}, outside.Usage("gate: %v", err)
	}
	return Night{
		Repo: repo, Cfg: cfg, Dir: dir, Rules: rules,
		Queue:    queue.Store{Path: filepath.Join(dir, "queue.json")},
		Gates:    approval.Desk{Dir: filepath.Join(dir, "gates"), Timeout: cfg.Night.GateTimeout, Advance: cfg.Night.PreApprove, Key: filepath.Join(root, "gates.key")},
		Outbox:   outbox.Outbox{Dir: dir},
		Breakers: breaker.Set{Path: filepath.Join(dir, "breakers.json"), Settings: breaker.Settings{Threshold: cfg.Night.BreakerThreshold, Reset: cfg.Night.BreakerReset}},
	}, nil
}

// TestGate runs the tests of the repository.
func (n Night) TestGate(environ []string, runner gate.Runner) testgate.Gate {
	unit := n.Cfg.TDD.TestCommand
	if unit == testsAuto {
		unit = ""
	}
	s := testgate.Settings{Unit: unit, Integration: n.Cfg.Night.Integration, EndToEnd: n.Cfg.Night.EndToEnd, Timeout: n.Cfg.TDD.TestTimeout}
	if n.Cfg.TDD.Thresholds.Lines != nil {
		s.Coverage = *n.Cfg.TDD.Thresholds.Lines
	}
	return testgate.Gate{Repo: n.Repo, Settings: s, Runner: runner, Environ: environ}
}

const testsAuto = "auto"

// testsWanted reports whether the test gate is wanted for a source of work, and whether it
// is refused that there is nothing to run.
func (n Night) testsWanted(onQueue bool) (wanted, required bool) {
	switch n.Cfg.Night.TestGate {
	case config.TestGateOn:
		return true, true
	case config.TestGateAuto:
		return onQueue, false
	}
	return false, false
}
