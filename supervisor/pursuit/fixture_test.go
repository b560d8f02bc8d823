package pursuit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"autopilot/reflector"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// asked is a reflector that gives one answer and remembers what it was asked.
type asked struct {
	assessment reflector.Assessment
	err        error
	usage      reflector.Usage
	then       func() // called before it answers
	inputs     []reflector.Input
}

func (*asked) Name() string { return "oracle" }

func (r *asked) Reflect(_ context.Context, in reflector.Input) (reflector.Reflection, error) {
	r.inputs = append(r.inputs, in)
	if r.then != nil {
		r.then()
	}
	return reflector.Reflection{Assessment: r.assessment, Asked: reflector.Asked{Model: "m", Attempts: 2, Usage: r.usage}}, r.err
}

func assessment(a reflector.Achieved, p reflector.Progress, percent float64, r reflector.Recommendation, steps ...string) reflector.Assessment {
	if steps == nil {
		steps = []string{}
	}
	return reflector.Assessment{GoalAchieved: a, Progress: p, PercentComplete: percent, Recommendation: r, Reasoning: "because", NextSteps: steps}
}

func good(percent float64) reflector.Assessment {
	return assessment(reflector.No, reflector.Good, percent, reflector.Continue)
}

// command is a check that runs a command of a name.
func command(name string, given bool) gate.Check {
	return gate.Check{Kind: gate.Command, Command: name, Given: given}
}

// checking makes checks of which those with some names fail.
func checking(failing ...string) func(context.Context, []gate.Check) []gate.Result {
	return func(_ context.Context, checks []gate.Check) []gate.Result {
		var out []gate.Result
		for _, c := range checks {
			r := gate.Result{Check: c, OK: true, Detail: "exit status 0"}
			for _, f := range failing {
				if c.Command == f {
					r.OK, r.Detail = false, "exit status 1"
				}
			}
			out = append(out, r)
		}
		return out
	}
}

// worked counts sessions of an hour each that changed a file.
func worked(s *State, n int) {
	for range n {
		one(s, reflector.Session{Worked: true, Files: 1, Duration: time.Hour})
	}
}

// one counts a session and numbers it.
func one(s *State, x reflector.Session, calls ...string) {
	x.Iteration = 1
	for _, g := range s.Goals {
		x.Iteration += g.Totals.Sessions
	}
	var list []reflector.Call
	for _, c := range calls {
		list = append(list, reflector.Call{Iteration: x.Iteration, Tool: "Bash", Brief: c, Same: c})
	}
	s.Session(x, list, prompt.Past{Iteration: x.Iteration}, Used{})
}

// reflect makes a reflection that must not be an error.
func (s *State) reflect(t *testing.T, o Options, at Occasion) Record {
	t.Helper()
	if o.Check == nil {
		o.Check = checking()
	}
	if o.Matrix == "" {
		o.Matrix = reflector.Extended
	}
	rec, err := s.Reflect(t.Context(), o, at, reflector.ByInterval)
	if err != nil {
		t.Fatalf("reflect: %v", err)
	}
	return rec
}

// readBack is the state as it is after it was written to disk and read.
func readBack(s State) (State, error) {
	var out State
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// copied is a deep copy.
func copied(t *testing.T, s State) State {
	t.Helper()
	out, err := readBack(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Goals {
		out.Goals[i].Words = s.Goals[i].Words
		out.Goals[i].Checks = append([]gate.Check{}, s.Goals[i].Checks...)
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// goals are n goals without checks.
func goals(n int) []Goal {
	var out []Goal
	for i := range n {
		out = append(out, Goal{Text: fmt.Sprintf("goal %d", i+1)})
	}
	return out
}

func statuses(s State) []string {
	var out []string
	for _, g := range s.Goals {
		out = append(out, g.Status)
	}
	return out
}

var errSilent = errors.New("no answer")
