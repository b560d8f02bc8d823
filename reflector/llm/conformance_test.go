package llm_test

import (
	"net/http"
	"testing"

	"autopilot/reflector"
	"autopilot/reflector/conformance"
	"autopilot/reflector/llm"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.TestAsking(t, func(t *testing.T, replies ...conformance.Reply) reflector.Reflector {
		var steps []step
		for _, r := range replies {
			switch {
			case r.Hang:
				steps = append(steps, hang)
			case r.Fail:
				steps = append(steps, fails(http.StatusUnauthorized, "invalid_api_key", "no such key"))
			default:
				steps = append(steps, says(r.Text, r.Usage))
			}
		}
		return reflector.Asking{Model: llm.New(options(serve(t, steps...).URL))}
	})
}
