package night

import (
	"context"
	"errors"
	"time"

	"autopilot/reflector"
	"autopilot/supervisor/breaker"
)

// reflectorBreaker is the name of the breaker in front of the reflector.
const reflectorBreaker = "reflector"

// Guarded is a reflector that is left alone for a while after failures. Looks back are
// then failed ones, which a run survives.
func (n Night) Guarded(r reflector.Reflector) reflector.Reflector {
	set := n.Breakers
	set.Settings.Judge = func(err error) breaker.Verdict {
		if _, later := errors.AsType[*reflector.LaterError](err); later { // the run waits until then by itself
			return breaker.Verdict{Outcome: breaker.Answered}
		}
		return breaker.Verdict{Outcome: breaker.Failed}
	}
	return guarded{r, set}
}

type guarded struct {
	reflector.Reflector
	set breaker.Set
}

// Reflect asks unless the breaker is open.
func (g guarded) Reflect(ctx context.Context, in reflector.Input) (out reflector.Reflection, err error) {
	err = g.set.Do(ctx, reflectorBreaker, time.Now(), func(ctx context.Context) error {
		var err error
		out, err = g.Reflector.Reflect(ctx, in)
		return err
	})
	return out, err
}
