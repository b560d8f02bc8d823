package night

import (
	"context"
	"errors"
	"time"

	"autopilot/reflector"
	"autopilot/supervisor/breaker"
)

// reflectorBreaker is the name of the breaker in front of the reflector's model.
const reflectorBreaker = "reflector"

// Guarded is a model that is left alone for a while after failures, over all runs of the
// work tree. A look back that finds it so is a failed one, which a run survives.
func (n Night) Guarded(m reflector.Model) reflector.Model {
	set := n.Breakers
	set.Settings.Judge = func(err error) breaker.Verdict {
		// A limit is waited for by the run itself, and who declines is there.
		if _, later := errors.AsType[*reflector.LaterError](err); later || reflector.Declined(err) {
			return breaker.Verdict{Outcome: breaker.Answered}
		}
		return breaker.Verdict{Outcome: breaker.Failed}
	}
	return guarded{m, set}
}

type guarded struct {
	reflector.Model
	set breaker.Set
}

// Ask asks unless the breaker is open.
func (g guarded) Ask(ctx context.Context, q reflector.Question) (a reflector.Answer, err error) {
	err = g.set.Do(ctx, reflectorBreaker, time.Now(), func(ctx context.Context) error {
		var err error
		a, err = g.Model.Ask(ctx, q)
		return err
	})
	return a, err
}
