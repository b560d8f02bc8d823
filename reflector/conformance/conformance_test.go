package conformance_test

import (
	"context"
	"errors"
	"testing"

	"autopilot/reflector"
	"autopilot/reflector/conformance"
)

// scripted is a model without a service.
type scripted struct{ replies []conformance.Reply }

func (s *scripted) Name() string { return "openai" }

func (s *scripted) Ask(ctx context.Context, _ reflector.Question) (reflector.Answer, error) {
	if ctx.Err() != nil {
		return reflector.Answer{}, ctx.Err()
	}
	r := s.replies[0]
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
	}
	if r.Hang {
		<-ctx.Done()
		return reflector.Answer{}, ctx.Err()
	}
	if r.Fail {
		return reflector.Answer{}, errors.New("no service")
	}
	return reflector.Answer{Text: []byte(r.Text), Model: "m", Usage: r.Usage}, nil
}

func TestAsking(t *testing.T) {
	t.Parallel()
	conformance.TestAsking(t, func(_ *testing.T, replies ...conformance.Reply) reflector.Reflector {
		return reflector.Asking{Model: &scripted{replies}}
	})
}
