package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/reflector"
)

// Good is a reply that is a valid assessment, in the words of [GoodAssessment].
const Good = `{"goalAchieved":"PARTIAL","progress":"SLOW","percentComplete":42.5,"loopDetected":false,` +
	`"recommendation":"CONTINUE","reasoning":"half of it is there","nextSteps":["write the other half"],"milestonesDone":[1]}`

// GoodAssessment is what [Good] says.
func GoodAssessment() reflector.Assessment {
	return reflector.Assessment{
		GoalAchieved: reflector.Partial, Progress: reflector.Slow, PercentComplete: 42.5, Recommendation: reflector.Continue,
		Reasoning: "half of it is there", NextSteps: []string{"write the other half"}, MilestonesDone: []int{1},
	}
}

// patience is how long a call may last before it counts as one that hangs.
const patience = 30 * time.Second

// Test runs the tests that every reflector passes. The function returns a new
// reflector whose service, if it has one, answers every question well.
func Test(t *testing.T, open func(t *testing.T) reflector.Reflector) {
	t.Run("name", func(t *testing.T) {
		t.Parallel()
		known := []string{"openai", "claude", "rules"}
		if name := open(t).Name(); !slices.Contains(known, name) {
			t.Errorf("name is %q, want one of %q", name, known)
		}
	})
	for _, c := range inputs() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := c.make()
			r, err := reflect(t.Context(), t, open(t), in)
			if err != nil {
				t.Fatalf("reflect: %v", err)
			}
			checkValid(t, r)
			if diff := cmp.Diff(c.make(), in, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("the input has changed (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		ref := open(t)
		for _, c := range inputs() {
			r, err := reflect(t.Context(), t, ref, c.make())
			if err != nil {
				t.Fatalf("%s: reflect: %v", c.name, err)
			}
			checkValid(t, r)
		}
	})
	t.Run("context", func(t *testing.T) {
		t.Parallel()
		ref := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// One that asks nobody may be quick enough not to care.
		r, err := reflect(ctx, t, ref, one())
		switch {
		case err == nil:
			checkValid(t, r)
		case !errors.Is(err, context.Canceled):
			t.Errorf("after the context ended, got error %v, want context canceled", err)
		}
		if _, err := reflect(t.Context(), t, ref, one()); err != nil {
			t.Errorf("after a call whose context ended: %v", err)
		}
	})
}

// reflect calls the reflector, and fails the test if the call panics or hangs.
func reflect(ctx context.Context, t *testing.T, ref reflector.Reflector, in reflector.Input) (r reflector.Reflection, err error) {
	t.Helper()
	var panicked any
	var running sync.WaitGroup
	done := make(chan struct{})
	running.Go(func() {
		defer close(done)
		defer func() { panicked = recover() }()
		r, err = ref.Reflect(ctx, in)
	})
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("reflect does not return within %s", patience)
	}
	if panicked != nil {
		t.Fatalf("reflect panics: %v", panicked)
	}
	return r, err
}

// checkValid checks that an assessment is one that a model could have given: of
// the schema, within its bounds.
func checkValid(t *testing.T, r reflector.Reflection) {
	t.Helper()
	text, err := json.Marshal(r.Assessment)
	if err != nil {
		t.Fatalf("write the assessment: %v", err)
	}
	parsed, err := reflector.ParseAssessment(text)
	if err != nil {
		t.Fatalf("the assessment is not valid: %v\n%s", err, text)
	}
	if diff := cmp.Diff(parsed, r.Assessment, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the assessment is not within its bounds (-bounded +got):\n%s", diff)
	}
	if r.Model == "" && (r.Attempts != 0 || r.Usage != reflector.Usage{}) {
		t.Errorf("no model was asked, and %d replies and %+v were needed", r.Attempts, r.Usage)
	}
	if r.Model != "" && r.Attempts < 1 {
		t.Errorf("model %q has answered, and %d replies were needed", r.Model, r.Attempts)
	}
}
